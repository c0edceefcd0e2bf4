// A migrated database for each test file, dropped afterwards: a copy of a template, so that a file starts in moments.
// On the embedded engine it is a folder, with TEST_DATABASE_URL a database on that server.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { copyTemplate, ensureTemplate } from '../../../gateway/src/server/template.ts';
import { serverUrl } from './engine.ts';
import { eventually } from './eventually.ts';
import { bootstrapSql, committedSql, newPool, prepareJobs, runMigrations } from './migrations.ts';

export interface TestDatabaseFiles {
  /** A folder for the files of the test; its subfolder `data` is the database of the embedded engine. */
  folder: string;
  /** On a server: the URL of this database for the login of the gateway, and for a superuser. */
  gatewayUrl: string | null;
  superuserUrl: string | null;
  drop(): Promise<void>;
}

const root = join(import.meta.dirname, '..', '..', '..');

/** What the template depends on: another schema or engine makes another template. */
function fingerprint(): string {
  const hash = createHash('sha256');
  for (const migration of committedSql()) hash.update(migration);
  hash.update(bootstrapSql());
  for (const file of [
    join(root, 'package-lock.json'),
    import.meta.filename,
    join(import.meta.dirname, 'migrations.ts'),
  ])
    hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

/** On a server, a database without any migration, for its owner. Null on the embedded engine. */
export async function createBareDatabase(): Promise<{
  ownerUrl: string;
  superuserUrl: string;
  drop(): Promise<void>;
} | null> {
  if (!serverUrl) return null;
  const url = serverUrl;
  const name = `l9_test_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  const asRoot = async (work: (client: pg.Client) => Promise<unknown>) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await work(client).finally(() => client.end());
  };
  await asRoot(async (client) => {
    // Two sessions can't change the roles at once. The lock ends with the connection.
    await client.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    await client.query(`create database ${name}`);
    await bootstrap(withDatabase(url, name), passwordsSql);
  });
  return {
    ownerUrl: withDatabase(url, name, 'l9_owner'),
    superuserUrl: withDatabase(url, name),
    drop: () => asRoot((client) => client.query(`drop database if exists ${name} with (force)`)),
  };
}

const FOLDER_IN_MEMORY = '/dev/shm';
const ROOM_FOR_TESTS = 8 * 1024 ** 3;

/** Files in memory are copied, synchronised and deleted at a fifth of the cost. Linux has a folder for them. */
function parentOfFolders(): string {
  try {
    const { bavail, bsize } = statfsSync(FOLDER_IN_MEMORY);
    return bavail * bsize < ROOM_FOR_TESTS ? tmpdir() : FOLDER_IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

/** An empty folder for a test, which deletes it. */
export const newFolder = () => mkdtempSync(join(parentOfFolders(), 'l9t-'));

/** On the engine of this run, or on the server whose superuser's URL is given. */
export async function createDatabase(url = serverUrl): Promise<TestDatabaseFiles> {
  const name = `l9_test_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  return url ? onServer(newFolder(), url, name) : embedded(newFolder());
}

/** On a server, under a name that stays the same as long as the schema and `version` do, so that it can be used again. */
export async function createNamedDatabase(url: string, prefix: string, version: string): Promise<TestDatabaseFiles> {
  const name = `${prefix}_${createHash('sha256').update(`${fingerprint()} ${version}`).digest('hex').slice(0, 8)}`;
  return onServer(newFolder(), url, name);
}

async function embedded(folder: string): Promise<TestDatabaseFiles> {
  const template = await ensureTemplate();
  if (!template) throw new Error('no folder can be written to for a template of the database');
  copyTemplate(template, join(folder, 'data'), isNeeded);
  return {
    folder,
    gatewayUrl: null,
    superuserUrl: null,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Half of the files belong to template0 and template1, which no test reads. */
const isNeeded = (path: string) => !/[/\\]base[/\\][14][/\\]/.test(path);

const ROLE_PASSWORD = 'for-tests-only';
const passwordsSql = ['l9_owner', 'l9_gateway']
  .map((role) => `alter role ${role} password '${ROLE_PASSWORD}';`)
  .join(' ');

const withDatabase = (url: string, database: string, user?: string) => {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  if (user) {
    changed.username = user;
    changed.password = ROLE_PASSWORD;
  }
  return changed.href;
};

async function onServer(folder: string, url: string, name: string): Promise<TestDatabaseFiles> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const template = `l9_template_${fingerprint()}`;
  try {
    // Test files run side by side: one makes the template, and CREATE DATABASE allows one copier at a time.
    await client.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    const known = await client.query('select 1 from pg_database where datname = $1', [template]);
    if (known.rowCount === 0) await makeServerTemplate(client, url, template);
    const old = await client.query('select 1 from pg_database where datname = $1', [name]);
    // Copied as files, since through the log the tests on a server take a tenth more of its processor time.
    if (old.rowCount === 0) await client.query(`create database ${name} template ${template} strategy file_copy`);
    // Rights on the database itself are not copied with it.
    await bootstrap(withDatabase(url, name));
    await client.query("select pg_advisory_unlock(hashtext('l9-memory test template'))");
  } finally {
    await client.end();
  }
  return {
    folder,
    gatewayUrl: withDatabase(url, name, 'l9_gateway'),
    superuserUrl: withDatabase(url, name),
    drop: async () => {
      rmSync(folder, { recursive: true, force: true });
      const last = new pg.Client({ connectionString: url });
      await last.connect();
      await last.query(`drop database if exists ${name} with (force)`);
      await last.end();
    },
  };
}

async function makeServerTemplate(client: pg.Client, url: string, template: string) {
  const draft = `${template}_draft`;
  await client.query(`drop database if exists ${draft} with (force)`);
  await client.query(`create database ${draft}`);
  await bootstrap(withDatabase(url, draft), passwordsSql);
  await runMigrations(withDatabase(url, draft, 'l9_owner'));
  const workerPool = newPool({
    connectionString: withDatabase(url, draft, 'l9_gateway'),
    options: '-c role=l9_worker',
  });
  await prepareJobs(workerPool);
  await workerPool.end();
  // graphile-migrate keeps its connections for a moment, and a database in use can't be renamed.
  const busy = () => client.query('select 1 from pg_stat_activity where datname = $1', [draft]);
  await eventually(async () => (await busy()).rowCount === 0);
  await client.query(`alter database ${draft} rename to ${template}`);
}

async function bootstrap(url: string, more = '') {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`${bootstrapSql()};${more}`);
  await client.end();
}
