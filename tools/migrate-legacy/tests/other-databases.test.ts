// Old tables in another database, old tables that are written to during the move, and those with their own application.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { DEFAULT_TENANT } from '../../../gateway/src/auth/identity.ts';
import {
  counts,
  createOldHome,
  FIRST,
  GIVE_TO_OWNER,
  OLD_ROWS,
  OLD_SCHEMA,
  type OldHome,
  ownerUrlOf,
  type Ran,
} from './old-database.ts';

describeOnServer('a legacy database on another server', () => {
  const name = `l9_old_${process.pid}`;
  let root: pg.Client;
  let url: string;
  beforeAll(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
    await root.query(`create database ${name}`);
    url = Object.assign(new URL(serverUrl!), { pathname: `/${name}` }).href;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // As it was: pgvector in public, and none of our roles concerned.
    await client.query('create extension vector');
    await client.query(OLD_SCHEMA.replace('extensions.vector', 'vector'));
    await client.query(OLD_ROWS);
    await client.end();
  });
  afterAll(async () => {
    await root.query(`drop database if exists ${name} with (force)`);
    await root.end();
  });

  it('moves into the embedded engine, and is dropped at its source by --drop only', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9t-'));
    try {
      const run = (...args: string[]) => {
        const env = { PATH: process.env.PATH, L9_MEMORY_HOME: folder, LOG_LEVEL: 'warn' };
        const ran = spawnSync(
          process.execPath,
          ['gateway/src/cli.ts', 'migrate-legacy', '--json', '--from', url, ...args],
          { env, encoding: 'utf8' },
        );
        expect(ran.stderr).toBe('');
        return { status: ran.status, report: JSON.parse(ran.stdout) };
      };
      const moved = run('--apply', '--label', 'laptop', '--embedding-model', 'old-model');
      expect(counts(moved as unknown as Ran)).toStrictEqual(FIRST);
      expect(moved.report.tables[0].vectors.moved).toBe(3);
      const again = run(
        '--apply',
        '--label',
        'laptop',
        '--drop',
        '--skip',
        'blank,long,expired,deleted,scope,project,operation,time,texts',
      );
      expect([again.status, again.report.drop]).toStrictEqual([0, { done: true, obstacles: [] }]);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query("select count(*)::int as n from pg_namespace where nspname = 'memory'");
      await client.end();
      expect(rows[0].n).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describeOnServer('a move while callers write', () => {
  let old: OldHome;
  beforeAll(async () => {
    old = await createOldHome();
    await old.superuser(async (query) => {
      await query(
        'create schema memory; create table memory.long_term (id bigint primary key, content text, importance real)',
      );
      await query("insert into memory.long_term values (1, 'Said by both at once.', 0.9), (2, 'Said by one.', 0.1)");
      await query(GIVE_TO_OWNER);
    });
  });
  afterAll(() => old.drop());

  it('merges equal contents into one memory, which no longer expires', async () => {
    const client = new pg.Client({ connectionString: old.home.superuserUrl! });
    await client.connect();
    try {
      await client.query(
        `begin; set local role l9_agent; set local jwt.claims.tenant_id = '${DEFAULT_TENANT}'; set local jwt.claims.caller = 'C'`,
      );
      const { rows } = await client.query(
        "select ((save_memory('said by BOTH at once.', scope => 'global', ttl => now() + interval '1 day', importance => 0.2)).memory).packet_id",
      );
      const moving = old.migrate('--apply', '--scope', '=global');
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await eventually(async () => (await old.query(waits)).length > 0);
      await client.query('commit');
      const ran = await moving;
      expect(counts(ran), ran.err).toStrictEqual({ 'memory.long_term': { moved: 1, merged: 1 } });
      const [packet] = await old.query(
        "select packet_id, ttl, importance_score, metadata from packet_store where content ilike '%both%'",
      );
      expect([packet.packet_id, packet.ttl, packet.metadata.creator]).toStrictEqual([
        rows[0].packet_id,
        null,
        'Cursor-IDE',
      ]);
      expect(Math.abs(packet.importance_score - 0.9)).toBeLessThan(1e-6);
    } finally {
      await client.end();
    }
  });
});

describeOnServer('the database of the old application', () => {
  const name = `l9_grown_${process.pid}`;
  let root: pg.Client;
  beforeAll(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
    await root.query(`create database ${name}`);
  });
  afterAll(async () => {
    await root.query(`drop database if exists ${name} with (force)`);
    await root.end();
  });

  it('is set up in place although pgvector is in public, and moved within itself', async () => {
    const url = Object.assign(new URL(serverUrl!), { pathname: `/${name}` }).href;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query('create extension vector; create extension pgcrypto');
      await client.query(OLD_SCHEMA.replace('extensions.vector', 'vector'));
      await client.query(OLD_ROWS);
      const old = await createOldHome(); // Which gives the roles their passwords.
      const cli = (env: NodeJS.ProcessEnv, ...args: string[]) =>
        spawnSync(process.execPath, ['gateway/src/cli.ts', ...args], {
          env: { PATH: process.env.PATH, ...env },
          encoding: 'utf8',
        });
      const setup = cli({}, 'db', 'setup', '--root-url', serverUrl!, '--database', name);
      expect(setup.status, setup.stderr).toBe(0);
      await client.query(GIVE_TO_OWNER);
      const ran = cli(
        { DATABASE_OWNER_URL: ownerUrlOf(url, old.env.DATABASE_URL!) },
        'migrate-legacy',
        '--json',
        '--apply',
        '--embedding-model',
        'm',
      );
      await old.drop();
      expect(ran.status, ran.stderr).toBe(0);
      const report = JSON.parse(ran.stdout);
      expect(counts({ report } as Ran)).toStrictEqual(FIRST);
      expect(report.tables[0].vectors.moved).toBe(3);
    } finally {
      await client.end();
    }
  });
});
