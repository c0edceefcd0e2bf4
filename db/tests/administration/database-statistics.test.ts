// The figures of GET /metrics, which tell about rows that policies hide: only the role of background jobs may ask for them.
import { useTestDatabase } from '../support/test-database.ts';

const FIGURES = ['administration.block_reads()', 'administration.table_sizes()', 'l9_monitor.replication_lag()'];

describe('a figure about the database', () => {
  const db = useTestDatabase();

  it('is there for background jobs', async () => {
    const sizes = await db.asWorker('select * from administration.table_sizes()');
    const tables = sizes.map(({ table_name }) => table_name);
    expect(tables).toContain('public.packet_store');
    expect(tables.filter((name: string, place: number) => tables.indexOf(name) !== place)).toStrictEqual([]);
    const reads = await db.asWorker('select kind from administration.block_reads() order by kind');
    expect(reads).toStrictEqual([{ kind: 'index' }, { kind: 'table' }]);
    expect(await db.asWorker('select * from l9_monitor.replication_lag()')).toStrictEqual([]);
    const [{ seconds }] = await db.asWorker('select l9_monitor.longest_transaction_seconds() as seconds');
    expect(seconds).toBeGreaterThanOrEqual(0);
  });

  it('is refused to every caller', async () => {
    for (const caller of ['C', 'L'])
      for (const figures of [...FIGURES, 'l9_monitor.longest_transaction_seconds()'])
        await expect(db.sql(caller, `select * from ${figures}`), figures).rejects.toMatchObject({ code: '42501' });
  });

  it('gives the role of jobs no look into the sessions of others', async () => {
    await expect(db.asWorker('select query from pg_stat_activity')).rejects.toMatchObject({ code: '42501' });
    const [{ members }] = await db.asSuperuser(
      `select count(*)::int as members from pg_auth_members m join pg_roles r on r.oid = m.member
       where m.roleid in ('pg_monitor'::regrole, 'pg_read_all_stats'::regrole) and r.rolname like 'l9\\_%'`,
    );
    expect(members).toBe(0);
  });
});
