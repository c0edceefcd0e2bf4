// A session of a superuser on the database of a cell: what it must be, and which tenant is meant.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Query } from '../backup/facts.ts';
import { TenantProblem } from './problem.ts';

export interface Tenant {
  tenant_id: string;
  name: string;
  route: string | null;
}

export interface CellDatabase {
  client: pg.Client;
  query: Query;
  /** What messages call it: host and name, without a password. */
  name: string;
  /** The same for two URLs of one database. */
  identity: string;
  /** The hash of each migration that it has run. */
  migrations: Record<string, string>;
}

// Texts of rows must be the same whatever the settings of a server are.
const SETTINGS = `
  select set_config(name, value, false) from (values
    ('datestyle', 'ISO, YMD'), ('intervalstyle', 'postgres'), ('timezone', 'UTC'), ('extra_float_digits', '1'),
    ('bytea_output', 'hex'), ('client_encoding', 'UTF8'), ('search_path', ''), ('synchronous_commit', 'on'),
    ('statement_timeout', '0'), ('lock_timeout', '10s'), ('idle_in_transaction_session_timeout', '0'), ('jit', 'off')
  ) as s (name, value)`;

/** Connects to a database of l9-memory. `option`: where the URL came from, for messages. */
export async function openCell(url: string, option: string): Promise<CellDatabase> {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw new TenantProblem(
      `${option}: must be the URL of a superuser, such as postgres://postgres:…@db.example/l9_memory`,
    );
  const { hostname, port, username } = new URL(url);
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'l9-memory tenant',
  });
  client.on('error', () => {});
  const place = `${hostname || 'the local server'}${port ? `:${port}` : ''}`;
  try {
    await client.connect();
  } catch (error) {
    throw new TenantProblem(
      `${option}: can't connect to ${place} as ${username || 'the default user'}: ${(error as Error).message}`,
    );
  }
  try {
    const query: Query = (text, values) => client.query(text, values);
    const { rows } = await query<{ database: string; identity: string; is_superuser: boolean; is_ours: boolean }>(
      `select current_database()::text as database,
         (select s.system_identifier from pg_catalog.pg_control_system() s)::text || ' ' || current_database() as identity,
         (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user) as is_superuser,
         to_regclass('identity.tenant_moves') is not null as is_ours`,
    ).catch((error: Error) => {
      throw new TenantProblem(`${option}: this user is not a superuser (${error.message})`);
    });
    const { database, identity, is_superuser, is_ours } = rows[0]!;
    const name = `${place}/${database}`;
    if (!is_superuser) throw new TenantProblem(`${option}: this user is not a superuser of ${name}`);
    if (!is_ours)
      throw new TenantProblem(
        `${option}: ${name} is no database of this version of l9-memory: set it up with \`l9-memory db setup\` first`,
      );
    await query(SETTINGS);
    const { rows: run } = await query<{ number: string; hash: string }>(
      "select substring(m.filename from '^\\d+') as number, m.hash from graphile_migrate.migrations m order by 1",
    );
    return {
      client,
      query,
      name,
      identity,
      migrations: Object.fromEntries(run.map(({ number, hash }) => [number, hash])),
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Throws unless both have run the same migrations. */
export function requireSameMigrations(
  here: Record<string, string>,
  there: Record<string, string>,
  names: [string, string],
): void {
  const different = [...new Set([...Object.keys(here), ...Object.keys(there)])]
    .sort()
    .find((one) => here[one] !== there[one]);
  if (different === undefined) return;
  const lacks = here[different] === undefined ? names[0] : there[different] === undefined ? names[1] : null;
  throw new TenantProblem(
    lacks === null
      ? `migration ${different} is another one in ${names[0]} than in ${names[1]}`
      : `${lacks} has not run migration ${different}: bring both to the same version of l9-memory first`,
  );
}

const TENANT = `select t.tenant_id, t.name, t.route from public.tenants t
  where t.tenant_id::text = lower($1) or t.name = $1 or t.route = $1
  order by t.tenant_id::text = lower($1) desc, t.name = $1 desc limit 1`;

/** The tenant of this id, name or route; undefined if there is none. */
export const findTenant = async (query: Query, given: string): Promise<Tenant | undefined> =>
  (await query<Tenant>(TENANT, [given])).rows[0];

export async function requireTenant({ query, name }: CellDatabase, given: string): Promise<Tenant> {
  const tenant = await findTenant(query, given);
  if (!tenant) throw new TenantProblem(`${given}: ${name} has no tenant of this id, name or route`);
  return tenant;
}

const LOCK_TRIES = 50;

/** Keeps other commands away from the tenant while this session lasts. A killed command's session ends in a moment. */
export async function lockTenant(
  { query, name }: CellDatabase,
  { tenant_id }: Pick<Tenant, 'tenant_id'>,
): Promise<void> {
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    const { rows } = await query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtextextended('l9-memory move of tenant ' || $1, 0)) as locked",
      [tenant_id],
    );
    if (rows[0]!.locked) return;
    await sleep(200);
  }
  throw new TenantProblem(`another command is at work on this tenant in ${name}: wait until it has ended`);
}

export interface Move {
  state: 'stopped' | 'arriving' | 'arrived' | 'moved';
  move_id: string;
  /** The move that brought the tenant here. */
  arrival_id: string | null;
  cell: string | null;
}

/** How a tenant moves; null: it has never moved from or to this database. */
export const moveOf = async ({ query }: CellDatabase, { tenant_id }: Pick<Tenant, 'tenant_id'>): Promise<Move | null> =>
  (
    await query<Move>(
      'select m.state, m.move_id, m.arrival_id, m.cell from identity.tenant_moves m where m.tenant_id = $1',
      [tenant_id],
    )
  ).rows[0] ?? null;
