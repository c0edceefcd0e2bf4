// The recall of a filtered vector search against an exact scan of all memories that the caller can read.
import { newPool } from '../db/tests/support/migrations.ts';
import { type Bench, figure } from './support/bench.ts';
import { MODEL } from './support/data.ts';
import { mean } from './support/load.ts';
import { sqlSearch } from './support/searching.ts';
import type { TenantName } from './support/tenants.ts';

const K = 10;

const exact = `
  select array_agg(packet_id) as ids from (
    select e.packet_id
    from public.memory_embeddings e
    where e.tenant_id = $1 and e.scope in ('developer', 'global') and e.model = '${MODEL}' and e.embedding_type = 'content'
    -- The addition keeps the index out of it.
    order by (e.vector operator(extensions.<=>) $2::extensions.vector) + 0
    limit ${K}
  ) nearest`;

export const recall: Bench = {
  name: 'recall',
  about: 'recall@10 of the vector retriever under row-level security, against an exact scan',
  async run(context) {
    const queries = (await context.queries('usual')).slice(0, Math.ceil(context.seconds * 5));
    const pool = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: 1 });
    const recallOf = async (name: TenantName) => {
      const { id } = context.tenant(name);
      const search = sqlSearch(pool, id);
      const { superuser } = context.database;
      const parts: number[] = [];
      // Boosts, contexts and threads are off, because they put other memories first on purpose.
      await superuser.query(
        `insert into public.search_settings
         select s.* from search.default_settings() d, jsonb_populate_record(d, jsonb_build_object('tenant_id', $1::uuid, 'updated_at', now(),
           'semantic_context_weight', 0, 'thread_weight', 0, 'neighbour_weight', 0, 'speaker_boost', 0, 'recency_boost', 0, 'importance_boost', 0,
           'min_relevance', 0)) s`,
        [id],
      );
      try {
        for (const query of queries) {
          const { ids: found } = await search(query, { mode: 'semantic', k: K });
          const { rows } = await superuser.query(exact, [id, query.vector]);
          const truth = rows[0].ids as string[];
          parts.push(truth.filter((id) => found.includes(id)).length / truth.length);
        }
      } finally {
        await superuser.query('delete from public.search_settings where tenant_id = $1', [id]);
      }
      return mean(parts);
    };
    const row = async (name: TenantName, goal?: { atLeast: number }) =>
      figure({
        what: `vector recall@${K}, ${context.tenant(name).visible.toLocaleString('en')} of ${context.rows.toLocaleString('en')} visible`,
        against: 'exact scan',
        ours: await recallOf(name),
        theirs: 1,
        unit: '',
        ...(goal ? { goal } : {}),
        note: `${queries.length} questions`,
      });
    try {
      return [await row('one percent', { atLeast: 0.95 }), await row('sixty percent'), await row('100')];
    } finally {
      await pool.end();
    }
  },
};
