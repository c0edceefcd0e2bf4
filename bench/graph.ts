// explore_graph as an agent against a plain recursive CTE without row-level security and limits. The entity graph has
// degrees by Zipf's law and one hub of 10,000 relations.
import type pg from 'pg';
import { newPool } from '../db/tests/support/migrations.ts';
import { toSettings } from '../gateway/src/auth/identity.ts';
import { SQLSTATE, sqlstateOf } from '../gateway/src/base/errors.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { type Bench, type Context, figure, type Row, ratio } from './support/bench.ts';
import { dropIndexes, makeIndexes } from './support/data.ts';
import { quantile, timed } from './support/load.ts';
import { agentOf, type TenantName } from './support/tenants.ts';

const TENANT: TenantName = 'sixty percent';
const HUB = 'hub';
const HUB_EDGES = 10_000;
const LIMIT = 50;
/** The statement timeout of the recursive CTE; less in a short run, whose figures say nothing. */
const patienceOf = ({ seconds }: Pick<Context, 'seconds'>) => Math.min(10_000, 1_000 + 2_000 * seconds);

/** Changing this version rebuilds the graph. */
const GRAPH_VERSION = 1;

/** Loads the graph as a superuser without triggers, in scopes like those of memories: the agent can read 85 % of it. */
async function loadGraph(client: pg.ClientBase, tenant: string, edges: number, report: (line: string) => void) {
  const { rows: known } = await client.query(
    `select to_regclass('bench.graph') is not null
       and query_to_xml('select edges, version from bench.graph', false, false, '')::text ~ $1 as is_loaded`,
    [`<edges>${edges}</edges>\\s*<version>${GRAPH_VERSION}</version>`],
  );
  if (known[0].is_loaded) return;
  report(`loading ${edges.toLocaleString('en')} relations`);
  const started = performance.now();
  await client.query('drop table if exists bench.graph; truncate public.entity_relationships cascade');
  const indexes = await dropIndexes(client, ['public.entity_relationships']);
  await client.query(`
    set synchronous_commit = off;
    set session_replication_role = replica;
    set work_mem = '256MB';
    select setseed(0.25)`);
  await client.query(
    `with sources as materialized (
       select p.packet_id, p.scope, p.project_id, row_number() over (order by p.packet_id) - 1 as place
       from public.packet_store p where p.tenant_id = $1
     ), many as (
       select count(*) as memories from sources
     ), drawn as materialized (
       -- Of as many entities as every fifth relation; the first are drawn far more often than the last.
       select n, case when n <= $3::int then $4 else 'entity ' || floor($2::int / 5 * random() ^ 2.65)::int end as source,
         'entity ' || floor($2::int / 5 * random())::int as target,
         (array['uses', 'depends_on', 'owns', 'runs_on', 'calls', 'replaces', 'tests', 'documents'])[floor(8 * random())::int + 1] as type,
         round(0.2 + 0.79 * random()::numeric, 3)::double precision as confidence,
         floor(memories * random())::int as place
       from generate_series(1, $2::int) as n, many
     )
     insert into public.entity_relationships (source_entity, source_normalized, relationship_type, target_entity, target_normalized,
       confidence, source_packet, tenant_id, project_id, scope, creator)
     select distinct on (d.source, d.type, d.target) initcap(d.source), d.source, d.type, initcap(d.target), d.target,
       d.confidence, s.packet_id, $1, s.project_id, s.scope, 'Cursor-IDE'
     from drawn d join sources s on s.place = d.place
     where d.source <> d.target
     order by d.source, d.type, d.target, d.n`,
    [tenant, edges, Math.min(HUB_EDGES, edges / 10), HUB],
  );
  await client.query('reset session_replication_role; reset synchronous_commit; reset work_mem');
  await makeIndexes([client], indexes, report);
  await client.query('vacuum (analyze) public.entity_relationships');
  await client.query(`create table bench.graph as select ${edges} as edges, ${GRAPH_VERSION} as version`);
  report(`  in ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

const OURS = `select to_jsonb(g.paths) as paths, g.is_truncated from public.explore_graph($1, $2, "limit" => ${LIMIT}) g`;

const neighbours = (near: string, far: string) => `
  select r.${far} as name, r.confidence from public.entity_relationships r
  where r.tenant_id = $1 and r.${near} = w.name and r.scope = any ('{developer,global}')`;
const THEIRS = `
  with recursive walk as (
    select $2::text as name, 1::double precision as confidence, 0 as depth, array[$2::text] as been
    union all
    select n.name, w.confidence * n.confidence, w.depth + 1, w.been || n.name
    from walk w
    cross join lateral (
      ${neighbours('source_normalized', 'target_normalized')} union all ${neighbours('target_normalized', 'source_normalized')}
    ) n
    where w.depth < $3 and n.name <> all (w.been)
  )
  select name, max(confidence) as confidence from walk where depth > 0 group by name order by 2 desc, 1 limit ${LIMIT}`;

interface Answer {
  paths: { entity: string; confidence: number }[];
  is_truncated: boolean;
}

async function compare(
  context: Context,
  agents: pg.Pool,
  depth: number,
  from: string,
  entities: readonly string[],
): Promise<Row> {
  const { superuser } = context.database;
  const { id: tenant } = context.tenant(TENANT);
  const settings = toSettings(agentOf(tenant), 'bench');
  const ours: number[] = [];
  const theirs: number[] = [];
  let truncated = 0;
  let gaveUp = false;

  const ask = (entity: string) =>
    inTransaction(agents, settings, async (client) => {
      let answer: Answer | undefined;
      ours.push(
        await timed(async () => {
          answer = (await client.query<Answer>({ name: 'explore', text: OURS, values: [entity, depth] })).rows[0];
        }),
      );
      if (answer!.is_truncated) truncated++;
      return answer!;
    });
  const askRecursiveCte = async (entity: string) => {
    const client = await superuser.connect();
    try {
      await client.query(`set statement_timeout = ${patienceOf(context)}`);
      let rows: { name: string; confidence: number }[] = [];
      theirs.push(await timed(async () => ({ rows } = await client.query(THEIRS, [tenant, entity, depth]))));
      return rows;
    } catch (error) {
      if (sqlstateOf(error) !== SQLSTATE.queryCanceled) throw error;
      gaveUp = true;
      return null;
    } finally {
      await client.query('reset statement_timeout');
      client.release();
    }
  };

  await ask(entities[0]!);
  ours.length = 0;
  truncated = 0;
  for (const entity of entities) {
    const answer = await ask(entity);
    const plain = gaveUp ? null : await askRecursiveCte(entity);
    // Without truncation both answers must be equal.
    if (plain && !answer.is_truncated) {
      const shown = (list: { confidence: number }[]) => list.map(({ confidence }) => confidence.toFixed(6)).join(' ');
      if (shown(plain) !== shown(answer.paths)) throw new Error(`${entity}, depth ${depth}: the two answers differ`);
    }
  }
  const [p50, p95] = [quantile(ours, 0.5), quantile(ours, 0.95)];
  const what = `explore_graph, depth ${depth}, from ${from}`;
  const note = `p95 ${p95.toFixed(1)} ms; ${truncated} of ${entities.length} cut off`;
  const against = 'the recursive CTE, without RLS and bounds';
  return gaveUp || theirs.length === 0
    ? figure({
        what,
        ours: p50,
        unit: 'ms',
        against,
        note: `${note}; the CTE gave no answer within ${patienceOf(context) / 1000} s`,
      })
    : ratio({ what, ours: p50, theirs: quantile(theirs, 0.5), unit: 'ms', against, note });
}

export const graph: Bench = {
  name: 'graph',
  about: 'explore_graph from a hub of 10,000 relations and from ordinary entities, against a recursive CTE without RLS',
  async run(context) {
    const client = await context.database.superuser.connect();
    let ordinary: string[];
    try {
      const { id } = context.tenant(TENANT);
      await loadGraph(client, id, context.edges, context.report);
      const { rows } = await client.query<{ name: string }>(
        `select source_normalized as name from public.entity_relationships
         where tenant_id = $1 and scope <> 'l-private' and source_normalized <> $2
         group by 1 having count(*) between 3 and 8 order by md5(source_normalized) limit $3`,
        [id, HUB, Math.ceil(context.seconds * 5)],
      );
      ordinary = rows.map(({ name }) => name);
    } finally {
      client.release();
    }
    const agents = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: 1 });
    const rows: Row[] = [];
    try {
      for (const [from, entities] of [
        ['an ordinary entity', ordinary],
        ['the hub', Array<string>(Math.ceil(context.seconds * 2)).fill(HUB)],
      ] as const)
        for (const depth of [1, 2, 3, 4, 5]) rows.push(await compare(context, agents, depth, from, entities));
    } finally {
      await agents.end();
    }
    return rows;
  },
};
