import pg from 'pg';
import { describeOnServer } from '../support/on-engine.ts';
import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('the chain of seals', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
  });

  const verify = async (caller = 'L', args = '', claims: Record<string, string> = {}) =>
    (await db.sql(caller, `select (v).* from public.verify_audit(${args}) v`, [], claims))[0];
  const verifyAll = async (args = '') =>
    (await db.sql('P', `select v.* from public.verify_audit(${args}) v`, [], claimsOfP))[0];
  const save = (content: string) => db.sql('C', "select public.save_memory($1, scope => 'global')", [content]);
  const head = async () => (await db.sql('L', 'select hash from public.audit_head()'))[0].hash as string;

  it('covers every committed row, and verifies', async () => {
    for (let n = 0; n < 5; n++) await save(`sealed ${n}`);
    await sealAll(db);
    const result = await verify();
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(5);
    expect(result.is_complete).toBe(true);
    expect(result.head).toBe(await head());
    const [{ sealed, logged }] = await runAsSuperuser(
      db,
      'select (select sum(row_count) from public.audit_seals)::int as sealed, (select count(*) from public.audit_log)::int as logged',
    );
    expect(sealed).toBe(logged - Number((await verifyAll()).unsealed));
  });

  it('adds no seal when there is no new row', async () => {
    await sealAll(db);
    const before = await head();
    const [row] = await db.asWorker('select audit.seal_audit()::int as n, audit.is_audit_unsealed() as due');
    expect(row).toStrictEqual({ n: 0, due: false });
    expect(await head()).toBe(before);
  });

  it('seals a transaction whole, however many rows it has', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, scope) select jsonb_build_object('content', 'whole ' || i), 'global' from generate_series(1, 25) i`,
    );
    for (let n = 0; n < 6; n++) await save(`one by one ${n}`);
    await sealAll(db, 4);
    const seals = await runAsSuperuser(
      db,
      'select row_count, from_xid::text, to_xid::text from public.audit_seals order by seal_id',
    );
    expect(seals.some(({ row_count }) => row_count >= 25)).toBe(true);
    for (const [index, seal] of seals.entries())
      if (index > 0) expect(seal.from_xid, 'no gap').toBe(seals[index - 1].to_xid);
    expect((await verify()).ok).toBe(true);
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

  it('begins a new era after the database is restored into another cluster', async () => {
    await sealAll(db);
    // As if transaction numbers were far ahead when these rows were written and all but one of them sealed.
    await runAsSuperuser(db, [
      `insert into public.audit_log (xid, operation, table_name, details) select xid::text::xid8, 'READ', 'restored',
        '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}' from (values (1000000000), (1000000001), (2000000000)) v (xid)`,
      "select audit.seal_audit_until('1000000002', 10000)",
      'commit',
    ]);
    const earlierHead = await head();
    await save('in the new cluster');
    await save('again in the new cluster');
    await sealAll(db);
    const eras = await runAsSuperuser(
      db,
      'select era, sum(row_count)::int as rows, min(from_xid)::text as first from public.audit_seals group by era order by era',
    );
    expect(eras.map(({ era }) => era)).toStrictEqual([1, 2]);
    expect(eras[1].rows).toBeGreaterThanOrEqual(2);
    expect(eras[1].first).toBe('0');
    const all = await verifyAll(`head => '${earlierHead}'`);
    expect(all.ok, all.reason).toBe(true);
    expect(Number(all.unsealed)).toBe(0);
    const [{ logged }] = await runAsSuperuser(db, 'select count(*)::int as logged from public.audit_log');
    expect(Number(all.rows), 'the row that was restored unsealed is sealed too').toBeGreaterThanOrEqual(logged - 2);
    await save('and the chain goes on');
    await sealAll(db);
    expect((await verifyAll()).ok).toBe(true);
    // A row that is altered in the old era, or added to it, is found too.
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
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
  });

  it('waits for the oldest transaction, and then skips no row', async () => {
    const slow = new pg.Client({ connectionString: db.superuserUrl! });
    await slow.connect();
    try {
      await slow.query('begin');
      await slow.query(
        `insert into public.audit_log (operation, table_name, details) values ('READ', 'slow', '{"caller": "x", "creator": null, "source": null, "tool_name": "x"}')`,
      );
      await db.sql('C', "select public.save_memory('quick', scope => 'global')");
      await db.asWorker('select audit.seal_audit()');
      const [quick] = await runAsSuperuser(
        db,
        `select exists (select from public.audit_seals s join public.audit_log a on a.audit_id = any (s.audit_ids)
            where a.operation = 'INSERT' and a.table_name = 'packet_store') as sealed`,
      );
      expect(quick.sealed, 'a row written after a transaction in flight waits for it').toBe(false);
      await slow.query('commit');
      await sealAll(db);
      const [counts] = await runAsSuperuser(
        db,
        'select (select count(*) from public.audit_log)::int as logged, (select sum(row_count) from public.audit_seals)::int as sealed',
      );
      expect(counts.sealed).toBe(counts.logged);
      expect((await db.sql('P', 'select v.ok from public.verify_audit() v', [], claimsOfP))[0].ok).toBe(true);
    } finally {
      await slow.end();
    }
  });

  it('builds one chain while several sessions seal and others write', async () => {
    let isDone = false;
    const sealers = Array.from({ length: 3 }, async () => {
      while (!isDone) await db.asWorker('select audit.seal_audit(7)');
    });
    await Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; n < 25; n++)
          await db.sql('C', `select public.save_memory('writer ${writer} row ${n}', scope => 'global')`);
      }),
    );
    isDone = true;
    await Promise.all(sealers);
    await sealAll(db);
    const result = (await db.sql('P', 'select v.* from public.verify_audit() v', [], claimsOfP))[0];
    expect(result.ok, result.reason).toBe(true);
    expect(Number(result.seals)).toBeGreaterThan(1);
    expect(Number(result.rows)).toBeGreaterThanOrEqual(100);
  });
});
