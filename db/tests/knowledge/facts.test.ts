// Facts: what is asserted grows, is superseded, retracted and asked for as of some time.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { rollUp, save } from '../importance/support.ts';
import { assertFact, contradictionsOf, factNow, findFacts, objects, registerPredicate, retract } from './support.ts';

describe('facts', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    for (const predicate of ['status', 'deploys on', 'lives in']) await registerPredicate(gateway, predicate);
  });
  afterAll(() => gateway.close());

  /** Times of the database are finer than those here. */
  const justAfter = (time: Date, ms = 1) => new Date(time.getTime() + ms);
  const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

  it('keep what was said, and where', async () => {
    const packet = await save(gateway, 'C', 'the gateway is written in TypeScript');
    const fact = await assertFact(gateway, 'C', ['The  Gateway', 'Written In', 'TypeScript'], {
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
    expect(await objects(gateway, 'L', 'the gateway')).toStrictEqual(['TypeScript']);
  });

  it('without a memory are saved as one, of kind fact', async () => {
    const fact = await assertFact(gateway, 'C', ['Rollup job', 'runs every', { seconds: 15 }]);
    const [memory] = await gateway.sql(
      'C',
      'select content, packet_type, envelope from public.packet_store where packet_id = $1',
      [fact.source_packet],
    );
    expect(memory.packet_type).toBe('fact');
    expect(memory.content).toBe('Rollup job runs every: {"seconds": 15}');
    expect(memory.envelope.object).toStrictEqual({ seconds: 15 });
    const global = await assertFact(gateway, 'L', ['the sea', 'is', 'salty'], { scope: 'global' });
    expect([global.scope, global.project_id]).toStrictEqual(['global', null]);
  });

  it('grow with each memory that says the same, and with each repetition, bounded', async () => {
    const [first, second] = [await save(gateway, 'C', 'one of two'), await save(gateway, 'L', 'two of two')];
    const say = (caller: string, source_packet: string, confidence = 0.8, object = 'PostgreSQL') =>
      assertFact(gateway, caller, ['l9', 'rests on', object], { source_packet, confidence });
    const once = await say('C', first, 0.5);
    const twice = await say('L', second, 0.5, 'postgreSQL ');
    expect(twice.fact_id).toBe(once.fact_id);
    expect(twice.object, 'as it was first spelt').toBe('PostgreSQL');
    expect([twice.supporting_packet_count, twice.confidence]).toStrictEqual([2, 0.75]);
    // The same memory again is no more evidence; surer, it counts as that.
    expect([(await say('C', first, 0.4)).confidence, (await say('L', first, 0.5)).confidence]).toStrictEqual([
      0.75, 0.75,
    ]);
    const surer = await say('C', first, 0.8);
    expect([surer.supporting_packet_count, surer.confidence]).toStrictEqual([2, 0.9]);

    const counts: [number, number][] = [];
    for (let i = 0; i < 5; i++) {
      const fact = await assertFact(gateway, 'C', ['water', 'is', 'wet'], { confidence: 0.7 });
      counts.push([fact.supporting_packet_count, fact.confidence]);
    }
    expect(counts).toStrictEqual([
      [1, 0.7],
      [2, 0.91],
      [3, 0.973],
      [4, 0.99],
      [5, 0.99],
    ]);
  });

  it('of a multi-valued predicate stand side by side', async () => {
    for (const name of ['Ada', 'Grace']) await assertFact(gateway, 'C', ['the team', 'has member', name]);
    const found = await findFacts(gateway, 'C', { subject: 'the team' });
    expect(found.map(({ object }) => object).sort()).toStrictEqual(['Ada', 'Grace']);
    expect(found.every(({ valid_to, contradiction_count }) => valid_to === null && contradiction_count === 0)).toBe(
      true,
    );
  });

  it('of a single-valued predicate supersede each other, and their sources lose weight', async () => {
    const [ofOld, ofNew] = [
      await save(gateway, 'C', 'we deploy on Mondays'),
      await save(gateway, 'L', 'it is Tuesdays now'),
    ];
    const importance = async () =>
      (
        await gateway.sql(
          'C',
          'select public.packet_store_importance_score(p) as score from public.packet_store p where packet_id = $1',
          [ofOld],
        )
      )[0].score;
    const before = await importance();
    const monday = await assertFact(gateway, 'C', ['l9', 'deploys on', 'Monday'], { source_packet: ofOld });
    const tuesday = await assertFact(gateway, 'L', ['L9', 'deploys on', 'Tuesday'], { source_packet: ofNew });
    expect([tuesday.valid_to, tuesday.superseded_by, tuesday.contradiction_count]).toStrictEqual([null, null, 1]);
    const old = (await factNow(gateway, monday.fact_id))!;
    expect(old.valid_to).toStrictEqual(tuesday.valid_from);
    expect(old.superseded_by).toBe(tuesday.fact_id);
    expect(old.superseded_at).toStrictEqual(tuesday.recorded_at);
    expect(old.contradiction_count).toBe(1);
    expect([await contradictionsOf(gateway, ofOld), await contradictionsOf(gateway, ofNew)]).toStrictEqual([1, 1]);
    expect(await importance()).toBeLessThan(before - 0.1);
    expect(await objects(gateway, 'C', 'l9', { predicate: 'deploys on' })).toStrictEqual(['Tuesday']);
    expect(
      (await objects(gateway, 'C', 'l9', { predicate: 'deploys on', include_history: true })).sort(),
    ).toStrictEqual(['Monday', 'Tuesday']);
    expect(
      await objects(gateway, 'C', 'l9', { predicate: 'deploys on', valid_at: justAfter(monday.valid_from) }),
    ).toStrictEqual(['Monday']);

    // What had ended and is said again is a new row; the more it goes to and fro, the more it is contradicted.
    const again = await assertFact(gateway, 'C', ['l9', 'deploys on', 'Monday'], { source_packet: ofOld });
    expect(again.fact_id).not.toBe(monday.fact_id);
    expect([again.contradiction_count, again.supporting_packet_count, again.valid_to]).toStrictEqual([2, 1, null]);
    expect((await factNow(gateway, tuesday.fact_id))!.superseded_by).toBe(again.fact_id);
    const back = await assertFact(gateway, 'L', ['l9', 'deploys on', 'Tuesday'], { source_packet: ofNew });
    expect(back.contradiction_count).toBe(3);
  });

  it('that began in the past are history, not what holds', async () => {
    const now = await assertFact(gateway, 'C', ['issue 7', 'status', 'closed'], { valid_from: day(20) });
    const was = await assertFact(gateway, 'C', ['issue 7', 'status', 'open'], { valid_from: day(1) });
    expect([was.valid_to, was.superseded_by]).toStrictEqual([now.valid_from, now.fact_id]);
    expect(await objects(gateway, 'C', 'issue 7')).toStrictEqual(['closed']);
    const between = await assertFact(gateway, 'L', ['issue 7', 'status', 'in review'], { valid_from: day(10) });
    expect([between.valid_to, between.superseded_by]).toStrictEqual([now.valid_from, now.fact_id]);
    expect((await factNow(gateway, was.fact_id))!.valid_to).toStrictEqual(between.valid_from);
    // It was so earlier than we knew: the same fact, longer.
    const longer = await assertFact(gateway, 'L', ['issue 7', 'status', 'closed'], { valid_from: day(15) });
    expect(longer.fact_id).toBe(now.fact_id);
    expect(longer.valid_from.toISOString()).toBe(new Date(day(15)).toISOString());
    expect((await factNow(gateway, between.fact_id))!.valid_to).toStrictEqual(longer.valid_from);
    // And it is no news that it was open in between.
    const known = await assertFact(gateway, 'L', ['issue 7', 'status', 'open'], { valid_from: day(2) });
    expect([known.fact_id, known.supporting_packet_count]).toStrictEqual([was.fact_id, 2]);
  });

  it('are answered as of a time, on either axis, with what each replaced', async () => {
    const asOf = async (valid_at: unknown, known_at: unknown, caller = 'C') =>
      gateway.sql(
        caller,
        `select (a.fact).object as object, (a.replaced).object as replaced, a.valid_from, a.valid_to
         from public.facts_as_of($1, $2, subject => 'Mara', predicate => 'lives in') a`,
        [valid_at, known_at],
      );
    const rome = await assertFact(gateway, 'C', ['Mara', 'lives in', 'Rome'], { valid_from: day(1) });
    const oslo = await assertFact(gateway, 'L', ['Mara', 'lives in', 'Oslo'], { valid_from: day(20) });
    const bern = await assertFact(gateway, 'L', ['Mara', 'lives in', 'Bern'], { valid_from: day(10) });

    const said = (rows: { object: string; replaced: string | null }[]) =>
      rows.map(({ object, replaced }) => [object, replaced]);
    expect(said(await asOf(null, null))).toStrictEqual([['Oslo', 'Bern']]);
    expect(said(await asOf(day(12), null))).toStrictEqual([['Bern', 'Rome']]);
    expect(said(await asOf(day(5), null))).toStrictEqual([['Rome', null]]);
    expect(await asOf('2026-02-01T00:00:00Z', null)).toStrictEqual([]);
    // What was known when.
    expect(said(await asOf(day(25), justAfter(rome.recorded_at)))).toStrictEqual([['Rome', null]]);
    expect(said(await asOf(day(12), justAfter(oslo.recorded_at)))).toStrictEqual([['Rome', null]]);
    expect(said(await asOf(day(25), justAfter(oslo.recorded_at)))).toStrictEqual([['Oslo', 'Rome']]);
    expect(said(await asOf(day(25), justAfter(bern.recorded_at)))).toStrictEqual([['Oslo', 'Bern']]);
    expect(await asOf(null, '2026-01-01T00:00:00Z')).toStrictEqual([]);
    const [first] = await asOf(day(12), justAfter(oslo.recorded_at));
    expect(first.valid_to.toISOString()).toBe(new Date(day(20)).toISOString());

    // Retracted, it was never so; but it was known until then.
    const wrong = await retract(gateway, 'L', oslo.fact_id, 'a misunderstanding');
    expect(said(await asOf(null, null))).toStrictEqual([['Bern', 'Rome']]);
    expect(said(await asOf(null, justAfter(wrong.retracted_at!, -1)))).toStrictEqual([['Oslo', 'Bern']]);
  });

  it('are retracted with a reason; what they had superseded holds again', async () => {
    const packet = await save(gateway, 'L', 'it is done');
    const open = await assertFact(gateway, 'C', ['issue 8', 'status', 'open']);
    const done = await assertFact(gateway, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    expect(await contradictionsOf(gateway, open.source_packet)).toBe(1);
    const retracted = await retract(gateway, 'L', done.fact_id, ' the wrong issue ');
    expect(retracted.retraction_reason).toBe('the wrong issue');
    expect(retracted.retracted_at).toBeTruthy();
    const now = (await factNow(gateway, open.fact_id))!;
    expect([now.valid_to, now.superseded_by, now.superseded_at, now.contradiction_count]).toStrictEqual([
      null,
      null,
      null,
      0,
    ]);
    expect([
      await contradictionsOf(gateway, open.source_packet),
      await contradictionsOf(gateway, packet),
    ]).toStrictEqual([0, 0]);
    expect(await objects(gateway, 'C', 'issue 8')).toStrictEqual(['open']);
    await expect(retract(gateway, 'L', done.fact_id)).rejects.toMatchObject({ code: 'L9VAL' });
    const again = await assertFact(gateway, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    expect(again.fact_id).not.toBe(done.fact_id);
    expect(await objects(gateway, 'C', 'issue 8')).toStrictEqual(['done']);
  });

  it('are settled anew when their predicate is registered, and when that is taken back', async () => {
    for (const [object, n] of [
      ['red', 1],
      ['green', 2],
      ['blue', 3],
    ] as const)
      await assertFact(gateway, 'C', ['the button', 'has colour', object], { valid_from: day(n) });
    const colours = () => objects(gateway, 'C', 'the button');
    expect(await colours()).toHaveLength(3);
    await registerPredicate(gateway, 'Has  Colour');
    expect(await colours()).toStrictEqual(['blue']);
    expect(await objects(gateway, 'C', 'the button', { valid_at: day(2) })).toStrictEqual(['green']);
    await registerPredicate(gateway, 'has colour', false);
    expect(await colours()).toHaveLength(3);
    await expect(gateway.sql('C', "select public.register_predicate('mine')")).rejects.toMatchObject({ code: '42501' });
    const [row] = await gateway.asSuperuser(
      `select count(*)::int as n from public.audit_log where table_name = 'fact_predicates' and details ->> 'predicate' = 'has colour'`,
    );
    expect(row.n).toBe(2);
  });

  it('are found by filters, and looking is on the record and counted', async () => {
    const [sure] = [
      await assertFact(gateway, 'C', ['the cache', 'holds', 64], { confidence: 0.9 }),
      await assertFact(gateway, 'C', ['the cache', 'holds', 'vectors'], { confidence: 0.4 }),
    ];
    expect(await objects(gateway, 'C', 'THE cache')).toStrictEqual([64, 'vectors']);
    expect(await objects(gateway, 'C', 'the cache', { min_confidence: 0.5 })).toStrictEqual([64]);
    expect(await objects(gateway, 'C', 'the cache', { object: '64' })).toStrictEqual([64]);
    expect(await objects(gateway, 'C', 'the cache', { k: 1 })).toStrictEqual([64]);
    expect(await objects(gateway, 'C', 'the cache', { project_id: 'other' })).toStrictEqual([]);
    expect(await objects(gateway, 'C', 'the cache', { scope: 'global' })).toStrictEqual([]);
    await rollUp(gateway);
    const counted = (await factNow(gateway, sure.fact_id))!;
    expect(counted.access_count).toBe('4');
    const [row] = await gateway.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'READ' and table_name = 'knowledge_facts' and details -> 'ids' ? $1`,
      [sure.fact_id],
    );
    expect(row.n).toBe(4);
    const [changes] = await gateway.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'UPDATE' and table_name = 'knowledge_facts' and row_id = $1`,
      [sure.fact_id],
    );
    expect(changes.n, 'counting is no change').toBe(0);
  });

  it('are refused with an error that names the field', async () => {
    const refused = async (triple: [string, string, unknown], args: object, code: string, column: string) =>
      expect(assertFact(gateway, 'C', triple, args as never)).rejects.toMatchObject({ code, column });
    await refused([' ', 'is', 1], {}, 'L9VAL', 'subject');
    await refused(['x', '', 1], {}, 'L9VAL', 'predicate');
    await refused(['x', 'is', null], {}, 'L9VAL', 'object');
    await refused(['x', 'is', ' '], {}, 'L9VAL', 'object');
    await refused(['x', 'is', 'y'.repeat(9000)], {}, 'L9LIM', 'object');
    await refused(['x'.repeat(1001), 'is', 1], {}, 'L9LIM', 'subject');
    await refused(['x', 'is', 1], { confidence: 1.1 }, 'L9VAL', 'confidence');
    await refused(['x', 'is', 1], { valid_from: 'infinity' }, 'L9VAL', 'valid_from');
    const packet = await save(gateway, 'C', 'whose scope it takes');
    await refused(['x', 'is', 1], { source_packet: packet, scope: 'developer' }, 'L9VAL', 'scope');
    const deep = JSON.parse(`${'['.repeat(61)}1${']'.repeat(61)}`);
    await refused(['x', 'is', deep], {}, 'L9LIM', 'object');
    await expect(findFacts(gateway, 'C', { k: 101 })).rejects.toMatchObject({ code: 'L9LIM', column: 'k' });
    const long = 'y'.repeat(8000);
    expect([(await assertFact(gateway, 'C', ['a long value', 'is', long])).object]).toStrictEqual([long]);
    expect(await findFacts(gateway, 'C', { object: long })).toHaveLength(1);
  });

  it('that a model found are on record as such, once, and not found again once retracted', async () => {
    const packet = await save(gateway, 'C', 'The cat is called Mog.');
    const extract = async (object: string) =>
      (
        await gateway.instance.database.workerPool.query(
          `select * from facts.assert_fact_from($1, 'the cat', 'is called', to_jsonb($2::text), 0.6, null, 'some-model')`,
          [packet, object],
        )
      ).rows[0];
    const fact = await extract('Mog');
    expect(fact.creator).toBe('job');
    const [{ timestamp }] = await gateway.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      packet,
    ]);
    expect(fact.valid_from).toStrictEqual(timestamp);
    expect([(await extract('Mog')).supporting_packet_count, (await extract('Mog')).confidence]).toStrictEqual([1, 0.6]);
    const [evidence] = await gateway.sql(
      'C',
      'select extracted_by, asserted_by, mentions from public.fact_evidence where fact_id = $1',
      [fact.fact_id],
    );
    expect(evidence).toStrictEqual({ extracted_by: 'some-model', asserted_by: ['job'], mentions: 1 });
    await expect(retract(gateway, 'C', fact.fact_id)).rejects.toMatchObject({ code: 'L9OWN' });
    await retract(gateway, 'L', fact.fact_id);
    expect((await extract('Mog')).fact_id).toBe(fact.fact_id);
    expect(await objects(gateway, 'C', 'the cat')).toStrictEqual([]);
    await extract('Tom');
    await gateway.instance.database.workerPool.query('select facts.withdraw_evidence($1)', [packet]);
    // What was retracted stays as history, so that reading the memory again does not find it again.
    expect(await objects(gateway, 'C', 'the cat', { include_history: true })).toStrictEqual(['Mog']);
    expect((await extract('Mog')).fact_id).toBe(fact.fact_id);
    expect(await objects(gateway, 'C', 'the cat')).toStrictEqual([]);
  });
});
