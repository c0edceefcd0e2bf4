import pg from 'pg';
import { pino } from 'pino';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/database/index.ts';
import { requireLogins } from '../../src/database/logins.ts';
import { createTestHome, type TestHome, withoutPooler } from '../support/home.ts';

const silent = pino({ level: 'silent' });

describeOnServer('the server engine', () => {
  let home: TestHome;
  let root: pg.Client;

  beforeAll(async () => {
    home = withoutPooler(await createTestHome());
    root = new pg.Client({ connectionString: home.superuserUrl! });
    await root.connect();
  });
  afterAll(async () => {
    await root.end();
    await home.drop();
  });

  const open = (env: Record<string, string> = {}) => openDatabase(loadConfig({ ...home.env, ...env }), silent);

  it('logs in as l9_gateway, a role without any rights of its own', async () => {
    const database = await open();
    try {
      const { rows } = await database.pool.query('select session_user::text as login, current_user::text as role');
      expect(rows[0]).toStrictEqual({ login: 'l9_gateway', role: 'l9_gateway' });
      await expect(database.pool.query('select * from public.packet_store')).rejects.toMatchObject({ code: '42501' });
      await expect(database.pool.query('create table public.mine (a int)')).rejects.toMatchObject({ code: '42501' });
      const { rows: jobs } = await database.workerPool.query('select current_user::text as role');
      expect(jobs[0].role).toBe('l9_worker');
      expect(new URL(database.psqlUrl).password).toBe('');
    } finally {
      await database.close();
    }
  });

  it('survives connections that the server closes', async () => {
    const database = await open();
    try {
      await Promise.all(Array.from({ length: 4 }, () => database.pool.query('select pg_sleep(0.05)')));
      await root.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'l9_gateway'",
      );
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect((await database.pool.query('select 1 as one')).rows[0].one).toBe(1);
      expect((await database.workerPool.query('select 1 as one')).rows[0].one).toBe(1);
    } finally {
      await database.close();
    }
  });

  it('refuses a login whom no policy would bind or that cannot serve, and names the variable and the remedy', async () => {
    const { DATABASE_URL } = home.env;
    const as = (change: (url: URL) => void) => {
      const url = new URL(DATABASE_URL!);
      change(url);
      return url.href;
    };
    const owner = DATABASE_URL!.replace('//l9_gateway:', '//l9_owner:');
    const login = `l9_test_login_${process.pid}`;
    await root.query(`create role ${login} login password 'hush-hush'`);
    const other = as((url) => Object.assign(url, { username: login, password: 'hush-hush' }));
    const { host } = new URL(DATABASE_URL!);
    const refusals: [Record<string, string>, RegExp][] = [
      [{ DATABASE_URL: home.superuserUrl! }, /^DATABASE_URL: logs in as \w+, a superuser, .*the URL of l9_gateway/],
      [{ DATABASE_URL: owner }, /^DATABASE_URL: logs in as l9_owner, which owns the tables.*in DATABASE_OWNER_URL/],
      [{ DATABASE_URL: other }, /^DATABASE_URL: /],
      [{ DATABASE_OWNER_URL: home.superuserUrl! }, /^DATABASE_OWNER_URL: logs in as \w+, a superuser, .*l9_owner/],
      [{ DATABASE_OWNER_URL: DATABASE_URL! }, /^DATABASE_OWNER_URL: logs in as l9_gateway, .*the URL of l9_owner/],
      [
        { DATABASE_URL: as((url) => Object.assign(url, { pathname: '/l9_none' })) },
        /^DATABASE_URL: .*l9_none.*db setup/,
      ],
      [{ DATABASE_URL: as((url) => Object.assign(url, { username: 'l9_nobody' })) }, /^DATABASE_URL: .*l9_nobody/],
      [{ DATABASE_URL: as((url) => Object.assign(url, { port: '1' })) }, /^DATABASE_URL: .*ECONNREFUSED.*port/],
      [{ DATABASE_URL: as((url) => Object.assign(url, { hostname: 'none.invalid' })) }, /^DATABASE_URL: .*host/],
      [
        { DATABASE_REPLICA_URLS: `${DATABASE_URL}, ${home.superuserUrl}` },
        new RegExp(`^DATABASE_REPLICA_URLS, ${host}: logs in as \\w+, a superuser, .*the URL of l9_gateway`),
      ],
      [{ DATABASE_REPLICA_URLS: owner }, /^DATABASE_REPLICA_URLS, .*: logs in as l9_owner, which owns the tables/],
      [{ DATABASE_REPLICA_URLS: other }, /^DATABASE_REPLICA_URLS, .*: permission denied for database/],
      [
        { DATABASE_REPLICA_URLS: as((url) => Object.assign(url, { pathname: '/l9_none' })) },
        /^DATABASE_REPLICA_URLS, .*l9_none/,
      ],
    ];
    try {
      for (const [env, said] of refusals) {
        const refusal = await requireLogins(loadConfig({ ...home.env, ...env })).catch((error: Error) => error.message);
        expect(refusal).toMatch(said);
        expect(refusal).not.toMatch(/hush/);
      }
      await requireLogins(loadConfig({ ...home.env, DATABASE_OWNER_URL: owner }));
      const { pathname } = new URL(DATABASE_URL!);
      await root.query(`grant l9_worker to ${login}; grant connect on database ${pathname.slice(1)} to ${login}`);
      await expect(requireLogins(loadConfig({ ...home.env, DATABASE_REPLICA_URLS: other }))).rejects.toThrow(
        /^DATABASE_REPLICA_URLS, .*: logs in as l9_test_login_\d+: give the URL of l9_gateway on the replica$/,
      );
      // A replica may be away at the start.
      const away = [{ port: '1' }, { hostname: 'none.invalid' }].map((part) => as((url) => Object.assign(url, part)));
      await requireLogins(loadConfig({ ...home.env, DATABASE_REPLICA_URLS: [DATABASE_URL, ...away].join(' ') }));
    } finally {
      await root.query(`drop owned by ${login}; drop role ${login}`);
    }
  });

  it('says what to do about a database that was never set up or not migrated', async () => {
    const name = `l9_test_bare_${process.pid}`;
    const url = new URL(home.env.DATABASE_URL!);
    url.pathname = `/${name}`;
    await root.query(`create database ${name}`);
    try {
      await expect(open({ DATABASE_URL: url.href })).rejects.toThrow(
        /has not run 000001.*DATABASE_OWNER_URL.*db setup/s,
      );
    } finally {
      await root.query(`drop database ${name} with (force)`);
    }
  });

  it('migrates no database that was never set up, or that is not the one it uses', async () => {
    const name = `l9_test_foreign_${process.pid}`;
    const owner = new URL(home.env.DATABASE_URL!.replace('//l9_gateway:', '//l9_owner:'));
    const other = new URL(home.env.DATABASE_URL!);
    other.pathname = `/${name}`;
    const ownerOfOther = Object.assign(new URL(owner), { pathname: `/${name}` }).href;
    const otherRoot = Object.assign(new URL(home.superuserUrl!), { pathname: `/${name}` }).href;
    await root.query(`create database ${name} owner l9_owner`);
    try {
      await expect(open({ DATABASE_URL: other.href, DATABASE_OWNER_URL: ownerOfOther })).rejects.toThrow(
        new RegExp(`database ${name} was never set up for l9-memory.*nothing was migrated`),
      );
      await expect(open({ DATABASE_OWNER_URL: ownerOfOther })).rejects.toThrow(
        new RegExp(`DATABASE_OWNER_URL of ${name}.*nothing was migrated`),
      );
      const client = new pg.Client({ connectionString: otherRoot });
      await client.connect();
      const { rows } = await client.query("select nspname from pg_namespace where nspname !~ '^pg_' order by 1");
      await client.end();
      expect(rows.map(({ nspname }) => nspname)).toStrictEqual(['information_schema', 'public']);
    } finally {
      await root.query(`drop database ${name} with (force)`);
    }
  });

  it('says of a database that a newer version has migrated which version that is, and what to do', async () => {
    await (await open()).close();
    await root.query("insert into graphile_migrate.migrations (hash, filename) values ('sha1:later', '000099.sql')");
    const owner = { DATABASE_OWNER_URL: home.env.DATABASE_URL!.replace('//l9_gateway:', '//l9_owner:') };
    try {
      // As after `graphile-migrate migrate`, before the newer version has started.
      const unnoted = /another version of l9-memory \(this is .*migration 99, .* belongs to a newer version: install/;
      await expect(open()).rejects.toThrow(unnoted);
      await root.query("insert into administration.program_versions (version) values ('9.1.0')");
      for (const env of [{}, owner])
        await expect(open(env)).rejects.toThrow(
          /another version of l9-memory \(9\.1\.0; this is .*migration 99, .*newer version: install l9-memory 9\.1\.0 or later.*backup/,
        );
    } finally {
      await root.query("delete from graphile_migrate.migrations where hash = 'sha1:later'");
      await root.query("delete from administration.program_versions where version = '9.1.0'");
    }
  });

  it('refuses a database that another version has migrated', async () => {
    await root.query(
      "update graphile_migrate.migrations set hash = 'sha1:of-another' where filename = (select max(filename) from graphile_migrate.migrations)",
    );
    const refusal =
      /migration \d{6}-\S+ is not the one this database ran: it belongs to another version.*start that version/;
    await expect(open()).rejects.toThrow(refusal);
    // Before 1.0 no version noted itself.
    await root.query('alter table administration.program_versions rename to none_at_all');
    await expect(open()).rejects.toThrow(refusal);
  });
});
