// The drill: a backup of a server in use is restored elsewhere, and is the whole memory again. A backup that lacks anything is refused.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { generateIdentity } from 'age-encryption';
import { packTar, unpackTar } from 'modern-tar/fs';
import pg from 'pg';
import { sealAll } from '../../../db/tests/audit/support.ts';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded, describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { type BackupOptions, backup } from '../../src/commands/backup/backup.ts';
import { type Chunks, readBackup, writeBackup } from '../../src/commands/backup/file.ts';
import { restore } from '../../src/commands/backup/restore.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createPglite } from '../../src/database/pglite.ts';
import { takeHome } from '../../src/home/examine.ts';
import type { HomeLock } from '../../src/home/lock.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { findClient } from '../support/pg-clients.ts';
import { standIn } from '../support/stand-in.ts';

const CONTENTS = ['The deploy key is rotated on Mondays.', 'Queues are drained before a release.'];
const never = new AbortController().signal;
const noKey = async (): Promise<never> => {
  throw new Error('it is not encrypted');
};

/** Runs a command in this process: its exit code, and what it prints. */
async function run(command: () => Promise<number>) {
  const writes = [process.stdout.write, process.stderr.write] as const;
  let said = '';
  const take = ((text: string) => {
    said += text;
    return true;
  }) as typeof process.stdout.write;
  process.stdout.write = process.stderr.write = take;
  try {
    return { code: await command(), said };
  } finally {
    [process.stdout.write, process.stderr.write] = writes;
  }
}

/** It leaves its database and folder. */
const start = (home: TestHome) => startTestGateway({ embedder: standIn, home: { ...home, drop: async () => {} } });

const headOf = async (gateway: TestGateway): Promise<string> => {
  const [{ head }] = await gateway.sql('L', 'select v.head from public.verify_audit() v');
  return head;
};

/** Saves, searches, changes and seals, so that there is something of everything. Returns the head of the seals. */
async function use(gateway: TestGateway): Promise<string> {
  const first = await gateway.save('C', CONTENTS[0]!);
  await gateway.save('L', CONTENTS[1]!, { scope: 'l-private' });
  await gateway.call('C', 'update_memory', { packet_id: first, tags: ['ops'] });
  await gateway.embedded();
  await gateway.call('C', 'search_memory', { query: 'deploy key' });
  await sealAll(gateway);
  return headOf(gateway);
}

async function expectWhole(gateway: TestGateway, head: string, contents = [CONTENTS[0]!]) {
  await eventually(async () => (await fetch(`${gateway.instance.url}/ready`)).status === 200);
  for (const mode of ['lexical', 'semantic', 'hybrid']) {
    for (const query of contents) {
      const { hits } = await gateway.call('C', 'search_memory', { query, mode, min_relevance: 0, k: 100 });
      expect(
        hits.map(({ content }: { content: string }) => content),
        mode,
      ).toContain(query);
    }
  }
  const { hits } = await gateway.call('L', 'search_memory', { query: 'queues drained release', mode: 'lexical' });
  expect(hits).toHaveLength(1);
  const [verified] = await gateway.sql(
    'L',
    'select v.ok, v.reason, v.seals > 0 as has_seals from public.verify_audit(head => $1) v',
    [head],
  );
  expect(verified).toStrictEqual({ ok: true, reason: null, has_seals: true });
  const again = await gateway.call('C', 'save_memory', { content: CONTENTS[0], project_id: 'l9' });
  expect(again.status).toBe('skipped_dedupe');
  expect(await gateway.save('C', 'It still takes what is new.')).toMatch(/^[0-9a-f-]{36}$/);
  await gateway.asWorker('call public.refresh_memory_views()');
}

/** Saves until it is told to stop; returns what was saved. */
function keepSaving(gateway: TestGateway) {
  const saved: string[] = [];
  let isOver = false;
  const over = (async () => {
    for (let number = 1; !isOver; number++) {
      const content = `Saved during the backup, as number ${number} of several.`;
      await gateway.save('C', content);
      saved.push(content);
    }
  })();
  return {
    saved,
    async stop() {
      isOver = true;
      await over;
    },
  };
}

/** Writes a whole file again, whose database is another. */
async function tamper(from: string, to: string, change: (database: Chunks) => Chunks | Promise<Chunks>) {
  const { manifest, database } = await readBackup(from, noKey);
  await writeBackup(to, { manifest, database: await change(database()), encrypt: null, signal: never });
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'l9-drill-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeOnEmbedded('a backup of the embedded engine', () => {
  let home: TestHome;
  let lock: HomeLock;
  let gateway: TestGateway;
  let head: string;
  const path = () => join(folder, 'embedded.backup');
  const place = (name: string) => ({ L9_MEMORY_HOME: join(folder, name) });
  const back = (file: string, env: Record<string, string>, options = {}) =>
    run(() => restore(env, file, { database: 'l9_memory', ...options }));
  const make = (file: string, options: BackupOptions = {}, env = home.env) => run(() => backup(env, file, options));
  const startAt = ({ L9_MEMORY_HOME }: { L9_MEMORY_HOME: string }) =>
    start({ ...home, home: L9_MEMORY_HOME, env: { ...home.env, L9_MEMORY_HOME } });

  beforeAll(async () => {
    home = await createTestHome();
    lock = await takeHome(loadConfig(home.env));
    gateway = await start(home);
    head = await use(gateway);
  });
  afterAll(async () => {
    await gateway?.close();
    lock?.release();
    await home?.drop();
  });

  it('is made while the server saves, and is the whole memory again in a new home folder', async () => {
    const saving = keepSaving(gateway);
    const before = [...saving.saved];
    const made = await make(path());
    await saving.stop();
    expect(made).toMatchObject({
      code: 0,
      said: expect.stringMatching(
        / memories, \d+ rows in \d+ tables, .*not encrypted\nnot in it: the keys of .*credentials\.json/,
      ),
    });
    expect(readdirSync(home.home).filter((name) => name.startsWith('backup'))).toStrictEqual([]);
    expect(statSync(path()).mode & 0o777).toBe(0o600);

    const restored = await back(path(), place('restored'));
    expect(restored.code, restored.said).toBe(0);
    expect(restored.said).toMatch(
      /rows in \d+ tables, as many as were backed up\n.* [1-9]\d* seals of [1-9]\d* audit rows are right.*\n.*by words, and [1-9] of \d by meaning/,
    );
    const other = await startAt(place('restored'));
    await expectWhole(other, head, [CONTENTS[0]!, ...before]);
    await other.close();
    // The server that was backed up goes on.
    await expectWhole(gateway, head);
  });

  it('is never restored over a database, nor over keys', async () => {
    const again = await back(path(), place('restored'));
    expect([again.code, again.said]).toStrictEqual([
      1,
      expect.stringContaining('has a database, and a restore never replaces one'),
    ]);
    const secret = join(folder, 'key.txt');
    writeFileSync(secret, await generateIdentity());
    const encrypted = join(folder, 'with-keys.backup');
    expect((await make(encrypted, { key: secret, withKeys: true })).code).toBe(0);
    const own = place('own');
    mkdirSync(own.L9_MEMORY_HOME);
    writeFileSync(join(own.L9_MEMORY_HOME, 'credentials.json'), readFileSync(join(home.home, 'credentials.json')));
    const refused = await back(encrypted, own, { key: secret });
    expect([refused.code, refused.said]).toStrictEqual([
      1,
      expect.stringContaining('the backup brings keys, and there are others'),
    ]);
  });

  it('brings the keys back if they were asked for, and they are asked for only where they are encrypted', async () => {
    const refused = await make(join(folder, 'x.backup'), { withKeys: true });
    expect([refused.code, refused.said]).toStrictEqual([
      1,
      '--with-keys: only in an encrypted backup; add --encrypt, or --key FILE\n',
    ]);
    const options = { key: join(folder, 'key.txt') };
    const restored = await back(join(folder, 'with-keys.backup'), place('keys'), options);
    expect(restored.code, restored.said).toBe(0);
    const file = join(folder, 'keys', 'credentials.json');
    expect(readFileSync(file, 'utf8')).toBe(readFileSync(join(home.home, 'credentials.json'), 'utf8'));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = await startAt(place('keys'));
    // A key of the former server opens the new one.
    const mcp = await fetch(`${other.instance.url}/attach`, {
      headers: { authorization: `Bearer ${gateway.apiKey('C')}` },
    });
    expect(mcp.status).toBe(200);
    await mcp.body!.cancel();
    await other.close();
  });

  const change = (name: string, sql: string) => async (): Promise<string> => {
    const path_ = join(folder, `${name}.backup`);
    await tamper(path(), path_, async (database) => {
      const data = join(folder, `${name}-data`);
      await pipeline(database, unpackTar(data));
      const engine = await createPglite(data);
      await engine.exec(`set session_replication_role = replica; ${sql}`);
      await engine.close();
      return packTar(data);
    });
    return path_;
  };
  it.each([
    [
      'lacks a row',
      change(
        'row',
        `delete from public.packet_versions where ctid in (select ctid from public.packet_versions limit 1)`,
      ),
      /public\.packet_versions: the backup was made of 1 rows, and 0 rows came back/,
    ],
    [
      'has a changed row of the audit log',
      change(
        'audit',
        `alter table public.audit_log disable trigger all;
        update public.audit_log set details = details || '{"caller": "X"}' where caller = 'C'`,
      ),
      /the audit log of the backup is not what its seals say: a row was altered/,
    ],
    [
      'can be searched by nobody',
      change('search', 'revoke execute on function public.search_memory from l9_admin'),
      /a search by words fails in the restored database/,
    ],
  ])('is refused if it %s, and leaves no database', async (_what, tampered, reason) => {
    const at = place(`refused-${_what.replaceAll(' ', '-')}`);
    const { code, said } = await back(await tampered(), at);
    expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    expect(readdirSync(at.L9_MEMORY_HOME).filter((name) => !name.startsWith('lock'))).toStrictEqual([]);
  });

  it('is refused if a byte of it has changed, and of another kind of file', async () => {
    const bytes = readFileSync(path());
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(join(folder, 'byte.backup'), bytes);
    const damaged = await back(join(folder, 'byte.backup'), place('never'));
    expect([damaged.code, damaged.said]).toStrictEqual([
      1,
      expect.stringMatching(/is damaged: it is not what was written/),
    ]);
    const foreign = await back(join(home.home, 'credentials.json'), place('never'));
    expect([foreign.code, foreign.said]).toStrictEqual([1, expect.stringMatching(/is not a backup of l9-memory/)]);
    expect(existsSync(join(folder, 'never'))).toBe(false);
  });

  it('is of another version if its migrations are unknown, and says which', async () => {
    const { manifest, database } = await readBackup(path(), noKey);
    const newer = { ...manifest, version: '9.1.0', migrations: { ...manifest.migrations, 99: 'sha1:0' } };
    const file = join(folder, 'newer.backup');
    await writeBackup(file, { manifest: newer, database: database(), encrypt: null, signal: never });
    const { code, said } = await back(file, place('never'));
    expect([code, said]).toStrictEqual([
      1,
      expect.stringMatching(
        /made by l9-memory 9\.1\.0, whose migration 99 is unknown here: restore it with that version/,
      ),
    ]);
  });

  it('needs no server, and cleans up after a backup that was killed', async () => {
    await gateway.close();
    lock.release();
    const killed = join(home.home, `backup.${2 ** 22 + 1}`);
    writeFileSync(killed, '');
    const files = join(folder, 'daily');
    expect((await make(`${files}/`)).said).toMatch(/there is no such folder; make it first/);
    mkdtempSync(`${files}-`);
    const [daily] = readdirSync(folder).filter((name) => name.startsWith('daily-'));
    const made = await make(join(folder, daily!), { keep: '7' });
    expect(made.code, made.said).toBe(0);
    expect(readdirSync(join(folder, daily!))).toStrictEqual([
      expect.stringMatching(/^l9-memory-\d{8}T\d{6}Z\.backup$/),
    ]);
    expect(existsSync(killed)).toBe(false);
    const none = await make(join(folder, 'none.backup'), {}, { L9_MEMORY_HOME: join(folder, 'nothing') });
    expect([none.code, none.said]).toStrictEqual([1, expect.stringMatching(/there is no database to back up/)]);
    expect(existsSync(join(folder, 'nothing'))).toBe(false);
  });
});

const [psql, pgDump] = await Promise.all([findClient('psql'), findClient('pg_dump')]);
(psql && pgDump ? describeOnServer : describe.skip)('a backup of a server', () => {
  const name = `l9_drill_${process.pid}`;
  let home: TestHome;
  let gateway: TestGateway;
  let root: pg.Client;
  let backupUrl: string;
  const path = () => join(folder, 'server.backup');
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
    home = await createTestHome();
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
    const file = join(folder, `${_what.replaceAll(' ', '-')}.backup`);
    await edit(file, change);
    const { code, said } = await withPasswords(() => back(file));
    expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    expect(said).not.toContain('deploy key');
    expect(await exists()).toBe(false);
  });

  it('is refused if a byte of it has changed', async () => {
    const bytes = readFileSync(path());
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(join(folder, 'byte.backup'), bytes);
    const damaged = await back(join(folder, 'byte.backup'));
    expect([damaged.code, damaged.said]).toStrictEqual([
      1,
      expect.stringMatching(/is damaged: it is not what was written/),
    ]);
    expect(await exists()).toBe(false);
  });

  it('names the roles that the server lacks', async () => {
    const { manifest, database } = await readBackup(path(), noKey);
    expect(manifest.roles).toEqual(expect.arrayContaining(['l9_owner', 'l9_agent']));
    const file = join(folder, 'roles.backup');
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
    const file = join(folder, 'never.backup');
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
    const programs = mkdtempSync(join(folder, 'programs-'));
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
      const failed = await make(file, { PSQL: join(programs, 'psql') });
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
