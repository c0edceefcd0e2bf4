import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('verify_audit', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
    for (let n = 0; n < 12; n++) await save(`sealed ${n}`);
    await sealAll(db, 4);
  });

  const verify = async (caller = 'L', args = '', claims: Record<string, string> = {}) =>
    (await db.sql(caller, `select (v).* from public.verify_audit(${args}) v`, [], claims))[0];
  const verifyAll = async (args = '') =>
    (await db.sql('P', `select v.* from public.verify_audit(${args}) v`, [], claimsOfP))[0];
  const save = (content: string) => db.sql('C', "select public.save_memory($1, scope => 'global')", [content]);
  const head = async () => (await db.sql('L', 'select hash from public.audit_head()'))[0].hash as string;

  it('can be verified in parts and for a time range', async () => {
    const whole = await verifyAll();
    let rows = 0;
    let part = await verifyAll('max_rows => 3');
    expect(part.is_complete).toBe(false);
    for (;;) {
      expect(part.ok).toBe(true);
      rows += Number(part.rows);
      if (part.is_complete) break;
      part = await verifyAll(`max_rows => 3, after_seal => ${part.last_seal}`);
    }
    expect(rows).toBe(Number(whole.rows));
    const [{ middle }] = await runAsSuperuser(
      db,
      'select first_occurred_at as middle from public.audit_seals order by seal_id desc limit 1',
    );
    const since = await verifyAll(`"from" => '${middle.toISOString()}'`);
    expect(since.ok).toBe(true);
    expect(Number(since.rows)).toBeLessThan(Number(whole.rows));
    expect(Number(since.rows)).toBeGreaterThan(0);
    const until = await verifyAll(`"to" => '${middle.toISOString()}'`);
    expect(until.ok).toBe(true);
    expect(Number(until.rows)).toBeLessThan(Number(whole.rows));
    expect(Number(until.rows)).toBeGreaterThan(0);
    expect(until.unsealed).toBeNull();
    const never = await verifyAll(`"to" => '2000-01-01'`);
    expect([never.ok, Number(never.rows)]).toStrictEqual([true, 0]);
  });

  /** Runs as a superuser with the guards of a table off, returns the result of verify_audit, and rolls back. */
  async function tampered(statement: string, args = '') {
    return (
      await runAsSuperuser(db, [
        'alter table public.audit_log disable trigger all; alter table public.audit_seals disable trigger all',
        `do $$ declare p record; begin for p in select inhrelid::regclass as t from pg_inherits where inhparent = 'public.audit_log'::regclass loop
          execute format('alter table %s disable trigger all', p.t); end loop; end $$`,
        statement,
        `select v.* from public.verify_audit(${args}) v`,
      ])
    )[0];
  }
  const someRow = async () =>
    (
      await runAsSuperuser(
        db,
        'select audit_id, seal_id::int from public.audit_seals, unnest(audit_ids) audit_id where seal_id > 1 order by seal_id limit 1',
      )
    )[0] as { audit_id: string; seal_id: number };

  it('names the first altered row, whichever column was altered', async () => {
    const { audit_id, seal_id } = await someRow();
    for (const change of [
      `details = details || '{"caller": "somebody else"}'`,
      "occurred_at = occurred_at + interval '1 microsecond'",
      "operation = 'READ'",
      'row_id = uuidv7()',
      'tenant_id = null',
      "project_id = coalesce(project_id, '') || 'x'",
      "scope = coalesce(scope, '') || 'x'",
      "status = 'error', sqlstate = 'XX000'",
      "table_name = 'x'",
      "xid = '1'",
      "xid = '99999999999'",
    ]) {
      const result = await tampered(`update public.audit_log set ${change} where audit_id = '${audit_id}'`);
      expect(result.ok, change).toBe(false);
      // A row whose transaction was altered is found missing in its own seal, or added in another.
      if (change === "xid = '1'") expect(result.reason).toMatch(/added|altered/);
      else {
        expect(result.reason, change).toBe('a row was altered');
        expect(Number(result.broken_seal)).toBe(seal_id);
      }
      expect(result.broken_row, change).toBe(audit_id);
    }
    expect((await verifyAll()).ok, 'every change was rolled back').toBe(true);
  });

  it('names the first removed row', async () => {
    const { audit_id, seal_id } = await someRow();
    const result = await tampered(`delete from public.audit_log where audit_id >= '${audit_id}'`);
    expect([result.ok, result.reason]).toStrictEqual([false, 'a row was removed']);
    expect(Number(result.broken_seal)).toBeLessThanOrEqual(seal_id);
    const one = await tampered(`delete from public.audit_log where audit_id = '${audit_id}'`);
    expect([Number(one.broken_seal), one.broken_row]).toStrictEqual([seal_id, audit_id]);
  });

  it('names a row that was added to a sealed range', async () => {
    const { audit_id } = await someRow();
    const forged = '01900000-0000-7000-8000-00000000f00d';
    const result = await tampered(
      `insert into public.audit_log (audit_id, occurred_at, xid, operation, table_name, details)
       select '${forged}', occurred_at, xid, operation, table_name, details from public.audit_log where audit_id = '${audit_id}'`,
    );
    expect([result.ok, result.reason, result.broken_row]).toStrictEqual([false, 'a row was added', forged]);
  });

  it('detects a seal that was altered, removed or rebuilt', async () => {
    const { seal_id } = await someRow();
    await save('one seal more');
    await sealAll(db);
    for (const change of [
      'row_hashes[1] = sha256(row_hashes[1])',
      'audit_ids[1] = uuidv7()',
      "sealed_at = sealed_at - interval '1 day'",
      "first_occurred_at = first_occurred_at - interval '1 day'",
      'rows_hash = sha256(rows_hash)',
      'seal_hash = sha256(seal_hash)',
      'previous_hash = sha256(previous_hash)',
    ]) {
      const result = await tampered(`update public.audit_seals set ${change} where seal_id = ${seal_id}`);
      expect([result.ok, Number(result.broken_seal)], change).toStrictEqual([false, seal_id]);
    }
    const removed = await tampered(`delete from public.audit_seals where seal_id = ${seal_id}`);
    expect([removed.ok, Number(removed.broken_seal)]).toStrictEqual([false, seal_id + 1]);
    // If a forger recomputes a seal, the next seal no longer matches it.
    const recomputed = await tampered(
      `delete from public.audit_log where audit_id = (select audit_ids[1] from public.audit_seals where seal_id = ${seal_id});
       update public.audit_seals set audit_ids = audit_ids[2:], row_hashes = row_hashes[2:], row_count = row_count - 1 where seal_id = ${seal_id};
       update public.audit_seals set rows_hash = audit.audit_rows_hash(audit_ids, row_hashes) where seal_id = ${seal_id};
       update public.audit_seals s set seal_hash = audit.audit_seal_hash(s) where seal_id = ${seal_id}`,
    );
    expect([recomputed.ok, Number(recomputed.broken_seal)]).toStrictEqual([false, seal_id + 1]);
  });

  it('shows a holder of an older head that the end of the chain was removed', async () => {
    await save('the last');
    await sealAll(db);
    const earlierHead = await head();
    const cut = `with removed as (delete from public.audit_seals where seal_id = (select max(seal_id) from public.audit_seals) returning audit_ids)
      delete from public.audit_log a using removed where a.audit_id = any (removed.audit_ids)`;
    expect((await tampered(cut)).ok, 'without a head it cannot be detected').toBe(true);
    const result = await tampered(cut, `head => '${earlierHead}'`);
    expect(result.ok).toBe(false);
    expect(result.reason).toMatch(/the end of the chain was removed/);
    await save('after the last');
    await sealAll(db);
    expect((await verify('L', `head => '${earlierHead}'`)).ok, 'a head stays valid as the chain grows').toBe(true);
    await expect(verify('L', "head => 'nonsense'")).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('can be verified by admins, who learn nothing about the rows of other tenants', async () => {
    for (const query of [
      'select public.verify_audit()',
      'select public.audit_head()',
      'select * from public.audit_seals',
    ])
      await expect(db.sql('C', query), query).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('L', 'select * from public.audit_seals')).rejects.toMatchObject({ code: '42501' });

    const claims = await addTenant(db, 'acme');
    await db.sql('L', "select public.save_memory('of acme', scope => 'global')", [], claims);
    await sealAll(db);
    const ofAcme = await verify('L', '', claims);
    const [{ n }] = await db.asSuperuser('select count(*) as n from public.audit_log where tenant_id = $1', [
      claims['jwt.claims.tenant_id'],
    ]);
    expect([ofAcme.ok, Number(ofAcme.rows), ofAcme.archived]).toStrictEqual([true, Number(n), null]);
    expect(Number(ofAcme.unsealed)).toBe(0);
    const [newest] = await db.sql('L', 'select seal_id from public.audit_head()', [], claims);
    expect(newest.seal_id, 'the number of seals that a verification goes through').toBe(ofAcme.seals);
    const ours = await verify();
    expect(Number(ours.rows)).toBeGreaterThan(1);
    expect(Number(ours.rows)).toBeLessThan(Number((await verifyAll()).rows));

    // An altered row of another tenant is reported but not named.
    const { audit_id } = await someRow();
    const change = `update public.audit_log set table_name = 'x' where audit_id = '${audit_id}'`;
    const seen = await runAsSuperuser(db, [
      `do $$ declare p record; begin for p in select inhrelid::regclass as t from pg_inherits where inhparent = 'public.audit_log'::regclass loop
        execute format('alter table %s disable trigger all', p.t); end loop; end $$`,
      'alter table public.audit_log disable trigger all',
      change,
      'set local role l9_admin',
      `select set_config('jwt.claims.tenant_id', '${claims['jwt.claims.tenant_id']}', true), set_config('jwt.claims.caller', 'L', true)`,
      'select v.* from public.verify_audit() v',
    ]);
    expect([seen[0].ok, seen[0].broken_row, seen[0].reason]).toStrictEqual([false, null, 'a row was altered']);
  });

  it('can be recomputed outside the database from an export', async () => {
    await sealAll(db);
    const [seal] = await runAsSuperuser(
      db,
      "select seal_id::text, audit_ids[1] as audit_id, encode(row_hashes[1], 'hex') as hash from public.audit_seals where row_count > 0 order by seal_id limit 1",
    );
    const [{ text }] = await runAsSuperuser(
      db,
      `select jsonb_build_array(audit_id, extract(epoch from occurred_at)::text, xid::text, operation, table_name, row_id, tenant_id,
        project_id, scope, status, sqlstate, details)::text as text from public.audit_log where audit_id = '${seal.audit_id}'`,
    );
    const { createHash } = await import('node:crypto');
    expect(createHash('sha256').update(text).digest('hex')).toBe(seal.hash);
  });
});
