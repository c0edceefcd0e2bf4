// Functions that write what is derived from memories take their locks in one order, so that PostgreSQL never has to abort one of two
// that wait for each other. The embedded engine has one session, in which nothing waits.
import pg from 'pg';
import { assertFact, findFacts, retractFact } from '../facts/support.ts';
import { rollUp, save, search } from '../importance/support.ts';
import { eventually } from '../support/eventually.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

describeOnServer('PostgreSQL', () => {
  const db = useTestDatabase();

  it('locks memories before facts in the roll-up of accesses, as for callers', async () => {
    const id = await save(db, 'C', 'the capstan is of oak', { project_id: 'l9' });
    const { fact_id } = await assertFact(db, 'C', ['the capstan', 'is of', 'oak'], { source_packet: id });
    await findFacts(db, 'C', { subject: 'the capstan' });
    await search(db, 'C', 'capstan');
    const client = new pg.Client({ connectionString: db.superuserUrl! });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select from public.packet_store where packet_id = $1 for update', [id]);
      const roll = rollUp(db);
      await eventually(async () => {
        const [{ waiting }] = await db.asSuperuser(
          `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return waiting > 0;
      });
      await client.query('select from public.knowledge_facts where fact_id = $1 for update nowait', [fact_id]);
      await client.query('rollback');
      await roll;
    } finally {
      await client.end();
    }
    const [fact] = await db.asSuperuser('select access_count from public.knowledge_facts where fact_id = $1', [
      fact_id,
    ]);
    expect(Number(fact.access_count)).toBe(1);
  });

  it('meets no deadlock between moves, deletions, statements, retractions and roll-ups', async () => {
    await db.sql('L', "select public.register_predicate('is', true)");
    const places = ['l9', 'l9-other'];
    const names = ['winch', 'mast', 'keel'];
    const memories = await Promise.all(
      Array.from({ length: 8 }, (_, n) => save(db, 'C', `note ${n} on the rigging`, { project_id: places[n % 2] })),
    );
    const some = <T>(list: T[], n: number): T => list[n % list.length]!;
    // Each step takes the memory, the name and the place of its number, so that all of them meet.
    const steps: ((n: number) => Promise<unknown>)[] = [
      (n) =>
        assertFact(db, some(['C', 'L'], n), [some(names, n), 'is', `tight ${n % 4}`], {
          source_packet: some(memories, n),
        }),
      (n) =>
        db.sql(
          some(['C', 'L'], n),
          'select public.relate(source => $1, type => $2, target => $3, source_packet => $4)',
          [some(names, n), 'depends_on', some(names, n + 1), some(memories, n)],
        ),
      (n) =>
        db.sql('L', 'select public.update_memory($1, project_id => $2)', [some(memories, n), some(places, n >> 3)]),
      (n) =>
        db.sql('L', 'select public.update_memory($1, ttl => $2)', [some(memories, n), new Date(Date.now() + 1e8 + n)]),
      async (n) => {
        const [fact] = await findFacts(db, 'L', { subject: some(names, n) });
        if (fact) await retractFact(db, 'L', fact.fact_id);
      },
      async (n) => {
        await db.sql('L', 'select public.delete_memory($1)', [some(memories, n)]);
        memories[n % memories.length] = await save(db, 'C', `another note ${n}`, { project_id: some(places, n) });
      },
      () => db.asWorker('select facts.roll_up_accesses()'),
    ];
    const errors = new Set<string>();
    await Promise.all(
      steps.map(async (step, offset) => {
        for (let n = 0; n < 60; n++)
          await step(n * 5 + offset).catch(({ code, message }) => errors.add(code?.startsWith('L9') ? code : message));
      }),
    );
    // A memory may be gone by the time that a step reaches it, and a fact may have been moved or retracted.
    expect([...errors].filter((error) => !/^L9(OWN|VAL)$|moved concurrently/.test(error))).toStrictEqual([]);
    expect(await findFacts(db, 'L', {})).not.toHaveLength(0);
  });
});
