// db/access.md: who may do what, read from the catalogue of a migrated database. `npm test` keeps it equal.
import type pg from 'pg';

const ROLES = ['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker', 'l9_owner', 'l9_gateway'];

const POLICIES = `
  select n.nspname || '.' || c.relname as table, p.polname as policy,
    case when p.polpermissive then 'permissive' else 'restrictive' end as kind,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end as command,
    (select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles r where r.oid = any (p.polroles)) as roles,
    obj_description(p.oid, 'pg_policy') as why
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate'
  order by 1, p.polpermissive, 2`;

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
  where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and c.relkind in ('r', 'p', 'v', 'm') and g.rolname = any ($1)
    and g.rolname <> 'l9_owner'
  order by 1, array_position($1, g.rolname::text)`;

const FUNCTIONS = `
  select p.oid::regprocedure::text as function, p.prosecdef as is_definer,
    (select string_agg(g.rolname, ', ' order by array_position($1, g.rolname::text))
     from aclexplode(p.proacl) a join pg_roles g on g.oid = a.grantee
     where a.privilege_type = 'EXECUTE' and g.rolname = any ($1) and g.rolname <> 'l9_owner') as roles,
    obj_description(p.oid, 'pg_proc') as what
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and p.prorettype <> 'trigger'::regtype
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by n.nspname desc, p.proname, 1`;

const DEFINER_TRIGGERS = `
  select p.oid::regprocedure::text as function, obj_description(p.oid, 'pg_proc') as what
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and p.prorettype = 'trigger'::regtype and p.prosecdef
  order by 1`;

/** The page as Markdown. `client` may be any role: the catalogue is open to all. */
export async function describeAccess(client: pg.ClientBase): Promise<string> {
  const cell = (value: unknown) =>
    String(value ?? '')
      .replaceAll('|', '\\|')
      .replace(/\s+/g, ' ');
  const table = (head: string[], rows: unknown[][]) =>
    [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
  const rows = async (query: string, values: unknown[] = []) => (await client.query(query, values)).rows;

  const policies = await rows(POLICIES);
  const grants = (await rows(TABLE_GRANTS, [ROLES])).filter(({ privileges }) => privileges);
  const functions = await rows(FUNCTIONS, [ROLES]);
  const triggers = await rows(DEFINER_TRIGGERS);
  const callable = functions.filter(({ roles }) => roles);
  const definer = functions.filter(({ is_definer }) => is_definer);
  return `# Access

Made from the catalogue by \`UPDATE_ACCESS=1 npm test db/tests/access.test.ts\`, and kept equal to it by that test. Row-level
security is enabled and forced on every table; nothing is granted to everyone, and nothing to \`l9_gateway\`.

## Policies

Restrictive ones hold all at once, and with them at least one permissive one.

${table(
  ['table', 'policy', 'kind', 'for', 'to', 'why'],
  policies.map((row) => [row.table, row.policy, row.kind, row.command, row.roles, row.why]),
)}

## Grants on tables

${table(
  ['table', 'role', 'privileges'],
  grants.map((row) => [row.table, row.role, row.privileges]),
)}

## Functions that callers and jobs may run

${table(
  ['function', 'roles', 'runs as'],
  callable.map((row) => [row.function, row.roles, row.is_definer ? 'l9_owner' : 'its caller']),
)}

## Functions that run as l9_owner

${table(
  ['function', 'what it may do, and why'],
  [...definer, ...triggers].map((row) => [row.function, row.what]),
)}
`;
}
