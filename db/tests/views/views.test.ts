// Materialized views: read by functions that apply the caller's claims to the rows as they are now.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { grepDatabase } from '../../../gateway/tests/support/dump.ts';
import { eventually } from '../../../gateway/tests/support/eventually.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asOwner, asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';
import { assertFact, registerPredicate } from '../knowledge/support.ts';

const VIEWS = ['mv_agent_recent_important', 'mv_entity_graph', 'mv_high_confidence_facts', 'mv_reflection_patterns'];

describe('materialized views', () => {
  let house: House;
  let acme: Record<string, string>;
  const refresh = (caller = 'L', claims = {}) => house.sql(caller, 'call public.refresh_memory_views()', [], claims);
  before(async () => {
    house = await openHouse({ embedder: standIn });
    acme = await addTenant(house, 'acme');
    // The gateway's first refresh, not to come in the middle of a test.
    const isRefreshed = async () =>
      (await house.sql('L', 'select bool_and(age_seconds is not null) as it from public.memory_views_status()'))[0].it;
    await eventually(isRefreshed);
  });
  after(() => house.close());

  const relate = (caller: string, source: string, type: string, target: string, scope = 'developer', claims = {}) =>
    house.sql(
      caller,
      'select * from public.relate($1, $2, $3, scope => $4, project_id => $5)',
      [source, type, target, scope, 'l9'],
      claims,
    );
  const reflect = (caller: string, content: string, scope = 'developer', claims = {}) =>
    house.sql(
      caller,
      `select * from public.reflect($1, type => 'pattern', scope => $2, project_id => 'l9')`,
      [content, scope],
      claims,
    );
  /** What a caller reads of all four, as texts. */
  const reads = async (caller: string, claims = {}) => ({
    memories: (
      await house.sql(caller, 'select (memory).content as it from public.agent_recent_important(k => 500)', [], claims)
    ).map(({ it }) => it),
    edges: (
      await house.sql(
        caller,
        'select (relationship).target_entity as it from public.entity_graph(k => 500)',
        [],
        claims,
      )
    ).map(({ it }) => it),
    facts: (await house.sql(caller, 'select object as it from public.high_confidence_facts(k => 500)', [], claims)).map(
      ({ it }) => it,
    ),
    lessons: (
      await house.sql(
        caller,
        `select p.envelope ->> 'content' as it from public.reflection_patterns(k => 500) v
         join public.packet_store p on p.packet_id = (v.reflection).source_packet`,
        [],
        claims,
      )
    ).map(({ it }) => it),
  });

  it('can be selected from by nobody, and refreshed by admins and jobs only', async () => {
    for (const view of VIEWS)
      for (const caller of ['C', 'L'])
        await assert.rejects(house.sql(caller, `select * from views.${view}`), { code: '42501' }, view);
    await assert.rejects(house.gateway.database.workerPool.query(`select * from views.${VIEWS[0]}`), {
      code: '42501',
    });
    await assert.rejects(refresh('C'), { code: '42501' });
    for (const caller of ['C', 'L'])
      for (const statement of ['select * from views.memory_view_refreshes', 'select views.is_refreshing_views()'])
        await assert.rejects(house.sql(caller, statement), { code: '42501' }, statement);
    for (const view of VIEWS)
      await assert.rejects(house.sql('L', `refresh materialized view views.${view}`), { code: '42501' });
  });

  it('show what was there at the last refresh, of every tenant to itself, whoever refreshes', async () => {
    await registerPredicate(house, 'runs');
    for (const [caller, scope, claims, word] of [
      ['C', 'developer', {}, 'shared'],
      ['L', 'l-private', {}, 'secret'],
      ['C', 'developer', acme, 'theirs'],
    ] as const) {
      await house.sql(
        caller,
        `select public.save_memory($1, scope => $2, project_id => 'l9')`,
        [`note ${word}`, scope],
        claims,
      );
      await assertFact(house, caller, [`fact of ${word}`, 'runs', word], { scope }, claims);
      await relate(caller, `hub of ${word}`, 'knows', `friend ${word}`, scope, claims);
      await reflect(caller, `lesson ${word}`, scope, claims);
    }
    const before = await reads('L');
    assert.deepEqual(before, { memories: [], edges: [], facts: [], lessons: [] });
    // An admin of one tenant, with a token that is cut down.
    await refresh('L', { 'jwt.claims.scopes': '["developer"]', 'jwt.claims.projects': '["other"]' });

    const ofC = await reads('C');
    assert.deepEqual([ofC.edges, ofC.facts, ofC.lessons], [['friend shared'], ['shared'], ['lesson shared']]);
    assert.ok(ofC.memories.includes('note shared'));
    assert.ok(!JSON.stringify(ofC).match(/secret|theirs/));
    const ofL = await reads('L');
    assert.deepEqual(
      [ofL.edges.sort(), ofL.facts.sort()],
      [
        ['friend secret', 'friend shared'],
        ['secret', 'shared'],
      ],
    );
    assert.deepEqual(ofL.lessons.sort(), ['lesson secret', 'lesson shared']);
    assert.ok(ofL.memories.includes('note secret') && !JSON.stringify(ofL).includes('theirs'));
    const cut = await reads('L', { 'jwt.claims.scopes': '["developer"]' });
    assert.ok(!JSON.stringify(cut).includes('secret'));
    assert.deepEqual(await reads('L', { 'jwt.claims.projects': '["other"]' }), {
      memories: [],
      edges: [],
      facts: [],
      lessons: [],
    });
    const ofAcme = await reads('C', acme);
    assert.deepEqual([ofAcme.edges, ofAcme.facts, ofAcme.lessons], [['friend theirs'], ['theirs'], ['lesson theirs']]);
    const mine = await house.sql('L', "select agent_id from public.agent_recent_important(agent_id => 'L-CTO')");
    assert.ok(mine.length > 0 && mine.every(({ agent_id }) => agent_id === 'L-CTO'));
  });

  it('show nothing of what has moved, expired, or gone since', async () => {
    const ids = await house.sql('C', `select packet_id from public.packet_store where envelope::text like '%shared%'`);
    assert.ok(ids.length >= 4);
    const [first, ...rest] = ids.map(({ packet_id }) => packet_id as string);
    for (const id of [first, ...rest])
      await house.sql('L', `select public.update_memory($1, scope => 'l-private')`, [id]);
    assert.deepEqual(await reads('C'), { memories: [], edges: [], facts: [], lessons: [] });
    for (const id of [first, ...rest])
      await house.sql('L', `select public.update_memory($1, scope => 'developer')`, [id]);
    assert.deepEqual((await reads('C')).facts, ['shared']);
    for (const id of [first, ...rest]) await house.sql('L', `select public.erase_memory($1, 'a test')`, [id]);
    assert.deepEqual(await reads('C'), { memories: [], edges: [], facts: [], lessons: [] });
    assert.deepEqual(
      Object.keys(await asSuperuser(house, (client) => grepDatabase(client, ['shared']))).filter((name) =>
        name.includes('mv_'),
      ),
      [],
    );
    await refresh();
    for (const view of VIEWS) {
      const [row] = await house.asSuperuser(
        `select count(*)::int as n from views.${view} v where to_jsonb(v) ->> 'scope' = 'developer' and tenant_id = '00000000-0000-7000-8000-000000000001'`,
      );
      assert.equal(row.n, 0, view);
    }
  });

  it('keep to facts that are sure and little contradicted', async () => {
    await assertFact(house, 'C', ['a guess', 'is', 'vague'], { confidence: 0.5 });
    await assertFact(house, 'C', ['a surer guess', 'is', 'likely'], { confidence: 0.6 });
    await assertFact(house, 'C', ['the job', 'runs', 'daily']);
    await assertFact(house, 'C', ['the job', 'runs', 'hourly']);
    for (const object of ['on', 'off', 'on', 'off', 'on']) await assertFact(house, 'C', ['the lamp', 'runs', object]);
    await refresh();
    assert.deepEqual((await reads('C')).facts.sort(), ['hourly', 'likely']);
    // No longer what they were.
    await assertFact(house, 'C', ['the job', 'runs', 'weekly']);
    assert.deepEqual((await reads('C')).facts, ['likely']);
    assert.equal((await house.sql('C', "select from public.high_confidence_facts('A  surer guess')")).length, 1);
  });

  it('count how connected entities are, within their room', async () => {
    for (const target of ['a', 'b', 'c']) await relate('C', 'the core', 'feeds', target);
    await relate('L', 'the core', 'feeds', 'd', 'l-private');
    await refresh();
    const edges = await house.sql('C', "select source_degree, target_degree from public.entity_graph('feeds')");
    assert.deepEqual(
      edges,
      Array.from({ length: 3 }, () => ({ source_degree: 3, target_degree: 1 })),
    );
  });

  it('give nobody more by a setting that anyone can make', async () => {
    await save(house, 'L', 'behind the curtain', { scope: 'l-private' });
    await house.asCaller('C', async (client) => {
      await client.query("set local l9.refreshing_views = 'on'");
      const { rows } = await client.query('select (memory).scope from public.agent_recent_important(k => 500)');
      assert.ok(rows.every(({ scope }) => scope !== 'l-private'));
      const [secret] = (await house.home.superuserUrl)
        ? await house.asSuperuser("select packet_id as id from public.packet_store where scope = 'l-private' limit 1")
        : [{ id: '01900000-0000-7000-8000-000000000000' }];
      await assert.rejects(client.query(`select facts.assert_fact_from($1, 'a', 'b', '1')`, [secret.id]), {
        code: 'L9OWN',
      });
    });
    // Nor within the transaction of a refresh, once it is done.
    await house.asCaller('L', async (client) => {
      await client.query('call public.refresh_memory_views()');
      await client.query("set local l9.refreshing_views = 'on'");
      await client.query(`select set_config('jwt.claims.scopes', '["developer"]', true)`);
      const { rows } = await client.query('select (memory).scope from public.agent_recent_important(k => 500)');
      assert.ok(rows.every(({ scope }) => scope !== 'l-private'));
    });
  });

  it('say how old they are, and are refreshed by the job, by operators of the database, and when they were never filled', async () => {
    await house.gateway.database.workerPool.query('call public.refresh_memory_views()');
    const status = await house.sql('C', 'select * from public.memory_views_status()');
    assert.deepEqual(
      status.map(({ view_name }) => view_name),
      VIEWS,
    );
    assert.ok(status.every(({ age_seconds, seconds }) => age_seconds >= 0 && age_seconds < 60 && seconds >= 0));
    await asSuperuser(house, (client) =>
      client.query('refresh materialized view views.mv_high_confidence_facts with no data'),
    );
    await assert.rejects(house.sql('C', 'select * from public.high_confidence_facts()'), { code: '55000' });
    await asOwner(house, 'call public.refresh_memory_views()');
    assert.deepEqual((await reads('C')).facts.sort(), ['likely', 'weekly']);
    await assert.rejects(house.sql('C', 'select * from public.high_confidence_facts(k => 501)'), { code: 'L9LIM' });
  });
});
