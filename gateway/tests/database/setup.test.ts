// `l9-memory db setup` against a server. Roles belong to the whole server: their passwords are put back afterwards.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { isVerifierOf, scramVerifier } from '../../src/database/scram.ts';
import { serverUrl } from '../support/databases.ts';

const skip = serverUrl ? false : 'needs a server: TEST_DATABASE_URL';
const roles = ['l9_owner', 'l9_gateway'];

test('a verifier knows its password, and no other', () => {
  // The example of RFC 7677.
  const known = scramVerifier('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'));
  assert.equal(
    known,
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  );
  assert.ok(isVerifierOf(known, 'pencil'));
  assert.ok(!isVerifierOf(known, 'Pencil'));
  assert.ok(!isVerifierOf(null, 'pencil'));
  assert.ok(!isVerifierOf('md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'pencil'));
});

describe('db setup', { skip }, () => {
  const database = `l9_setup_${process.pid}`;
  const before_: Record<string, string | null> = {};
  let root: pg.Client;

  const stored = async (role: string): Promise<string | null> =>
    (await root.query('select rolpassword from pg_authid where rolname = $1', [role])).rows[0]?.rolpassword ?? null;
  const put = (role: string, verifier: string | null) =>
    root.query(`alter role ${role} password ${verifier === null ? 'null' : pg.escapeLiteral(verifier)}`);

  before(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
    // As tests/support/databases.ts does while it makes roles: one at a time.
    await root.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    for (const role of roles) before_[role] = await stored(role);
  });
  after(async () => {
    await root.query(`drop database if exists ${database} with (force)`);
    for (const role of roles) await put(role, before_[role] ?? null).catch(() => {});
    await root.end();
  });

  function run(env: Record<string, string> = {}, url = serverUrl!, ...args: string[]) {
    return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      const child = spawn(
        process.execPath,
        ['gateway/src/cli.ts', 'db', 'setup', '--root-url', url, '--database', database, ...args],
        { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
      );
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
    assert.deepEqual(Object.keys(lines), ['DATABASE_URL', 'DATABASE_OWNER_URL']);
    return lines as { DATABASE_URL: string; DATABASE_OWNER_URL: string };
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

  test('makes everything, and generates passwords for roles that have none', async () => {
    const role = await root.query("select 1 from pg_roles where rolname = 'l9_owner'");
    if (role.rowCount) for (const each of roles) await put(each, null);
    const { code, out, err } = await run();
    assert.equal(code, 0, err);
    const urls = urlsOf(out);
    for (const [url, name] of [
      [urls.DATABASE_URL, 'l9_gateway'],
      [urls.DATABASE_OWNER_URL, 'l9_owner'],
    ] as const) {
      const { password, pathname } = new URL(url);
      assert.equal(pathname, `/${database}`);
      assert.match(password, /^[0-9a-f]{48}$/);
      assert.ok(!err.includes(password));
      assert.ok(isVerifierOf(await stored(name), password));
      assert.deepEqual(await query(url, 'select session_user::text as login'), [{ login: name }]);
    }
    const owners = await query(
      urls.DATABASE_OWNER_URL,
      `select distinct pg_get_userbyid(c.relowner) as owner from pg_class c where c.relnamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')
        union select pg_get_userbyid(datdba) from pg_database where datname = current_database()`,
    );
    assert.deepEqual(owners, [{ owner: 'l9_owner' }]);
  });

  test('again: changes nothing, and shows no password that it does not know', async () => {
    const kept = await Promise.all(roles.map(stored));
    const { code, out, err } = await run();
    assert.equal(code, 0, err);
    assert.equal(new URL(urlsOf(out).DATABASE_URL).password, 'PASSWORD');
    assert.match(err, /l9_owner keeps the password it has: .*L9_OWNER_PASSWORD/);
    assert.deepEqual(await Promise.all(roles.map(stored)), kept);
  });

  test('takes the passwords it is given, whatever is in them', async () => {
    const given = { L9_OWNER_PASSWORD: "ow'ner $1 #ä/\\:@?%", L9_GATEWAY_PASSWORD: 'gateway-password' };
    const first = await run(given);
    assert.equal(first.code, 0, first.err);
    assert.match(first.err, /changed the password of l9_owner/);
    const urls = urlsOf(first.out);
    assert.equal(decodeURIComponent(new URL(urls.DATABASE_OWNER_URL).password), given.L9_OWNER_PASSWORD);
    assert.ok(isVerifierOf(await stored('l9_owner'), given.L9_OWNER_PASSWORD));
    const kept = await Promise.all(roles.map(stored));
    const second = await run(given);
    assert.equal(second.out, first.out);
    assert.ok(!second.err.includes('changed'));
    assert.deepEqual(await Promise.all(roles.map(stored)), kept);
    assert.ok(!(first.err + second.err).includes('gateway-password'));
  });

  test('the verifier is the one that PostgreSQL makes', async () => {
    await root.query("set password_encryption = 'scram-sha-256'");
    for (const password of ['plain password', 'pässwörd ①']) {
      await root.query(`alter role l9_gateway password ${pg.escapeLiteral(password)}`);
      assert.ok(isVerifierOf(await stored('l9_gateway'), password), password);
    }
  });

  test('says what is wrong', async () => {
    const changed = (change: (url: URL) => void) => {
      const url = new URL(serverUrl!);
      change(url);
      return url.href;
    };
    const wrong = async (url: string, expected: RegExp, env = {}) => {
      const { code, out, err } = await run(env, url);
      assert.equal(code, 1);
      assert.equal(out, '');
      assert.match(err, expected);
      assert.ok(!err.includes('    at '), err);
    };
    await wrong('nonsense', /--root-url: the URL of a superuser/);
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
