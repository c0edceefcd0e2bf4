// The chain of seals: what it covers, and what it betrays.

import pg from 'pg';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';
import { addPlatformAdmin, claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('the chain of seals', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
  });
  afterAll(() => gateway.close());

  const verify = async (caller = 'L', args = '', claims: Record<string, string> = {}) =>
    (await gateway.sql(caller, `select (v).* from public.verify_audit(${args}) v`, [], claims))[0];
  const verifyAll = async (args = '') =>
    (await gateway.sql('P', `select v.* from public.verify_audit(${args}) v`, [], claimsOfP))[0];
  const save = (content: string) => gateway.sql('C', "select public.save_memory($1, scope => 'global')", [content]);
  const head = async () => (await gateway.sql('L', 'select hash from public.audit_head()'))[0].hash as string;

  it('covers what has committed, and says that it is whole', async () => {
    for (let n = 0; n < 5; n++) await save(`sealed ${n}`);
    await sealAll(gateway);
    const result = await verify();
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(5);
    expect(result.is_complete).toBe(true);
    expect(result.head).toBe(await head());
    const [{ sealed, logged }] = await runAsSuperuser(
      gateway,
      'select (select sum(row_count) from public.audit_seals)::int as sealed, (select count(*) from public.audit_log)::int as logged',
    );
    expect(sealed).toBe(logged - Number((await verifyAll()).unsealed));
  });

  it('grows by nothing when there is nothing new', async () => {
    await sealAll(gateway);
    const before = await head();
    const { rows } = await gateway.instance.database.workerPool.query(
      'select audit.seal_audit()::int as n, audit.is_audit_unsealed() as due',
    );
    expect(rows[0]).toStrictEqual({ n: 0, due: false });
    expect(await head()).toBe(before);
  });

  it('seals a transaction whole, however many rows it has', async () => {
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, scope) select jsonb_build_object('content', 'whole ' || i), 'global' from generate_series(1, 25) i`,
    );
    for (let n = 0; n < 6; n++) await save(`one by one ${n}`);
    await sealAll(gateway, 4);
    const seals = await runAsSuperuser(
      gateway,
      'select row_count, from_xid::text, to_xid::text from public.audit_seals order by seal_id',
    );
    expect(seals.some(({ row_count }) => row_count >= 25)).toBe(true);
    for (const [index, seal] of seals.entries())
      if (index > 0) expect(seal.from_xid, 'no gap').toBe(seals[index - 1].to_xid);
    expect((await verify()).ok).toBe(true);
  });

  it('can be checked in parts and for a time', async () => {
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
      gateway,
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

  /** Runs as a superuser with the guards of a table off, looks at what verify_audit says, and undoes it. */
  async function tampered(statement: string, args = '') {
    return (
      await runAsSuperuser(gateway, [
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
        gateway,
        'select audit_id, seal_id::int from public.audit_seals, unnest(audit_ids) audit_id where seal_id > 1 order by seal_id limit 1',
      )
    )[0] as { audit_id: string; seal_id: number };

  it('names the first row that was altered, whichever column it is', async () => {
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
      // A row whose transaction was altered is first missed, or found too many, in another seal.
      if (change === "xid = '1'") expect(result.reason).toMatch(/added|altered/);
      else {
        expect(result.reason, change).toBe('a row was altered');
        expect(Number(result.broken_seal)).toBe(seal_id);
      }
      expect(result.broken_row, change).toBe(audit_id);
    }
    expect((await verifyAll()).ok, 'and all of that was undone').toBe(true);
  });

  it('names the first row that was removed', async () => {
    const { audit_id, seal_id } = await someRow();
    const result = await tampered(`delete from public.audit_log where audit_id >= '${audit_id}'`);
    expect([result.ok, result.reason]).toStrictEqual([false, 'a row was removed']);
    expect(Number(result.broken_seal)).toBeLessThanOrEqual(seal_id);
    const one = await tampered(`delete from public.audit_log where audit_id = '${audit_id}'`);
    expect([Number(one.broken_seal), one.broken_row]).toStrictEqual([seal_id, audit_id]);
  });

  it('names a row that was added to what is sealed', async () => {
    const { audit_id } = await someRow();
    const forged = '01900000-0000-7000-8000-00000000f00d';
    const result = await tampered(
      `insert into public.audit_log (audit_id, occurred_at, xid, operation, table_name, details)
       select '${forged}', occurred_at, xid, operation, table_name, details from public.audit_log where audit_id = '${audit_id}'`,
    );
    expect([result.ok, result.reason, result.broken_row]).toStrictEqual([false, 'a row was added', forged]);
  });

  it('notices a seal that was altered, removed or made anew', async () => {
    const { seal_id } = await someRow();
    await save('one seal more');
    await sealAll(gateway);
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
    // A forger who makes a seal fit itself is betrayed by the one after it.
    const remade = await tampered(
      `delete from public.audit_log where audit_id = (select audit_ids[1] from public.audit_seals where seal_id = ${seal_id});
       update public.audit_seals set audit_ids = audit_ids[2:], row_hashes = row_hashes[2:], row_count = row_count - 1 where seal_id = ${seal_id};
       update public.audit_seals set rows_hash = audit.audit_rows_hash(audit_ids, row_hashes) where seal_id = ${seal_id};
       update public.audit_seals s set seal_hash = audit.audit_seal_hash(s) where seal_id = ${seal_id}`,
    );
    expect([remade.ok, Number(remade.broken_seal)]).toStrictEqual([false, seal_id + 1]);
  });

  it('betrays that its end was cut off to whoever kept a head', async () => {
    await save('the last');
    await sealAll(gateway);
    const kept = await head();
    const cut = `with gone as (delete from public.audit_seals where seal_id = (select max(seal_id) from public.audit_seals) returning audit_ids)
      delete from public.audit_log a using gone where a.audit_id = any (gone.audit_ids)`;
    expect((await tampered(cut)).ok, 'without a head nobody could know').toBe(true);
    const result = await tampered(cut, `head => '${kept}'`);
    expect(result.ok).toBe(false);
    expect(result.reason).toMatch(/the end of the chain was removed/);
    await save('after the last');
    await sealAll(gateway);
    expect((await verify('L', `head => '${kept}'`)).ok, 'a head stays good as the chain grows').toBe(true);
    await expect(verify('L', "head => 'nonsense'")).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('is open to admins, and tells those of a tenant nothing of the rows of another', async () => {
    for (const query of [
      'select public.verify_audit()',
      'select public.audit_head()',
      'select * from public.audit_seals',
    ])
      await expect(gateway.sql('C', query), query).rejects.toMatchObject({ code: '42501' });
    await expect(gateway.sql('L', 'select * from public.audit_seals')).rejects.toMatchObject({ code: '42501' });

    const claims = await addTenant(gateway, 'acme');
    await gateway.sql('L', "select public.save_memory('of acme', scope => 'global')", [], claims);
    await sealAll(gateway);
    const ofAcme = await verify('L', '', claims);
    const [{ n }] = await gateway.asSuperuser('select count(*) as n from public.audit_log where tenant_id = $1', [
      claims['jwt.claims.tenant_id'],
    ]);
    expect([ofAcme.ok, Number(ofAcme.rows), ofAcme.archived]).toStrictEqual([true, Number(n), null]);
    expect(Number(ofAcme.unsealed)).toBe(0);
    const ours = await verify();
    expect(Number(ours.rows)).toBeGreaterThan(1);
    expect(Number(ours.rows)).toBeLessThan(Number((await verifyAll()).rows));

    // Somebody else's broken row is not named to them, only that there is one.
    const { audit_id } = await someRow();
    const change = `update public.audit_log set table_name = 'x' where audit_id = '${audit_id}'`;
    const seen = await runAsSuperuser(gateway, [
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

  it('is the same through GraphQL', async () => {
    const { data, errors } = await gateway.graphql(
      'L',
      '{ verifyAudit { ok seals rows head reason } auditHead { hash } }',
    );
    expect(errors).toBeUndefined();
    expect(data.verifyAudit.ok, data.verifyAudit.reason).toBe(true);
    expect(data.auditHead.hash).toMatch(/^[0-9a-f]{64}$/);
    const refused = await gateway.graphql('C', '{ verifyAudit { ok } }');
    expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('can be remade outside of the database from an export', async () => {
    await sealAll(gateway);
    const [seal] = await runAsSuperuser(
      gateway,
      "select seal_id::text, audit_ids[1] as audit_id, encode(row_hashes[1], 'hex') as hash from public.audit_seals where row_count > 0 order by seal_id limit 1",
    );
    const [{ text }] = await runAsSuperuser(
      gateway,
      `select jsonb_build_array(audit_id, extract(epoch from occurred_at)::text, xid::text, operation, table_name, row_id, tenant_id,
        project_id, scope, status, sqlstate, details)::text as text from public.audit_log where audit_id = '${seal.audit_id}'`,
    );
    const { createHash } = await import('node:crypto');
    expect(createHash('sha256').update(text).digest('hex')).toBe(seal.hash);
  });

  it('begins a new era where the database was restored into another cluster', async () => {
    await sealAll(gateway);
    // As if transactions were far ahead when these rows were written and (all but one) sealed.
    await runAsSuperuser(gateway, [
      `insert into public.audit_log (xid, operation, table_name, details) select xid::text::xid8, 'READ', 'restored',
        '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}' from (values (1000000000), (1000000001), (2000000000)) v (xid)`,
      "select audit.seal_audit_until('1000000002', 10000)",
      'commit',
    ]);
    const kept = await head();
    await save('in the new cluster');
    await save('again in the new cluster');
    await sealAll(gateway);
    const eras = await runAsSuperuser(
      gateway,
      'select era, sum(row_count)::int as rows, min(from_xid)::text as first from public.audit_seals group by era order by era',
    );
    expect(eras.map(({ era }) => era)).toStrictEqual([1, 2]);
    expect(eras[1].rows).toBeGreaterThanOrEqual(2);
    expect(eras[1].first).toBe('0');
    const all = await verifyAll(`head => '${kept}'`);
    expect(all.ok, all.reason).toBe(true);
    expect(Number(all.unsealed)).toBe(0);
    const [{ logged }] = await runAsSuperuser(gateway, 'select count(*)::int as logged from public.audit_log');
    expect(Number(all.rows), 'the row that came unsealed is sealed too').toBeGreaterThanOrEqual(logged - 2);
    await save('and the chain goes on');
    await sealAll(gateway);
    expect((await verifyAll()).ok).toBe(true);
    // Also a row of the old era that is altered, or one put into it, is found.
    const altered = await tampered(
      "update public.audit_log set table_name = 'y' where table_name = 'restored' and xid = '2000000000'",
    );
    expect(altered.reason).toBe('a row was altered');
    const added = await tampered(
      `insert into public.audit_log (xid, occurred_at, operation, table_name, details) select '3000000000', occurred_at, operation, table_name, details
       from public.audit_log where table_name = 'restored' limit 1`,
    );
    expect(added.reason).toBe('a row was added');
  });
});

describeOnServer('sealing beside transactions in flight', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
  });
  afterAll(() => gateway.close());

  it('waits for the oldest, and then skips nothing', async () => {
    const slow = new pg.Client({ connectionString: gateway.home.superuserUrl! });
    await slow.connect();
    try {
      await slow.query('begin');
      await slow.query(
        `insert into public.audit_log (operation, table_name, details) values ('READ', 'slow', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`,
      );
      await gateway.tool('C', 'save_memory', { content: 'quick', scope: 'global' });
      await gateway.instance.database.workerPool.query('select audit.seal_audit()');
      const [quick] = await runAsSuperuser(
        gateway,
        `select exists (select from public.audit_seals s join public.audit_log a on a.audit_id = any (s.audit_ids)
            where a.operation = 'INSERT' and a.table_name = 'packet_store') as sealed`,
      );
      expect(quick.sealed, 'what came after a transaction in flight waits for it').toBe(false);
      await slow.query('commit');
      await sealAll(gateway);
      const [counts] = await runAsSuperuser(
        gateway,
        'select (select count(*) from public.audit_log)::int as logged, (select sum(row_count) from public.audit_seals)::int as sealed',
      );
      expect(counts.sealed).toBe(counts.logged);
      expect((await gateway.sql('P', 'select v.ok from public.verify_audit() v', [], claimsOfP))[0].ok).toBe(true);
    } finally {
      await slow.end();
    }
  });

  it('makes one chain, however many seal at once, while others write', async () => {
    let isDone = false;
    const sealers = Array.from({ length: 3 }, async () => {
      while (!isDone) await gateway.instance.database.workerPool.query('select audit.seal_audit(7)');
    });
    await Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; n < 25; n++)
          await gateway.sql('C', `select public.save_memory('writer ${writer} row ${n}', scope => 'global')`);
      }),
    );
    isDone = true;
    await Promise.all(sealers);
    await sealAll(gateway);
    const result = (await gateway.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.seals)).toBeGreaterThan(1);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(100);
  });
});
