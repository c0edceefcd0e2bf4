import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/index.ts';
import { createTestHome, serverUrl, type TestHome } from '../support/databases.ts';

const skip = serverUrl ? false : 'needs a server: TEST_DATABASE_URL';
const silent = pino({ level: 'silent' });

describe('the server engine', { skip }, () => {
  let home: TestHome;
  let root: pg.Client;

  before(async () => {
    home = await createTestHome();
    root = new pg.Client({ connectionString: home.superuserUrl! });
    await root.connect();
  });
  after(async () => {
    await root.end();
    await home.drop();
  });

  const open = (env: Record<string, string> = {}) => openDatabase(loadConfig({ ...home.env, ...env }), silent);

  test('logs in as l9_gateway, which may do nothing by itself', async () => {
    const database = await open();
    try {
      const { rows } = await database.pool.query('select session_user::text as login, current_user::text as role');
      assert.deepEqual(rows[0], { login: 'l9_gateway', role: 'l9_gateway' });
      await assert.rejects(database.pool.query('select * from public.packet_store'), { code: '42501' });
      await assert.rejects(database.pool.query('create table public.mine (a int)'), { code: '42501' });
      const { rows: jobs } = await database.workerPool.query('select current_user::text as role');
      assert.equal(jobs[0].role, 'l9_worker');
      assert.equal(new URL(database.psqlUrl).password, '');
    } finally {
      await database.close();
    }
  });

  test('survives connections that the server ends', async () => {
    const database = await open();
    try {
      await Promise.all(Array.from({ length: 4 }, () => database.pool.query('select pg_sleep(0.05)')));
      await root.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'l9_gateway'",
      );
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.equal((await database.pool.query('select 1 as one')).rows[0].one, 1);
      assert.equal((await database.workerPool.query('select 1 as one')).rows[0].one, 1);
    } finally {
      await database.close();
    }
  });

  test('says what to do about a database that was never set up, or not migrated', async () => {
    const name = `l9_test_bare_${process.pid}`;
    const url = new URL(home.env.DATABASE_URL!);
    url.pathname = `/${name}`;
    await root.query(`create database ${name}`);
    try {
      await assert.rejects(open({ DATABASE_URL: url.href }), /has not run 000001.*DATABASE_OWNER_URL.*db setup/s);
    } finally {
      await root.query(`drop database ${name} with (force)`);
    }
  });

  test('a migration of another version is not taken for its own', async () => {
    await root.query("update graphile_migrate.migrations set hash = 'sha1:of-another' where filename like '000001%'");
    await assert.rejects(open(), /belongs to another version/);
  });
});
