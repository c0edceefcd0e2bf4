// Whose word a fact is: an agent counts once, and what an administrator states is not moved by what agents state.
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { assertFact, type Fact, factNow, findFacts, registerPredicate, retractFact } from './support.ts';

const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

describe('the word of an administrator in a fact', () => {
  const db = useTestDatabase();
  // Each test is about another subject.
  let subject: string;
  let tests = 0;
  beforeEach(() => {
    subject = `service ${++tests}`;
  });
  beforeAll(async () => {
    await registerPredicate(db, 'deploys on');
    await db.sql('L', "select public.register_actor('D')");
  });
  /** What a caller that asks for the present value is told. */
  const reading = async () => {
    const facts = await findFacts(db, 'C', { subject, predicate: 'deploys on' });
    return facts.map(({ fact_id, object, confidence, source_packet, creator, valid_to }) => ({
      fact_id,
      object,
      confidence,
      source_packet,
      creator,
      valid_to,
    }));
  };
  const history = () => findFacts(db, 'C', { subject, include_history: true });
  const says = (caller: string, object: string, args: object = {}) =>
    assertFact(db, caller, [subject, 'deploys on', object], args as never);

  it('counts an agent once, by its strongest statement, however many memories say so', async () => {
    let fact: Fact | undefined;
    for (let n = 0; n < 17; n++) {
      const source_packet = await saveMemory(db, 'C', { content: `it says so for the time ${n}` });
      fact = await assertFact(db, 'C', ['water', 'is', 'wet'], { source_packet, confidence: n === 3 ? 0.5 : 0.4 });
    }
    expect(fact).toMatchObject({ confidence: 0.5, supporting_packet_count: 17, agent_count: 1, is_from_admin: false });
    fact = await assertFact(db, 'D', ['water', 'is', 'wet'], { confidence: 0.5 });
    expect(fact).toMatchObject({ confidence: 0.75, supporting_packet_count: 18, agent_count: 2 });
  });

  it('is stated for each agent from one memory, with a confidence of its own', async () => {
    const source_packet = await saveMemory(db, 'C', { content: 'what both speak of' });
    await assertFact(db, 'C', ['ice', 'is', 'cold'], { source_packet, confidence: 0.2 });
    const fact = await assertFact(db, 'D', ['ice', 'is', 'cold'], { source_packet, confidence: 0.5 });
    expect(fact).toMatchObject({ confidence: 0.6, agent_count: 2, supporting_packet_count: 2 });
    const rows = await db.sql(
      'C',
      'select agent, creator, confidence, is_from_admin from public.fact_evidence where fact_id = $1 order by agent',
      [fact.fact_id],
    );
    expect(rows).toStrictEqual([
      { agent: 'Cursor-IDE', creator: 'Cursor-IDE', confidence: 0.2, is_from_admin: false },
      { agent: 'D', creator: 'D', confidence: 0.5, is_from_admin: false },
    ]);
  });

  it('stays as it is, whatever an agent states, repeats, backdates, retracts or deletes', async () => {
    const own = await says('C', 'Monday', { valid_from: day(1) });
    await says('L', 'Tuesday', { confidence: 0.9, valid_from: day(10) });
    const before = await reading();
    expect(before).toHaveLength(1);
    expect(before[0]).toMatchObject({ object: 'Tuesday', confidence: 0.9, creator: 'L-CTO', valid_to: null });
    const attacks: (() => Promise<unknown>)[] = [
      () => says('C', 'Friday'),
      () => says('C', 'Friday'),
      () => says('C', 'tuesday', { confidence: 0.1 }),
      () => says('C', 'Tuesday', { valid_from: day(5) }),
      () => says('C', 'Friday', { valid_from: day(10) }),
      () => says('C', 'Saturday', { valid_from: day(12) }),
      () => says('C', 'Sunday', { valid_from: '2030-01-01' }),
      () => says('C', 'Sunday', { valid_from: day(3) }),
      () => retractFact(db, 'C', own.fact_id),
      () => db.sql('C', 'select public.delete_memory($1)', [own.source_packet]),
    ];
    for (const [n, attack] of attacks.entries()) {
      await attack();
      expect(await reading(), `attack ${n}`).toStrictEqual(before);
      for (const at of [day(10), day(11), day(13), '2031-01-01']) {
        const [{ object }] = await db.sql(
          'C',
          "select (fact).object as object from public.facts_as_of($1, subject => $2, predicate => 'deploys on')",
          [at, subject],
        );
        expect(object, `attack ${n}, as of ${at}`).toBe('Tuesday');
      }
    }
    await expect(retractFact(db, 'C', before[0]!.fact_id)).rejects.toMatchObject({ code: 'L9OWN' });
  });

  it('is confirmed in words of its own where an agent stated the same first', async () => {
    const ofC = await says('C', 'tuesday', { confidence: 0.3, valid_from: day(1) });
    const ofL = await says('L', 'Tuesday', { confidence: 0.9, valid_from: day(10) });
    expect(ofL).toMatchObject({ object: 'Tuesday', confidence: 0.9, creator: 'L-CTO', agent_count: 1 });
    expect(await factNow(db, ofC.fact_id)).toMatchObject({ superseded_by: ofL.fact_id, contradiction_count: 0 });
    await says('C', 'Wednesday', { valid_from: day(8) });
    expect((await reading())[0]).toMatchObject({ fact_id: ofL.fact_id, object: 'Tuesday', confidence: 0.9 });
  });

  it('takes spelling, source and creator of a fact with many values from the administrator', async () => {
    await assertFact(db, 'C', ['The Team', 'has member', 'ada'], { confidence: 0.3 });
    const fact = await assertFact(db, 'L', ['the team', 'has member', 'Ada'], { confidence: 0.7 });
    expect(fact).toMatchObject({
      subject: 'the team',
      object: 'Ada',
      confidence: 0.7,
      creator: 'L-CTO',
      is_from_admin: true,
      agent_count: 2,
    });
  });

  it('records what it outranks, visibly, as the contradiction of one agent', async () => {
    const ofL = await says('L', 'Tuesday');
    for (const object of ['Friday', 'Saturday', 'Friday', 'Sunday']) await says('C', object);
    const rows = await history();
    expect(rows.map(({ object }) => object).sort()).toStrictEqual(['Friday', 'Saturday', 'Sunday', 'Tuesday']);
    for (const row of rows.filter(({ fact_id }) => fact_id !== ofL.fact_id)) {
      expect(row).toMatchObject({ superseded_by: ofL.fact_id, valid_to: row.valid_from, is_from_admin: false });
    }
    expect(rows.find(({ object }) => object === 'Friday')).toMatchObject({
      supporting_packet_count: 2,
      agent_count: 1,
    });
    expect((await factNow(db, ofL.fact_id))!.contradiction_count).toBe(1);
    await says('D', 'Friday');
    expect((await factNow(db, ofL.fact_id))!.contradiction_count).toBe(2);
  });

  it('ends with its own newer value or retraction, and only then the word of agents counts again', async () => {
    const first = await says('L', 'Tuesday', { valid_from: day(10) });
    await says('C', 'Friday', { valid_from: day(12) });
    const second = await says('L', 'Thursday', { valid_from: day(20) });
    expect((await reading())[0]).toMatchObject({ object: 'Thursday', fact_id: second.fact_id });
    expect(await factNow(db, first.fact_id)).toMatchObject({ superseded_by: second.fact_id });
    await retractFact(db, 'L', second.fact_id);
    expect((await reading())[0]).toMatchObject({ object: 'Tuesday' });
    await retractFact(db, 'L', first.fact_id);
    expect((await reading())[0]).toMatchObject({ object: 'Friday', creator: 'Cursor-IDE' });
    await says('D', 'Saturday');
    expect((await reading())[0], 'among agents the newest wins').toMatchObject({ object: 'Saturday', creator: 'D' });
  });

  it('is that of the writer where a model extracted the fact', async () => {
    const extract = async (packet: string, object: string) =>
      (
        await db.asWorker(
          `select * from facts.assert_fact_from($1, $3, 'deploys on', to_jsonb($2::text), 0.6, null, 'some-model')`,
          [packet, object, subject],
        )
      )[0];
    const ofL = await extract(await saveMemory(db, 'L', { content: 'We deploy on Tuesdays.' }), 'Tuesday');
    const ofC = await extract(await saveMemory(db, 'C', { content: 'We deploy on Fridays.' }), 'Friday');
    expect(ofL).toMatchObject({ is_from_admin: true, creator: 'job' });
    expect(await factNow(db, ofC.fact_id)).toMatchObject({ is_from_admin: false, superseded_by: ofL.fact_id });
    expect((await reading())[0]).toMatchObject({ object: 'Tuesday' });
  });

  it('holds when a predicate becomes single-valued later', async () => {
    await assertFact(db, 'L', ['l9', 'runs in', 'Frankfurt']);
    await assertFact(db, 'C', ['l9', 'runs in', 'Dublin']);
    await assertFact(db, 'C', ['l9', 'runs in', 'frankfurt']);
    await registerPredicate(db, 'runs in');
    const facts = await findFacts(db, 'C', { subject: 'l9', predicate: 'runs in' });
    expect(facts.map(({ object }) => object)).toStrictEqual(['Frankfurt']);
    await registerPredicate(db, 'runs in', false);
    expect(await findFacts(db, 'C', { subject: 'l9', predicate: 'runs in' })).toHaveLength(2);
  });

  it('keeps the memory of an agent from which an administrator states something', async () => {
    const source_packet = await saveMemory(db, 'C', { content: 'the plan of C for deployments' });
    await says('L', 'Tuesday', { source_packet });
    const before = await reading();
    const change = (args: string) => db.sql('C', `select public.update_memory($1, ${args})`, [source_packet]);
    for (const attack of [
      () => change("content => 'the opposite plan'"),
      () => change("scope => 'global'"),
      () => change("project_id => 'another'"),
      () => change("kind => 'observation'"),
      () => change("ttl => now() + interval '1 minute'"),
      () => db.sql('C', 'select public.delete_memory($1)', [source_packet]),
      () => change("tags => '{plan}', importance => 0.4"),
    ]) {
      await expect(attack()).rejects.toMatchObject({ code: 'L9OWN', message: expect.stringContaining('L-CTO') });
    }
    await db.sql('C', 'delete from public.packet_store where packet_id = $1', [source_packet]);
    expect(await reading()).toStrictEqual(before);
    await db.sql('L', 'select public.delete_memory($1)', [source_packet]);
    expect(await reading()).toStrictEqual([]);
  });

  it('outlives the expiry that an agent gave to the same words', async () => {
    const ofC = await says('C', 'Tuesday');
    await db.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [ofC.source_packet]);
    const ofL = await says('L', 'Tuesday');
    expect(ofL).toMatchObject({ source_packet: ofC.source_packet, ttl: null });
  });
});
