// Materialized views are read by functions that apply the caller's claims to the current rows.
import { assertFact, registerPredicate } from '../facts/support.ts';
import { grepDatabase } from '../support/dump.ts';
import { saveMemory } from '../support/memories.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const VIEWS = [
  'mv_agent_recent_important',
  'mv_entity_graph',
  'mv_high_confidence_facts',
  'mv_recurring_lessons',
  'mv_reflection_patterns',
];

describe('materialized views', () => {
  const db = useTestDatabase();
  let acme: Record<string, string>;
  const refresh = (caller = 'L', claims = {}) => db.sql(caller, 'call public.refresh_memory_views()', [], claims);
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
    await db.asWorker('call public.refresh_memory_views()');
  });

  const relate = (caller: string, source: string, type: string, target: string, scope = 'developer', claims = {}) =>
    db.sql(
      caller,
      'select * from public.relate($1, $2, $3, scope => $4, project_id => $5)',
      [source, type, target, scope, 'l9'],
      claims,
    );
  const reflect = (caller: string, content: string, scope = 'developer', claims = {}) =>
    db.sql(
      caller,
      `select * from public.reflect($1, type => 'pattern', scope => $2, project_id => 'l9')`,
      [content, scope],
      claims,
    );
  /** The texts that a caller reads from the views of rows. */
  const reads = async (caller: string, claims = {}) => ({
    memories: (
      await db.sql(caller, 'select (memory).content as it from public.agent_recent_important(k => 500)', [], claims)
    ).map(({ it }) => it),
    edges: (
      await db.sql(caller, 'select (relationship).target_entity as it from public.entity_graph(k => 500)', [], claims)
    ).map(({ it }) => it),
    facts: (
      await db.sql(caller, 'select (fact).object as it from public.high_confidence_facts(k => 500)', [], claims)
    ).map(({ it }) => it),
    lessons: (
      await db.sql(
        caller,
        `select p.envelope ->> 'content' as it from public.recurring_lessons(k => 500) v
         join public.packet_store p on p.packet_id = (v.reflection).source_packet`,
        [],
        claims,
      )
    ).map(({ it }) => it),
  });

  it('refuses to let callers select from a view, and lets only admins and jobs refresh it', async () => {
    for (const view of VIEWS)
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, `select * from views.${view}`), view).rejects.toMatchObject({ code: '42501' });
    await expect(db.asWorker(`select * from views.${VIEWS[0]}`)).rejects.toMatchObject({
      code: '42501',
    });
    await expect(refresh('C')).rejects.toMatchObject({ code: '42501' });
    for (const caller of ['C', 'L'])
      for (const statement of ['select * from views.memory_view_refreshes', 'select views.is_refreshing_views()'])
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
    for (const view of VIEWS)
      await expect(db.sql('L', `refresh materialized view views.${view}`)).rejects.toMatchObject({
        code: '42501',
      });
  });

  it('shows each tenant its own rows as of the last refresh, whichever caller refreshed', async () => {
    await registerPredicate(db, 'runs');
    for (const [caller, scope, claims, word] of [
      ['C', 'developer', {}, 'shared'],
      ['L', 'l-private', {}, 'secret'],
      ['C', 'developer', acme, 'theirs'],
    ] as const) {
      await db.sql(
        caller,
        `select public.save_memory($1, scope => $2, project_id => 'l9')`,
        [`note ${word}`, scope],
        claims,
      );
      await assertFact(db, caller, [`fact of ${word}`, 'runs', word], { scope }, claims);
      await relate(caller, `hub of ${word}`, 'knows', `friend ${word}`, scope, claims);
      await reflect(caller, `lesson ${word}`, scope, claims);
    }
    const before = await reads('L');
    expect(before).toStrictEqual({ memories: [], edges: [], facts: [], lessons: [] });
    // An admin of one tenant refreshes, with a token for few scopes and projects.
    await refresh('L', { 'jwt.claims.scopes': '["developer"]', 'jwt.claims.projects': '["other"]' });

    const ofC = await reads('C');
    expect([ofC.edges, ofC.facts, ofC.lessons]).toStrictEqual([['friend shared'], ['shared'], ['lesson shared']]);
    expect(ofC.memories).toContain('note shared');
    expect(JSON.stringify(ofC).match(/secret|theirs/)).toBeFalsy();
    const ofL = await reads('L');
    expect([ofL.edges.sort(), ofL.facts.sort()]).toStrictEqual([
      ['friend secret', 'friend shared'],
      ['secret', 'shared'],
    ]);
    expect(ofL.lessons.sort()).toStrictEqual(['lesson secret', 'lesson shared']);
    expect(ofL.memories).toContain('note secret');
    expect(JSON.stringify(ofL)).not.toContain('theirs');
    const cut = await reads('L', { 'jwt.claims.scopes': '["developer"]' });
    expect(JSON.stringify(cut)).not.toContain('secret');
    expect(await reads('L', { 'jwt.claims.projects': '["other"]' })).toStrictEqual({
      memories: [],
      edges: [],
      facts: [],
      lessons: [],
    });
    const ofAcme = await reads('C', acme);
    expect([ofAcme.edges, ofAcme.facts, ofAcme.lessons]).toStrictEqual([
      ['friend theirs'],
      ['theirs'],
      ['lesson theirs'],
    ]);
    const mine = await db.sql('L', "select agent_id from public.agent_recent_important(agent_id => 'L-CTO')");
    expect(mine.length).toBeGreaterThan(0);
    expect(mine.every(({ agent_id }) => agent_id === 'L-CTO')).toBe(true);
  });

  it('shows no row that has moved or was erased since the refresh', async () => {
    const ids = await db.sql('C', `select packet_id from public.packet_store where envelope::text like '%shared%'`);
    expect(ids.length).toBeGreaterThanOrEqual(4);
    const [first, ...rest] = ids.map(({ packet_id }) => packet_id as string);
    for (const id of [first, ...rest]) await db.sql('L', `select public.update_memory($1, scope => 'l-private')`, [id]);
    expect(await reads('C')).toStrictEqual({ memories: [], edges: [], facts: [], lessons: [] });
    for (const id of [first, ...rest]) await db.sql('L', `select public.update_memory($1, scope => 'developer')`, [id]);
    expect((await reads('C')).facts).toStrictEqual(['shared']);
    for (const id of [first, ...rest]) await db.sql('L', `select public.erase_memory($1, 'a test')`, [id]);
    expect(await reads('C')).toStrictEqual({ memories: [], edges: [], facts: [], lessons: [] });
    expect(
      Object.keys(await db.inSuperuserSession((client) => grepDatabase(client, ['shared']))).filter((name) =>
        name.includes('mv_'),
      ),
    ).toStrictEqual([]);
    await refresh();
    for (const view of VIEWS) {
      const [row] = await db.asSuperuser(
        `select count(*)::int as n from views.${view} v where to_jsonb(v) ->> 'scope' = 'developer' and tenant_id = '00000000-0000-7000-8000-000000000001'`,
      );
      expect(row.n, view).toBe(0);
    }
  });

  it('shows only facts of high confidence with few contradictions', async () => {
    await assertFact(db, 'C', ['a guess', 'is', 'vague'], { confidence: 0.5 });
    await assertFact(db, 'C', ['a surer guess', 'is', 'likely'], { confidence: 0.6 });
    await assertFact(db, 'C', ['the job', 'runs', 'daily']);
    await assertFact(db, 'C', ['the job', 'runs', 'hourly']);
    for (const caller of ['D', 'E', 'F']) {
      await db.sql('L', 'select public.register_actor($1)', [caller]);
      await assertFact(db, caller, ['the lamp', 'runs', 'off']);
    }
    await assertFact(db, 'C', ['the lamp', 'runs', 'on']);
    await refresh();
    expect((await reads('C')).facts.sort()).toStrictEqual(['hourly', 'likely']);
    // The fact is superseded, so the condition of the view no longer holds.
    await assertFact(db, 'C', ['the job', 'runs', 'weekly']);
    expect((await reads('C')).facts).toStrictEqual(['likely']);
    expect(await db.sql('C', "select from public.high_confidence_facts('A  surer guess')")).toHaveLength(1);
  });

  it('shows no more rows to a caller that sets l9.refreshing_views', async () => {
    const secret = await saveMemory(db, 'L', { content: 'behind the curtain', scope: 'l-private' });
    await db.asCaller('C', async (client) => {
      await client.query("set local l9.refreshing_views = 'on'");
      const { rows } = await client.query('select (memory).scope from public.agent_recent_important(k => 500)');
      expect(rows.every(({ scope }) => scope !== 'l-private')).toBe(true);
      await expect(client.query(`select facts.assert_fact_from($1, 'a', 'b', '1')`, [secret])).rejects.toMatchObject({
        code: 'L9OWN',
      });
    });
    // The setting shows no more rows in the transaction of a refresh either, once the refresh is done.
    await db.asCaller('L', async (client) => {
      await client.query('call public.refresh_memory_views()');
      await client.query("set local l9.refreshing_views = 'on'");
      await client.query(`select set_config('jwt.claims.scopes', '["developer"]', true)`);
      const { rows } = await client.query('select (memory).scope from public.agent_recent_important(k => 500)');
      expect(rows.every(({ scope }) => scope !== 'l-private')).toBe(true);
    });
  });

  it('reports the age of the views, and refreshes them for jobs and owners, also if they are empty', async () => {
    await db.asWorker('call public.refresh_memory_views()');
    const status = await db.sql('C', 'select * from public.memory_views_status()');
    expect(status.map(({ view_name }) => view_name)).toStrictEqual(VIEWS);
    expect(status.every(({ age_seconds, seconds }) => age_seconds >= 0 && age_seconds < 60 && seconds >= 0)).toBe(true);
    await db.inSuperuserSession((client) =>
      client.query('refresh materialized view views.mv_high_confidence_facts with no data'),
    );
    await expect(db.sql('C', 'select * from public.high_confidence_facts()')).rejects.toMatchObject({
      code: '55000',
    });
    await db.asOwner('call public.refresh_memory_views()');
    expect((await reads('C')).facts.sort()).toStrictEqual(['likely', 'weekly']);
    await expect(db.sql('C', 'select * from public.high_confidence_facts(k => 501)')).rejects.toMatchObject({
      code: 'L9LIM',
    });
  });
});
