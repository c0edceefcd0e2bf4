import { createDatabase, createNamedDatabase, type TestDatabaseFiles } from '../../../db/tests/support/databases.ts';
import { serverUrl } from '../../../db/tests/support/engine.ts';

/** A home folder for a gateway, and a database of its own. */
export interface TestHome {
  home: string;
  /** The environment that a gateway process on this home needs. */
  env: Record<string, string>;
  /** On a server: a superuser's URL of the database. */
  superuserUrl: string | null;
  drop(): Promise<void>;
}

/**
 * A machine that runs other tests as well takes longer than the ten seconds that a call waits by default, and the embedded engine cancels
 * statements earlier than that. A test of these limits sets them itself.
 */
export const PATIENT = { DATABASE_QUEUE_TIMEOUT_MS: '60000' };

/** Through the PgBouncer of cluster/setup.ts, if it runs in front of this server. */
function urlsOf(gatewayUrl: string): Record<string, string> {
  const port = process.env.TEST_PGBOUNCER_PORT;
  const pooled = new URL(gatewayUrl);
  if (!port || pooled.host !== new URL(serverUrl!).host) return { DATABASE_URL: gatewayUrl };
  pooled.host = `127.0.0.1:${port}`;
  return { DATABASE_URL: pooled.href, DATABASE_DIRECT_URL: gatewayUrl };
}

/** The same home without that PgBouncer, for tests of the connections themselves. */
export const withoutPooler = (home: TestHome): TestHome => {
  const { DATABASE_DIRECT_URL, ...env } = home.env;
  return DATABASE_DIRECT_URL ? { ...home, env: { ...env, DATABASE_URL: DATABASE_DIRECT_URL } } : home;
};

const homeOf = ({ folder, gatewayUrl, superuserUrl, drop }: TestDatabaseFiles): TestHome => ({
  home: folder,
  env: { ...PATIENT, L9_MEMORY_HOME: folder, ...(gatewayUrl ? urlsOf(gatewayUrl) : {}) },
  superuserUrl,
  drop,
});

/** On the engine of this run, or on the server whose superuser's URL is given. */
export const createTestHome = async (url?: string | null): Promise<TestHome> => homeOf(await createDatabase(url));

/** On a server, with a database that is used again as long as the schema and `version` stay the same. */
export const createNamedHome = async (url: string, prefix: string, version: string): Promise<TestHome> =>
  homeOf(await createNamedDatabase(url, prefix, version));
