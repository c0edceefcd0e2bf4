// The drill on a server: a backup of one in use is restored elsewhere, and is the whole memory again.
import { pbkdf2 } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { backup } from '../../src/commands/backup/backup.ts';
import { readBackup, writeBackup } from '../../src/commands/backup/file.ts';
import { restore } from '../../src/commands/backup/restore.ts';
import type { TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome, withoutPooler } from '../support/home.ts';
import { findClient } from '../support/pg-clients.ts';
import { expectWhole, keepSaving, never, noKey, run, start, tamper, use, useFolder } from './support/backups.ts';

const derive = promisify(pbkdf2);
const inFolder = useFolder();

const [psql, pgDump] = await Promise.all([findClient('psql'), findClient('pg_dump')]);
// Without the programs of PostgreSQL there is nothing to back up a server with.
(psql && pgDump ? describeOnServer : describe.skip)('a backup of a server', () => {
  const name = `l9_drill_${process.pid}`;
  let home: TestHome;
  let gateway: TestGateway;
  let root: pg.Client;
  let backupUrl: string;
  const path = () => inFolder('server.backup');
  const env = () => ({ ...home.env, PSQL: psql!, BACKUP_DATABASE_URL: backupUrl, ROOT_DATABASE_URL: serverUrl! });
  const back = (file: string, database = name) => run(() => restore(env(), file, { database }));
  const make = (file: string, more: Record<string, string> = {}) => run(() => backup({ ...env(), ...more }, file, {}));
  const urlOf = (database: string, user: string) =>
    Object.assign(new URL(serverUrl!), { pathname: `/${database}`, username: user, password: '' }).href;
  const exists = async () => (await root.query('select from pg_database where datname = $1', [name])).rowCount === 1;
  const drop = async () => {
    // A pool that is cut off would report it after its test.
    await eventually(
      async () => (await root.query('select from pg_stat_activity where datname = $1', [name])).rowCount === 0,
    );
    await root.query(`drop database if exists ${name}`);
  };

  beforeAll(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
    home = withoutPooler(await createTestHome());
    backupUrl = Object.assign(new URL(home.superuserUrl!), { username: 'l9_backup', password: '' }).href;
    gateway = await start(home);
  });
  afterAll(async () => {
    await gateway?.close();
    await drop();
    await home?.drop();
    await root.end();
  });

  /** Roles belong to the whole server: their passwords are put back, and nobody else changes roles meanwhile. */
  async function withPasswords<Result>(work: () => Promise<Result>): Promise<Result> {
    await root.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    const { rows } = await root.query(
      "select rolname, rolpassword from pg_authid where rolname in ('l9_owner', 'l9_gateway', 'l9_backup')",
    );
    try {
      return await work();
    } finally {
      for (const { rolname, rolpassword } of rows)
        await root.query(`alter role ${rolname} password ${rolpassword ? pg.escapeLiteral(rolpassword) : 'null'}`);
      await root.query("select pg_advisory_unlock(hashtext('l9-memory test template'))");
    }
  }

  it('is made while the server saves, and is the whole memory again in a new database', async () => {
    const head = await use(gateway);
    const saving = keepSaving(gateway);
    const made = await make(path());
    await saving.stop();
    expect(made).toMatchObject({ code: 0, said: expect.stringMatching(/ memories, \d+ rows in \d+ tables/) });
    expect(statSync(path()).mode & 0o777).toBe(0o600);

    const restored = await withPasswords(() => back(path()));
    expect(restored.code, restored.said).toBe(0);
    expect(restored.said).toMatch(
      /rows in \d+ tables, as many as were backed up\n[\s\S]* [1-9]\d* seals of [1-9]\d* audit rows are right.*\n.*by words, and [1-9] of \d by meaning/,
    );
    // What belongs to the database itself: its owner, the rights on it, its settings.
    const ownOf = async (database: string) =>
      (
        await root.query(
          `select pg_get_userbyid(d.datdba) as owner, s.setconfig as settings,
             array(select (x.grantee::regrole, x.privilege_type)::text from aclexplode(d.datacl) x
               where x.grantee::regrole::text ~ 'l9_' or x.grantee = 0 order by 1) as rights
           from pg_database d left join pg_db_role_setting s on s.setdatabase = d.oid and s.setrole = 0 where d.datname = $1`,
          [database],
        )
      ).rows[0];
    expect(await ownOf(name)).toMatchObject({
      owner: 'l9_owner',
      settings: ['search_path="$user", public, extensions'],
    });
    const gatewayUrl = urlOf(name, 'l9_gateway');
    const other = await start({
      ...home,
      superuserUrl: urlOf(name, new URL(serverUrl!).username),
      env: { ...home.env, DATABASE_URL: gatewayUrl, DATABASE_OWNER_URL: urlOf(name, 'l9_owner') },
    });
    await expectWhole(other, head);
    await other.close();
  });

  it('is restored into an empty database only, and leaves what it finds', async () => {
    const full = await back(path());
    expect([full.code, full.said]).toStrictEqual([
      1,
      expect.stringMatching(/database \S+ is not empty \(.*\), and a restore never replaces anything/),
    ]);
    expect(await exists()).toBe(true);
    await drop();
    await root.query(`create database ${name}`);
    const restored = await withPasswords(() => back(path()));
    expect(restored.code, restored.said).toBe(0);
    await drop();
  });

  const edit = (file: string, change: (sql: string) => string) =>
    tamper(path(), file, async (database) => {
      let sql = '';
      for await (const part of database) sql += Buffer.from(part).toString('latin1');
      const changed = change(sql);
      expect(changed).not.toBe(sql);
      return (async function* () {
        yield Buffer.from(changed, 'latin1');
      })();
    });
  it.each([
    [
      'lacks a row',
      (sql: string) => sql.replace(/(COPY public\.packet_versions .*\n)[^\\].*\n/, '$1'),
      /public\.packet_versions: the backup was made of 1 rows, and 0 rows came back/,
    ],
    [
      'has a changed row of the audit log',
      (sql: string) => sql.replace(/(COPY partitions\.audit_log_\S+ .*\n(?:[^\\].*\n)*?[^\\].*"caller": ")C"/, '$1X"'),
      /the audit log of the backup is not what its seals say: a row was altered/,
    ],
    ['can be restored in part only', (sql: string) => `${sql}\nselect 1/0;\n`, /psql: .*22012/],
    [
      'can be searched by nobody',
      (sql: string) => sql.replace(/GRANT ALL ON FUNCTION public\.search_memory\([^;]*\) TO l9_admin;/, ''),
      /a search by words fails in the restored database/,
    ],
  ])('is refused if it %s, and leaves no database', async (_what, change, reason) => {
    await drop();
    const file = inFolder(`${_what.replaceAll(' ', '-')}.backup`);
    await edit(file, change);
    const { code, said } = await withPasswords(() => back(file));
    expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    expect(said).not.toContain('deploy key');
    expect(await exists()).toBe(false);
  });

  it('is refused if a byte of it has changed', async () => {
    const bytes = readFileSync(path());
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(inFolder('byte.backup'), bytes);
    const damaged = await back(inFolder('byte.backup'));
    expect([damaged.code, damaged.said]).toStrictEqual([
      1,
      expect.stringMatching(/is damaged: it is not what was written/),
    ]);
    expect(await exists()).toBe(false);
  });

  it('names the roles that the server lacks', async () => {
    const { manifest, database } = await readBackup(path(), noKey);
    expect(manifest.roles).toEqual(expect.arrayContaining(['l9_owner', 'l9_agent']));
    const file = inFolder('roles.backup');
    await writeBackup(file, {
      manifest: { ...manifest, roles: [...manifest.roles, 'l9_nobody_has_this'] },
      ...{ database: database(), encrypt: null, signal: never },
    });
    const { code, said } = await back(file);
    expect([code, said]).toStrictEqual([
      1,
      expect.stringMatching(/lacks roles that the backup needs: l9_nobody_has_this\. Make them/),
    ]);
    expect(await exists()).toBe(false);
  });

  it('is made by a login that sees every row, and by no other', async () => {
    const file = inFolder('never.backup');
    const missing = await make(file, { BACKUP_DATABASE_URL: '' });
    expect([missing.code, missing.said]).toStrictEqual([
      1,
      expect.stringMatching(/^BACKUP_DATABASE_URL: required where DATABASE_URL is set/),
    ]);
    const blind = await make(file, { BACKUP_DATABASE_URL: home.env.DATABASE_URL! });
    expect([blind.code, blind.said]).toStrictEqual([
      1,
      expect.stringMatching(/^BACKUP_DATABASE_URL: l9_gateway does not see every row/),
    ]);
    const nobody = await make(file, { BACKUP_DATABASE_URL: urlOf('postgres', 'l9_nobody_has_this') });
    expect([nobody.code, nobody.said]).toStrictEqual([
      1,
      expect.stringMatching(/^BACKUP_DATABASE_URL: can't connect to .* as l9_nobody_has_this/),
    ]);
    expect(existsSync(file)).toBe(false);
  });

  it('needs a pg_dump that is not older than the server, and leaves nothing if that fails', async () => {
    const programs = mkdtempSync(inFolder('programs-'));
    const file = join(programs, 'never.backup');
    const put = (script: string) => {
      writeFileSync(join(programs, 'pg_dump'), `#!/bin/sh\n${script}\n`);
      chmodSync(join(programs, 'pg_dump'), 0o755);
    };
    const path_ = process.env.PATH;
    process.env.PATH = programs;
    try {
      const absent = await make(file, { PSQL: join(programs, 'psql') });
      expect(absent.said).toMatch(/^pg_dump of PostgreSQL 18 or later was not found: install PostgreSQL's client/);
      put('echo "pg_dump (PostgreSQL) 17.6 (Debian)"');
      const older = await make(file, { PSQL: join(programs, 'psql') });
      expect(older.said).toMatch(
        /^pg_dump of PostgreSQL 18 or later was not found \(.*pg_dump is of version 17\): install/,
      );
      put(`[ "$1" = --version ] && echo "pg_dump (PostgreSQL) 18.6" && exit
echo "-- half of a dump"; echo "pg_dump: error: the server went away" >&2; exit 1`);
      // Opening the file waits for these, so that pg_dump has ended when its output is first asked for.
      const busy = Array.from({ length: 12 }, () => derive('x', 'y', 200_000, 32, 'sha512'));
      const failed = await make(file, { PSQL: join(programs, 'psql') });
      await Promise.all(busy);
      expect([failed.code, failed.said]).toStrictEqual([1, expect.stringMatching(/pg_dump: the server went away\n$/)]);
    } finally {
      process.env.PATH = path_;
    }
    expect(readdirSync(programs)).toStrictEqual(['pg_dump']);
  });

  it('is made by a role that reads past every policy, writes nothing and becomes nobody else', async () => {
    const client = new pg.Client({ connectionString: backupUrl });
    await client.connect();
    try {
      const { rows } = await client.query('select count(*)::int from public.packet_store where scope = $1', [
        'l-private',
      ]);
      expect(rows[0].count).toBe(1);
      for (const statement of [
        `update public.packet_store set scope = 'developer'`,
        'delete from public.memory_embeddings',
        'truncate public.audit_log',
        'create table public.mine ()',
        'create temporary table mine ()',
        'select public.verify_audit()',
        'set role l9_admin',
        'set role l9_owner',
        'set session authorization l9_gateway',
      ]) {
        await client.query('begin read write');
        await expect(client.query(statement), statement).rejects.toThrow(/permission denied|must be owner/);
        await client.query('rollback');
      }
    } finally {
      await client.end();
    }
  });
});
