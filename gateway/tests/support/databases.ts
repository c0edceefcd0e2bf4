// A database for a test file: migrated, its own, gone afterwards. Without TEST_DATABASE_URL it is the embedded engine
// in a folder, else a database on that server; both are copies of a template, so that a file starts in moments.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/index.ts';
import { bootstrapSql, runMigrations } from '../../src/database/migrations.ts';
import { openJobQueue } from '../../src/jobs/index.ts';
import { eventually } from './eventually.ts';

export const serverUrl = process.env.TEST_DATABASE_URL || null;
export const engine = serverUrl ? 'server' : 'embedded';

const root = join(import.meta.dirname, '..', '..', '..');
const silent = pino({ level: 'silent' });

export interface TestHome {
  home: string;
  /** What the environment of a process on this home has to hold. */
  env: Record<string, string>;
  /** On a server: a superuser's URL of the test's own database. */
  superuserUrl: string | null;
  drop(): Promise<void>;
}

/** What the template depends on: another schema or engine makes another template. */
function fingerprint(): string {
  const hash = createHash('sha256');
  const committed = join(root, 'db', 'migrations', 'committed');
  for (const file of readdirSync(committed).sort()) hash.update(readFileSync(join(committed, file)));
  hash.update(bootstrapSql());
  hash.update(readFileSync(join(root, 'package-lock.json')));
  hash.update(readFileSync(import.meta.filename));
  return hash.digest('hex').slice(0, 12);
}

/** On the engine of this run, or on the server whose superuser's URL is given. */
export async function createTestHome(url = serverUrl): Promise<TestHome> {
  const home = mkdtempSync(join(tmpdir(), 'l9t-'));
  return url ? onServer(home, url, `l9_test_${process.pid}_${Math.random().toString(36).slice(2, 8)}`) : embedded(home);
}

/** On a server, under a name, so that it can be used again as long as schema and `version` are the same. */
export async function createNamedHome(url: string, prefix: string, version: string) {
  const home = mkdtempSync(join(tmpdir(), 'l9t-'));
  const name = `${prefix}_${createHash('sha256').update(`${fingerprint()} ${version}`).digest('hex').slice(0, 8)}`;
  return onServer(home, url, name);
}

async function embedded(home: string): Promise<TestHome> {
  cpSync(join(await embeddedTemplate(), 'data'), join(home, 'data'), { recursive: true, filter: isNeeded });
  return {
    home,
    env: { L9_MEMORY_HOME: home },
    superuserUrl: null,
    drop: async () => rmSync(home, { recursive: true, force: true }),
  };
}

/** Half of the files are those of template0 and template1, into which nobody looks. */
const isNeeded = (path: string) => !/[/\\]base[/\\][14][/\\]/.test(path);

async function embeddedTemplate(): Promise<string> {
  const folder = join(tmpdir(), 'l9-memory-templates', fingerprint());
  if (existsSync(folder)) return folder;
  mkdirSync(join(folder, '..'), { recursive: true });
  const draft = mkdtempSync(join(folder, '..', 'draft-'));
  await prepare({ L9_MEMORY_HOME: draft });
  try {
    renameSync(draft, folder);
  } catch {
    // Another test file was quicker.
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

/** Migrated, and what a first start does once: the job queue's own tables, and filling the materialized views. */
async function prepare(env: Record<string, string>) {
  const database = await openDatabase(loadConfig(env), silent);
  const jobs = await openJobQueue(database, new WorkerLogger(() => () => {}));
  await jobs.release();
  await database.workerPool.query('call public.refresh_memory_views()');
  await database.close();
}

const withDatabase = (url: string, database: string, user?: string) => {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  if (user) {
    changed.username = user;
    changed.password = user === 'l9_gateway' || user === 'l9_owner' ? ROLE_PASSWORD : '';
  }
  return changed.href;
};

const ROLE_PASSWORD = 'for-tests-only';

async function onServer(home: string, url: string, name: string): Promise<TestHome> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const template = `l9_template_${fingerprint()}`;
  try {
    // Test files run side by side: one makes the template, and CREATE DATABASE allows one copier at a time.
    await client.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    const known = await client.query('select 1 from pg_database where datname = $1', [template]);
    if (known.rowCount === 0) await makeServerTemplate(client, url, template);
    const old = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (old.rowCount === 0) await client.query(`create database ${name} template ${template}`);
    // Rights on the database itself are not copied with it. Roles are the server's, where two can't change one at once.
    await bootstrap(withDatabase(url, name));
    await client.query("select pg_advisory_unlock(hashtext('l9-memory test template'))");
  } finally {
    await client.end();
  }
  return {
    home,
    env: { L9_MEMORY_HOME: home, DATABASE_URL: withDatabase(url, name, 'l9_gateway') },
    superuserUrl: withDatabase(url, name),
    drop: async () => {
      rmSync(home, { recursive: true, force: true });
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
  const passwords = ['l9_owner', 'l9_gateway'].map((role) => `alter role ${role} password '${ROLE_PASSWORD}';`);
  await bootstrap(withDatabase(url, draft), passwords.join(' '));
  await runMigrations(withDatabase(url, draft, 'l9_owner'), silent);
  await prepare({ DATABASE_URL: withDatabase(url, draft, 'l9_gateway') });
  // graphile-migrate keeps its connections for a moment, and a database in use can't be renamed.
  const busy = () => client.query('select 1 from pg_stat_activity where datname = $1', [draft]);
  await eventually(async () => (await busy()).rowCount === 0);
  await client.query(`alter database ${draft} rename to ${template}`);
}

async function bootstrap(url: string, more = '') {
  const inside = new pg.Client({ connectionString: url });
  await inside.connect();
  await inside.query(`${bootstrapSql()};${more}`);
  await inside.end();
}
