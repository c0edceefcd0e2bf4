import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { sqlstateOf } from '../base/errors.ts';
import { ConfigError, loadConfig } from '../config/config.ts';
import { migrateServer } from '../database/migrate-server.ts';
import { bootstrapSql } from '../database/migrations.ts';
import { isVerifierOf, scramVerifier } from '../database/scram.ts';

export interface SetupOptions {
  /** ROOT_DATABASE_URL where it is not given. */
  rootUrl?: string | undefined;
  database: string;
  /** Also in a database that has tables of another application. */
  adopt?: boolean | undefined;
}

const OLDEST_SERVER = 18;
const EXTENSIONS: Record<string, string> = {
  vector: 'pgvector 0.8 (Debian: postgresql-18-pgvector)',
  pg_textsearch: 'pg_textsearch 1.5 (Debian: postgresql-18-pg-textsearch)',
  pgcrypto: "PostgreSQL's contrib modules (Debian: in postgresql-18)",
  pg_trgm: "PostgreSQL's contrib modules (Debian: in postgresql-18)",
};
const PLACEHOLDER = 'PASSWORD';

/** What a restore does in between. If any of it fails, a database that was created for it is dropped again. */
export interface Steps {
  /** Fills a new database, before anything else is made in it. */
  fill(root: pg.Client, inside: pg.Client, url: string): Promise<void>;
  /** Looks at the database, once it is set up. */
  check(inside: pg.Client): Promise<void>;
}

class SetupError extends Error {}

/**
 * Creates the database, its roles and extensions on a server, and migrates it. A second run adds what is missing and
 * changes nothing else. Prints the URLs with their passwords to stdout, and everything else to stderr.
 */
export const setup = (env: NodeJS.ProcessEnv, options: SetupOptions): Promise<number> => setUp(env, options);

/** The same, with the steps of a restore in between. */
export async function setUp(
  env: NodeJS.ProcessEnv,
  { rootUrl: given, database, adopt }: SetupOptions,
  steps?: Steps,
): Promise<number> {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  let root: pg.Client | undefined;
  let inside: pg.Client | undefined;
  let isNew = false;
  try {
    const config = loadConfig(env);
    const rootUrl = given ?? config.rootDatabaseUrl;
    if (!rootUrl)
      throw new SetupError('--root-url, ROOT_DATABASE_URL or ROOT_DATABASE_URL_FILE: one of them is required');
    if (!/^[a-z_][a-z0-9_-]{0,62}$/.test(database)) {
      throw new SetupError('--database: must be a name of lower-case letters, digits, _ and -, at most 63 characters');
    }
    root = await connect(rootUrl);
    await checkServer(root);

    // Two concurrent runs could create the same database, and both choose a password for a role that has none.
    await root.query("select pg_catalog.pg_advisory_lock(pg_catalog.hashtext('l9-memory db setup'))");
    const existing = await root.query('select from pg_catalog.pg_database where datname = $1', [database]);
    if (existing.rowCount === 0) {
      await root.query(`create database ${pg.escapeIdentifier(database)}`);
      isNew = true;
      say(`created database ${database}`);
    }
    inside = await connect(urlFor(rootUrl, { database }));
    await checkDatabase(inside, database);
    if (steps) await steps.fill(root, inside, urlFor(rootUrl, { database }));
    else if (!adopt) await refuseForeign(inside, database);
    await inside.query(bootstrapSql());
    await inside.query(`alter database ${pg.escapeIdentifier(database)} owner to l9_owner`);

    const ownerPassword = await setPassword(inside, 'l9_owner', config.ownerPassword, say);
    const gatewayPassword = await setPassword(inside, 'l9_gateway', config.gatewayPassword, say);
    const backupPassword = await setPassword(inside, 'l9_backup', config.backupPassword, say);

    // This uses the superuser's session as l9_owner, whose password may be unknown here.
    await migrateServer(
      urlFor(rootUrl, { database, options: '-c role=l9_owner' }),
      pino({ level: 'error' }, pino.destination(2)),
    );
    await steps?.check(inside);
    say(`database ${database} is ready`);

    const gatewayUrl = urlFor(rootUrl, { database, user: 'l9_gateway', password: gatewayPassword ?? PLACEHOLDER });
    const ownerUrl = urlFor(rootUrl, { database, user: 'l9_owner', password: ownerPassword ?? PLACEHOLDER });
    const backupUrl = urlFor(rootUrl, { database, user: 'l9_backup', password: backupPassword ?? PLACEHOLDER });
    for (const [role, variable, url, password] of [
      ['l9_gateway', 'L9_GATEWAY_PASSWORD', gatewayUrl, gatewayPassword],
      ['l9_owner', 'L9_OWNER_PASSWORD', ownerUrl, ownerPassword],
      ['l9_backup', 'L9_BACKUP_PASSWORD', backupUrl, backupPassword],
    ] as const) {
      if (password === null) {
        say(
          `${role} keeps the password it has: put it where ${PLACEHOLDER} stands, or run this with a new one in ${variable}`,
        );
      } else {
        await checkLogin(url, role, say);
      }
    }
    process.stdout.write(
      `DATABASE_URL=${gatewayUrl}\nDATABASE_OWNER_URL=${ownerUrl}\nBACKUP_DATABASE_URL=${backupUrl}\n`,
    );
    return 0;
  } catch (error) {
    const { message } = error as Error;
    say(
      error instanceof SetupError || error instanceof ConfigError
        ? message
        : `${steps ? 'restore' : 'db setup'} failed: ${message}`,
    );
    if (steps && isNew) {
      await inside?.end();
      // graphile-migrate closes its connections late, and ends this process if one breaks before that.
      const sessions = 'select from pg_catalog.pg_stat_activity where datname = $1';
      for (let tries = 0; tries < 100 && (await root!.query(sessions, [database])).rowCount !== 0; tries++)
        await sleep(100);
      await root!.query(`drop database ${pg.escapeIdentifier(database)} with (force)`);
      say(`dropped database ${database} again`);
    }
    return 1;
  } finally {
    await inside?.end();
    await root?.end();
  }
}

interface UrlParts {
  database: string;
  user?: string;
  password?: string;
  options?: string;
}

function urlFor(rootUrl: string, { database, user, password, options }: UrlParts): string {
  const url = new URL(rootUrl);
  url.pathname = `/${database}`;
  if (user !== undefined) {
    url.username = user;
    url.password = encodeURIComponent(password ?? '');
  }
  url.searchParams.delete('options');
  // searchParams would write a space as +, which URLs of PostgreSQL do not support.
  if (options !== undefined) url.search = `${url.search ? `${url.search}&` : ''}options=${encodeURIComponent(options)}`;
  return url.href;
}

async function connect(url: string): Promise<pg.Client> {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new SetupError(
      '--root-url: must be the URL of a superuser, such as postgres://postgres:…@127.0.0.1:5432/postgres',
    );
  }
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'l9-memory setup',
  });
  // Later errors of the connection are reported by the query that was running.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    const { hostname, port, username } = new URL(url);
    // An AggregateError, which covers several addresses, has no message of its own.
    const { message } = error as Error;
    const code = sqlstateOf(error);
    throw new SetupError(
      `can't connect to ${hostname || 'the local server'}:${port || 5432} as ${username || 'the default user'}: ${message || code}`,
    );
  }
  return client;
}

/** Rejects with everything that is missing, in one message. */
async function checkServer(root: pg.Client): Promise<void> {
  const { rows } = await root.query<{
    version: number;
    version_name: string;
    is_superuser: boolean;
    preloaded: string;
    available: string[];
  }>(
    `select
      pg_catalog.current_setting('server_version_num')::integer as version,
      pg_catalog.current_setting('server_version') as version_name,
      (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as is_superuser,
      case when (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
        then pg_catalog.current_setting('shared_preload_libraries') end as preloaded,
      array(select name::text from pg_catalog.pg_available_extensions) as available`,
  );
  const server = rows[0]!;
  if (server.version < OLDEST_SERVER * 10_000) {
    throw new SetupError(`this is PostgreSQL ${server.version_name}: l9-memory needs ${OLDEST_SERVER} or later`);
  }
  if (!server.is_superuser) throw new SetupError('--root-url: this user is not a superuser');

  const problems = Object.entries(EXTENSIONS)
    .filter(([name]) => !server.available.includes(name))
    .map(([name, from]) => `extension ${name} is not installed on the server: it comes with ${from}`);
  const preloaded = server.preloaded.split(',').map((library) => library.trim().replaceAll('"', ''));
  if (!preloaded.includes('pg_textsearch')) {
    problems.push(
      `shared_preload_libraries lacks pg_textsearch: add it in postgresql.conf, and restart the server (now: '${server.preloaded}')`,
    );
  }
  if (problems.length > 0) throw new SetupError(problems.join('\n'));
}

async function checkDatabase(client: pg.Client, database: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    "select pg_catalog.current_setting('server_encoding') as encoding",
  );
  if (rows[0]?.encoding !== 'UTF8') {
    throw new SetupError(
      `database ${database} is encoded in ${rows[0]?.encoding}: make it yourself with encoding 'UTF8', and run this again`,
    );
  }
}

/**
 * Refuses a database that was never set up and has tables of another application: the setup takes its ownership, its schema public and
 * the rights of everybody on both. Tables in the schema memory are those of the former application, which are to be moved.
 */
async function refuseForeign(client: pg.Client, database: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select n.nspname || '.' || c.relname as name
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm', 'f') and n.nspname !~ '^(pg_|information_schema$)'
       and not exists (select from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype = 'e')
       and not exists (select from pg_catalog.pg_namespace where nspname in ('l9_guard', 'memory'))
     order by 1 limit 1`,
  );
  if (rows.length === 0) return;
  throw new SetupError(
    `database ${database} has tables of another application, such as ${rows[0]!.name}: name a database of its own with --database, or pass --adopt to set this one up too, which takes its ownership and its schema public`,
  );
}

/** Sets the given password, or a new one if the role has none. Returns null if the role keeps its password. */
async function setPassword(
  client: pg.Client,
  role: string,
  given: string | null,
  say: (text: string) => void,
): Promise<string | null> {
  const { rows } = await client.query<{ rolpassword: string | null }>(
    'select rolpassword from pg_catalog.pg_authid where rolname = $1',
    [role],
  );
  const stored = rows[0]?.rolpassword ?? null;
  if (given !== null && isVerifierOf(stored, given)) return given;
  if (given === null && stored !== null) return null;
  const password = given ?? randomBytes(24).toString('hex');
  await client.query(`alter role ${role} password ${pg.escapeLiteral(scramVerifier(password))}`);
  // Roles are shared by all databases of a server.
  if (stored !== null) say(`changed the password of ${role}, for every database of this server`);
  return password;
}

/** Warns if the pg_hba.conf of the server does not admit the new roles. */
async function checkLogin(url: string, role: string, say: (text: string) => void): Promise<void> {
  try {
    await (await connect(url)).end();
  } catch (error) {
    say(`warning: ${role} can't log in from here (${(error as Error).message}); see the server's pg_hba.conf`);
  }
}
