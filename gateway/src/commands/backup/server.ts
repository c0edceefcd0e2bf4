// A PostgreSQL server. A backup is what pg_dump writes of one snapshot, in which its rows are counted, too. It is restored by psql in one
// transaction, into a database that has nothing yet.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { PassThrough, pipeline as pipe } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Config } from '../../config/config.ts';
import { rolesSql } from '../../database/migrations.ts';
import { setUp } from '../db-setup.ts';
import { checkCounts, checkSeals, checkSearch, factsOf, type Query } from './facts.ts';
import { type Backup, BackupProblem } from './file.ts';
import type { Say, Source } from './source.ts';

const INSTALL =
  "install PostgreSQL's client of that version (apt install postgresql-client-18, brew install libpq), or name its psql in PSQL";

export async function backUpServer({ backupDatabaseUrl, psql }: Config, signal: AbortSignal): Promise<Source> {
  if (!backupDatabaseUrl)
    throw new BackupProblem(
      'BACKUP_DATABASE_URL: required where DATABASE_URL is set: the URL of l9_backup, which `l9-memory db setup` prints',
    );
  const client = await connect(backupDatabaseUrl, 'BACKUP_DATABASE_URL');
  try {
    const query: Query = (text, values) => client.query(text, values);
    await client.query('begin isolation level repeatable read read only');
    // If a policy held for this login, PostgreSQL would refuse instead of leaving out rows.
    await client.query(
      'set local row_security = off; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0',
    );
    const { rows } = await query<{ sees: boolean; login: string; name: string; major: number; snapshot: string }>(
      `select r.rolbypassrls or r.rolsuper as sees, r.rolname as login, current_database() as name,
         current_setting('server_version_num')::integer / 10000 as major, pg_export_snapshot() as snapshot
       from pg_catalog.pg_roles r where r.rolname = current_user`,
    );
    const { sees, login, name, major, snapshot } = rows[0]!;
    if (!sees)
      throw new BackupProblem(
        `BACKUP_DATABASE_URL: ${login} does not see every row: give the URL of l9_backup, which \`l9-memory db setup\` prints`,
      );
    const program = await findProgram('pg_dump', psql, major);
    const facts = await factsOf(query);
    const { url, password } = withoutPassword(backupDatabaseUrl);
    const child = start(
      program,
      [
        `--dbname=${url}`,
        `--snapshot=${snapshot}`,
        // When it is restored, the owner fills the materialized views, and policies bind the owner.
        '--enable-row-security',
        '--no-password',
      ],
      password,
      signal,
    );
    child.stdin!.end();
    return { name: `database ${name}`, facts, database: outputOf(child), close: () => client.end() };
  } catch (error) {
    await client.end();
    throw isRefusal(error) ? new BackupProblem(`the database can't be read: ${(error as Error).message}`) : error;
  }
}

const isRefusal = (error: unknown) => error instanceof pg.DatabaseError;

/** Into a database that does not exist or is empty. One that was made here is dropped again unless all that was checked is right. */
export async function restoreServer(
  env: NodeJS.ProcessEnv,
  config: Config,
  { database: name, rootUrl }: { database: string; rootUrl?: string | undefined },
  { manifest, database }: Backup,
  say: Say,
): Promise<boolean> {
  const code = await setUp(
    env,
    { database: name, rootUrl },
    {
      async fill(root, inside, url) {
        await refuseFull(inside, name);
        await root.query(rolesSql());
        await refuseWithoutRoles(root, manifest.roles);
        const program = await findProgram('psql', config.psql, Number.parseInt(manifest.postgres, 10));
        await runPsql(program, url, database());
        say(await checkCounts((text, values) => inside.query(text, values), manifest));
        await inside.query('analyze');
      },
      async check(inside) {
        const query: Query = (text, values) => inside.query(text, values);
        say(await checkSeals(query, manifest));
        say(await checkSearch(query));
      },
    },
  );
  return code === 0;
}

async function refuseFull(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ found: string }>(
    `select coalesce(n.nspname || '.' || c.relname, n.nspname) as found
     from pg_catalog.pg_namespace n left join pg_catalog.pg_class c on c.relnamespace = n.oid
     where n.nspname !~ '^(pg_|information_schema$)' and (n.nspname <> 'public' or c.oid is not null) order by 1 limit 1`,
  );
  if (rows.length > 0)
    throw new BackupProblem(
      `database ${name} is not empty (${rows[0]!.found}), and a restore never replaces anything: name a new one with --database`,
    );
}

async function refuseWithoutRoles(root: pg.Client, names: string[]): Promise<void> {
  const { rows } = await root.query<{ name: string }>(
    'select name from unnest($1::text[]) name where not exists (select from pg_catalog.pg_roles r where r.rolname = name)',
    [names],
  );
  if (rows.length === 0) return;
  const missing = rows.map(({ name }) => name).join(', ');
  throw new BackupProblem(
    `this server lacks roles that the backup needs: ${missing}. Make them (\`create role …\`), or copy them with \`pg_dumpall --roles-only\``,
  );
}

async function connect(url: string, variable: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'l9-memory backup',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { hostname, username } = new URL(url);
    throw new BackupProblem(
      `${variable}: can't connect to ${hostname || 'the local server'} as ${username}: ${(error as Error).message}`,
    );
  }
}

/** Beside the psql that PSQL names, or in the PATH; of this version of PostgreSQL or a later one. */
async function findProgram(name: 'psql' | 'pg_dump', psql: string, major: number): Promise<string> {
  const places = psql.includes('/') ? [join(dirname(psql), name), name] : [name];
  const older: string[] = [];
  for (const place of places) {
    const { stdout } = await promisify(execFile)(place, ['--version']).catch(() => ({ stdout: '' }));
    const version = / (\d+)(?:\.\d+|beta|rc|devel)/.exec(stdout)?.[1];
    if (version && Number(version) >= major) return place;
    if (version) older.push(`${place} is of version ${version}`);
  }
  throw new BackupProblem(
    `${name} of PostgreSQL ${major} or later was not found${older.length > 0 ? ` (${older.join(', ')})` : ''}: ${INSTALL}`,
  );
}

/** The password is passed in the environment, because other users of this machine can read arguments. */
function withoutPassword(text: string) {
  const url = new URL(text);
  const password = decodeURIComponent(url.password);
  url.password = '';
  return { url: url.href, password };
}

const start = (program: string, args: string[], password: string, signal?: AbortSignal): ChildProcess =>
  spawn(program, args, {
    stdio: 'pipe',
    env: { ...process.env, ...(password ? { PGPASSWORD: password } : {}) },
    ...(signal ? { signal } : {}),
  });

/**
 * What a program writes; ends with an error unless the program ends well. Node discards what nobody has read when a program ends, so this
 * call already begins to read.
 */
function outputOf(child: ChildProcess): AsyncIterable<Buffer> {
  const ended = endOf(child);
  // It is waited for below.
  ended.catch(() => {});
  const output = pipe(child.stdout!, new PassThrough(), () => {});
  return (async function* () {
    yield* output;
    await ended;
  })();
}

async function endOf(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (part) => {
    said = `${said}${part}`.slice(0, 10_000);
  });
  const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return;
  const reason =
    /(?:error|ERROR|FATAL):\s+(.+)/.exec(said)?.[1] ?? (killedBy ? `ended by ${killedBy}` : `exit code ${code}`);
  throw new BackupProblem(`${child.spawnargs[0]}: ${reason}`);
}

async function runPsql(program: string, rootUrl: string, sql: AsyncIterable<Buffer>): Promise<void> {
  const { url, password } = withoutPassword(rootUrl);
  const child = start(
    program,
    [
      `--dbname=${url}`,
      '--no-psqlrc',
      '--quiet',
      '--no-password',
      '--single-transaction',
      '--set=ON_ERROR_STOP=1',
      // Texts of errors quote rows.
      '--set=VERBOSITY=sqlstate',
      '--output=/dev/null',
    ],
    password,
  );
  const ended = endOf(child);
  try {
    await pipeline(sql, child.stdin!);
  } catch (error) {
    // Nothing of it is committed. If psql ended first, its reason is the better one.
    child.kill('SIGKILL');
    await ended.catch((reason) => {
      if (reason instanceof BackupProblem && (error as NodeJS.ErrnoException).code === 'EPIPE') throw reason;
    });
    throw error;
  }
  await ended;
}
