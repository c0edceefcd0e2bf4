import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('detach_audit_partition', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
  });

  const insertAt = (time: string, name: string) => `
    insert into public.audit_log (occurred_at, operation, table_name, details)
    values ('${time}', 'READ', '${name}', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`;
  const make = async (from: string, months: number) =>
    (
      await db.asWorker("select audit.create_month_partitions('public.audit_log', $1, $2) as created", [from, months])
    )[0].created as string[];

  it('lets operators detach a sealed month that is over, and verify_audit accepts it', async () => {
    const detach = (month: string, caller = 'P') =>
      db.sql(
        caller,
        `select d.* from public.detach_audit_partition('${month}') d`,
        [],
        caller === 'P' ? claimsOfP : {},
      );
    const verify = async () => (await db.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
    await make('2020-01-01', 2);
    for (let n = 0; n < 3; n++) await runAsSuperuser(db, insertAt(`2020-01-0${n + 1}`, `old ${n}`));
    await runAsSuperuser(db, insertAt('2020-02-01', 'younger'));
    await expect(detach('2020-01-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/some of its rows are not sealed/),
    });
    await sealAll(db);
    await expect(detach('2020-01-15', 'L')).rejects.toMatchObject({ code: '42501' });
    await expect(detach('2019-01-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/no partition for it/),
    });
    await expect(detach(new Date().toISOString().slice(0, 10))).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/must be a past month/),
    });

    const before = await verify();
    const [archive] = await detach('2020-01-15');
    expect([archive.table_name, Number(archive.row_count), archive.archived_by]).toStrictEqual([
      'partitions.audit_log_2020_01',
      3,
      'P',
    ]);
    expect(await runAsSuperuser(db, "select from public.audit_log where table_name like 'old%'")).toHaveLength(0);
    expect(await runAsSuperuser(db, 'select from partitions.audit_log_2020_01')).toHaveLength(3);
    await sealAll(db);
    const result = await verify();
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.archived)).toBe(3);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(Number(before.rows) - 3);
    const [row] = await runAsSuperuser(
      db,
      "select details from public.audit_log where operation = 'CLEANUP' order by occurred_at desc limit 1",
    );
    expect([row.details.detached, row.details.rows, row.details.caller]).toStrictEqual([
      'partitions.audit_log_2020_01',
      3,
      'P',
    ]);

    // A detached month does not hide the removal of other rows.
    const more = await runAsSuperuser(db, [
      'alter table partitions.audit_log_2020_02 disable trigger all',
      "delete from partitions.audit_log_2020_02 where table_name = 'younger'",
      'select v.* from public.verify_audit() v',
    ]);
    expect(more[0].ok).toBe(false);

    // No role can read it, its rows stay, it is not created again, and only a superuser can drop it.
    await expect(db.sql('P', 'select * from partitions.audit_log_2020_01', [], claimsOfP)).rejects.toMatchObject({
      code: '42501',
    });
    for (const statement of [
      'delete from partitions.audit_log_2020_01',
      'truncate partitions.audit_log_2020_01',
      'drop table partitions.audit_log_2020_01',
    ])
      await expect(runAsSuperuser(db, ['set local role l9_owner', statement]), statement).rejects.toMatchObject({
        code: 'L9IMM',
      });
    expect(await make('2020-01-01', 1)).toStrictEqual([]);
    await runAsSuperuser(db, 'drop table partitions.audit_log_2020_01');
    expect((await verify()).ok).toBe(true);
    await runAsSuperuser(db, ['set local role l9_owner', 'create table public.after_it (a int)']);
  });
});
