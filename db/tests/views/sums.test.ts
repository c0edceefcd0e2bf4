// What the materialized views sum up and score, for each caller.
import { assertFact } from '../facts/support.ts';
import { saveMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a view that sums up', () => {
  const db = useTestDatabase();
  let acme: Claims;
  const refresh = () => db.sql('L', 'call public.refresh_memory_views()');
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
  });

  const graph = (caller: string, claims = {}, args = '') =>
    db.sql(
      caller,
      `select (g.relationship).target_entity as target, g.total_mentions::int, g.max_confidence, g.avg_confidence,
         g.relationship_count, g.last_seen, g.source_degree, g.target_degree
       from public.entity_graph('feeds' ${args}) g order by 1`,
      [],
      claims,
    );
  const patterns = (caller: string, claims = {}, args = '') =>
    db.sql(
      caller,
      `select p.*, (p.latest > now() - interval '1 hour') as latest from public.reflection_patterns(${args}) p`,
      [],
      claims,
    );
  const relateIn = (caller: string, target: string, project: string, scope: string, confidence: number, claims = {}) =>
    db.sql(
      caller,
      "select * from public.relate('the core', 'feeds', $1, scope => $2, project_id => $3, confidence => $4)",
      [target, scope, project, confidence],
      claims,
    );
  const learn = (
    caller: string,
    type: string,
    content: string,
    tags: string[],
    scope = 'developer',
    project = 'l9',
    claims = {},
  ) =>
    db.sql(
      caller,
      'select * from public.reflect($1, type => $2, tags => $3, scope => $4, project_id => $5, confidence => 0.5)',
      [content, type, tags, scope, project],
      claims,
    );

  it('sums up relations of the same entities across projects, over what each caller may read', async () => {
    await db.sql('L', "select public.register_actor('D')");
    await relateIn('C', 'a', 'l9', 'developer', 0.5);
    await relateIn('D', 'a', 'l9', 'developer', 0.5);
    await relateIn('C', 'a', 'future-x', 'developer', 0.25);
    await relateIn('C', 'b', 'l9', 'developer', 0.5);
    await refresh();
    const before = await graph('C');
    expect(before).toMatchObject([
      {
        target: 'a',
        total_mentions: 3,
        max_confidence: 0.75,
        avg_confidence: 0.5,
        relationship_count: 2,
        source_degree: 2,
        target_degree: 1,
      },
      {
        target: 'b',
        total_mentions: 1,
        max_confidence: 0.5,
        avg_confidence: 0.5,
        relationship_count: 1,
        source_degree: 2,
        target_degree: 1,
      },
    ]);
    await relateIn('L', 'a', 'l9', 'l-private', 0.9);
    await relateIn('L', 'z', 'l9', 'l-private', 0.9);
    await relateIn('C', 'a', 'l9', 'developer', 0.9, acme);
    await refresh();
    expect(await graph('C'), 'what is hidden changes nothing').toStrictEqual(before);
    expect(await graph('L')).toMatchObject([
      { target: 'a', total_mentions: 4, max_confidence: 0.9, relationship_count: 3, source_degree: 3 },
      { target: 'b', source_degree: 3 },
      { target: 'z', total_mentions: 1 },
    ]);
    expect(await graph('C', { 'jwt.claims.projects': '["future-x"]' })).toMatchObject([
      { target: 'a', total_mentions: 1, max_confidence: 0.25, relationship_count: 1, source_degree: 1 },
    ]);
    expect(await graph('C', {}, ", project_id => 'future-x'")).toMatchObject([
      { target: 'a', relationship_count: 1, source_degree: 1 },
    ]);
    expect(await graph('C', {}, ', min_confidence => 0.6')).toMatchObject([{ target: 'a', source_degree: 2 }]);
  });

  it('counts reflections by type, over what each caller may read', async () => {
    await learn('C', 'failure', 'the deploy broke', ['deploy', 'ci']);
    await learn('C', 'failure', 'the import broke', ['import', 'ci'], 'developer', 'future-x');
    await learn('C', 'success', 'the export ran', []);
    await refresh();
    const before = await patterns('C');
    expect(before).toStrictEqual([
      {
        reflection_type: 'failure',
        count: 2,
        avg_confidence: 0.5,
        all_tags: ['ci', 'deploy', 'import'],
        latest: true,
      },
      { reflection_type: 'success', count: 1, avg_confidence: 0.5, all_tags: [], latest: true },
    ]);
    await learn('L', 'failure', 'the secret broke', ['secret'], 'l-private');
    await learn('C', 'failure', 'theirs broke', ['theirs'], 'developer', 'l9', acme);
    await refresh();
    expect(await patterns('C')).toStrictEqual(before);
    expect(await patterns('L', {}, "'failure'")).toMatchObject([
      { count: 3, all_tags: ['ci', 'deploy', 'import', 'secret'] },
    ]);
    expect(await patterns('C', { 'jwt.claims.projects': '["future-x"]' }, "'failure'")).toMatchObject([
      { count: 1, all_tags: ['ci', 'import'] },
    ]);
    const [{ packet_id }] = await db.sql(
      'C',
      "select packet_id from public.packet_store where envelope ->> 'content' = 'the import broke'",
    );
    await db.sql('L', "select public.erase_memory($1, 'a test')", [packet_id]);
    expect(await patterns('C', {}, "'failure'"), 'what is erased goes at once').toMatchObject([
      { count: 1, all_tags: ['ci', 'deploy'] },
    ]);
  });

  it('scores memories and facts by importance or confidence, age or support, and use', async () => {
    const used = await saveMemory(db, 'C', { content: 'used', importance: 0.5, project_id: 'scores' });
    await saveMemory(db, 'C', { content: 'unused', importance: 0.5, project_id: 'scores' });
    await saveMemory(db, 'C', {
      content: 'older',
      importance: 0.5,
      project_id: 'scores',
      timestamp: new Date(Date.now() - 20 * 86_400_000),
    });
    const fact = await assertFact(db, 'C', ['the lift', 'goes', 'up'], { confidence: 0.8 });
    await db.asSuperuser(
      'insert into public.memory_signals (packet_id, tenant_id, access_count) select packet_id, tenant_id, 30 from public.packet_store where packet_id = $1',
      [used],
    );
    await db.asSuperuser('update public.knowledge_facts set access_count = 10 where fact_id = $1', [fact.fact_id]);
    await refresh();
    const memories = await db.sql(
      'C',
      "select (memory).content as it, importance_score, access_count::int, combined_score from public.agent_recent_important(project_id => 'scores', k => 500) where (memory).project_id = 'scores'",
    );
    // How often one was found or read is shown, and changes no score.
    expect(memories.map(({ it, access_count }) => [it, access_count])).toStrictEqual([
      ['unused', 0],
      ['used', 30],
      ['older', 0],
    ]);
    for (const [place, recency] of [
      [0, 1],
      [1, 1],
      [2, 0.25],
    ] as const)
      expect(memories[place].combined_score).toBeCloseTo(0.7 * memories[place].importance_score + 0.3 * recency, 2);
    const [scored] = await db.sql(
      'C',
      "select access_count::int, combined_score from public.high_confidence_facts('the lift')",
    );
    expect(scored.access_count).toBe(10);
    expect(scored.combined_score).toBeCloseTo(0.7 * 0.8, 4);
  });
});
