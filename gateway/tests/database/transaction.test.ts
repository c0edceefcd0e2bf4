import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { type Database, inOneTrip, inTransaction, openDatabase } from '../../src/database/index.ts';
import { createTestHome, engine, type TestHome } from '../support/databases.ts';

// On a server each client has a session of its own, and pg ends one that breaks.
const shared = engine === 'server' ? 'only the embedded engine has one session for all' : false;

describe('transactions', () => {
  let home: TestHome;
  let database: Database;

  before(async () => {
    home = await createTestHome();
    database = await openDatabase(loadConfig(home.env), pino({ level: 'silent' }));
  });
  after(async () => {
    await database.close();
    await home.drop();
  });

  const roleOf = async (pool: { query: (sql: string) => Promise<{ rows: { role: string }[] }> }) =>
    (await pool.query('select current_user::text as role')).rows[0]?.role;

  test('settings hold in the transaction and no longer', async () => {
    const settings = { role: 'l9_agent', 'jwt.claims.caller': "O'Brien \\ ; drop", 'l9.tool_name': 'a tool' };
    const inside = await inTransaction(database.pool, settings, async (client) => {
      const { rows } = await client.query(
        "select current_user::text as role, current_setting('jwt.claims.caller') as caller, current_setting('l9.tool_name') as tool",
      );
      return rows[0];
    });
    assert.deepEqual(inside, { role: 'l9_agent', caller: "O'Brien \\ ; drop", tool: 'a tool' });
    for (let round = 0; round < 5; round++) {
      const { rows } = await database.pool.query(
        "select current_user::text as role, nullif(current_setting('jwt.claims.caller', true), '') as caller",
      );
      assert.deepEqual(rows[0], { role: 'l9_gateway', caller: null });
    }
  });

  test('an error rolls back, is passed on, and leaves a pool that works', async () => {
    for (let round = 0; round < 6; round++) {
      await assert.rejects(
        inTransaction(database.pool, { role: 'l9_agent' }, (client) => client.query('select 1/0')),
        { code: '22012' },
      );
      await assert.rejects(
        inTransaction(database.pool, { role: 'l9_agent' }, async () => {
          throw new Error('not from the database');
        }),
        /not from the database/,
      );
    }
    assert.equal(await roleOf(database.pool), 'l9_gateway');
  });

  test('in one trip: the same settings, kept when the query succeeds and undone when it fails', async () => {
    for (let round = 0; round < 6; round++) {
      const { rows } = await inOneTrip(database.pool, { role: 'l9_agent', 'l9.tool_name': `trip ${round}` }, (client) =>
        client.query("select current_user::text as role, current_setting('l9.tool_name') as tool"),
      );
      assert.deepEqual(rows[0], { role: 'l9_agent', tool: `trip ${round}` });
      await assert.rejects(
        inOneTrip(database.pool, { role: 'l9_agent' }, (client) => client.query('select 1/0')),
        { code: '22012' },
      );
      assert.equal(await roleOf(database.pool), 'l9_gateway');
    }
  });

  test('a role that may not be taken is refused, and nothing is asked in its stead', async () => {
    for (const role of ['l9_owner', 'postgres', 'nobody_at_all']) {
      await assert.rejects(inTransaction(database.pool, { role }, async () => {}));
      for (const run of [inTransaction, inOneTrip]) {
        let answered = false;
        const asked = run(database.pool, { role }, (client) =>
          client.query('select 1').then(() => {
            answered = true;
          }),
        );
        await assert.rejects(asked, { code: /^(42501|22023)$/ });
        assert.equal(answered, false);
      }
    }
    assert.equal(await roleOf(database.pool), 'l9_gateway');
  });

  test('jobs run as l9_worker, also after a failed query', async () => {
    assert.equal(await roleOf(database.workerPool), 'l9_worker');
    await assert.rejects(database.workerPool.query('select 1/0'), { code: '22012' });
    await assert.rejects(database.workerPool.query('select * from identity.nothing'));
    assert.equal(await roleOf(database.workerPool), 'l9_worker');
    assert.equal(await roleOf(database.pool), 'l9_gateway');
  });

  test('who hands back a client in the middle of a failed transaction spoils nothing', { skip: shared }, async () => {
    for (const pool of [database.pool, database.workerPool]) {
      const client = await pool.connect();
      await client.query('begin');
      await assert.rejects(client.query('select 1/0'));
      client.release();
      assert.equal(await roleOf(database.workerPool), 'l9_worker');
      assert.equal(await roleOf(database.pool), 'l9_gateway');
    }
  });

  test('pools have listeners for connections that break', () => {
    for (const pool of [database.pool, database.workerPool]) {
      assert.ok(pool.listenerCount('error') > 0);
    }
  });

  test('many at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        inTransaction(database.pool, { role: 'l9_agent', 'l9.tool_name': `tool ${n}` }, async (client) => {
          const { rows } = await client.query("select current_setting('l9.tool_name') as tool");
          return rows[0].tool;
        }),
      ),
    );
    assert.deepEqual(
      results,
      Array.from({ length: 40 }, (_, n) => `tool ${n}`),
    );
  });
});
