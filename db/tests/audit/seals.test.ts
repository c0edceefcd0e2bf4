// The chain of seals: what it covers, and what it betrays.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addPlatformAdmin, addTenant, asSuperuser, claimsOfP, sealAll } from './support.ts';

describe('the chain of seals', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await addPlatformAdmin(house);
  });
  after(() => house.close());

  const verify = async (caller = 'L', args = '', claims: Record<string, string> = {}) =>
    (await house.sql(caller, `select (v).* from public.verify_audit(${args}) v`, [], claims))[0];
  const verifyAll = async (args = '') =>
    (await house.sql('P', `select v.* from public.verify_audit(${args}) v`, [], claimsOfP))[0];
  const save = (content: string) => house.sql('C', "select public.save_memory($1, scope => 'global')", [content]);
  const head = async () => (await house.sql('L', 'select hash from public.audit_head()'))[0].hash as string;

  it('covers what has committed, and says that it is whole', async () => {
    for (let n = 0; n < 5; n++) await save(`sealed ${n}`);
    await sealAll(house);
    const result = await verify();
    assert.equal(result.ok, true, result.reason);
    assert.ok(Number(result.rows) >= 5);
    assert.equal(result.is_complete, true);
    assert.equal(result.head, await head());
    const [{ sealed, logged }] = await asSuperuser(
      house,
      'select (select sum(row_count) from public.audit_seals)::int as sealed, (select count(*) from public.audit_log)::int as logged',
    );
    assert.equal(sealed, logged - Number((await verifyAll()).unsealed));
  });

  it('grows by nothing when there is nothing new', async () => {
    await sealAll(house);
    const before = await head();
    const { rows } = await house.gateway.database.workerPool.query(
      'select audit.seal_audit()::int as n, audit.is_audit_unsealed() as due',
    );
    assert.deepEqual(rows[0], { n: 0, due: false });
    assert.equal(await head(), before);
  });

  it('seals a transaction whole, however many rows it has', async () => {
    await house.sql(
      'C',
      `insert into public.packet_store (envelope, scope) select jsonb_build_object('content', 'whole ' || i), 'global' from generate_series(1, 25) i`,
    );
    for (let n = 0; n < 6; n++) await save(`one by one ${n}`);
    await sealAll(house, 4);
    const seals = await asSuperuser(
      house,
      'select row_count, from_xid::text, to_xid::text from public.audit_seals order by seal_id',
    );
    assert.ok(seals.some(({ row_count }) => row_count >= 25));
    for (const [index, seal] of seals.entries())
      if (index > 0) assert.equal(seal.from_xid, seals[index - 1].to_xid, 'no gap');
    assert.equal((await verify()).ok, true);
  });

  it('can be checked in parts and for a time', async () => {
    const whole = await verifyAll();
    let rows = 0;
    let part = await verifyAll('max_rows => 3');
    assert.equal(part.is_complete, false);
    for (;;) {
      assert.equal(part.ok, true);
      rows += Number(part.rows);
      if (part.is_complete) break;
      part = await verifyAll(`max_rows => 3, after_seal => ${part.last_seal}`);
    }
    assert.equal(rows, Number(whole.rows));
    const [{ middle }] = await asSuperuser(
      house,
      'select first_occurred_at as middle from public.audit_seals order by seal_id desc limit 1',
    );
    const since = await verifyAll(`"from" => '${middle.toISOString()}'`);
    assert.equal(since.ok, true);
    assert.ok(Number(since.rows) < Number(whole.rows) && Number(since.rows) > 0);
    const until = await verifyAll(`"to" => '${middle.toISOString()}'`);
    assert.equal(until.ok, true);
    assert.ok(Number(until.rows) < Number(whole.rows) && Number(until.rows) > 0);
    assert.equal(until.unsealed, null);
    const never = await verifyAll(`"to" => '2000-01-01'`);
    assert.deepEqual([never.ok, Number(never.rows)], [true, 0]);
  });

  /** Runs as a superuser with the guards of a table off, looks at what verify_audit says, and undoes it. */
  async function tampered(statement: string, args = '') {
    return (
      await asSuperuser(house, [
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
      await asSuperuser(
        house,
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
      assert.equal(result.ok, false, change);
      // A row whose transaction was altered is first missed, or found too many, in another seal.
      if (change === "xid = '1'") assert.match(result.reason, /added|altered/);
      else {
        assert.equal(result.reason, 'a row was altered', change);
        assert.equal(Number(result.broken_seal), seal_id);
      }
      assert.equal(result.broken_row, audit_id, change);
    }
    assert.equal((await verifyAll()).ok, true, 'and all of that was undone');
  });

  it('names the first row that was removed', async () => {
    const { audit_id, seal_id } = await someRow();
    const result = await tampered(`delete from public.audit_log where audit_id >= '${audit_id}'`);
    assert.deepEqual([result.ok, result.reason], [false, 'a row was removed']);
    assert.ok(Number(result.broken_seal) <= seal_id);
    const one = await tampered(`delete from public.audit_log where audit_id = '${audit_id}'`);
    assert.deepEqual([Number(one.broken_seal), one.broken_row], [seal_id, audit_id]);
  });

  it('names a row that was added to what is sealed', async () => {
    const { audit_id } = await someRow();
    const forged = '01900000-0000-7000-8000-00000000f00d';
    const result = await tampered(
      `insert into public.audit_log (audit_id, occurred_at, xid, operation, table_name, details)
       select '${forged}', occurred_at, xid, operation, table_name, details from public.audit_log where audit_id = '${audit_id}'`,
    );
    assert.deepEqual([result.ok, result.reason, result.broken_row], [false, 'a row was added', forged]);
  });

  it('notices a seal that was altered, removed or made anew', async () => {
    const { seal_id } = await someRow();
    await save('one seal more');
    await sealAll(house);
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
      assert.deepEqual([result.ok, Number(result.broken_seal)], [false, seal_id], change);
    }
    const removed = await tampered(`delete from public.audit_seals where seal_id = ${seal_id}`);
    assert.deepEqual([removed.ok, Number(removed.broken_seal)], [false, seal_id + 1]);
    // A forger who makes a seal fit itself is betrayed by the one after it.
    const remade = await tampered(
      `delete from public.audit_log where audit_id = (select audit_ids[1] from public.audit_seals where seal_id = ${seal_id});
       update public.audit_seals set audit_ids = audit_ids[2:], row_hashes = row_hashes[2:], row_count = row_count - 1 where seal_id = ${seal_id};
       update public.audit_seals set rows_hash = audit.audit_rows_hash(audit_ids, row_hashes) where seal_id = ${seal_id};
       update public.audit_seals s set seal_hash = audit.audit_seal_hash(s) where seal_id = ${seal_id}`,
    );
    assert.deepEqual([remade.ok, Number(remade.broken_seal)], [false, seal_id + 1]);
  });

  it('betrays that its end was cut off to whoever kept a head', async () => {
    await save('the last');
    await sealAll(house);
    const kept = await head();
    const cut = `with gone as (delete from public.audit_seals where seal_id = (select max(seal_id) from public.audit_seals) returning audit_ids)
      delete from public.audit_log a using gone where a.audit_id = any (gone.audit_ids)`;
    assert.equal((await tampered(cut)).ok, true, 'without a head nobody could know');
    const result = await tampered(cut, `head => '${kept}'`);
    assert.equal(result.ok, false);
    assert.match(result.reason, /the end of the chain was removed/);
    await save('after the last');
    await sealAll(house);
    assert.equal((await verify('L', `head => '${kept}'`)).ok, true, 'a head stays good as the chain grows');
    await assert.rejects(verify('L', "head => 'nonsense'"), { code: 'L9VAL' });
  });

  it('is open to admins, and tells those of a tenant nothing of the rows of another', async () => {
    for (const query of [
      'select public.verify_audit()',
      'select public.audit_head()',
      'select * from public.audit_seals',
    ])
      await assert.rejects(house.sql('C', query), { code: '42501' }, query);
    await assert.rejects(house.sql('L', 'select * from public.audit_seals'), { code: '42501' });

    const other = await addTenant(house, 'acme');
    const claims = { 'jwt.claims.tenant_id': other };
    await house.sql('L', "select public.save_memory('of acme', scope => 'global')", [], claims);
    await sealAll(house);
    const ofAcme = await verify('L', '', claims);
    const [{ n }] = await house.asSuperuser('select count(*) as n from public.audit_log where tenant_id = $1', [other]);
    assert.deepEqual([ofAcme.ok, Number(ofAcme.rows), ofAcme.archived], [true, Number(n), null]);
    assert.equal(Number(ofAcme.unsealed), 0);
    const ours = await verify();
    assert.ok(Number(ours.rows) > 1 && Number(ours.rows) < Number((await verifyAll()).rows));

    // Somebody else's broken row is not named to them, only that there is one.
    const { audit_id } = await someRow();
    const change = `update public.audit_log set table_name = 'x' where audit_id = '${audit_id}'`;
    const seen = await asSuperuser(house, [
      `do $$ declare p record; begin for p in select inhrelid::regclass as t from pg_inherits where inhparent = 'public.audit_log'::regclass loop
        execute format('alter table %s disable trigger all', p.t); end loop; end $$`,
      'alter table public.audit_log disable trigger all',
      change,
      'set local role l9_admin',
      `select set_config('jwt.claims.tenant_id', '${other}', true), set_config('jwt.claims.caller', 'L', true)`,
      'select v.* from public.verify_audit() v',
    ]);
    assert.deepEqual([seen[0].ok, seen[0].broken_row, seen[0].reason], [false, null, 'a row was altered']);
  });

  it('is the same through GraphQL', async () => {
    const { data, errors } = await house.graphql(
      'L',
      '{ verifyAudit { ok seals rows head reason } auditHead { hash } }',
    );
    assert.equal(errors, undefined);
    assert.equal(data.verifyAudit.ok, true, data.verifyAudit.reason);
    assert.match(data.auditHead.hash, /^[0-9a-f]{64}$/);
    const refused = await house.graphql('C', '{ verifyAudit { ok } }');
    assert.equal(refused.errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
  });

  it('can be remade outside of the database from an export', async () => {
    await sealAll(house);
    const [seal] = await asSuperuser(
      house,
      "select seal_id::text, audit_ids[1] as audit_id, encode(row_hashes[1], 'hex') as hash from public.audit_seals where row_count > 0 order by seal_id limit 1",
    );
    const [{ text }] = await asSuperuser(
      house,
      `select jsonb_build_array(audit_id, extract(epoch from occurred_at)::text, xid::text, operation, table_name, row_id, tenant_id,
        project_id, scope, status, sqlstate, details)::text as text from public.audit_log where audit_id = '${seal.audit_id}'`,
    );
    const { createHash } = await import('node:crypto');
    assert.equal(createHash('sha256').update(text).digest('hex'), seal.hash);
  });

  it('begins a new era where the database was restored into another cluster', async () => {
    await sealAll(house);
    // As if transactions were far ahead when these rows were written and (all but one) sealed.
    await asSuperuser(house, [
      `insert into public.audit_log (xid, operation, table_name, details) select xid::text::xid8, 'READ', 'restored',
        '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}' from (values (1000000000), (1000000001), (2000000000)) v (xid)`,
      "select audit.seal_audit_until('1000000002', 10000)",
      'commit',
    ]);
    const kept = await head();
    await save('in the new cluster');
    await save('again in the new cluster');
    await sealAll(house);
    const eras = await asSuperuser(
      house,
      'select era, sum(row_count)::int as rows, min(from_xid)::text as first from public.audit_seals group by era order by era',
    );
    assert.deepEqual(
      eras.map(({ era }) => era),
      [1, 2],
    );
    assert.ok(eras[1].rows >= 2);
    assert.equal(eras[1].first, '0');
    const all = await verifyAll(`head => '${kept}'`);
    assert.equal(all.ok, true, all.reason);
    assert.equal(Number(all.unsealed), 0);
    const [{ logged }] = await asSuperuser(house, 'select count(*)::int as logged from public.audit_log');
    assert.ok(Number(all.rows) >= logged - 2, 'the row that came unsealed is sealed too');
    await save('and the chain goes on');
    await sealAll(house);
    assert.equal((await verifyAll()).ok, true);
    // Also a row of the old era that is altered, or one put into it, is found.
    const altered = await tampered(
      "update public.audit_log set table_name = 'y' where table_name = 'restored' and xid = '2000000000'",
    );
    assert.equal(altered.reason, 'a row was altered');
    const added = await tampered(
      `insert into public.audit_log (xid, occurred_at, operation, table_name, details) select '3000000000', occurred_at, operation, table_name, details
       from public.audit_log where table_name = 'restored' limit 1`,
    );
    assert.equal(added.reason, 'a row was added');
  });
});

describe(
  'sealing beside transactions in flight',
  { skip: engine === 'server' ? false : 'needs several connections' },
  () => {
    let house: House;
    before(async () => {
      house = await openHouse({ embedder: standIn });
      await addPlatformAdmin(house);
    });
    after(() => house.close());

    it('waits for the oldest, and then skips nothing', async () => {
      const slow = new pg.Client({ connectionString: house.home.superuserUrl! });
      await slow.connect();
      try {
        await slow.query('begin');
        await slow.query(
          `insert into public.audit_log (operation, table_name, details) values ('READ', 'slow', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`,
        );
        await house.tool('C', 'save_memory', { content: 'quick', scope: 'global' });
        await house.gateway.database.workerPool.query('select audit.seal_audit()');
        const [quick] = await asSuperuser(
          house,
          `select exists (select from public.audit_seals s join public.audit_log a on a.audit_id = any (s.audit_ids)
            where a.operation = 'INSERT' and a.table_name = 'packet_store') as sealed`,
        );
        assert.equal(quick.sealed, false, 'what came after a transaction in flight waits for it');
        await slow.query('commit');
        await sealAll(house);
        const [counts] = await asSuperuser(
          house,
          'select (select count(*) from public.audit_log)::int as logged, (select sum(row_count) from public.audit_seals)::int as sealed',
        );
        assert.equal(counts.sealed, counts.logged);
        assert.equal((await house.sql('P', 'select v.ok from public.verify_audit() v', [], claimsOfP))[0].ok, true);
      } finally {
        await slow.end();
      }
    });

    it('makes one chain, however many seal at once, while others write', async () => {
      let isDone = false;
      const sealers = Array.from({ length: 3 }, async () => {
        while (!isDone) await house.gateway.database.workerPool.query('select audit.seal_audit(7)');
      });
      await Promise.all(
        Array.from({ length: 4 }, async (_, writer) => {
          for (let n = 0; n < 25; n++)
            await house.sql('C', `select public.save_memory('writer ${writer} row ${n}', scope => 'global')`);
        }),
      );
      isDone = true;
      await Promise.all(sealers);
      await sealAll(house);
      const result = (await house.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
      assert.equal(result.ok, true, result.reason);
      assert.ok(Number(result.seals) > 1);
      assert.ok(Number(result.rows) >= 100);
    });
  },
);
