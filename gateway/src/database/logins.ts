// Whether the URLs of the database can be used, and log in as the roles that they are for. A start asks before all that takes time.
import type pg from 'pg';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { isAway } from './away.ts';
import { withConnection } from './connection.ts';

interface Login {
  login: string;
  isSuperuser: boolean;
  bypassesPolicies: boolean;
  isOwner: boolean;
  /** Whether what it creates is l9_owner's. */
  createsAsOwner: boolean;
  isGateway: boolean;
}

// A role that does not exist yet, in a server that was never set up, is nobody's.
const LOGIN = `select r.rolname as login, r.rolsuper as "isSuperuser", r.rolbypassrls as "bypassesPolicies",
    coalesce((select pg_has_role(r.oid, o.oid, 'member') from pg_catalog.pg_roles o where o.rolname = 'l9_owner'), false) as "isOwner",
    current_user = 'l9_owner' as "createsAsOwner",
    coalesce((select pg_has_role(r.oid, w.oid, 'member') from pg_catalog.pg_roles w where w.rolname = 'l9_worker'), true) as "isGateway"
  from pg_catalog.pg_roles r where r.rolname = session_user`;

const PRINTED = '`l9-memory db setup --root-url …` prints it';

/** Why this login may not serve callers; null if it may. */
function problemOfGateway({ login, isSuperuser, bypassesPolicies, isOwner, isGateway }: Login): string | null {
  if (isSuperuser || bypassesPolicies)
    return `logs in as ${login}, ${isSuperuser ? 'a superuser' : 'which bypasses row-level security'}, so no policy would hold: give the URL of l9_gateway; ${PRINTED}`;
  if (isOwner)
    return `logs in as ${login}, which owns the tables: give the URL of l9_gateway here, and this one in DATABASE_OWNER_URL; ${PRINTED}`;
  if (!isGateway)
    return `logs in as ${login}, which may not take the roles of callers: give the URL of l9_gateway; ${PRINTED}`;
  return null;
}

/** The reads of another login could not be recorded: `audit.hand_over` names this one. */
const problemOfReplica = (login: Login): string | null =>
  problemOfGateway(login) ??
  (login.login === 'l9_gateway' ? null : `logs in as ${login.login}: give the URL of l9_gateway on the replica`);

function problemOfOwner({ login, isSuperuser, createsAsOwner }: Login): string | null {
  if (isSuperuser || !createsAsOwner)
    return `logs in as ${login}${isSuperuser ? ', a superuser' : ''}, and would create tables that are not l9_owner's: give the URL of l9_owner; ${PRINTED}`;
  return null;
}

const REMEDIES: Record<string, string> = {
  ECONNREFUSED: 'is the server running, and is this its port?',
  ENOTFOUND: 'is the name of the host right?',
  EAI_AGAIN: 'is the name of the host right?',
  ETIMEDOUT: 'is this the host, and does its firewall let this machine in?',
  '28P01': 'is the password right?',
  '28000': `is the user right? It is l9_gateway, or for DATABASE_OWNER_URL l9_owner; ${PRINTED}`,
  '3D000': 'is the name of the database right? `l9-memory db setup --root-url …` makes one',
  [SQLSTATE.insufficientPrivilege]:
    'may this user connect to the database? `l9-memory db setup --root-url …` grants it',
};

/** Asks who logs in; an error names the variable, never the URL, which holds a password. */
async function loginOf(variable: string, url: string): Promise<Login> {
  try {
    return await withConnection(url, async (client: pg.Client) => (await client.query<Login>(LOGIN)).rows[0]!);
  } catch (cause) {
    // If every address of the host refuses, the error is an AggregateError with an empty message.
    const error = cause instanceof AggregateError ? (cause.errors as Error[])[0] : cause;
    const remedy = REMEDIES[sqlstateOf(error) ?? ''];
    throw Object.assign(
      new Error(`${variable}: ${(error as Error).message}${remedy ? `; ${remedy}` : ''}`, { cause }),
      {
        code: sqlstateOf(error),
      },
    );
  }
}

/**
 * Throws what is wrong with DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_OWNER_URL and DATABASE_REPLICA_URLS, as one line that names the
 * variable and the remedy.
 */
export async function requireLogins({
  databaseUrl,
  databaseDirectUrl,
  isPooled,
  databaseOwnerUrl,
  replicas,
}: Config): Promise<void> {
  for (const [variable, url, problemOf] of [
    ['DATABASE_URL', databaseUrl, problemOfGateway],
    ['DATABASE_DIRECT_URL', isPooled ? databaseDirectUrl : null, problemOfGateway],
    ['DATABASE_OWNER_URL', databaseUrl ? databaseOwnerUrl : null, problemOfOwner],
  ] as const) {
    const problem = url ? problemOf(await loginOf(variable, url)) : null;
    if (problem) throw new Error(`${variable}: ${problem}`);
  }
  await Promise.all(replicas.urls.map(requireLoginOfReplica));
}

/** A replica that is away is no reason not to start: the gateway reads there once it is back. */
async function requireLoginOfReplica(url: string): Promise<void> {
  const variable = `DATABASE_REPLICA_URLS, ${new URL(url).host}`;
  const login = await loginOf(variable, url).catch((error: Error) => {
    if (isAway(error.cause)) return null;
    throw error;
  });
  const problem = login && problemOfReplica(login);
  if (problem) throw new Error(`${variable}: ${problem}`);
}
