import { grepDatabase } from '../support/dump.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import {
  assertFact,
  contradictionsOf,
  factNow,
  findFacts,
  moveMemory,
  objects,
  registerPredicate,
  retractFact,
} from './support.ts';

describe('a fact whose memory changes', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (const predicate of ['status', 'is led by']) await registerPredicate(db, predicate);
  });

  it('moves with its memory, as a whole or out of a fact that others state', async () => {
    const [mine, other] = [
      await saveMemory(db, 'L', { content: 'rosehip one' }),
      await saveMemory(db, 'L', { content: 'rosehip two' }),
    ];
    const shared = await assertFact(db, 'L', ['rosehip', 'status', 'red'], { source_packet: mine });
    await assertFact(db, 'L', ['rosehip', 'status', 'red'], { source_packet: other });
    const alone = await assertFact(db, 'L', ['rosehip', 'grows in', 'hedges'], { source_packet: mine });
    await moveMemory(db, 'L', mine, 'l-private');
    // C keeps the statement of the other memory, and nothing of the moved one.
    const [remaining] = await findFacts(db, 'C', { subject: 'rosehip' });
    expect([
      remaining!.fact_id,
      remaining!.source_packet,
      remaining!.supporting_packet_count,
      remaining!.confidence,
    ]).toStrictEqual([shared.fact_id, other, 1, 0.8]);
    expect(await objects(db, 'C', 'rosehip')).toStrictEqual(['red']);
    expect((await factNow(db, alone.fact_id))!.scope).toBe('l-private');
    const hidden = (await findFacts(db, 'L', { subject: 'rosehip', scope: 'l-private' })).map(
      ({ predicate }) => predicate,
    );
    expect(hidden.sort()).toStrictEqual(['grows in', 'status']);
    // Moved back, it joins the other statement again.
    await moveMemory(db, 'L', mine, 'developer');
    const [again] = await findFacts(db, 'C', { subject: 'rosehip', predicate: 'status' });
    expect([again!.supporting_packet_count, again!.agent_count, again!.confidence]).toStrictEqual([2, 1, 0.8]);
    expect(await findFacts(db, 'L', { subject: 'rosehip', include_history: true })).toHaveLength(2);
  });

  it('keeps no link to a fact of another audience', async () => {
    const [first, second] = [
      await saveMemory(db, 'L', { content: 'hazel one' }),
      await saveMemory(db, 'L', { content: 'hazel two' }),
    ];
    const old = await assertFact(db, 'L', ['hazel', 'is led by', 'Ida'], { source_packet: first });
    const next = await assertFact(db, 'L', ['hazel', 'is led by', 'Ove'], { source_packet: second });
    expect(await contradictionsOf(db, first)).toBe(1);
    await moveMemory(db, 'L', second, 'l-private');
    const [now] = await findFacts(db, 'C', { subject: 'hazel', include_history: true });
    expect([
      now!.fact_id,
      now!.valid_to,
      now!.superseded_by,
      now!.superseded_at,
      now!.contradiction_count,
    ]).toStrictEqual([old.fact_id, null, null, null, 0]);
    expect([await contradictionsOf(db, first), await contradictionsOf(db, second)]).toStrictEqual([0, 0]);
    // In its new audience, the fact is superseded like any other.
    const there = await assertFact(db, 'L', ['hazel', 'is led by', 'Una'], { scope: 'l-private' });
    expect((await factNow(db, next.fact_id))!.superseded_by).toBe(there.fact_id);
    await moveMemory(db, 'L', first, 'l-private');
    expect(await findFacts(db, 'C', { subject: 'hazel', include_history: true })).toStrictEqual([]);
    const chain = await db.sql(
      'L',
      "select object, superseded_by is not null as ended from public.knowledge_facts where subject = 'hazel' order by valid_from",
    );
    expect(chain).toStrictEqual([
      { object: 'Ida', ended: true },
      { object: 'Ove', ended: true },
      { object: 'Una', ended: false },
    ]);
    await expect(
      db.asSuperuser(
        `update public.knowledge_facts f set superseded_by = (select fact_id from public.knowledge_facts where scope = 'developer' limit 1)
         where fact_id = '${next.fact_id}'`,
      ),
    ).rejects.toMatchObject({ code: '23503' });
  });

  it('is recomputed when one of its memories is deleted, and deleted with the last', async () => {
    const packets = [
      await saveMemory(db, 'C', { content: 'alder one' }),
      await saveMemory(db, 'L', { content: 'alder two' }),
    ];
    const state = (packet: string, valid_from: string, spelled: string, confidence: number) =>
      assertFact(db, 'L', [spelled, 'is led by', 'Per'], { source_packet: packet, valid_from, confidence });
    await state(packets[0]!, '2026-01-05T00:00:00Z', 'ALDER', 0.9);
    const before = await assertFact(db, 'L', ['alder', 'is led by', 'Siv'], {
      valid_from: '2026-01-01T00:00:00Z',
    });
    const fact = await state(packets[1]!, '2026-02-01T00:00:00Z', 'Alder', 0.5);
    expect([fact.confidence, fact.subject, fact.supporting_packet_count]).toStrictEqual([0.9, 'ALDER', 2]);
    await db.sql('L', 'select public.delete_memory($1)', [packets[0]]);
    const remaining = (await factNow(db, fact.fact_id))!;
    expect([
      remaining.confidence,
      remaining.subject,
      remaining.supporting_packet_count,
      remaining.source_packet,
      remaining.valid_from.toISOString(),
      remaining.creator,
    ]).toStrictEqual([0.5, 'Alder', 1, packets[1], '2026-02-01T00:00:00.000Z', 'L-CTO']);
    // The superseded fact now ends where the remaining memory begins.
    expect((await factNow(db, before.fact_id))!.valid_to).toStrictEqual(remaining.valid_from);
    await db.sql('L', 'select public.delete_memory($1)', [packets[1]]);
    expect(await factNow(db, fact.fact_id)).toBeUndefined();
    const first = (await factNow(db, before.fact_id))!;
    expect([first.valid_to, first.superseded_by, first.contradiction_count]).toStrictEqual([null, null, 0]);
  });

  it('keeps nothing of an erased memory, even if other memories state the same', async () => {
    const word = 'Zqalexandrine';
    const [erased, kept] = [
      await saveMemory(db, 'L', { content: `about ${word}` }),
      await saveMemory(db, 'L', { content: 'about it' }),
    ];
    const state = (source_packet: string, subject: string, object: unknown) =>
      assertFact(db, 'L', [subject, 'is led by', object], { source_packet });
    const fact = await state(erased, `the ${word.toUpperCase()}  house`, `Dr ${word}`);
    await state(kept, `the ${word.toLowerCase()} house`, `dr ${word.toLowerCase()}`);
    await state(erased, 'plain', `${word} alone`);
    await retractFact(db, 'L', (await state(erased, 'plain 2', `${word} alone`)).fact_id, `not ${word}`);
    await db.sql('L', "select public.erase_memory($1, 'a test')", [erased]);
    const remaining = (await factNow(db, fact.fact_id))!;
    expect([remaining.subject, remaining.object, remaining.supporting_packet_count]).toStrictEqual([
      `the ${word.toLowerCase()} house`,
      `dr ${word.toLowerCase()}`,
      1,
    ]);
    await db.sql('L', "select public.erase_memory($1, 'a test')", [kept]);
    expect(await db.inSuperuserSession((client) => grepDatabase(client, [word]))).toStrictEqual({});
  });

  it('expires with the last memory that states it', async () => {
    const later = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const [short, long] = [
      await saveMemory(db, 'C', { content: 'birch one', ttl: later(1) }),
      await saveMemory(db, 'C', { content: 'birch two', ttl: later(2) }),
    ];
    const fact = await assertFact(db, 'C', ['birch', 'is led by', 'Liv'], { source_packet: short });
    const ttlOf = async (packet: string) =>
      (await db.sql('C', 'select ttl from public.packet_store where packet_id = $1', [packet]))[0].ttl;
    expect(fact.ttl).toStrictEqual(await ttlOf(short));
    await assertFact(db, 'C', ['birch', 'is led by', 'Liv'], { source_packet: long });
    expect((await factNow(db, fact.fact_id))!.ttl).toStrictEqual(await ttlOf(long));
    await db.sql('C', "select public.update_memory($1, ttl => 'infinity')", [short]);
    expect((await factNow(db, fact.fact_id))!.ttl).toBeNull();
    const expire = (packets: string[]) =>
      db.inSuperuserSession(async (client) => {
        await client.query('set session_replication_role = replica');
        for (const table of ['packet_store', 'fact_evidence'])
          await client.query(
            `update public.${table} set ttl = now() - interval '1 second' where packet_id = any ($1)`,
            [packets],
          );
        await client.query(
          `update public.knowledge_facts f set ttl = now() - interval '1 second' where not exists (
             select from public.fact_evidence e where e.fact_id = f.fact_id and (e.ttl is null or e.ttl > now()))`,
        );
        await client.query('reset session_replication_role');
      });
    await expire([short, long]);
    expect(await objects(db, 'L', 'birch', { include_history: true })).toStrictEqual([]);
    expect(await db.sql('C', "select * from public.facts_as_of(subject => 'birch')")).toStrictEqual([]);
    await expect(retractFact(db, 'C', fact.fact_id)).rejects.toMatchObject({ code: 'L9OWN' });
    // An expired fact does not affect a new one.
    const renewed = await assertFact(db, 'C', ['birch', 'is led by', 'Ash']);
    expect([renewed.contradiction_count, renewed.valid_to]).toStrictEqual([0, null]);
    expect(await factNow(db, fact.fact_id)).toBeUndefined();
    await db.asWorker('select memories.delete_expired_batch()');
    expect(await objects(db, 'C', 'birch')).toStrictEqual(['Ash']);
  });
});
