// What keeps the record whole against the owner of its tables.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addPlatformAdmin, claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('the owner of the audit log', () => {
  let gateway: TestGateway;
  let partition: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
    await gateway.tool('C', 'save_memory', { content: 'on the record', scope: 'global' });
    const [{ name }] = await runAsSuperuser(
      gateway,
      'select tableoid::regclass::text as name from public.audit_log limit 1',
    );
    partition = name;
  });
  afterAll(() => gateway.close());

  const asOwner = (...statements: string[]) => runAsSuperuser(gateway, ['set local role l9_owner', ...statements]);
  const refused = (statement: string, code = 'L9IMM') =>
    expect(asOwner(statement), `${statement} should be refused`).rejects.toMatchObject({ code });

  it('can change, remove or empty no row', async () => {
    for (const table of [
      'public.audit_log',
      partition,
      'partitions.audit_log_default',
      'public.audit_seals',
      'public.audit_archives',
    ])
      for (const statement of [`update ${table} set ctid = ctid`, `delete from ${table}`, `truncate ${table}`])
        await expect(asOwner(statement), statement).rejects.toMatchObject({
          code: expect.stringMatching(/^(L9IMM|0A000)$/),
        });
    await refused("update public.audit_log set table_name = 'x'");
    await refused('truncate public.packet_store cascade');
    await refused('truncate public.tenants cascade');
  });

  it('is no exception to it as a superuser, unless that takes the guard away first', async () => {
    for (const statement of [
      "update public.audit_log set table_name = 'x'",
      `delete from ${partition}`,
      'truncate public.audit_log',
      "set local session_replication_role = 'replica'; delete from public.audit_log",
    ])
      await expect(runAsSuperuser(gateway, [statement]), statement).rejects.toMatchObject({ code: 'L9IMM' });
    await runAsSuperuser(gateway, [
      'alter table public.audit_archives disable trigger all',
      'drop table public.audit_archives cascade',
    ]);
  });

  it('can take away nothing that keeps it so', async () => {
    for (const table of ['public.audit_log', partition, 'public.audit_seals', 'public.audit_archives']) {
      for (const change of [
        'disable trigger all',
        'disable trigger _200_append_only',
        'enable replica trigger _200_append_only',
        'enable trigger _200_append_only',
        'no force row level security',
        'disable row level security',
      ])
        await refused(`alter table ${table} ${change}`);
      await refused(`drop table ${table} cascade`);
      await refused(`drop trigger _200_append_only on ${table}`);
      await refused(`alter table ${table} rename to gone`);
      // It may make no table there; with a schema of its own it may try.
      await expect(
        asOwner('create schema aside', `alter table ${table} set schema aside`),
        `${table} is not moved`,
      ).rejects.toMatchObject({ code: 'L9IMM' });
      await refused(`create or replace trigger _200_append_only before update on ${table}
        for each statement execute function l9_guard.tg_append_only()`);
      await refused(
        `create trigger swallow before insert on ${table} for each row execute function packets.tg_packet_store__refuse_truncate()`,
      );
    }
    for (const statement of [
      `alter table public.audit_log detach partition ${partition}`,
      `alter table public.audit_log detach partition partitions.audit_log_default`,
      'drop policy tenant_isolation on public.audit_log',
      'drop policy platform_override on public.audit_seals',
      'alter table public.audit_log drop column details cascade',
      'alter table public.audit_log drop constraint audit_details_say_who',
      'create rule swallow as on insert to public.audit_log do instead nothing',
      'alter schema partitions rename to gone',
      'drop schema public cascade',
      'drop schema partitions cascade',
      'drop owned by l9_owner cascade',
      "alter table public.audit_seals alter column sealed_at type timestamp using '2000-01-01'",
      'alter table public.audit_log set unlogged',
      'alter table public.audit_seals set unlogged',
      `create table partitions.audit_log_forged partition of public.audit_log for values from ('1990-01-01') to ('1991-01-01')`,
      'drop trigger _500_audit_insert on public.packet_store',
      'alter table public.packet_store disable trigger _500_audit_delete',
      'alter table public.packet_store disable trigger user',
    ])
      await expect(asOwner(statement), statement).rejects.toMatchObject({
        code: expect.stringMatching(/^(L9IMM|42809|0A000)$/),
      });
    for (const statement of [
      'alter event trigger l9_guard_state disable',
      'drop event trigger l9_guard_drops',
      'drop function l9_guard.tg_append_only() cascade',
      'create or replace function l9_guard.tg_append_only() returns trigger language plpgsql as $$ begin return null; end $$',
      'delete from l9_guard.append_only',
      'drop schema l9_guard cascade',
      "set local session_replication_role = 'replica'",
    ])
      await expect(asOwner(statement), statement).rejects.toMatchObject({ code: '42501' });
    await expect(asOwner("insert into public.audit_archives values ('x')", 'select 1 / 0')).rejects.toMatchObject({
      code: '23502',
    });
  });

  it('can still change everything else, and make partitions', async () => {
    await asOwner(
      'create table public.scratch (a int)',
      'alter table public.scratch add column b int',
      'drop table public.scratch',
      'alter table public.packet_store add column scratch int',
      'alter table public.audit_log add column scratch int',
      'create index on public.audit_log (operation)',
      "select audit.create_month_partitions('public.audit_log', '2040-01-01', 2)",
    );
    // A job's role has tables of its own.
    await runAsSuperuser(gateway, [
      'set local role l9_worker',
      'create schema scratch',
      'create table scratch.a (a int)',
      'drop schema scratch cascade',
    ]);
  });
});

describe('partitions of the audit log', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
  });
  afterAll(() => gateway.close());

  const insertAt = (time: string, name: string) => `
    insert into public.audit_log (occurred_at, operation, table_name, details)
    values ('${time}', 'READ', '${name}', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`;
  const partitionOf = async (name: string) =>
    (
      await runAsSuperuser(
        gateway,
        `select tableoid::regclass::text as p from public.audit_log where table_name = '${name}'`,
      )
    )[0]?.p;
  const make = async (from: string, months: number) =>
    (
      await gateway.instance.database.workerPool.query(
        "select audit.create_month_partitions('public.audit_log', $1, $2) as made",
        [from, months],
      )
    ).rows[0].made as string[];

  it('are there for this month and thirteen ahead, by the month of UTC', async () => {
    const [{ ahead }] = await runAsSuperuser(
      gateway,
      `select count(*)::int as ahead from generate_series(0, 13) i
       where to_regclass('partitions.audit_log_' || to_char((now() at time zone 'UTC')::date + make_interval(months => i), 'YYYY_MM')) is not null`,
    );
    expect(ahead).toBeGreaterThanOrEqual(13);
    await make('2031-01-15', 2);
    await runAsSuperuser(gateway, [
      "set local timezone = 'Pacific/Auckland'",
      insertAt('2031-02-01 00:30:00+13', 'january'),
      'commit',
    ]);
    await runAsSuperuser(gateway, insertAt('2031-02-01 00:00:00+00', 'february'));
    expect(await partitionOf('january')).toBe('partitions.audit_log_2031_01');
    expect(await partitionOf('february')).toBe('partitions.audit_log_2031_02');
  });

  it('are made once, and not where rows were waiting already', async () => {
    expect(await make('2032-05-01', 2)).toStrictEqual(['audit_log_2032_05', 'audit_log_2032_06']);
    expect(await make('2032-05-01', 3)).toStrictEqual(['audit_log_2032_07']);
    await runAsSuperuser(gateway, insertAt('2033-03-03 03:00+00', 'early'));
    expect(await partitionOf('early'), 'no row is lost').toBe('partitions.audit_log_default');
    expect(await make('2033-02-01', 3)).toStrictEqual(['audit_log_2033_02', 'audit_log_2033_04']);
    await expect(make('2033-01-01', 1000)).rejects.toMatchObject({ code: 'L9VAL' });
    for (const table of ['public.packet_store', 'pg_catalog.pg_class'])
      await expect(
        gateway.instance.database.workerPool.query(`select audit.create_month_partitions('${table}', now()::date, 1)`),
      ).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('can be reached by nobody but through the table', async () => {
    const [{ p }] = await runAsSuperuser(
      gateway,
      "select inhrelid::regclass::text as p from pg_inherits where inhparent = 'public.audit_log'::regclass limit 1",
    );
    for (const caller of ['C', 'L'])
      await expect(gateway.sql(caller, `select * from ${p}`)).rejects.toMatchObject({ code: '42501' });
    await expect(gateway.sql('P', `select * from ${p}`, [], claimsOfP)).rejects.toMatchObject({ code: '42501' });
    await expect(gateway.instance.database.workerPool.query(`select * from ${p}`)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('are detached when over and sealed, by operators only, and verify_audit knows it', async () => {
    const detach = (month: string, caller = 'P') =>
      gateway.sql(
        caller,
        `select d.* from public.detach_audit_partition('${month}') d`,
        [],
        caller === 'P' ? claimsOfP : {},
      );
    const verify = async () => (await gateway.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
    await make('2020-01-01', 2);
    for (let n = 0; n < 3; n++) await runAsSuperuser(gateway, insertAt(`2020-01-0${n + 1}`, `old ${n}`));
    await runAsSuperuser(gateway, insertAt('2020-02-01', 'younger'));
    await expect(detach('2020-01-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/some of its rows are not sealed/),
    });
    await sealAll(gateway);
    await expect(detach('2020-01-15', 'L')).rejects.toMatchObject({ code: '42501' });
    await expect(detach('2019-01-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/no partition for it/),
    });
    await expect(detach(new Date().toISOString().slice(0, 10))).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/not over yet/),
    });

    const before = await verify();
    const [archive] = await detach('2020-01-15');
    expect([archive.table_name, Number(archive.row_count), archive.archived_by]).toStrictEqual([
      'partitions.audit_log_2020_01',
      3,
      'P',
    ]);
    expect(await runAsSuperuser(gateway, "select from public.audit_log where table_name like 'old%'")).toHaveLength(0);
    expect(await runAsSuperuser(gateway, 'select from partitions.audit_log_2020_01')).toHaveLength(3);
    await sealAll(gateway);
    const result = await verify();
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.archived)).toBe(3);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(Number(before.rows) - 3);
    const [row] = await runAsSuperuser(
      gateway,
      "select details from public.audit_log where operation = 'CLEANUP' order by occurred_at desc limit 1",
    );
    expect([row.details.detached, row.details.rows, row.details.caller]).toStrictEqual([
      'partitions.audit_log_2020_01',
      3,
      'P',
    ]);

    // What was detached is no cover for removing more.
    const more = await runAsSuperuser(gateway, [
      'alter table partitions.audit_log_2020_02 disable trigger all',
      "delete from partitions.audit_log_2020_02 where table_name = 'younger'",
      'select v.* from public.verify_audit() v',
    ]);
    expect(more[0].ok).toBe(false);

    // Nobody reads it any more, its rows stay, it isn't made again, and only a superuser drops it.
    await expect(gateway.sql('P', 'select * from partitions.audit_log_2020_01', [], claimsOfP)).rejects.toMatchObject({
      code: '42501',
    });
    for (const statement of [
      'delete from partitions.audit_log_2020_01',
      'truncate partitions.audit_log_2020_01',
      'drop table partitions.audit_log_2020_01',
    ])
      await expect(runAsSuperuser(gateway, ['set local role l9_owner', statement]), statement).rejects.toMatchObject({
        code: 'L9IMM',
      });
    expect(await make('2020-01-01', 1)).toStrictEqual([]);
    await runAsSuperuser(gateway, 'drop table partitions.audit_log_2020_01');
    expect((await verify()).ok).toBe(true);
    await runAsSuperuser(gateway, ['set local role l9_owner', 'create table public.after_it (a int)']);
  });

  it('are detached through GraphQL too', async () => {
    await make('2021-01-01', 1);
    const token = await gateway.token({ caller: 'P' });
    const query = 'mutation { detachAuditPartition(input: { month: "2021-01-01" }) { result { tableName rowCount } } }';
    const { data, errors } = await gateway.graphql({ token }, query);
    expect(errors).toBeUndefined();
    expect(data.detachAuditPartition.result).toStrictEqual({
      tableName: 'partitions.audit_log_2021_01',
      rowCount: '0',
    });
    expect((await gateway.graphql('L', query)).errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });
});
