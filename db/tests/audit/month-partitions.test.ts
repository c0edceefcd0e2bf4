import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { claimsOfP, runAsSuperuser } from './support.ts';

describe('a partition of the audit log', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
  });

  const insertAt = (time: string, name: string) => `
    insert into public.audit_log (occurred_at, operation, table_name, details)
    values ('${time}', 'READ', '${name}', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`;
  const partitionOf = async (name: string) =>
    (
      await runAsSuperuser(
        db,
        `select tableoid::regclass::text as p from public.audit_log where table_name = '${name}'`,
      )
    )[0]?.p;
  const make = async (from: string, months: number) =>
    (
      await db.asWorker("select audit.create_month_partitions('public.audit_log', $1, $2) as created", [from, months])
    )[0].created as string[];

  it('exists for this month and each of the next thirteen, in UTC', async () => {
    const [{ ahead }] = await runAsSuperuser(
      db,
      `select count(*)::int as ahead from generate_series(0, 13) i
       where to_regclass('partitions.audit_log_' || to_char((now() at time zone 'UTC')::date + make_interval(months => i), 'YYYY_MM')) is not null`,
    );
    expect(ahead).toBeGreaterThanOrEqual(13);
    await make('2031-01-15', 2);
    await runAsSuperuser(db, [
      "set local timezone = 'Pacific/Auckland'",
      insertAt('2031-02-01 00:30:00+13', 'january'),
      'commit',
    ]);
    await runAsSuperuser(db, insertAt('2031-02-01 00:00:00+00', 'february'));
    expect(await partitionOf('january')).toBe('partitions.audit_log_2031_01');
    expect(await partitionOf('february')).toBe('partitions.audit_log_2031_02');
  });

  it('is created once, and not if rows of its month are in the default partition', async () => {
    expect(await make('2032-05-01', 2)).toStrictEqual(['audit_log_2032_05', 'audit_log_2032_06']);
    expect(await make('2032-05-01', 3)).toStrictEqual(['audit_log_2032_07']);
    await runAsSuperuser(db, insertAt('2033-03-03 03:00+00', 'early'));
    expect(await partitionOf('early'), 'no row is lost').toBe('partitions.audit_log_default');
    expect(await make('2033-02-01', 3)).toStrictEqual(['audit_log_2033_02', 'audit_log_2033_04']);
    await expect(make('2033-01-01', 1000)).rejects.toMatchObject({ code: 'L9VAL' });
    for (const table of ['public.packet_store', 'pg_catalog.pg_class'])
      await expect(
        db.asWorker(`select audit.create_month_partitions('${table}', now()::date, 1)`),
      ).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('can be read only through the partitioned table', async () => {
    const [{ p }] = await runAsSuperuser(
      db,
      "select inhrelid::regclass::text as p from pg_inherits where inhparent = 'public.audit_log'::regclass limit 1",
    );
    for (const caller of ['C', 'L'])
      await expect(db.sql(caller, `select * from ${p}`)).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('P', `select * from ${p}`, [], claimsOfP)).rejects.toMatchObject({ code: '42501' });
    await expect(db.asWorker(`select * from ${p}`)).rejects.toMatchObject({
      code: '42501',
    });
  });
});
