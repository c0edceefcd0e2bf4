import type pg from 'pg';
import { pino } from 'pino';
import { itOnEmbedded, itOnServer } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type Database, inOneTrip, inTransaction, openDatabase, queryPrepared } from '../../src/database/index.ts';
import { createTestHome, type TestHome } from '../support/home.ts';

// On a server each client has a session of its own, and pg ends one that breaks.

describe('transactions', () => {
  let home: TestHome;
  let database: Database;

  beforeAll(async () => {
    home = await createTestHome();
    database = await openDatabase(loadConfig(home.env), pino({ level: 'silent' }));
  });
  afterAll(async () => {
    await database.close();
    await home.drop();
  });

  const roleOf = async (pool: { query: (sql: string) => Promise<{ rows: { role: string }[] }> }) =>
    (await pool.query('select current_user::text as role')).rows[0]?.role;

  it('keeps settings until the end of the transaction', async () => {
    const settings = { role: 'l9_agent', 'jwt.claims.caller': "O'Brien \\ ; drop", 'l9.tool_name': 'a tool' };
    const inside = await inTransaction(database.pool, settings, async (client) => {
      const { rows } = await client.query(
        "select current_user::text as role, current_setting('jwt.claims.caller') as caller, current_setting('l9.tool_name') as tool",
      );
      return rows[0];
    });
    expect(inside).toStrictEqual({ role: 'l9_agent', caller: "O'Brien \\ ; drop", tool: 'a tool' });
    for (let round = 0; round < 5; round++) {
      const { rows } = await database.pool.query(
        "select current_user::text as role, nullif(current_setting('jwt.claims.caller', true), '') as caller",
      );
      expect(rows[0]).toStrictEqual({ role: 'l9_gateway', caller: null });
    }
  });

  it('rolls back on an error, passes it on, and leaves the pool usable', async () => {
    for (let round = 0; round < 6; round++) {
      await expect(
        inTransaction(database.pool, { role: 'l9_agent' }, (client) => client.query('select 1/0')),
      ).rejects.toMatchObject({ code: '22012' });
      await expect(
        inTransaction(database.pool, { role: 'l9_agent' }, async () => {
          throw new Error('not from the database');
        }),
      ).rejects.toThrow(/not from the database/);
    }
    expect(await roleOf(database.pool)).toBe('l9_gateway');
  });

  it('applies the settings in one round trip, and rolls back when the query fails', async () => {
    for (let round = 0; round < 6; round++) {
      const { rows } = await inOneTrip(
        database.pool,
        { role: 'l9_agent', 'l9.tool_name': `trip ${round}` },
        'write',
        (client) => client.query("select current_user::text as role, current_setting('l9.tool_name') as tool"),
      );
      expect(rows[0]).toStrictEqual({ role: 'l9_agent', tool: `trip ${round}` });
      await expect(
        inOneTrip(database.pool, { role: 'l9_agent' }, 'write', (client) => client.query('select 1/0')),
      ).rejects.toMatchObject({ code: '22012' });
      expect(await roleOf(database.pool)).toBe('l9_gateway');
    }
  });

  it('runs several queries in one round trip, all of which fail if one does', async () => {
    const settings = { role: 'l9_worker' };
    const both = (second: string) =>
      inOneTrip(database.pool, settings, 'write', (client) =>
        Promise.all([
          client.query("select set_config('l9.tool_name', 'first', true), pg_current_xact_id()::text as id"),
          client.query(second),
        ]),
      );
    const [first, second] = await both(
      "select current_setting('l9.tool_name') as tool, pg_current_xact_id()::text as id",
    );
    expect(second.rows[0]).toStrictEqual({ tool: 'first', id: first.rows[0].id });
    await expect(both('select 1/0')).rejects.toMatchObject({ code: '22012' });
    await expect(both('select nothing')).rejects.toMatchObject({ code: '42703' });
    expect(await roleOf(database.pool)).toBe('l9_gateway');
  });

  it('answers a round trip only once it is committed', async () => {
    const { workerPool } = database;
    for (const model of ['one', 'another'])
      await workerPool.query('select public.register_embedding_model($1, 8)', [model]);
    const answered: string[] = [];
    // One model serves at a time, which is checked at the end of the transaction.
    const asked = inOneTrip(database.pool, { role: 'l9_worker' }, 'write', async (client) => {
      await client.query("update public.embedding_models set state = 'serving', state_since = now()");
      answered.push('updated');
    });
    await expect(asked).rejects.toMatchObject({ code: '23P01' });
    expect(answered).toStrictEqual([]);
    const { rows } = await workerPool.query("select from public.embedding_models where state = 'serving'");
    expect(rows.length).toBeLessThan(2);
  });

  it('keeps a prepared statement of a round trip that failed before it came to it', async () => {
    const kept = (client: pg.ClientBase, value: string) =>
      queryPrepared(client, { name: 'kept', text: 'select length($1)::integer as n', values: [value] });
    // PostgreSQL reports the failure while the value is still on its way, so that the next query meets the end of the transaction.
    const failing = inOneTrip(database.pool, {}, 'read', (client) =>
      Promise.all([client.query('select 1/0'), kept(client, 'x'.repeat(20_000_000))]),
    );
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    for (const value of ['two', 'three'])
      expect((await inOneTrip(database.pool, {}, 'read', (client) => kept(client, value))).rows).toStrictEqual([
        { n: value.length },
      ]);
  });

  it.each([
    ['a round trip', (work: (client: pg.PoolClient) => Promise<unknown>) => inOneTrip(database.pool, {}, 'read', work)],
    ['a transaction', (work: (client: pg.PoolClient) => Promise<unknown>) => inTransaction(database.pool, {}, work)],
  ])('parses a prepared statement of %s again when its parsing has failed', async (_, run) => {
    const unknown = { name: 'unknown', text: 'select nothing' };
    for (let round = 0; round < 6; round++)
      await expect(run((client) => queryPrepared(client, unknown))).rejects.toMatchObject({ code: '42703' });
  });

  it('sends nothing of a round trip that has a value which cannot be sent', async () => {
    const endless: Record<string, unknown> = {};
    endless.self = endless;
    const failing = inOneTrip(database.pool, {}, 'write', (client) =>
      Promise.all([
        client.query("select set_config('l9.tool_name', 'sent', false)"),
        client.query('select $1::jsonb', [endless]),
      ]),
    );
    await expect(failing).rejects.toThrow(/circular/);
    const { rows } = await database.pool.query("select current_setting('l9.tool_name', true) = 'sent' as is_sent");
    expect(rows[0].is_sent).not.toBe(true);
  });

  it('refuses a query that comes after the round trip was sent', async () => {
    const late = inOneTrip(database.pool, {}, 'read', async (client) => {
      await client.query('select 1');
      await client.query('select 2');
    });
    await expect(late).rejects.toThrow(/round trip was sent before/);
  });

  // The embedded engine has a limit of its own: gateway/tests/database/embedded tests it.
  itOnServer('applies a time limit to the query of a round trip', async () => {
    const slow = inOneTrip(database.pool, { statement_timeout: '50ms' }, 'read', (client) =>
      client.query('select pg_sleep(5)'),
    );
    await expect(slow).rejects.toMatchObject({ code: '57014' });
  });

  it('refuses a role that the gateway may not assume, and runs no query', async () => {
    for (const role of ['l9_owner', 'postgres', 'nobody_at_all']) {
      await expect(inTransaction(database.pool, { role }, async () => {})).rejects.toThrow();
      const runs = [
        (work: (client: pg.PoolClient) => Promise<void>) => inTransaction(database.pool, { role }, work),
        (work: (client: pg.PoolClient) => Promise<void>) => inOneTrip(database.pool, { role }, 'write', work),
      ];
      for (const run of runs) {
        let answered = false;
        const asked = run((client) =>
          client.query('select 1').then(() => {
            answered = true;
          }),
        );
        await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|22023)$/) });
        expect(answered).toBe(false);
      }
    }
    expect(await roleOf(database.pool)).toBe('l9_gateway');
  });

  it('runs jobs as l9_worker, also after a failed query', async () => {
    expect(await roleOf(database.workerPool)).toBe('l9_worker');
    await expect(database.workerPool.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    await expect(database.workerPool.query('select * from identity.nothing')).rejects.toThrow();
    expect(await roleOf(database.workerPool)).toBe('l9_worker');
    expect(await roleOf(database.pool)).toBe('l9_gateway');
  });

  itOnEmbedded('recovers a client that is returned in the middle of a failed transaction', async () => {
    for (const pool of [database.pool, database.workerPool]) {
      const client = await pool.connect();
      await client.query('begin');
      await expect(client.query('select 1/0')).rejects.toThrow();
      client.release();
      expect(await roleOf(database.workerPool)).toBe('l9_worker');
      expect(await roleOf(database.pool)).toBe('l9_gateway');
    }
  });

  it('listens on each pool for connections that break', () => {
    for (const pool of [database.pool, database.workerPool]) {
      expect(pool.listenerCount('error')).toBeGreaterThan(0);
    }
  });

  it('runs many transactions concurrently', async () => {
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        inTransaction(database.pool, { role: 'l9_agent', 'l9.tool_name': `tool ${n}` }, async (client) => {
          const { rows } = await client.query("select current_setting('l9.tool_name') as tool");
          return rows[0].tool;
        }),
      ),
    );
    expect(results).toStrictEqual(Array.from({ length: 40 }, (_, n) => `tool ${n}`));
  });
});
