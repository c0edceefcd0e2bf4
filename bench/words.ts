// Word search under row-level security against the usual way in PostgreSQL: a GIN index over tsvector, ts_rank_cd, and
// rights as WHERE conditions. The queries consist of common words, which most memories contain.
import type pg from 'pg';
import { newPool } from '../db/tests/support/migrations.ts';
import { toSettings } from '../gateway/src/auth/identity.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { type Bench, type Context, type Row, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed } from './support/load.ts';
import { agentOf, type TenantName } from './support/tenants.ts';

/** For ten hits, what search.candidate_count() says. */
const CANDIDATES = 40;
// The first queries of a session plan statements and map pages; those of a pool stay open.
const WARM_UP = 20;
// A 95th percentile of fewer is one of the two slowest.
const LEAST_ROUNDS = 60;

/** The word retriever as search_memory runs it. */
const ours = `
  select (ranking.find_by_words(q.words, (ranking.weigh_words(q.words)).weights, null, ${CANDIDATES})).ids
  from (select words.of_query($1, 'english') as words) q`;

/** All words must match. That favours this design, since it ranks far fewer rows than BM25, which needs only one match. */
const theirs = `
  select array_agg(f.packet_id), array_agg(f.rank)
  from (
    select p.packet_id, ts_rank_cd(p.words, q.query) as rank
    from bench.gin_packets p, websearch_to_tsquery('english', $1) as q (query)
    where p.words @@ q.query and p.tenant_id = $2 and p.scope = any ('{developer,global}')
      and (p.ttl is null or p.ttl > now())
    order by rank desc
    limit ${CANDIDATES}
  ) f`;

async function makeUsualDesign({ database, report }: Context) {
  const { rows } = await database.superuser.query("select to_regclass('bench.gin_packets') is not null as is_there");
  if (rows[0].is_there) return;
  report('  the usual design: a copy with a tsvector, indexed by GIN');
  await database.superuser.query(`
    create table bench.gin_packets_made as
      select packet_id, tenant_id, scope, project_id, ttl, to_tsvector('english', envelope ->> 'content') as words
      from public.packet_store;
    alter table bench.gin_packets_made add primary key (packet_id);
    create index on bench.gin_packets_made using gin (words);
    create index on bench.gin_packets_made (tenant_id, scope, project_id);
    alter table bench.gin_packets_made rename to gin_packets;`);
  await database.superuser.query('vacuum (analyze) bench.gin_packets');
}

async function compare(context: Context, name: TenantName, agents: pg.Pool): Promise<Row> {
  const { database, seconds } = context;
  const { id, visible } = context.tenant(name);
  const queries = await context.queries('common');
  const settings = toSettings(agentOf(id), 'bench');
  const asAgent = (query: string) =>
    inTransaction(agents, settings, async (client) => {
      let found: unknown[] = [];
      const ms = await timed(async () => {
        const { rows } = await client.query({ name: `words of ${name}`, text: ours, values: [query] });
        found = rows[0].ids;
      });
      // Among few memories there may be fewer that have one of the words.
      if (visible >= 10 * CANDIDATES && found.length < CANDIDATES)
        throw new Error(`words: ${found.length} found as agent`);
      return ms;
    });
  const asUsual = async (query: string) => {
    const client = await database.superuser.connect();
    try {
      return await timed(() => client.query({ name: 'usual words', text: theirs, values: [query, id] }));
    } finally {
      client.release();
    }
  };
  for (let n = 0; n < WARM_UP; n++) {
    await asAgent(queries[n]!.query);
    await asUsual(queries[n]!.query);
  }
  // The number of queries depends on the time, because the other side may take a second for each.
  const one = await asUsual(queries[0]!.query);
  const rounds = Math.max(LEAST_ROUNDS, Math.min(200, Math.floor((seconds * 1_000) / (one * 2))));
  const ask = (work: (query: string) => Promise<number>) => async (round: number) => [
    await work(queries[round % queries.length]!.query),
  ];
  const times = await inTurn(rounds, { ours: ask(asAgent), theirs: ask(asUsual) });
  const p95 = (all: number[][]) => quantile(all.flat(), 0.95);
  return ratio({
    what: `words, as agent under RLS, common words, ${visible.toLocaleString('en')} memories visible, p95`,
    against: 'GIN + ts_rank_cd, WHERE, no RLS',
    ours: p95(times.ours),
    theirs: p95(times.theirs),
    figure: p95(times.theirs) / p95(times.ours),
    unit: 'ms',
    goal: { atLeast: 20 },
    note: `${rounds} questions each; medians ${(1 / ratioOf(times.ours, times.theirs, 0.5)).toFixed(0)}× apart`,
  });
}

export const words: Bench = {
  name: 'words',
  about: 'BM25 under row-level security, against GIN and ts_rank_cd without',
  async run(context) {
    await makeUsualDesign(context);
    const agents = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: 1 });
    try {
      return [await compare(context, 'sixty percent', agents), await compare(context, 'two percent', agents)];
    } finally {
      await agents.end();
    }
  },
};
