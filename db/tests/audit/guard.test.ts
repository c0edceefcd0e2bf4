// What keeps the record whole against the owner of its tables.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addPlatformAdmin, asSuperuser, claimsOfP, sealAll } from './support.ts';

describe('the owner of the audit log', () => {
  let house: House;
  let partition: string;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await addPlatformAdmin(house);
    await house.tool('C', 'save_memory', { content: 'on the record', scope: 'global' });
    const [{ name }] = await asSuperuser(
      house,
      'select tableoid::regclass::text as name from public.audit_log limit 1',
    );
    partition = name;
  });
  after(() => house.close());

  const asOwner = (...statements: string[]) => asSuperuser(house, ['set local role l9_owner', ...statements]);
  const refused = (statement: string, code = 'L9IMM') =>
    assert.rejects(asOwner(statement), { code }, `${statement} should be refused`);

  it('can change, remove or empty no row', async () => {
    for (const table of [
      'public.audit_log',
      partition,
      'partitions.audit_log_default',
      'public.audit_seals',
      'public.audit_archives',
    ])
      for (const statement of [`update ${table} set ctid = ctid`, `delete from ${table}`, `truncate ${table}`])
        await assert.rejects(
          asOwner(statement),
          (error: { code: string }) => ['L9IMM', '0A000'].includes(error.code),
          statement,
        );
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
      await assert.rejects(asSuperuser(house, [statement]), { code: 'L9IMM' }, statement);
    await asSuperuser(house, [
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
      await assert.rejects(
        asOwner('create schema aside', `alter table ${table} set schema aside`),
        { code: 'L9IMM' },
        `${table} is not moved`,
      );
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
      await assert.rejects(
        asOwner(statement),
        (error: { code: string }) => ['L9IMM', '42809', '0A000'].includes(error.code),
        statement,
      );
    for (const statement of [
      'alter event trigger l9_guard_state disable',
      'drop event trigger l9_guard_drops',
      'drop function l9_guard.tg_append_only() cascade',
      'create or replace function l9_guard.tg_append_only() returns trigger language plpgsql as $$ begin return null; end $$',
      'delete from l9_guard.append_only',
      'drop schema l9_guard cascade',
      "set local session_replication_role = 'replica'",
    ])
      await assert.rejects(asOwner(statement), { code: '42501' }, statement);
    await assert.rejects(asOwner("insert into public.audit_archives values ('x')", 'select 1 / 0'), { code: '23502' });
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
    await asSuperuser(house, [
      'set local role l9_worker',
      'create schema scratch',
      'create table scratch.a (a int)',
      'drop schema scratch cascade',
    ]);
  });
});

describe('partitions of the audit log', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await addPlatformAdmin(house);
  });
  after(() => house.close());

  const insertAt = (time: string, name: string) => `
    insert into public.audit_log (occurred_at, operation, table_name, details)
    values ('${time}', 'READ', '${name}', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`;
  const partitionOf = async (name: string) =>
    (
      await asSuperuser(
        house,
        `select tableoid::regclass::text as p from public.audit_log where table_name = '${name}'`,
      )
    )[0]?.p;
  const make = async (from: string, months: number) =>
    (
      await house.gateway.database.workerPool.query(
        "select audit.create_month_partitions('public.audit_log', $1, $2) as made",
        [from, months],
      )
    ).rows[0].made as string[];

  it('are there for this month and thirteen ahead, by the month of UTC', async () => {
    const [{ ahead }] = await asSuperuser(
      house,
      `select count(*)::int as ahead from generate_series(0, 13) i
       where to_regclass('partitions.audit_log_' || to_char((now() at time zone 'UTC')::date + make_interval(months => i), 'YYYY_MM')) is not null`,
    );
    assert.ok(ahead >= 13);
    await make('2031-01-15', 2);
    await asSuperuser(house, [
      "set local timezone = 'Pacific/Auckland'",
      insertAt('2031-02-01 00:30:00+13', 'january'),
      'commit',
    ]);
    await asSuperuser(house, insertAt('2031-02-01 00:00:00+00', 'february'));
    assert.equal(await partitionOf('january'), 'partitions.audit_log_2031_01');
    assert.equal(await partitionOf('february'), 'partitions.audit_log_2031_02');
  });

  it('are made once, and not where rows were waiting already', async () => {
    assert.deepEqual(await make('2032-05-01', 2), ['audit_log_2032_05', 'audit_log_2032_06']);
    assert.deepEqual(await make('2032-05-01', 3), ['audit_log_2032_07']);
    await asSuperuser(house, insertAt('2033-03-03 03:00+00', 'early'));
    assert.equal(await partitionOf('early'), 'partitions.audit_log_default', 'no row is lost');
    assert.deepEqual(await make('2033-02-01', 3), ['audit_log_2033_02', 'audit_log_2033_04']);
    await assert.rejects(make('2033-01-01', 1000), { code: 'L9VAL' });
    for (const table of ['public.packet_store', 'pg_catalog.pg_class'])
      await assert.rejects(
        house.gateway.database.workerPool.query(`select audit.create_month_partitions('${table}', now()::date, 1)`),
        { code: 'L9VAL' },
      );
  });

  it('can be reached by nobody but through the table', async () => {
    const [{ p }] = await asSuperuser(
      house,
      "select inhrelid::regclass::text as p from pg_inherits where inhparent = 'public.audit_log'::regclass limit 1",
    );
    for (const caller of ['C', 'L']) await assert.rejects(house.sql(caller, `select * from ${p}`), { code: '42501' });
    await assert.rejects(house.sql('P', `select * from ${p}`, [], claimsOfP), { code: '42501' });
    await assert.rejects(house.gateway.database.workerPool.query(`select * from ${p}`), { code: '42501' });
  });

  it('are detached when over and sealed, by operators only, and verify_audit knows it', async () => {
    const detach = (month: string, caller = 'P') =>
      house.sql(
        caller,
        `select d.* from public.detach_audit_partition('${month}') d`,
        [],
        caller === 'P' ? claimsOfP : {},
      );
    const verify = async () => (await house.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
    await make('2020-01-01', 2);
    for (let n = 0; n < 3; n++) await asSuperuser(house, insertAt(`2020-01-0${n + 1}`, `old ${n}`));
    await asSuperuser(house, insertAt('2020-02-01', 'younger'));
    await assert.rejects(detach('2020-01-15'), { code: 'L9VAL', message: /some of its rows are not sealed/ });
    await sealAll(house);
    await assert.rejects(detach('2020-01-15', 'L'), { code: '42501' });
    await assert.rejects(detach('2019-01-15'), { code: 'L9VAL', message: /no partition for it/ });
    await assert.rejects(detach(new Date().toISOString().slice(0, 10)), { code: 'L9VAL', message: /not over yet/ });

    const before = await verify();
    const [archive] = await detach('2020-01-15');
    assert.deepEqual(
      [archive.table_name, Number(archive.row_count), archive.archived_by],
      ['partitions.audit_log_2020_01', 3, 'P'],
    );
    assert.equal((await asSuperuser(house, "select from public.audit_log where table_name like 'old%'")).length, 0);
    assert.equal((await asSuperuser(house, 'select from partitions.audit_log_2020_01')).length, 3);
    await sealAll(house);
    const result = await verify();
    assert.equal(result.ok, true, result.reason);
    assert.equal(Number(result.archived), 3);
    assert.ok(Number(result.rows) >= Number(before.rows) - 3);
    const [row] = await asSuperuser(
      house,
      "select details from public.audit_log where operation = 'CLEANUP' order by occurred_at desc limit 1",
    );
    assert.deepEqual(
      [row.details.detached, row.details.rows, row.details.caller],
      ['partitions.audit_log_2020_01', 3, 'P'],
    );

    // What was detached is no cover for removing more.
    const more = await asSuperuser(house, [
      'alter table partitions.audit_log_2020_02 disable trigger all',
      "delete from partitions.audit_log_2020_02 where table_name = 'younger'",
      'select v.* from public.verify_audit() v',
    ]);
    assert.equal(more[0].ok, false);

    // Nobody reads it any more, its rows stay, it isn't made again, and only a superuser drops it.
    await assert.rejects(house.sql('P', 'select * from partitions.audit_log_2020_01', [], claimsOfP), {
      code: '42501',
    });
    for (const statement of [
      'delete from partitions.audit_log_2020_01',
      'truncate partitions.audit_log_2020_01',
      'drop table partitions.audit_log_2020_01',
    ])
      await assert.rejects(asSuperuser(house, ['set local role l9_owner', statement]), { code: 'L9IMM' }, statement);
    assert.deepEqual(await make('2020-01-01', 1), []);
    await asSuperuser(house, 'drop table partitions.audit_log_2020_01');
    assert.equal((await verify()).ok, true);
    await asSuperuser(house, ['set local role l9_owner', 'create table public.after_it (a int)']);
  });

  it('are detached through GraphQL too', async () => {
    await make('2021-01-01', 1);
    const token = await house.token({ caller: 'P' });
    const query = 'mutation { detachAuditPartition(input: { month: "2021-01-01" }) { result { tableName rowCount } } }';
    const { data, errors } = await house.graphql({ token }, query);
    assert.equal(errors, undefined);
    assert.deepEqual(data.detachAuditPartition.result, { tableName: 'partitions.audit_log_2021_01', rowCount: '0' });
    assert.equal((await house.graphql('L', query)).errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
  });
});
