import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../base/paths.ts';
import { version } from '../base/version.ts';

const db = join(packageRoot, 'db');
const migrationsFolder = join(db, 'migrations');

/** Creates roles, schemas and extensions. A superuser runs it once for each database. */
export const bootstrapSql = () => readFileSync(join(db, 'bootstrap.sql'), 'utf8');

/** Its part about roles, which belong to the whole server. */
export const rolesSql = () => bootstrapSql().split('-- The database:')[0]!;

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

/** The database ran a migration that this version lacks or has otherwise. */
export class ForeignDatabase extends Error {
  readonly what: string;
  readonly wayOut: string;
  readonly isNewer: boolean;
  /** `lastVersion` is the newest version that opened the database, if it is known. */
  constructor(migration: string | number, { isNewer, lastVersion }: { isNewer: boolean; lastVersion: string | null }) {
    const other = lastVersion === version ? null : lastVersion;
    const what =
      `was last opened by another version of l9-memory (${other ? `${other}; ` : ''}this is ${version}), and migration ` +
      (isNewer
        ? `${migration}, which it ran, belongs to a newer version`
        : `${migration} is not the one this database ran: it belongs to another version`);
    const wayOut = isNewer
      ? `install l9-memory ${other ? `${other} or later` : 'of that version'}, or put the backup from before the upgrade in its place`
      : 'start that version, or move the data away to begin with an empty database';
    super(`this database ${what}: ${wayOut}`);
    this.what = what;
    this.wayOut = wayOut;
    this.isNewer = isNewer;
  }
}

/** Notes that this version opened the database. `client` is l9_worker. */
export const noteVersion = (client: { query(query: string, values: unknown[]): Promise<unknown> }) =>
  client.query('insert into administration.program_versions (version) values ($1) on conflict do nothing', [version]);

/** Null for a database of a version that noted none. */
async function lastVersionOf(client: Client): Promise<string | null> {
  const { rows: tables } = await client.query<{ exists: boolean }>(
    "select pg_catalog.to_regclass('administration.program_versions') is not null as exists",
  );
  if (!tables[0]?.exists) return null;
  const { rows } = await client.query<{ version: string }>(
    'select version from administration.program_versions order by first_opened_at desc limit 1',
  );
  return rows[0]?.version ?? null;
}

/**
 * The committed migrations that this database has not run yet. Rejects with ForeignDatabase if it ran others. `client` is a superuser,
 * l9_owner or l9_worker.
 */
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
  const files = committedMigrations();
  const newer = [...hashes.keys()].find((number) => number > files.length);
  const changed = files.find((file) => {
    const hash = hashes.get(Number.parseInt(file, 10));
    return hash !== undefined && hash !== hashOf(file);
  });
  const foreign = newer ?? changed;
  if (foreign !== undefined)
    throw new ForeignDatabase(foreign, { isNewer: newer !== undefined, lastVersion: await lastVersionOf(client) });
  return files.filter((file) => !hashes.has(Number.parseInt(file, 10)));
}

const hashOf = (file: string) =>
  /^--! Hash: (\S+)$/m.exec(readFileSync(join(migrationsFolder, 'committed', file), 'utf8'))?.[1];

export type MigrationLog = Record<'error' | 'debug', (text: string) => void>;

/** Runs the pending migrations as the role of the URL, which must be l9_owner. */
export async function runMigrations(ownerUrl: string, log: MigrationLog, folder = migrationsFolder): Promise<void> {
  // Loaded only here, because a start rarely migrates.
  const { Logger: GraphileLogger, migrate } = await import('graphile-migrate');
  await migrate({
    connectionString: ownerUrl,
    databaseOwner: 'l9_owner',
    migrationsFolder: folder,
    logger: new GraphileLogger(() => (level, message) => log[level === 'error' ? 'error' : 'debug'](message)),
  });
}
