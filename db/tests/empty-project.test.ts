// An empty project_id counts as none in every public function that takes one. The functions are read from the catalogue, so one
// that is added is tested, too.
import { named } from './support/named.ts';
import { useTestDatabase } from './support/test-database.ts';

/** Arguments without which a function is refused. */
const needed: Record<string, Record<string, unknown>> = {
  add_alias: { alias: 'bill', entity: 'billing' },
  apply_world_update: {
    insight: { insight_type: 'change', content: 'changed', entities: [{ entity_id: 'queue', delete: true }] },
  },
  assert_fact: { subject: 'api', predicate: 'written in', object: '"Go"' },
  diff_world: { a: '0' },
  due_summaries: { min_packets: 1 },
  memory_find: { query: 'billing' },
  preview_search: { query: 'billing' },
  recall_lessons: { query: 'billing' },
  reflect: { content: 'billing needs a retry' },
  reflect_on_task: { task_id: 't', description: 'a task' },
  relate: { source: 'api', type: 'calls', target: 'queue' },
  restore_world: { snapshot: '0' },
  save_memory: { content: 'a new memory' },
  set_review_rule: { needs_review: false },
  search_memory: { query: 'billing' },
  summarize: { scope_type: 'project', scope_value: 'l9' },
};

describe('an empty project_id', () => {
  const db = useTestDatabase();
  let packetId: string;
  // Calls of a caller that has a default project, which a call that names none takes.
  const claims = { 'jwt.claims.default_project': 'l9' };
  beforeAll(async () => {
    for (const project of ['l9', 'other']) {
      const [{ id }] = await db.sql(
        'L',
        "select (memory).packet_id as id from public.save_memory('billing is slow on Mondays', project_id => $1)",
        [project],
      );
      packetId ??= id;
      await db.sql('L', `select public.assert_fact('billing', 'owned by', '"ada"', 0.9, project_id => $1)`, [project]);
      await db.sql('L', "select public.relate('billing', 'calls', 'queue', project_id => $1)", [project]);
      for (let times = 0; times < 2; times += 1)
        await db.sql('L', "select public.reflect('billing fails at night', 'pattern', project_id => $1)", [project]);
      const insight = {
        insight_type: 'change',
        content: 'seen',
        entities: [{ entity_id: 'queue', entity_type: 'service' }],
      };
      await db.sql('L', 'select public.apply_world_update($1, project_id => $2)', [insight, project]);
    }
    await db.sql('L', 'call public.refresh_memory_views()');
  });

  /** What a call answers, without ids and times, which differ each time. Nothing of it stays. */
  const outcomeOf = async (name: string, args: Record<string, unknown>) => {
    let outcome: { rows: string[]; error: string | null } = { rows: [], error: null };
    const undo = new Error('undo');
    await db
      .asCaller(
        'L',
        async (client) => {
          try {
            const { rows } = await client.query(
              `select to_jsonb(r)::text as row from public.${name}(${named(args)}) r`,
              Object.values(args),
            );
            outcome.rows = rows.map(({ row }) =>
              row
                .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, 'ID')
                .replace(/\d{4}-\d\d-\d\d[T ][0-9:.]+(?:\+00(?::00)?|Z)?/g, 'TIME')
                .replace(
                  /"(took_ms|age_seconds|seconds|[a-z_]*score|importance|relevance|boost|recency)": [0-9.e-]+/g,
                  '"$1": N',
                ),
            );
          } catch (error) {
            outcome = { rows: [], error: (error as Error).message };
          }
          throw undo;
        },
        claims,
      )
      .catch((error) => {
        if (error !== undo) throw error;
      });
    return outcome;
  };

  it('counts as none in every public function', async () => {
    const { rows } = await db.pool.query(
      `select p.proname as name from pg_proc p
       where p.pronamespace = 'public'::regnamespace and 'project_id' = any (p.proargnames[:p.pronargs]) order by 1`,
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const { name } of rows) {
      const args = name === 'update_memory' ? { packet_id: packetId, tags: ['x'] } : (needed[name] ?? {});
      const without = await outcomeOf(name, { ...args, project_id: null });
      expect([name, without.error], 'a call without a project').toStrictEqual([name, null]);
      // No session is archived here.
      if (name !== 'query_cascade_memories')
        expect([name, without.rows.length > 0], 'it finds something').toStrictEqual([name, true]);
      expect([name, await outcomeOf(name, { ...args, project_id: '' })]).toStrictEqual([name, without]);
    }
  });

  it('is not the project of an audit row', async () => {
    await db.sql('L', "select public.search_memory('billing', project_id => '')", [], claims);
    await db.sql('L', "select public.get_memory_stats('')", [], claims);
    await db.sql('L', "select public.query_cascade_memories(project_id => '')", [], claims);
    expect(await db.sql('L', "select from public.audit_log where project_id = ''")).toStrictEqual([]);
  });
});
