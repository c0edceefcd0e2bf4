// db/generated/access.md: the privileges of each role, read from the catalogue of a migrated database.
import type pg from 'pg';
import { byTable, IS_OUR_SCHEMA, markdownTable, ROLES, rowsOf } from './catalogue.ts';

const TABLES = `
  select n.nspname || '.' || c.relname as table, obj_description(c.oid, 'pg_class') as what
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where ${IS_OUR_SCHEMA} and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
  order by n.nspname <> 'public', n.nspname, c.relname`;

const POLICIES = `
  select n.nspname || '.' || c.relname as table, p.polname as policy,
    case when p.polpermissive then 'permissive' else 'restrictive' end as kind,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end as command,
    (select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles r where r.oid = any (p.polroles)) as roles,
    obj_description(p.oid, 'pg_policy') as why
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ${IS_OUR_SCHEMA}
  order by p.polpermissive, p.polname`;

const TABLE_GRANTS = `
  select n.nspname || '.' || c.relname as table, g.rolname as role,
    concat_ws(', ',
      (select string_agg(lower(a.privilege_type), ', ' order by a.privilege_type)
       from aclexplode(c.relacl) a where a.grantee = g.oid),
      (select string_agg(granted.privilege || ' (' || granted.columns || ')', ', ' order by granted.privilege)
       from (
         select lower(a.privilege_type) as privilege, string_agg(t.attname, ', ' order by t.attnum) as columns
         from pg_attribute t, aclexplode(t.attacl) a
         where t.attrelid = c.oid and a.grantee = g.oid
         group by a.privilege_type
       ) granted)) as privileges
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join pg_roles g
  where ${IS_OUR_SCHEMA} and c.relkind in ('r', 'p', 'v', 'm') and g.rolname = any ($1) and g.rolname <> 'l9_owner'
  order by array_position($1, g.rolname::text)`;

const FUNCTIONS = `
  select n.nspname as schema, p.oid::regprocedure::text as function, p.prosecdef as is_definer,
    p.prorettype = 'trigger'::regtype as is_trigger,
    (select string_agg(g.rolname, ', ' order by array_position($1, g.rolname::text))
     from aclexplode(p.proacl) a join pg_roles g on g.oid = a.grantee
     where a.privilege_type = 'EXECUTE' and g.rolname = any ($1) and g.rolname <> 'l9_owner') as roles,
    obj_description(p.oid, 'pg_proc') as what
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where ${IS_OUR_SCHEMA} and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by n.nspname <> 'public', n.nspname, p.proname, p.oid::regprocedure::text collate "C"`;

/** The page as Markdown. `client` may be any role: the catalogue is open to all. */
export async function describeAccess(client: pg.ClientBase): Promise<string> {
  const tables = await rowsOf(client, TABLES);
  const policies = byTable(await rowsOf(client, POLICIES));
  const grants = byTable((await rowsOf(client, TABLE_GRANTS, [ROLES])).filter(({ privileges }) => privileges));
  const functions = await rowsOf(client, FUNCTIONS, [ROLES]);
  const callable = functions.filter(({ roles, is_trigger }) => roles && !is_trigger);
  const definers = functions.filter(({ is_definer }) => is_definer);

  const describeTable = ({ table, what }: Record<string, string>) => {
    const granted = grants.get(table!) ?? [];
    const held = policies.get(table!) ?? [];
    return [
      `### ${table}`,
      what ?? '',
      granted.length === 0
        ? 'No privilege on it is granted.'
        : markdownTable(
            ['role', 'privileges'],
            granted.map((row) => [row.role, row.privileges]),
          ),
      held.length === 0
        ? 'It has no policy.'
        : markdownTable(
            ['policy', 'kind', 'for', 'to', 'why'],
            held.map((row) => [row.policy, row.kind, row.command, row.roles, row.why]),
          ),
    ]
      .filter(Boolean)
      .join('\n\n');
  };

  return `# Access

\`npm run generate\` writes this page from the catalogue, and a test compares the two. Row-level security is enabled and
forced on every table; nothing is granted to PUBLIC, and nothing to \`l9_gateway\`. \`l9_owner\` owns every object, so its own
privileges are left out.

## Tables and views

A row can be reached where all restrictive policies and at least one permissive policy of the role allow it.

${tables.map((row) => describeTable(row)).join('\n\n')}

## Functions that callers and jobs may run

${markdownTable(
  ['function', 'roles', 'runs as'],
  callable.map((row) => [row.function, row.roles, row.is_definer ? 'l9_owner' : 'its caller']),
)}

## Functions that run as l9_owner

${markdownTable(
  ['function', 'what it may do, and why'],
  definers.map((row) => [row.function, row.what]),
)}
`;
}
