import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../base/paths.ts';

const db = join(packageRoot, 'db');
const migrationsFolder = join(db, 'migrations');

/** Creates roles, schemas and extensions. A superuser runs it once for each database. */
export const bootstrapSql = () => readFileSync(join(db, 'bootstrap.sql'), 'utf8');

const committedMigrations = () =>
  readdirSync(join(migrationsFolder, 'committed'))
    .filter((file) => file.endsWith('.sql'))
    .sort();

interface Client {
  query<Row extends object>(query: string): Promise<{ rows: Row[] }>;
}

export const committedSql = (): Buffer[] =>
  committedMigrations().map((file) => readFileSync(join(migrationsFolder, 'committed', file)));

/** The hash of each committed migration, by file. */
export const committedHashes = (): Record<string, string> =>
  Object.fromEntries(committedMigrations().map((file) => [file, hashOf(file) ?? '']));

/** The committed migrations that this database has not run yet. `client` is a superuser, l9_owner or l9_worker. */
export async function pendingMigrations(client: Client): Promise<string[]> {
  const table = await client.query<{ exists: boolean }>(
    "select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = 'graphile_migrate' and c.relname = 'migrations')",
  );
  if (!table.rows[0]?.exists) return committedMigrations();
  const run = await client.query<{ filename: string; hash: string }>(
    'select filename, hash from graphile_migrate.migrations',
  );
  // graphile-migrate stores the number of a migration without the rest of its file name.
  const hashes = new Map(run.rows.map((row) => [Number.parseInt(row.filename, 10), row.hash]));
  const newest = committedMigrations().length;
  const unknown = [...hashes.keys()].find((number) => number > newest);
  if (unknown !== undefined) {
    throw new Error(
      `migration ${unknown}, which this database ran, is unknown here: it belongs to a newer version of l9-memory`,
    );
  }
  return committedMigrations().filter((file) => {
    const hash = hashes.get(Number.parseInt(file, 10));
    if (hash !== undefined && hash !== hashOf(file)) {
      throw new Error(`migration ${file} is not the one this database ran: it belongs to another version of l9-memory`);
    }
    return hash === undefined;
  });
}

const hashOf = (file: string) =>
  /^--! Hash: (\S+)$/m.exec(readFileSync(join(migrationsFolder, 'committed', file), 'utf8'))?.[1];

export type MigrationLog = Record<'error' | 'debug', (text: string) => void>;

/** Runs the pending migrations as the role of the URL, which must be l9_owner. */
export async function runMigrations(ownerUrl: string, log: MigrationLog): Promise<void> {
  // Loaded only here, because a start rarely migrates.
  const { Logger: GraphileLogger, migrate } = await import('graphile-migrate');
  await migrate({
    connectionString: ownerUrl,
    databaseOwner: 'l9_owner',
    migrationsFolder,
    logger: new GraphileLogger(() => (level, message) => log[level === 'error' ? 'error' : 'debug'](message)),
  });
}
