// SQL under an identity: a caller's, the owner's, a login's, the worker's, or a superuser's.
import pg from 'pg';

export const DEFAULT_TENANT = '00000000-0000-7000-8000-000000000001';

export type Claims = Readonly<Record<string, string>>;
// biome-ignore lint/suspicious/noExplicitAny: rows differ by query, and tests name the columns they expect
export type Rows = any[];

export interface Sessions {
  /** SQL in a transaction of its own, under the caller's role and claims, as a DBA would run it in psql. */
  sql(caller: string, query: string, values?: unknown[], claims?: Claims): Promise<Rows>;
  /** The same for several statements, which the callback sends. */
  asCaller<T>(caller: string, work: (client: pg.ClientBase) => Promise<T>, claims?: Claims): Promise<T>;
  /** SQL of a superuser, whom no policy binds: to set up a test, to tamper, or to see everything. */
  asSuperuser(query: string, values?: unknown[]): Promise<Rows>;
  /** The same for several statements, in a session that the callback has for itself. It is rolled back at the end. */
  inSuperuserSession<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T>;
  /** Statements in a session whose session_user is this login, which need not be able to log in over the network. */
  asLogin<T>(login: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T>;
  /** As a DBA with the rights of l9_owner, and no identity. */
  asOwner(query: string, values?: unknown[]): Promise<Rows>;
  /** As a background job. */
  asWorker(query: string, values?: unknown[]): Promise<Rows>;
}

const CLAIMS = [
  ...[
    ...[
      'tenant_id',
      'caller',
      'org_id',
      'user_id',
      'scopes',
      'projects',
      'default_project',
      'default_branch',
      'key_id',
      'via',
    ],
    ...['correlation_id', 'session_id', 'trace_id'],
  ].map((name) => `jwt.claims.${name}`),
  'l9.tool_name',
];

const roles: Record<string, string> = { L: 'l9_admin', C: 'l9_agent' };

/** The settings under which SQL of a caller runs. */
export const claimsOf = (caller: string, claims: Claims = {}): Claims => ({
  role: roles[caller] ?? 'l9_agent',
  'jwt.claims.tenant_id': DEFAULT_TENANT,
  'jwt.claims.caller': caller,
  ...claims,
});

/** Of several statements in one query, the rows of the last. */
const rowsOf = (result: pg.QueryResult | pg.QueryResult[]): Rows =>
  (Array.isArray(result) ? result.at(-1)! : result).rows;

const apply = async (client: pg.ClientBase, settings: Claims) => {
  // A setting can't hold NUL.
  const literal = (value: string) => pg.escapeLiteral(value.replaceAll('\0', '\uFFFD'));
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`,
  );
  if (calls.length > 0) await client.query(`select ${calls.join(', ')}`);
};

/** What all kinds of sessions have in common. */
const withQueries = (base: Pick<Sessions, 'asCaller' | 'inSuperuserSession' | 'asLogin'>): Sessions => ({
  ...base,
  sql: (caller, query, values = [], claims = {}) =>
    base.asCaller(caller, async (client) => rowsOf(await client.query(query, values)), claims),
  asSuperuser: (query, values) => base.inSuperuserSession(async (client) => rowsOf(await client.query(query, values))),
  asOwner: (query, values) => base.asLogin('l9_owner', async (client) => rowsOf(await client.query(query, values))),
  asWorker: (query, values) =>
    base.asCaller('', async (client) => rowsOf(await client.query(query, values)), {
      role: 'l9_worker',
      'jwt.claims.tenant_id': '',
    }),
});

/**
 * Sessions of a pool that is logged in as l9_gateway; what they do is committed. Without a superuser's URL the pool has
 * one client, of the embedded engine, which becomes the superuser's for a while.
 */
export function sessionsOf(pool: pg.Pool, superuserUrl: string | null): Sessions {
  const inSuperuserSession = async <T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> => {
    if (superuserUrl) {
      const client = new pg.Client({ connectionString: superuserUrl });
      await client.connect();
      try {
        return await work(client);
      } finally {
        await client.end();
      }
    }
    const client = await pool.connect();
    try {
      await client.query('set session authorization postgres');
      return await work(client);
    } finally {
      await client.query('rollback');
      await client.query('reset role');
      await client.query('set session authorization postgres');
      await client.query('set session authorization l9_gateway');
      client.release();
    }
  };
  return withQueries({
    inSuperuserSession,
    asLogin: (login, work) =>
      inSuperuserSession(async (client) => {
        await client.query(`set session authorization ${pg.escapeIdentifier(login)}`);
        return work(client);
      }),
    async asCaller(caller, work, claims = {}) {
      const client = await pool.connect();
      try {
        await client.query('begin');
        await apply(client, claimsOf(caller, claims));
        const result = await work(client);
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(() => {});
        throw error;
      } finally {
        client.release();
      }
    },
  });
}

/**
 * Sessions inside one open transaction of a superuser's client: each works behind a savepoint, and the whole can be
 * rolled back. Their statements take turns. now() stands still, and a callback can't begin or commit.
 */
export function sessionsIn(client: pg.ClientBase, superuser: string): Sessions {
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const behindSavepoint = <T>(login: string | null, settings: Claims, work: (client: pg.ClientBase) => Promise<T>) =>
    inTurn(async () => {
      await client.query('savepoint session');
      try {
        if (login) await client.query(`set local session authorization ${pg.escapeIdentifier(login)}`);
        await apply(client, settings);
        const result = await work(client);
        await client.query('release savepoint session');
        return result;
      } catch (error) {
        await client.query('rollback to savepoint session');
        throw error;
      } finally {
        await client.query(`set local role none; set local session authorization ${pg.escapeIdentifier(superuser)}`);
        // A released savepoint keeps what was set in it.
        await apply(client, Object.fromEntries(CLAIMS.map((name) => [name, ''])));
      }
    });
  return withQueries({
    inSuperuserSession: (work) => behindSavepoint(null, {}, work),
    asLogin: (login, work) => behindSavepoint(login, {}, work),
    asCaller: (caller, work, claims = {}) => behindSavepoint('l9_gateway', claimsOf(caller, claims), work),
  });
}
