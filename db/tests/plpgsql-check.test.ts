// The extension plpgsql_check compiles every statement of every plpgsql function, also those that no test reaches. PostgreSQL
// itself finds a name that is ambiguous, misspelt or of the wrong type only where a statement runs.
import { describeOnServer } from './support/on-engine.ts';
import { useTestDatabase } from './support/test-database.ts';

/** What functions that take an array of any rows are checked with. */
const POLYMORPHIC = 'public.memory_hit';

const functions = `
  select p.oid, format('%s.%s', n.nspname, p.proname) as name, p.prorettype = 'trigger'::regtype as is_trigger
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
  where l.lanname = 'plpgsql' and p.prokind in ('f', 'p') and n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate'
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;

describeOnServer('plpgsql_check', () => {
  const db = useTestDatabase({ rollsBack: true });

  /** The errors of all functions; each function of a trigger is checked with each table that it serves. */
  const errors = () =>
    db.inSuperuserSession(async (client) => {
      await client.query('create extension plpgsql_check');
      // Planning evaluates functions that are not volatile, and those that raise would end the check.
      await client.query(`do $$ declare f record; begin
        for f in select p.oid::regprocedure as signature from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspowner = 'l9_owner'::regrole and p.prokind = 'f' and p.provolatile <> 'v'
        loop execute format('alter function %s volatile', f.signature); end loop; end $$`);
      const { rows } = await client.query(
        `with f as (${functions}), served as (
          select t.tgfoid, t.tgrelid, max(t.tgoldtable) as old_rows, max(t.tgnewtable) as new_rows
          from pg_trigger t where t.tgparentid = 0 group by t.tgfoid, t.tgrelid)
        select format('%s, line %s: %s', f.name, c.lineno, c.message) as error
        from f left join served s on s.tgfoid = f.oid
        cross join lateral plpgsql_check_function_tb(f.oid, coalesce(s.tgrelid, 0), fatal_errors => false,
          other_warnings => false, extra_warnings => false, anyelememttype => $1::regtype,
          oldtable => s.old_rows, newtable => s.new_rows) c
        where c.level = 'error' order by 1`,
        [POLYMORPHIC],
      );
      return rows.map(({ error }) => error as string);
    });

  it('finds no error in any function', async () => {
    const { rows } = await db.pool.query(functions);
    expect(rows.length).toBeGreaterThan(300);
    expect(await errors()).toStrictEqual([]);
  });

  it('finds a name that is a column and an argument', async () => {
    await db.asOwner(`create function public.ambiguous(tenant_id uuid) returns boolean language plpgsql as
      'begin return exists (select from public.tenants where tenant_id = tenant_id); end'`);
    expect(await errors()).toStrictEqual(['public.ambiguous, line 1: column reference "tenant_id" is ambiguous']);
  });
});
