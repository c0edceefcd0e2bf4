// The database of the measurements. It is loaded once, and kept for the next run on request.
import type pg from 'pg';
import { newPool } from '../../db/tests/support/migrations.ts';
import { createNamedHome, type TestHome } from '../../gateway/tests/support/home.ts';
import { DATA_VERSION, loadData } from './data.ts';

/** The number of connections that load data in parallel. */
const LOADERS = 2;

export interface BenchDatabase {
  home: TestHome;
  /** Connections of a superuser, to which no policy applies. */
  superuser: pg.Pool;
  close(keep: boolean): Promise<void>;
}

/** `hasGraphs`: whether its vectors get their HNSW indexes. */
export async function openBenchDatabase(url: string, rows: number, report: (line: string) => void, hasGraphs = true) {
  const home = await createNamedHome(
    url,
    `l9_bench_${rows}`,
    `data ${DATA_VERSION}${hasGraphs ? '' : ' without graphs'}`,
  );
  const superuser = newPool({ connectionString: home.superuserUrl!, max: 4 });
  await dropOutdated(superuser, `l9_bench_${rows}_`);
  const clients = await Promise.all(Array.from({ length: LOADERS }, () => superuser.connect()));
  const client = clients[0]!;
  try {
    const { rows: found } = await client.query("select to_regclass('bench.loaded') is not null as is_loaded");
    if (found[0].is_loaded) {
      report(`using the ${rows.toLocaleString('en')} memories of an earlier run`);
    } else {
      // Removes rows of an interrupted load.
      await client.query('set session_replication_role = replica');
      await client.query('delete from public.memory_embeddings; delete from public.packet_store');
      await client.query('reset session_replication_role');
      await loadData(clients, rows, report, hasGraphs);
      await client.query('create table bench.loaded as select now() as at');
    }
  } finally {
    for (const each of clients) each.release();
  }
  return {
    home,
    superuser,
    async close(keep: boolean) {
      await superuser.end();
      if (!keep) await home.drop();
    },
  } satisfies BenchDatabase;
}

/** Drops databases that were kept for an older schema, unless they are in use. */
async function dropOutdated(superuser: pg.Pool, prefix: string) {
  const { rows } = await superuser.query<{ name: string }>(
    'select quote_ident(datname) as name from pg_database where starts_with(datname, $1) and datname <> current_database()',
    [prefix],
  );
  for (const { name } of rows) await superuser.query(`drop database if exists ${name}`).catch(() => {});
}
