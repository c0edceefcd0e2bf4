// A move that is killed continues where it stopped.
import { counts, createOldHome, GIVE_TO_OWNER, type OldHome } from './old-database.ts';

describe('a move that is killed', () => {
  const ROWS = 2_500;
  let old: OldHome;
  beforeAll(async () => {
    old = await createOldHome();
    await old.superuser(async (query) => {
      await query(`create schema memory;
        create table memory.shortterm (memory_id bigint primary key, body text not null, scope text, expires_at timestamptz);
        insert into memory.shortterm select i, 'row ' || i || ' of a long table ' || repeat(md5(i::text) || ' ', 12), 'shared'
        from generate_series(1, ${ROWS}) i;`);
      await query(GIVE_TO_OWNER);
    });
  });
  afterAll(() => old.drop());

  const state = () =>
    old.query(`select
      (select count(*)::int from packet_store) as packets,
      (select count(*)::int from legacy.legacy_ids) as known,
      (select count(distinct new_id)::int from legacy.legacy_ids) as ids,
      (select count(*)::int from audit_log where operation = 'INSERT' and table_name = 'packet_store') as audited`);

  /** What the import itself has in the database, beside the list of old ids. */
  const installed = async () =>
    (
      await old.query(`select (select count(*)::int from pg_namespace where nspname = 'legacy_import')
        + (select count(*)::int from pg_policy where polname like '%legacy%') as n,
        (select count(*)::int from pg_trigger where tgenabled = 'D') as off`)
    )[0];

  it('continues where it stopped, and moves each row once', async () => {
    expect(await old.migrateAndKill('--apply')).toBe('SIGKILL');
    expect(await installed(), 'no trigger is off').toStrictEqual({ n: 4, off: 0 });
    const [now] = await state();
    expect(now.packets, `it was killed in the middle, at ${now.packets}`).toBeGreaterThanOrEqual(1_000);
    expect(now.packets, `it was killed in the middle, at ${now.packets}`).toBeLessThan(ROWS);
    const whole = (n: number) => ({ packets: n, known: n, ids: n, audited: n });
    expect(now, 'what was moved is whole').toStrictEqual(whole(now.packets));

    const ran = await old.migrate('--apply');
    expect(ran.code, ran.err).toBe(0);
    expect(counts(ran)).toStrictEqual({ 'memory.shortterm': { kept: now.packets, moved: ROWS - now.packets } });
    expect(ran.report.rowsPerSecond).toBeGreaterThan(0);
    expect((await state())[0]).toStrictEqual(whole(ROWS));
    expect(await installed(), 'what the killed run left is dropped, too').toStrictEqual({ n: 0, off: 0 });
  });
});
