// Facts: what is asserted grows, is superseded, retracted and asked for as of some time.
import assert from 'node:assert/strict';
import { after as afterAll, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { rollUp, save } from '../importance/support.ts';
import { assertFact, contradictionsOf, factNow, findFacts, objects, registerPredicate, retract } from './support.ts';

describe('facts', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    for (const predicate of ['status', 'deploys on', 'lives in']) await registerPredicate(house, predicate);
  });
  afterAll(() => house.close());

  /** Times of the database are finer than those here. */
  const after = (time: Date, ms = 1) => new Date(time.getTime() + ms);
  const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

  it('keep what was said, and where', async () => {
    const packet = await save(house, 'C', 'the gateway is written in TypeScript');
    const fact = await assertFact(house, 'C', ['The  Gateway', 'Written In', 'TypeScript'], { source_packet: packet });
    assert.equal(fact.subject, 'The  Gateway');
    assert.equal(fact.predicate, 'written in');
    assert.equal(fact.object, 'TypeScript');
    assert.equal(fact.confidence, 0.8);
    assert.equal(fact.source_packet, packet);
    assert.equal(fact.supporting_packet_count, 1);
    assert.equal(fact.contradiction_count, 0);
    assert.equal(fact.valid_to, null);
    assert.equal(fact.is_single_valued, false);
    assert.deepEqual([fact.scope, fact.project_id, fact.creator], ['developer', 'l9', 'Cursor-IDE']);
    assert.deepEqual(await objects(house, 'L', 'the gateway'), ['TypeScript']);
  });

  it('without a memory are saved as one, of kind fact', async () => {
    const fact = await assertFact(house, 'C', ['Rollup job', 'runs every', { seconds: 15 }]);
    const [memory] = await house.sql(
      'C',
      'select content, packet_type, envelope from public.packet_store where packet_id = $1',
      [fact.source_packet],
    );
    assert.equal(memory.packet_type, 'fact');
    assert.equal(memory.content, 'Rollup job runs every: {"seconds": 15}');
    assert.deepEqual(memory.envelope.object, { seconds: 15 });
    const global = await assertFact(house, 'L', ['the sea', 'is', 'salty'], { scope: 'global' });
    assert.deepEqual([global.scope, global.project_id], ['global', null]);
  });

  it('grow with each memory that says the same, and with each repetition, bounded', async () => {
    const [first, second] = [await save(house, 'C', 'one of two'), await save(house, 'L', 'two of two')];
    const say = (caller: string, source_packet: string, confidence = 0.8, object = 'PostgreSQL') =>
      assertFact(house, caller, ['l9', 'rests on', object], { source_packet, confidence });
    const once = await say('C', first, 0.5);
    const twice = await say('L', second, 0.5, 'postgreSQL ');
    assert.equal(twice.fact_id, once.fact_id);
    assert.equal(twice.object, 'PostgreSQL', 'as it was first spelt');
    assert.deepEqual([twice.supporting_packet_count, twice.confidence], [2, 0.75]);
    // The same memory again is no more evidence; surer, it counts as that.
    assert.deepEqual([(await say('C', first, 0.4)).confidence, (await say('L', first, 0.5)).confidence], [0.75, 0.75]);
    const surer = await say('C', first, 0.8);
    assert.deepEqual([surer.supporting_packet_count, surer.confidence], [2, 0.9]);

    const counts: [number, number][] = [];
    for (let i = 0; i < 5; i++) {
      const fact = await assertFact(house, 'C', ['water', 'is', 'wet'], { confidence: 0.7 });
      counts.push([fact.supporting_packet_count, fact.confidence]);
    }
    assert.deepEqual(counts, [
      [1, 0.7],
      [2, 0.91],
      [3, 0.973],
      [4, 0.99],
      [5, 0.99],
    ]);
  });

  it('of a multi-valued predicate stand side by side', async () => {
    for (const name of ['Ada', 'Grace']) await assertFact(house, 'C', ['the team', 'has member', name]);
    const found = await findFacts(house, 'C', { subject: 'the team' });
    assert.deepEqual(found.map(({ object }) => object).sort(), ['Ada', 'Grace']);
    assert.ok(found.every(({ valid_to, contradiction_count }) => valid_to === null && contradiction_count === 0));
  });

  it('of a single-valued predicate supersede each other, and their sources lose weight', async () => {
    const [ofOld, ofNew] = [
      await save(house, 'C', 'we deploy on Mondays'),
      await save(house, 'L', 'it is Tuesdays now'),
    ];
    const importance = async () =>
      (
        await house.sql(
          'C',
          'select public.packet_store_importance_score(p) as score from public.packet_store p where packet_id = $1',
          [ofOld],
        )
      )[0].score;
    const before = await importance();
    const monday = await assertFact(house, 'C', ['l9', 'deploys on', 'Monday'], { source_packet: ofOld });
    const tuesday = await assertFact(house, 'L', ['L9', 'deploys on', 'Tuesday'], { source_packet: ofNew });
    assert.deepEqual([tuesday.valid_to, tuesday.superseded_by, tuesday.contradiction_count], [null, null, 1]);
    const old = (await factNow(house, monday.fact_id))!;
    assert.deepEqual(old.valid_to, tuesday.valid_from);
    assert.equal(old.superseded_by, tuesday.fact_id);
    assert.deepEqual(old.superseded_at, tuesday.recorded_at);
    assert.equal(old.contradiction_count, 1);
    assert.deepEqual([await contradictionsOf(house, ofOld), await contradictionsOf(house, ofNew)], [1, 1]);
    assert.ok((await importance()) < before - 0.1);
    assert.deepEqual(await objects(house, 'C', 'l9', { predicate: 'deploys on' }), ['Tuesday']);
    assert.deepEqual((await objects(house, 'C', 'l9', { predicate: 'deploys on', include_history: true })).sort(), [
      'Monday',
      'Tuesday',
    ]);
    assert.deepEqual(await objects(house, 'C', 'l9', { predicate: 'deploys on', valid_at: after(monday.valid_from) }), [
      'Monday',
    ]);

    // What had ended and is said again is a new row; the more it goes to and fro, the more it is contradicted.
    const again = await assertFact(house, 'C', ['l9', 'deploys on', 'Monday'], { source_packet: ofOld });
    assert.notEqual(again.fact_id, monday.fact_id);
    assert.deepEqual([again.contradiction_count, again.supporting_packet_count, again.valid_to], [2, 1, null]);
    assert.equal((await factNow(house, tuesday.fact_id))!.superseded_by, again.fact_id);
    const back = await assertFact(house, 'L', ['l9', 'deploys on', 'Tuesday'], { source_packet: ofNew });
    assert.equal(back.contradiction_count, 3);
  });

  it('that began in the past are history, not what holds', async () => {
    const now = await assertFact(house, 'C', ['issue 7', 'status', 'closed'], { valid_from: day(20) });
    const was = await assertFact(house, 'C', ['issue 7', 'status', 'open'], { valid_from: day(1) });
    assert.deepEqual([was.valid_to, was.superseded_by], [now.valid_from, now.fact_id]);
    assert.deepEqual(await objects(house, 'C', 'issue 7'), ['closed']);
    const between = await assertFact(house, 'L', ['issue 7', 'status', 'in review'], { valid_from: day(10) });
    assert.deepEqual([between.valid_to, between.superseded_by], [now.valid_from, now.fact_id]);
    assert.deepEqual((await factNow(house, was.fact_id))!.valid_to, between.valid_from);
    // It was so earlier than we knew: the same fact, longer.
    const longer = await assertFact(house, 'L', ['issue 7', 'status', 'closed'], { valid_from: day(15) });
    assert.equal(longer.fact_id, now.fact_id);
    assert.equal(longer.valid_from.toISOString(), new Date(day(15)).toISOString());
    assert.deepEqual((await factNow(house, between.fact_id))!.valid_to, longer.valid_from);
    // And it is no news that it was open in between.
    const known = await assertFact(house, 'L', ['issue 7', 'status', 'open'], { valid_from: day(2) });
    assert.deepEqual([known.fact_id, known.supporting_packet_count], [was.fact_id, 2]);
  });

  it('are answered as of a time, on either axis, with what each replaced', async () => {
    const asOf = async (valid_at: unknown, known_at: unknown, caller = 'C') =>
      house.sql(
        caller,
        `select (a.fact).object as object, (a.replaced).object as replaced, a.valid_from, a.valid_to
         from public.facts_as_of($1, $2, subject => 'Mara', predicate => 'lives in') a`,
        [valid_at, known_at],
      );
    const rome = await assertFact(house, 'C', ['Mara', 'lives in', 'Rome'], { valid_from: day(1) });
    const oslo = await assertFact(house, 'L', ['Mara', 'lives in', 'Oslo'], { valid_from: day(20) });
    const bern = await assertFact(house, 'L', ['Mara', 'lives in', 'Bern'], { valid_from: day(10) });

    const said = (rows: { object: string; replaced: string | null }[]) =>
      rows.map(({ object, replaced }) => [object, replaced]);
    assert.deepEqual(said(await asOf(null, null)), [['Oslo', 'Bern']]);
    assert.deepEqual(said(await asOf(day(12), null)), [['Bern', 'Rome']]);
    assert.deepEqual(said(await asOf(day(5), null)), [['Rome', null]]);
    assert.deepEqual(await asOf('2026-02-01T00:00:00Z', null), []);
    // What was known when.
    assert.deepEqual(said(await asOf(day(25), after(rome.recorded_at))), [['Rome', null]]);
    assert.deepEqual(said(await asOf(day(12), after(oslo.recorded_at))), [['Rome', null]]);
    assert.deepEqual(said(await asOf(day(25), after(oslo.recorded_at))), [['Oslo', 'Rome']]);
    assert.deepEqual(said(await asOf(day(25), after(bern.recorded_at))), [['Oslo', 'Bern']]);
    assert.deepEqual(await asOf(null, '2026-01-01T00:00:00Z'), []);
    const [first] = await asOf(day(12), after(oslo.recorded_at));
    assert.equal(first.valid_to.toISOString(), new Date(day(20)).toISOString());

    // Retracted, it was never so; but it was known until then.
    const wrong = await retract(house, 'L', oslo.fact_id, 'a misunderstanding');
    assert.deepEqual(said(await asOf(null, null)), [['Bern', 'Rome']]);
    assert.deepEqual(said(await asOf(null, after(wrong.retracted_at!, -1))), [['Oslo', 'Bern']]);
  });

  it('are retracted with a reason; what they had superseded holds again', async () => {
    const packet = await save(house, 'L', 'it is done');
    const open = await assertFact(house, 'C', ['issue 8', 'status', 'open']);
    const done = await assertFact(house, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    assert.equal(await contradictionsOf(house, open.source_packet), 1);
    const retracted = await retract(house, 'L', done.fact_id, ' the wrong issue ');
    assert.equal(retracted.retraction_reason, 'the wrong issue');
    assert.ok(retracted.retracted_at);
    const now = (await factNow(house, open.fact_id))!;
    assert.deepEqual(
      [now.valid_to, now.superseded_by, now.superseded_at, now.contradiction_count],
      [null, null, null, 0],
    );
    assert.deepEqual(
      [await contradictionsOf(house, open.source_packet), await contradictionsOf(house, packet)],
      [0, 0],
    );
    assert.deepEqual(await objects(house, 'C', 'issue 8'), ['open']);
    await assert.rejects(retract(house, 'L', done.fact_id), { code: 'L9VAL' });
    const again = await assertFact(house, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    assert.notEqual(again.fact_id, done.fact_id);
    assert.deepEqual(await objects(house, 'C', 'issue 8'), ['done']);
  });

  it('are settled anew when their predicate is registered, and when that is taken back', async () => {
    for (const [object, n] of [
      ['red', 1],
      ['green', 2],
      ['blue', 3],
    ] as const)
      await assertFact(house, 'C', ['the button', 'has colour', object], { valid_from: day(n) });
    const colours = () => objects(house, 'C', 'the button');
    assert.equal((await colours()).length, 3);
    await registerPredicate(house, 'Has  Colour');
    assert.deepEqual(await colours(), ['blue']);
    assert.deepEqual(await objects(house, 'C', 'the button', { valid_at: day(2) }), ['green']);
    await registerPredicate(house, 'has colour', false);
    assert.equal((await colours()).length, 3);
    await assert.rejects(house.sql('C', "select public.register_predicate('mine')"), { code: '42501' });
    const [row] = await house.asSuperuser(
      `select count(*)::int as n from public.audit_log where table_name = 'fact_predicates' and details ->> 'predicate' = 'has colour'`,
    );
    assert.equal(row.n, 2);
  });

  it('are found by filters, and looking is on the record and counted', async () => {
    const [sure] = [
      await assertFact(house, 'C', ['the cache', 'holds', 64], { confidence: 0.9 }),
      await assertFact(house, 'C', ['the cache', 'holds', 'vectors'], { confidence: 0.4 }),
    ];
    assert.deepEqual(await objects(house, 'C', 'THE cache'), [64, 'vectors']);
    assert.deepEqual(await objects(house, 'C', 'the cache', { min_confidence: 0.5 }), [64]);
    assert.deepEqual(await objects(house, 'C', 'the cache', { object: '64' }), [64]);
    assert.deepEqual(await objects(house, 'C', 'the cache', { k: 1 }), [64]);
    assert.deepEqual(await objects(house, 'C', 'the cache', { project_id: 'other' }), []);
    assert.deepEqual(await objects(house, 'C', 'the cache', { scope: 'global' }), []);
    await rollUp(house);
    const counted = (await factNow(house, sure.fact_id))!;
    assert.equal(counted.access_count, '4');
    const [row] = await house.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'READ' and table_name = 'knowledge_facts' and details -> 'ids' ? $1`,
      [sure.fact_id],
    );
    assert.equal(row.n, 4);
    const [changes] = await house.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'UPDATE' and table_name = 'knowledge_facts' and row_id = $1`,
      [sure.fact_id],
    );
    assert.equal(changes.n, 0, 'counting is no change');
  });

  it('are refused with an error that names the field', async () => {
    const refused = async (triple: [string, string, unknown], args: object, code: string, column: string) =>
      assert.rejects(assertFact(house, 'C', triple, args as never), { code, column });
    await refused([' ', 'is', 1], {}, 'L9VAL', 'subject');
    await refused(['x', '', 1], {}, 'L9VAL', 'predicate');
    await refused(['x', 'is', null], {}, 'L9VAL', 'object');
    await refused(['x', 'is', ' '], {}, 'L9VAL', 'object');
    await refused(['x', 'is', 'y'.repeat(9000)], {}, 'L9LIM', 'object');
    await refused(['x'.repeat(1001), 'is', 1], {}, 'L9LIM', 'subject');
    await refused(['x', 'is', 1], { confidence: 1.1 }, 'L9VAL', 'confidence');
    await refused(['x', 'is', 1], { valid_from: 'infinity' }, 'L9VAL', 'valid_from');
    const packet = await save(house, 'C', 'whose scope it takes');
    await refused(['x', 'is', 1], { source_packet: packet, scope: 'developer' }, 'L9VAL', 'scope');
    const deep = JSON.parse(`${'['.repeat(61)}1${']'.repeat(61)}`);
    await refused(['x', 'is', deep], {}, 'L9LIM', 'object');
    await assert.rejects(findFacts(house, 'C', { k: 101 }), { code: 'L9LIM', column: 'k' });
    const long = 'y'.repeat(8000);
    assert.deepEqual([(await assertFact(house, 'C', ['a long value', 'is', long])).object], [long]);
    assert.equal((await findFacts(house, 'C', { object: long })).length, 1);
  });

  it('that a model found are on record as such, once, and not found again once retracted', async () => {
    const packet = await save(house, 'C', 'The cat is called Mog.');
    const extract = async (object: string) =>
      (
        await house.gateway.database.workerPool.query(
          `select * from facts.assert_fact_from($1, 'the cat', 'is called', to_jsonb($2::text), 0.6, null, 'some-model')`,
          [packet, object],
        )
      ).rows[0];
    const fact = await extract('Mog');
    assert.equal(fact.creator, 'job');
    const [{ timestamp }] = await house.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      packet,
    ]);
    assert.deepEqual(fact.valid_from, timestamp);
    assert.deepEqual([(await extract('Mog')).supporting_packet_count, (await extract('Mog')).confidence], [1, 0.6]);
    const [evidence] = await house.sql(
      'C',
      'select extracted_by, asserted_by, mentions from public.fact_evidence where fact_id = $1',
      [fact.fact_id],
    );
    assert.deepEqual(evidence, { extracted_by: 'some-model', asserted_by: ['job'], mentions: 1 });
    await assert.rejects(retract(house, 'C', fact.fact_id), { code: 'L9OWN' });
    await retract(house, 'L', fact.fact_id);
    assert.equal((await extract('Mog')).fact_id, fact.fact_id);
    assert.deepEqual(await objects(house, 'C', 'the cat'), []);
    await extract('Tom');
    await house.gateway.database.workerPool.query('select facts.withdraw_evidence($1)', [packet]);
    // What was retracted stays as history, so that reading the memory again does not find it again.
    assert.deepEqual(await objects(house, 'C', 'the cat', { include_history: true }), ['Mog']);
    assert.equal((await extract('Mog')).fact_id, fact.fact_id);
    assert.deepEqual(await objects(house, 'C', 'the cat'), []);
  });
});
