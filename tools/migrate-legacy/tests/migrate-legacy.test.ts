// The command itself: its arguments, its errors and its report.
import { spawnSync } from 'node:child_process';
import { counts, createOldHome, GIVE_TO_OWNER, type OldHome, uuid } from './old-database.ts';

describe('migrate-legacy', () => {
  let old: OldHome;
  beforeAll(async () => {
    old = await createOldHome();
  });
  afterAll(() => old.drop());

  it('says if there are no old tables', async () => {
    const ran = await old.migrate();
    expect([ran.code, ran.report.tables, ran.report.drop]).toStrictEqual([0, [], null]);
  });

  it('names the option that is invalid', async () => {
    for (const [args, said] of [
      [['--apply', '--dry-run'], /--apply, --dry-run/],
      [['--tenant', 'x'], /--tenant: must be a UUID/],
      [['--project', 'a b'], /--project/],
      [['--scope', 'x'], /--scope: must have the form old=new/],
      [['--skip', 'everything'], /--skip: everything is not one of blank, long/],
      [['--importance-scale', '0'], /--importance-scale/],
      [['--users', 'all'], /--users/],
      [['--from', 'mysql://x'], /--from: must be the URL of a PostgreSQL database/],
      [['--tenant', '00000000-0000-7000-8000-00000000000f'], /has no actor C/],
      [['--scope', 'old=nowhere'], /--scope: nowhere is not a scope of this tenant \(developer, l-private, global\)/],
    ] as const) {
      const ran = await old.migrate(...args);
      expect([ran.code, ran.out], args.join(' ')).toStrictEqual([1, '']);
      expect(ran.err).toMatch(said);
      expect(ran.err, ran.err).not.toContain('    at ');
    }
  });

  it('requires a table with a key and a content, all of whose rows it can read', async () => {
    await old.superuser(async (query) => {
      await query('create schema memory; create table memory.short_term (id integer, content text)');
      await query("insert into memory.short_term values (1, 'a'), (1, 'b')");
      await query(GIVE_TO_OWNER);
    });
    expect((await old.migrate()).err).toMatch(/memory.short_term has no column with a unique value in every row/);
    await old.query("update memory.short_term set id = 2 where content = 'b'");
    expect(counts(await old.migrate('--scope', '=global'))).toStrictEqual({ 'memory.short_term': { moved: 2 } });
    await old.query('alter table memory.short_term rename content to stuff');
    expect((await old.migrate()).err).toMatch(/memory.short_term has no column that could be the content/);
    await old.query(`alter table memory.short_term rename stuff to content; alter table memory.short_term enable row level security;
      alter table memory.short_term owner to postgres; grant select on memory.short_term to l9_owner`);
    expect((await old.migrate()).err).toMatch(/row-level security hides rows of memory.short_term from l9_owner/);
    const left = "select nspname from pg_namespace where nspname like 'legacy%'";
    expect(await old.query(left), 'a run that fails leaves nothing').toStrictEqual([]);
  });

  it('prints a readable report', async () => {
    await old.superuser(async (query) => {
      await query('drop schema memory cascade; create schema memory');
      await query('create table memory.longterm (id uuid primary key, content text, scope text)');
      await query(`insert into memory.longterm values ('${uuid(1)}', 'a', 'shared'), ('${uuid(2)}', 'b', 'mars')`);
      await query(GIVE_TO_OWNER);
    });
    const { stdout, status } = spawnSync(process.execPath, ['gateway/src/cli.ts', 'migrate-legacy'], {
      env: old.env,
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Dry run, nothing was changed: /);
    expect(stdout).toMatch(/memory.longterm: 2 rows\n {2}id +→ id\n/);
    expect(stdout).toMatch(/1 would be moved\n/);
    expect(stdout).toMatch(new RegExp(`1 NOT moved: scope unknown .*: ${uuid(2)}\n`));
    expect(stdout).toMatch(/scope mars → unknown: 1\n/);
    expect(stdout).toMatch(/rows\/s\nTo move them, run it again with --apply.\n$/);
  });
});
