// The same memories, vectors and questions in mem0ai. Ours is called over HTTP and GraphQL, with row-level security and
// audit; mem0ai is called within its own process.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Bench, type Row, ratio } from './support/bench.ts';
import { openBenchDatabase } from './support/database.ts';
import { startBenchGateway } from './support/gateway.ts';
import { quantile, timed } from './support/load.ts';
import { graphqlSearch, warmUp } from './support/searching.ts';
import { tenantsFor } from './support/tenants.ts';

const MEMORIES = 5_000;
/** The caller of the largest tenant can read 5,000 of these. */
const LOADED = Math.ceil(MEMORIES / 0.6);
const ROUNDS = 4;
const ASKED = 10;

const peers = join(import.meta.dirname, 'peers');
const numbers = (vector: string) => (JSON.parse(vector) as number[]).slice(0, 384);

function install(report: (line: string) => void) {
  if (existsSync(join(peers, 'node_modules', 'mem0ai'))) return;
  report('  npm ci in bench/peers');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: peers,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

export const mem0: Bench = {
  name: 'mem0',
  about: 'search among 5,000 memories, against mem0ai',
  async run({ serverUrl, report, peers: isWanted, stopGateway }): Promise<Row[]> {
    if (!isWanted) return [];
    install(report);
    await stopGateway();
    const database = await openBenchDatabase(serverUrl, LOADED, (line) => report(`  ${line}`));
    const gateway = await startBenchGateway(database);
    const theirs = `l9_bench_mem0_${process.pid}`;
    const server = new pg.Client({ connectionString: serverUrl });
    await server.connect();
    try {
      await server.query(`drop database if exists ${theirs} with (force)`);
      await server.query(`create database ${theirs}`);
      const tenant = tenantsFor(LOADED).find(({ name }) => name === 'sixty percent')!;
      const { rows: memories } = await database.superuser.query(
        `select p.content, e.vector::text as vector from public.packet_store p join public.memory_embeddings e using (packet_id)
         where p.tenant_id = $1 and p.scope <> 'l-private' and e.embedding_type = 'content'`,
        [tenant.id],
      );
      if (memories.length !== MEMORIES) throw new Error(`${memories.length} memories instead of ${MEMORIES}`);
      const { rows: queries } = await database.superuser.query(
        "select query, vector::text as vector from bench.queries where kind = 'usual' order by n limit 100",
      );
      const theirUrl = new URL(serverUrl);
      theirUrl.pathname = `/${theirs}`;
      const file = join(database.home.home, 'mem0.json');
      const given = {
        url: theirUrl.href,
        memories: memories.map((row) => ({ ...row, vector: numbers(row.vector) })),
        queries: queries.map((row) => ({ ...row, vector: numbers(row.vector) })),
        rounds: ASKED,
      };
      writeFileSync(file, JSON.stringify(given));

      const child = fork(join(peers, 'mem0.ts'), {
        env: { PATH: process.env.PATH, HOME: database.home.home, BENCH_MEM0: file },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const exited = once(child, 'exit').then(() => {
        throw new Error('mem0ai ended');
      });
      exited.catch(() => {});
      const next = async () => (await Promise.race([once(child, 'message'), exited]))[0];
      for (let message = await next(); !message.loaded; message = await next()) {
        report(`  mem0ai has saved ${message.saved}`);
      }
      const inner = new pg.Client({ connectionString: theirUrl.href });
      await inner.connect();
      const { rows: kept } = await inner.query('select count(*)::int as n from memories');
      await inner.query('vacuum (analyze) memories');
      await inner.end();

      const token = await gateway.tokenOf(tenant.id);
      await warmUp(gateway, token, queries, 8);
      const times: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] };
      for (let round = 0; round < ROUNDS; round++) {
        for (let n = 0; n < ASKED; n++) {
          const { query } = queries[(round * ASKED + n) % queries.length]!;
          times.ours.push(
            await timed(async () => {
              if ((await graphqlSearch(gateway, token, query)).ids.length !== 10)
                throw new Error('a search did not return ten hits');
            }),
          );
        }
        child.send({ round });
        const answer = await next();
        if (answer.found === 0) throw new Error('mem0ai found nothing');
        times.theirs.push(...answer.times);
      }
      child.kill('SIGTERM');
      return [
        ratio({
          what: `search among ${MEMORIES.toLocaleString('en')} memories, through GraphQL, p50`,
          against: 'mem0ai 3.3.1, pgvector store with HNSW, infer false, the same vectors',
          ours: quantile(times.ours, 0.5),
          theirs: quantile(times.theirs, 0.5),
          unit: 'ms',
          goal: { atMost: 0.2 },
          note: `mem0ai kept ${kept[0].n.toLocaleString('en')}`,
        }),
      ];
    } finally {
      await gateway.close();
      await database.close(false);
      await server.query(`drop database if exists ${theirs} with (force)`);
      await server.end();
    }
  },
};
