// The guard of bootstrap.sql: the owner of the audit log cannot change it.
import { errorOf } from '../support/errors.ts';
import { eventually } from '../support/eventually.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { runAsSuperuser } from './support.ts';

describe('the owner of the audit log', () => {
  const db = useTestDatabase();
  let partition: string;
  beforeAll(async () => {
    await db.sql('C', "select public.save_memory('audited', scope => 'global')");
    const [{ name }] = await runAsSuperuser(
      db,
      'select tableoid::regclass::text as name from public.audit_log limit 1',
    );
    partition = name;
  });

  const asOwner = (...statements: string[]) => runAsSuperuser(db, ['set local role l9_owner', ...statements]);
  const refused = (statement: string, code = 'L9IMM') =>
    expect(asOwner(statement), `${statement} should be refused`).rejects.toMatchObject({ code });

  it('cannot update, delete or truncate an append-only table', async () => {
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

  it('cannot do so as a superuser either, unless the superuser first disables the guard', async () => {
    for (const statement of [
      "update public.audit_log set table_name = 'x'",
      `delete from ${partition}`,
      'truncate public.audit_log',
      "set local session_replication_role = 'replica'; delete from public.audit_log",
    ])
      await expect(runAsSuperuser(db, [statement]), statement).rejects.toMatchObject({ code: 'L9IMM' });
    await runAsSuperuser(db, [
      'alter table public.audit_archives disable trigger all',
      'drop table public.audit_archives cascade',
    ]);
  });

  it('cannot remove or weaken anything that keeps the tables append-only', async () => {
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
      // l9_owner cannot create a table in that schema, so the statement creates its own schema first.
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
    // This statement also revokes privileges on databases, which fails while another test file drops its database.
    const codeOfRefusal = async () => (await errorOf(asOwner('drop owned by l9_owner cascade'))).code;
    expect(await eventually(async () => (await codeOfRefusal()).replace('XX000', ''))).toBe('L9IMM');
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

  it('can still change all other objects, and create partitions', async () => {
    await asOwner(
      'create table public.scratch (a int)',
      'alter table public.scratch add column b int',
      'drop table public.scratch',
      'alter table public.packet_store add column scratch int',
      'alter table public.audit_log add column scratch int',
      'create index on public.audit_log (operation)',
      "select audit.create_month_partitions('public.audit_log', '2040-01-01', 2)",
    );
    // The role of jobs can create and drop its own tables.
    await runAsSuperuser(db, [
      'set local role l9_worker',
      'create schema scratch',
      'create table scratch.a (a int)',
      'drop schema scratch cascade',
    ]);
  });
});
