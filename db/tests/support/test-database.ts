// The harness of db/tests: SQL only. Of gateway/ only the template of the embedded engine is imported.
//
//   describe('explore_graph', () => {
//     const db = useTestDatabase();                        // one database for the suite, dropped after it
//     it('follows edges in both directions', async () => {
//       await db.sql('C', "select public.relate('a', 'uses', 'b', project_id => 'l9')");
//       expect(await db.sql('L', 'select * from public.explore_graph($1)', ['a'])).toHaveLength(1);
//     });
//   });
//
// Callers go by their claims: `sql('C', …)` and `asCaller('C', work)` run in a transaction under the role and claims of C
// (an agent) or L (the administrator); the last argument changes claims. `asSuperuser`, `asOwner`, `asLogin` and
// `asWorker` are the other identities (sessions.ts).
//
// `useTestDatabase({ rollsBack: true })` rolls back what each test did; what beforeAll does stays. Use it unless the test
// needs a commit: several connections or `db.pool`, `commit` in its SQL, deferred triggers, NOTIFY, or a now() that moves on.
//
// To convert a file that still uses the test gateway: replace useTestGateway/startTestGateway by useTestDatabase, and
// `gateway.instance.database.workerPool.query` by `db.asWorker`. A test that needs MCP, GraphQL, jobs or embeddings
// belongs in gateway/tests.

import { join } from 'node:path';
import pg from 'pg';
import { createDatabase, type TestDatabaseFiles } from './databases.ts';
import { newPool, openEngine, poolOf } from './migrations.ts';
import { type Sessions, sessionsIn, sessionsOf } from './sessions.ts';

export interface TestDatabase extends Sessions {
  /** Logged in as l9_gateway, which may do nothing by itself; with one client on the embedded engine. */
  pool: pg.Pool;
  /** Where to connect more clients, as l9_gateway and as a superuser; null on the embedded engine, which has one session. */
  gatewayUrl: string | null;
  superuserUrl: string | null;
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Whether what each test does is rolled back after it. */
  rollsBack?: boolean;
}

/** A database that opens before the tests of the suite it is called in, and is dropped after them. */
export function useTestDatabase({ rollsBack = false }: TestDatabaseOptions = {}): TestDatabase {
  const database = {} as TestDatabase;
  let session: SuperuserSession | null = null;
  const endSession = async () => {
    await session?.release();
    session = null;
  };
  beforeAll(async () => {
    Object.assign(database, await openTestDatabase());
  });
  if (rollsBack) {
    let committing: Sessions;
    beforeEach(async () => {
      committing = { ...database };
      session ??= await superuserSession(database);
      await session.client.query('begin');
      Object.assign(database, sessionsIn(session.client, session.user));
    });
    afterEach(async () => {
      await session!.client.query('rollback');
      // On a server the next test uses the same session, because planning every statement again takes longer than most tests.
      // The embedded engine has one session only, which a beforeAll may need next.
      if (!database.superuserUrl) await endSession();
      Object.assign(database, committing);
    });
  }
  afterAll(async () => {
    await endSession();
    await database.close();
  });
  return database;
}

/** For a suite that opens its database itself, since it needs one before or beyond its tests. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const files = await createDatabase();
  const { pool, close } = files.gatewayUrl ? onServer(files.gatewayUrl) : await onEngine(files);
  return {
    ...sessionsOf(pool, files.superuserUrl),
    pool,
    gatewayUrl: files.gatewayUrl,
    superuserUrl: files.superuserUrl,
    async close() {
      await close();
      await files.drop();
    },
  };
}

function onServer(connectionString: string) {
  const pool = newPool({ connectionString, max: 4 });
  return { pool, close: () => pool.end() };
}

async function onEngine({ folder }: TestDatabaseFiles) {
  const engine = await openEngine(join(folder, 'data'));
  await engine.exec('set session authorization l9_gateway');
  const pool = poolOf(engine);
  return {
    pool,
    async close() {
      await pool.end();
      await engine.close();
    },
  };
}

interface SuperuserSession {
  client: pg.ClientBase;
  user: string;
  release(): Promise<void>;
}

async function superuserSession({ pool, superuserUrl }: TestDatabase): Promise<SuperuserSession> {
  if (superuserUrl) {
    const client = new pg.Client({ connectionString: superuserUrl });
    await client.connect();
    const { rows } = await client.query('select session_user as user');
    return { client, user: rows[0].user, release: () => client.end() };
  }
  const client = await pool.connect();
  await client.query('set session authorization postgres');
  return {
    client,
    user: 'postgres',
    async release() {
      await client.query('set session authorization l9_gateway');
      client.release();
    },
  };
}
