// `l9-memory db setup` against a server. Roles belong to the whole server, so their passwords are restored afterwards.
import { spawn } from 'node:child_process';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { rolesSql } from '../../src/database/migrations.ts';
import { isVerifierOf, scramVerifier } from '../../src/database/scram.ts';

const roles = ['l9_owner', 'l9_gateway', 'l9_backup'];

it('accepts a password by its SCRAM verifier, and no other password', () => {
  // The example of RFC 7677.
  const known = scramVerifier('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'));
  expect(known).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  );
  expect(isVerifierOf(known, 'pencil')).toBe(true);
  expect(isVerifierOf(known, 'Pencil')).toBe(false);
  expect(isVerifierOf(null, 'pencil')).toBe(false);
  expect(isVerifierOf('md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'pencil')).toBe(false);
});

describeOnServer('db setup', () => {
  const database = `l9_setup_${process.pid}`;
  const before_: Record<string, string | null> = {};
  let root: pg.Client;

  const stored = async (role: string): Promise<string | null> =>
    (await root.query('select rolpassword from pg_authid where rolname = $1', [role])).rows[0]?.rolpassword ?? null;
  const put = (role: string, verifier: string | null) =>
    root.query(`alter role ${role} password ${verifier === null ? 'null' : pg.escapeLiteral(verifier)}`);

  beforeAll(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
    // The test databases change roles one at a time, too.
    await root.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    for (const role of roles) before_[role] = await stored(role);
  });
  afterAll(async () => {
    await root.query(`drop database if exists ${database} with (force)`);
    for (const role of roles) await put(role, before_[role] ?? null).catch(() => {});
    await root.end();
  });

  function run(env: Record<string, string> = {}, url = serverUrl!, ...args: string[]) {
    return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      const child = spawn(process.execPath, ['gateway/src/cli.ts', 'db', 'setup', '--database', database, ...args], {
        env: { PATH: process.env.PATH, ROOT_DATABASE_URL: url, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let err = '';
      child.stdout.on('data', (data) => (out += data));
      child.stderr.on('data', (data) => (err += data));
      child.on('exit', (code) => resolve({ code, out, err }));
    });
  }
  const urlsOf = (out: string) => {
    const lines = Object.fromEntries(
      out
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(Object.keys(lines)).toStrictEqual(['DATABASE_URL', 'DATABASE_OWNER_URL', 'BACKUP_DATABASE_URL']);
    return lines as { DATABASE_URL: string; DATABASE_OWNER_URL: string; BACKUP_DATABASE_URL: string };
  };
  const query = async (url: string, sql: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };

  it('creates everything, and generates passwords for roles that have none', async () => {
    const role = await root.query("select 1 from pg_roles where rolname = 'l9_owner'");
    if (role.rowCount) for (const each of roles) await put(each, null);
    const { code, out, err } = await run();
    expect(code, err).toBe(0);
    const urls = urlsOf(out);
    for (const [url, name] of [
      [urls.DATABASE_URL, 'l9_gateway'],
      [urls.DATABASE_OWNER_URL, 'l9_owner'],
      [urls.BACKUP_DATABASE_URL, 'l9_backup'],
    ] as const) {
      const { password, pathname } = new URL(url);
      const [{ path, distance }] = await query(
        url,
        "select current_setting('search_path') as path, '[1,2]'::vector <=> '[2,4]'::vector as distance",
      );
      expect(path, 'pgvector is found without its schema').toBe('"$user", public, extensions');
      expect(distance).toBe(0);
      expect(pathname).toBe(`/${database}`);
      expect(password).toMatch(/^[0-9a-f]{48}$/);
      expect(err).not.toContain(password);
      expect(isVerifierOf(await stored(name), password)).toBe(true);
      expect(await query(url, 'select session_user::text as login')).toStrictEqual([{ login: name }]);
    }
    const owners = await query(
      urls.DATABASE_OWNER_URL,
      `select distinct pg_get_userbyid(c.relowner) as owner from pg_class c where c.relnamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')
        union select pg_get_userbyid(datdba) from pg_database where datname = current_database()`,
    );
    expect(owners).toStrictEqual([{ owner: 'l9_owner' }]);
  });

  it('changes nothing when it is run again, and shows no password that it does not know', async () => {
    const kept = await Promise.all(roles.map(stored));
    const { code, out, err } = await run();
    expect(code, err).toBe(0);
    expect(new URL(urlsOf(out).DATABASE_URL).password).toBe('PASSWORD');
    expect(err).toMatch(/l9_owner keeps the password it has: .*L9_OWNER_PASSWORD/);
    expect(await Promise.all(roles.map(stored))).toStrictEqual(kept);
  });

  it('leaves a database alone that has tables of another application, unless it is to adopt it', async () => {
    const name = `l9_setup_foreign_${process.pid}`;
    const url = Object.assign(new URL(serverUrl!), { pathname: `/${name}` }).href;
    const state = () =>
      query(
        url,
        `select pg_get_userbyid(d.datdba) as owner, d.datacl::text, n.nspowner::regrole::text as schema_owner, n.nspacl::text,
           array(select nspname::text from pg_namespace where nspname !~ '^pg_' order by 1) as schemas
         from pg_database d, pg_namespace n where d.datname = current_database() and n.nspname = 'public'`,
      );
    await root.query(`create database ${name}`);
    try {
      await query(url, 'create table public.invoices (id integer)');
      const before = await state();
      const refused = await run({}, serverUrl!, '--database', name);
      expect([refused.code, refused.out]).toStrictEqual([1, '']);
      expect(refused.err).toMatch(
        /^database \S+ has tables of another application, such as public\.invoices: .*--adopt.*\n$/,
      );
      expect(await state()).toStrictEqual(before);
      const adopted = await run({}, serverUrl!, '--database', name, '--adopt');
      expect(adopted.code, adopted.err).toBe(0);
      const again = await run({}, serverUrl!, '--database', name);
      expect(again.code, again.err).toBe(0);
    } finally {
      await root.query(`drop database ${name} with (force)`);
    }
  });

  it('accepts passwords with any characters', async () => {
    const given = { L9_OWNER_PASSWORD: "ow'ner $1 #ä/\\:@?%", L9_GATEWAY_PASSWORD: 'gateway-password' };
    const first = await run(given);
    expect(first.code, first.err).toBe(0);
    expect(first.err).toMatch(/changed the password of l9_owner/);
    const urls = urlsOf(first.out);
    expect(decodeURIComponent(new URL(urls.DATABASE_OWNER_URL).password)).toBe(given.L9_OWNER_PASSWORD);
    expect(isVerifierOf(await stored('l9_owner'), given.L9_OWNER_PASSWORD)).toBe(true);
    const kept = await Promise.all(roles.map(stored));
    const second = await run(given);
    expect(second.out).toBe(first.out);
    expect(second.err).not.toContain('changed');
    expect(await Promise.all(roles.map(stored))).toStrictEqual(kept);
    expect(first.err + second.err).not.toContain('gateway-password');
  });

  it('waits for another session that sets up the same roles, such as one in another database', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = new pg.Client({ connectionString: serverUrl! });
        await client.connect();
        return client;
      }),
    );
    try {
      for (let round = 0; round < 10; round++) await Promise.all(sessions.map((client) => client.query(rolesSql())));
    } finally {
      await Promise.all(sessions.map((client) => client.end()));
    }
  });

  it('computes the same SCRAM verifier as PostgreSQL', async () => {
    await root.query("set password_encryption = 'scram-sha-256'");
    for (const password of ['plain password', 'pässwörd ①']) {
      await root.query(`alter role l9_gateway password ${pg.escapeLiteral(password)}`);
      expect(isVerifierOf(await stored('l9_gateway'), password), password).toBe(true);
    }
  });

  it('says what is wrong with its arguments and the database', async () => {
    const changed = (change: (url: URL) => void) => {
      const url = new URL(serverUrl!);
      change(url);
      return url.href;
    };
    const wrong = async (url: string, expected: RegExp, env = {}) => {
      const { code, out, err } = await run(env, url);
      expect(code).toBe(1);
      expect(out).toBe('');
      expect(err).toMatch(expected);
      expect(err, err).not.toContain('    at ');
    };
    await wrong('nonsense', /ROOT_DATABASE_URL: must be a URL that starts with postgres:/);
    await wrong('', /--root-url, ROOT_DATABASE_URL or ROOT_DATABASE_URL_FILE: one of them is required/);
    await wrong(
      changed((url) => (url.port = '1')),
      /can't connect to .*:1 as/,
    );
    await wrong(
      changed((url) => (url.pathname = '/no_such_database')),
      /can't connect to .*does not exist/,
    );
    const role = `l9_test_plain_${process.pid}`;
    await root.query(`create role ${role} login password 'plain-password'`);
    try {
      await wrong(
        changed((url) => {
          url.username = role;
          url.password = 'plain-password';
        }),
        /not a superuser/,
      );
    } finally {
      await root.query(`drop role ${role}`);
    }
    await wrong(serverUrl!, /L9_OWNER_PASSWORD: must have at least 8/, { L9_OWNER_PASSWORD: 'short' });
  });
});
