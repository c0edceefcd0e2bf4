// The planner's estimates ignore row-level security: they must not tell whether hidden rows have a name.
import { useTestDatabase } from '../support/test-database.ts';

const NAMES = [
  'project_id',
  'branch',
  'thread_id',
  'session_id',
  'correlation_id',
  'trace_id',
  'speaker',
  'packet_type',
];

describe('an estimate of EXPLAIN', () => {
  const db = useTestDatabase();

  it('is the same for a name of hidden memories and for one that no memory has', async () => {
    await db.sql(
      'L',
      `select public.save_memory('Hidden ' || n, scope => 'l-private', project_id => 'vault', branch => 'vault', kind => 'vault',
         thread_id => 'vault', session_id => 'vault', correlation_id => 'vault', trace_id => 'vault', speaker => 'vault')
       from generate_series(1, 300) n`,
    );
    await db.asSuperuser('analyze');
    const { rows } = await db.pool.query(
      `select a.attrelid::regclass::text as of_table, a.attname as name
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.attname = any ($1) and c.relkind in ('r', 'p') and c.relrowsecurity and not c.relispartition
         and c.relnamespace = 'public'::regnamespace and a.atttypid = 'text'::regtype
         and has_table_privilege('l9_agent', c.oid, 'select')`,
      [NAMES],
    );
    expect(rows.length).toBeGreaterThan(30);
    for (const { of_table, name } of rows) {
      const plan = async (value: string) =>
        (await db.sql('C', `explain select 1 from ${of_table} where ${name} = '${value}'`))
          .map((line) => line['QUERY PLAN'].replaceAll(value, '<value>'))
          .join('\n');
      expect(await plan('vault'), `${of_table}.${name}`).toBe(await plan('no such'));
    }
  });
});
