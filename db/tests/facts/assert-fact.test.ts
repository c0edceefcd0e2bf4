import pg from 'pg';
import { saveMemory } from '../support/memories.ts';
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';
import {
  assertFact,
  contradictionsOf,
  type Fact,
  factNow,
  findFacts,
  objects,
  registerPredicate,
  retractFact,
} from './support.ts';

/** Times of the database are finer than those of JavaScript. */
const justAfter = (time: Date, ms = 1) => new Date(time.getTime() + ms);
const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

describe('assert_fact', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (const predicate of ['status', 'deploys on', 'is led by']) await registerPredicate(db, predicate);
    await db.sql('L', "select public.register_actor('D')");
  });

  it('stores a fact with the words, scope and project of its memory', async () => {
    const packet = await saveMemory(db, 'C', { content: 'the gateway is written in TypeScript' });
    const fact = await assertFact(db, 'C', ['The  Gateway', 'Written In', 'TypeScript'], {
      source_packet: packet,
    });
    expect(fact.subject).toBe('The  Gateway');
    expect(fact.predicate).toBe('written in');
    expect(fact.object).toBe('TypeScript');
    expect(fact.confidence).toBe(0.8);
    expect(fact.source_packet).toBe(packet);
    expect(fact.supporting_packet_count).toBe(1);
    expect(fact.contradiction_count).toBe(0);
    expect(fact.valid_to).toBeNull();
    expect(fact.is_single_valued).toBe(false);
    expect([fact.scope, fact.project_id, fact.creator]).toStrictEqual(['developer', 'l9', 'Cursor-IDE']);
    expect(await objects(db, 'L', 'the gateway')).toStrictEqual(['TypeScript']);
  });

  it('saves a memory of kind fact when none is given', async () => {
    const fact = await assertFact(db, 'C', ['Rollup job', 'runs every', { seconds: 15 }]);
    const [memory] = await db.sql(
      'C',
      'select content, packet_type, envelope from public.packet_store where packet_id = $1',
      [fact.source_packet],
    );
    expect(memory.packet_type).toBe('fact');
    expect(memory.content).toBe('Rollup job runs every: {"seconds": 15}');
    expect(memory.envelope.object).toStrictEqual({ seconds: 15 });
    const global = await assertFact(db, 'L', ['the sea', 'is', 'salty'], { scope: 'global' });
    expect([global.scope, global.project_id]).toStrictEqual(['global', null]);
  });

  it('raises support with each statement, and confidence with each agent', async () => {
    const [first, second] = [
      await saveMemory(db, 'C', { content: 'one of two' }),
      await saveMemory(db, 'D', { content: 'two of two' }),
    ];
    const state = (caller: string, source_packet: string, confidence = 0.8, object = 'PostgreSQL') =>
      assertFact(db, caller, ['l9', 'rests on', object], { source_packet, confidence });
    const once = await state('C', first, 0.5);
    const twice = await state('D', second, 0.5, 'postgreSQL ');
    expect(twice.fact_id).toBe(once.fact_id);
    expect(twice.object, 'spelled as in the first memory').toBe('PostgreSQL');
    expect([twice.supporting_packet_count, twice.agent_count, twice.confidence]).toStrictEqual([2, 2, 0.75]);
    // The same agent again counts by its strongest statement.
    expect([(await state('C', first, 0.4)).confidence, (await state('D', first, 0.5)).confidence]).toStrictEqual([
      0.75, 0.75,
    ]);
    const higher = await state('C', first, 0.8);
    expect([higher.supporting_packet_count, higher.agent_count, higher.confidence]).toStrictEqual([3, 2, 0.9]);

    const counts: [number, number, number][] = [];
    for (let i = 0; i < 3; i++) {
      const fact = await assertFact(db, 'C', ['water', 'is', 'wet'], { confidence: 0.7 });
      counts.push([fact.supporting_packet_count, fact.agent_count, fact.confidence]);
    }
    expect(counts).toStrictEqual([
      [1, 1, 0.7],
      [2, 1, 0.7],
      [3, 1, 0.7],
    ]);
  });

  it('keeps the values of a multi-valued predicate side by side', async () => {
    for (const name of ['Ada', 'Grace']) await assertFact(db, 'C', ['the team', 'has member', name]);
    const team = await findFacts(db, 'C', { subject: 'the team' });
    expect(team.map(({ object }) => object).sort()).toStrictEqual(['Ada', 'Grace']);
    expect(team.every(({ valid_to, contradiction_count }) => valid_to === null && contradiction_count === 0)).toBe(
      true,
    );
  });

  it('supersedes the value of a single-valued predicate and lowers the importance of its source', async () => {
    const [ofOld, ofNew] = [
      await saveMemory(db, 'C', { content: 'we deploy on Mondays' }),
      await saveMemory(db, 'L', { content: 'it is Tuesdays now' }),
    ];
    const importance = async () =>
      (
        await db.sql(
          'C',
          'select public.packet_store_importance_score(p) as score from public.packet_store p where packet_id = $1',
          [ofOld],
        )
      )[0].score;
    const before = await importance();
    const monday = await assertFact(db, 'C', ['l9', 'deploys on', 'Monday'], { source_packet: ofOld });
    const tuesday = await assertFact(db, 'L', ['L9', 'deploys on', 'Tuesday'], { source_packet: ofNew });
    expect([tuesday.valid_to, tuesday.superseded_by, tuesday.contradiction_count]).toStrictEqual([null, null, 1]);
    const old = (await factNow(db, monday.fact_id))!;
    expect(old.valid_to).toStrictEqual(tuesday.valid_from);
    expect(old.superseded_by).toBe(tuesday.fact_id);
    expect(old.superseded_at).toStrictEqual(tuesday.recorded_at);
    expect(old.contradiction_count).toBe(1);
    expect([await contradictionsOf(db, ofOld), await contradictionsOf(db, ofNew)]).toStrictEqual([1, 1]);
    expect(await importance()).toBeLessThan(before - 0.09);
    expect(await objects(db, 'C', 'l9', { predicate: 'deploys on' })).toStrictEqual(['Tuesday']);
    expect((await objects(db, 'C', 'l9', { predicate: 'deploys on', include_history: true })).sort()).toStrictEqual([
      'Monday',
      'Tuesday',
    ]);
    expect(
      await objects(db, 'C', 'l9', { predicate: 'deploys on', valid_at: justAfter(monday.valid_from) }),
    ).toStrictEqual(['Monday']);

    // A value that ended and is asserted again is a new row, and an agent counts once on it.
    await assertFact(db, 'D', ['l9 at night', 'deploys on', 'Tuesday']);
    const first = await assertFact(db, 'C', ['l9 at night', 'deploys on', 'Monday']);
    await assertFact(db, 'D', ['l9 at night', 'deploys on', 'Tuesday']);
    const again = await assertFact(db, 'C', ['l9 at night', 'deploys on', 'Monday']);
    expect(again.fact_id).not.toBe(first.fact_id);
    expect([again.contradiction_count, again.supporting_packet_count, again.valid_to]).toStrictEqual([1, 1, null]);
  });

  it('adds a value that began in the past as history', async () => {
    const now = await assertFact(db, 'C', ['issue 7', 'status', 'closed'], { valid_from: day(20) });
    const was = await assertFact(db, 'C', ['issue 7', 'status', 'open'], { valid_from: day(1) });
    expect([was.valid_to, was.superseded_by]).toStrictEqual([now.valid_from, now.fact_id]);
    expect(await objects(db, 'C', 'issue 7')).toStrictEqual(['closed']);
    const between = await assertFact(db, 'D', ['issue 7', 'status', 'in review'], { valid_from: day(10) });
    expect([between.valid_to, between.superseded_by]).toStrictEqual([now.valid_from, now.fact_id]);
    expect((await factNow(db, was.fact_id))!.valid_to).toStrictEqual(between.valid_from);
    // The same value with an earlier start extends the fact.
    const longer = await assertFact(db, 'D', ['issue 7', 'status', 'closed'], { valid_from: day(15) });
    expect(longer.fact_id).toBe(now.fact_id);
    expect(longer.valid_from.toISOString()).toBe(new Date(day(15)).toISOString());
    expect((await factNow(db, between.fact_id))!.valid_to).toStrictEqual(longer.valid_from);
    // A value that held at that time already gains a mention.
    const known = await assertFact(db, 'D', ['issue 7', 'status', 'open'], { valid_from: day(2) });
    expect([known.fact_id, known.supporting_packet_count]).toStrictEqual([was.fact_id, 2]);
  });

  it('refuses wrong arguments with an error that names the field', async () => {
    const refuses = async (triple: [string, string, unknown], args: object, code: string, column: string) =>
      expect(assertFact(db, 'C', triple, args as never)).rejects.toMatchObject({ code, column });
    await refuses([' ', 'is', 1], {}, 'L9VAL', 'subject');
    await refuses(['x', '', 1], {}, 'L9VAL', 'predicate');
    await refuses(['x', 'is', null], {}, 'L9VAL', 'object');
    await refuses(['x', 'is', ' '], {}, 'L9VAL', 'object');
    await refuses(['x', 'is', 'y'.repeat(9000)], {}, 'L9LIM', 'object');
    await refuses(['x'.repeat(1001), 'is', 1], {}, 'L9LIM', 'subject');
    await refuses(['x', 'is', 1], { confidence: 1.1 }, 'L9VAL', 'confidence');
    await refuses(['x', 'is', 1], { valid_from: 'infinity' }, 'L9VAL', 'valid_from');
    const packet = await saveMemory(db, 'C', { content: 'a memory with a scope' });
    await refuses(['x', 'is', 1], { source_packet: packet, scope: 'developer' }, 'L9VAL', 'scope');
    const deep = JSON.parse(`${'['.repeat(61)}1${']'.repeat(61)}`);
    await refuses(['x', 'is', deep], {}, 'L9LIM', 'object');
    await expect(findFacts(db, 'C', { k: 101 })).rejects.toMatchObject({ code: 'L9LIM', column: 'k' });
    const long = 'y'.repeat(8000);
    expect([(await assertFact(db, 'C', ['a long value', 'is', long])).object]).toStrictEqual([long]);
    expect(await findFacts(db, 'C', { object: long })).toHaveLength(1);
  });

  it('records the model that extracted a fact and does not extract it again once retracted', async () => {
    const packet = await saveMemory(db, 'C', { content: 'The cat is called Mog.' });
    const extract = async (object: string) => {
      const [fact] = await db.asWorker(
        `select * from facts.assert_fact_from($1, 'the cat', 'is called', to_jsonb($2::text), 0.6, null, 'some-model')`,
        [packet, object],
      );
      return fact;
    };
    const fact = await extract('Mog');
    expect(fact.creator).toBe('job');
    const [{ timestamp }] = await db.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      packet,
    ]);
    expect(fact.valid_from).toStrictEqual(timestamp);
    expect([(await extract('Mog')).supporting_packet_count, (await extract('Mog')).confidence]).toStrictEqual([1, 0.6]);
    const [evidence] = await db.sql(
      'C',
      'select extracted_by, agent, creator, mentions from public.fact_evidence where fact_id = $1',
      [fact.fact_id],
    );
    expect(evidence).toStrictEqual({
      extracted_by: 'some-model',
      agent: 'Cursor-IDE',
      creator: 'job',
      mentions: 1,
    });
    await expect(retractFact(db, 'C', fact.fact_id)).rejects.toMatchObject({ code: 'L9OWN' });
    await retractFact(db, 'L', fact.fact_id);
    expect((await extract('Mog')).fact_id).toBe(fact.fact_id);
    expect(await objects(db, 'C', 'the cat')).toStrictEqual([]);
    await extract('Tom');
    await db.asWorker('select facts.withdraw_evidence($1)', [packet]);
    // The retracted fact stays as history, so that extracting again does not bring it back.
    expect(await objects(db, 'C', 'the cat', { include_history: true })).toStrictEqual(['Mog']);
    expect((await extract('Mog')).fact_id).toBe(fact.fact_id);
    expect(await objects(db, 'C', 'the cat')).toStrictEqual([]);
  });

  itOnServer('keeps one current value under concurrent assertions', async () => {
    const packets = await Promise.all(
      Array.from({ length: 20 }, (_, i) => saveMemory(db, 'C', { content: `larch ${i}` })),
    );
    // Twenty sessions of their own, since the pool is small.
    const clients = await Promise.all(
      packets.map(async () => {
        const client = new pg.Client({ connectionString: db.superuserUrl! });
        await client.connect();
        await client.query('set session authorization l9_gateway');
        return client;
      }),
    );
    try {
      const assertAll = (objectOf: (i: number) => string) =>
        Promise.all(
          clients.map(async (client, i) => {
            await client.query(
              `begin; set local role l9_agent; set local "jwt.claims.caller" = 'C';
               set local "jwt.claims.tenant_id" = '00000000-0000-7000-8000-000000000001'`,
            );
            await client.query(
              `select public.assert_fact('larch', 'is led by', to_jsonb($1::text), source_packet => $2)`,
              [objectOf(i), packets[i]],
            );
            await client.query('commit');
          }),
        );
      await assertAll((i) => `leader ${i}`);
      const all: Fact[] = await db.asSuperuser(
        "select * from public.knowledge_facts where subject = 'larch' order by valid_from, recorded_at",
      );
      expect(all).toHaveLength(20);
      expect(all.filter(({ valid_to }) => valid_to === null)).toHaveLength(1);
      for (const [i, fact] of all.entries()) expect(fact.superseded_by).toBe(all[i + 1]?.fact_id ?? null);
      expect(all.at(-1)!.valid_to).toBeNull();
      await assertAll(() => 'the same');
      const [same, ...more] = await db.asSuperuser(
        'select * from public.knowledge_facts where object = \'"the same"\'',
      );
      expect([same.supporting_packet_count, more.length]).toStrictEqual([20, 0]);
      // Deletions meanwhile leave no facts behind and no session waiting.
      await Promise.all([
        assertAll((i) => (i % 2 ? 'odd' : 'even')).catch((error: { code: string }) => expect(error.code).toBe('L9OWN')),
        ...packets.slice(0, 5).map((packet) => db.sql('C', 'select public.delete_memory($1)', [packet])),
      ]);
      const [wrong] = await db.asSuperuser(
        `select count(*) filter (where valid_to is null)::int as current, count(*) filter (where supporting_packet_count <> (
           select sum(mentions) from public.fact_evidence e where e.fact_id = f.fact_id))::int as miscounted
         from public.knowledge_facts f where subject = 'larch'`,
      );
      expect(wrong).toStrictEqual({ current: 1, miscounted: 0 });
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});
