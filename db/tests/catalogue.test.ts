// Rules that hold for every table, view, function and trigger there is or will be, read from the catalogue. The trigger
// bands are those of db/CONVENTIONS.md, and the tables are those of db/schema: neither is repeated here.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useTestDatabase } from './support/test-database.ts';

const root = join(import.meta.dirname, '..');
const conventions = readFileSync(join(root, 'CONVENTIONS.md'), 'utf8');
const bands = [...conventions.matchAll(/^\| `_(\d{3})_` \| (.+) \|$/gm)].map(([, number, purpose]) => ({
  number: number!,
  purpose: purpose!,
}));
const sources = globSync('schema/*/*.sql', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));

const schemas = `(select nspname from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')`;
const ours = `n.nspname in ${schemas} and not exists (
  select from pg_depend d where d.objid = %.oid and d.deptype = 'e')`;

describe('the catalogue', () => {
  const db = useTestDatabase();

  const namesOf = async (query: string) => {
    const { rows } = await db.pool.query(query);
    return rows.map((row) => Object.values(row).join(' '));
  };
  /** Fails with the names of the objects that break the rule. */
  const expectNone = async (query: string) => expect(await namesOf(query)).toStrictEqual([]);
  const tables = (condition: string) => `
    select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and ${ours.replace('%', 'c')} and (${condition})`;
  const functions = (condition: string) => `
    select n.nspname, p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where ${ours.replace('%', 'p')} and (${condition})`;
  const triggers = (condition: string) => `
    select c.relname, t.tgname, t.tgfoid::regprocedure from pg_trigger t
    join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    join pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and t.tgparentid = 0 and not c.relispartition and n.nspname in ${schemas} and (${condition})`;

  it('has exactly the tables that the sources create', async () => {
    const created = sources.flatMap((source) =>
      [...source.matchAll(/^create (?:unlogged )?table (\w+)\.(\w+)/gm)].map(([, schema, name]) => `${schema} ${name}`),
    );
    expect(created.length).toBeGreaterThan(40);
    expect((await namesOf(tables('not c.relispartition'))).sort()).toStrictEqual(created.sort());
  });

  it('enables and forces row-level security on every table', () =>
    expectNone(tables('not (c.relrowsecurity and c.relforcerowsecurity)')));

  it('has a policy on every table', () =>
    expectNone(tables('not c.relispartition and not exists (select from pg_policy p where p.polrelid = c.oid)')));

  it('opens partitions to nobody except through their table', async () => {
    await expectNone(
      tables("c.relispartition and (c.relacl is not null or c.relnamespace <> 'partitions'::regnamespace)"),
    );
    await expectNone(`select p.relname, t.tgname from pg_inherits i join pg_class p on p.oid = i.inhrelid
      join pg_trigger t on t.tgrelid = i.inhparent and not t.tgisinternal
      where p.relkind in ('r', 'p') and not exists (
        select from pg_trigger own where own.tgrelid = p.oid and own.tgname = t.tgname and own.tgtype = t.tgtype
          and own.tgfoid = t.tgfoid and own.tgenabled = t.tgenabled)`);
  });

  it('audits every read of a platform admin, whatever table it reads', () =>
    expectNone(`select tablename, policyname from pg_policies
      where schemaname in ${schemas} and 'l9_platform_admin' = any (roles) and permissive = 'PERMISSIVE'
        and tablename <> 'embedding_models'
        and (roles <> '{l9_platform_admin}' or qual !~ ('SELECT identity\\.allow_and_audit_operator_read\\(''' || tablename || '''::text\\)'))`));

  it('gives every table with tenant columns the policies of the same names', async () => {
    const column = (name: string) =>
      `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = '${name}' and not a.attisdropped)`;
    const restrictive = (policy: string) =>
      `(c.relispartition or exists (select from pg_policy p where p.polrelid = c.oid and p.polname = '${policy}' and not p.polpermissive))`;
    const permissive = (policy: string) =>
      `(c.relispartition or exists (select from pg_policy p where p.polrelid = c.oid and p.polname = '${policy}' and p.polpermissive))`;
    await expectNone(
      tables(`${column('tenant_id')} and not (${restrictive('tenant_isolation')} and ${permissive('scope_access')})`),
    );
    await expectNone(
      tables(`${column('org_id')} and not (${restrictive('org_isolation')} and ${permissive('admin_override')})`),
    );
    await expectNone(tables(`${column('user_id')} and not ${restrictive('user_visibility')}`));
  });

  it('addresses every policy to a role, never to everyone', () =>
    expectNone(`select c.relname, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
      join pg_namespace n on n.oid = c.relnamespace where n.nspname in ${schemas} and 0 = any (p.polroles)`));

  it('evaluates claims once per query in every policy, inside (select …)', () =>
    expectNone(`select tablename, policyname from pg_policies
      where schemaname in ${schemas} and (coalesce(qual, '') || coalesce(with_check, '')) ~ '(^|[^T]) identity\\.current_'
        and (coalesce(qual, '') || coalesce(with_check, '')) !~ 'SELECT identity\\.current_'`));

  it('grants no table and no function to everyone', async () => {
    await expectNone(tables(`exists (select from aclexplode(c.relacl) a where a.grantee = 0)`));
    await expectNone(
      functions(
        `exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)`,
      ),
    );
  });

  it('pins the search_path of every function, without a schema of the session', () =>
    expectNone(
      // A function whose body was parsed when it was created may omit it: a search_path would keep it from being inlined.
      functions(`not exists (select from unnest(p.proconfig) s where s like 'search_path=%')
        and (p.prosqlbody is null or p.prosecdef)
      or exists (select from unnest(p.proconfig) s where s like 'search_path=%' and s ~ 'public|\\$user')`),
    ));

  it('runs every view with the rights of its reader', () =>
    expectNone(`select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'v' and ${ours.replace('%', 'c')}
        and not coalesce(c.reloptions @> array['security_invoker=true'], false)`));

  it('grants no materialized view', () =>
    expectNone(`select n.nspname, c.relname, a.grantee::regrole from pg_class c join pg_namespace n on n.oid = c.relnamespace,
      aclexplode(c.relacl) a where c.relkind = 'm' and ${ours.replace('%', 'c')} and a.grantee <> c.relowner`));

  it('belongs to l9_owner, which is no superuser and bypasses no policy', async () => {
    await expectNone(tables(`c.relowner <> 'l9_owner'::regrole`));
    await expectNone(functions(`p.proowner not in ('l9_owner'::regrole, 'l9_searcher'::regrole)`));
    await expectNone(
      `select rolname from pg_roles where rolname like 'l9\\_%'
        and (rolsuper or rolbypassrls and rolname <> 'l9_backup' or rolcreaterole)`,
    );
  });

  it('lets l9_backup, which bypasses policies, read and do nothing else, and lets no role become it', async () => {
    await expectNone(
      `select roleid::regrole, member::regrole from pg_auth_members
       where member = 'l9_backup'::regrole and roleid <> 'pg_read_all_data'::regrole or roleid = 'l9_backup'::regrole`,
    );
    await expectNone(
      `select deptype, classid::regclass, objid from pg_shdepend
       where refclassid = 'pg_authid'::regclass and refobjid = 'l9_backup'::regrole
         and classid not in ('pg_database'::regclass, 'pg_auth_members'::regclass)`,
    );
  });

  it('lets only two functions, which run for their caller, and one that tells nothing read the index of words', async () => {
    expect((await namesOf(functions(`p.proowner = 'l9_searcher'::regrole`))).sort()).toStrictEqual([
      'ranking ranking.find_by_words(text[],double precision[],ranking.word_filter,integer,double precision)',
      'ranking ranking.read_word_indexes()',
      'ranking ranking.weigh_words(text[],text[],text)',
    ]);
    await expectNone(
      `select role from pg_proc p, unnest(array['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_gateway']) as role
       where p.proname = 'read_word_indexes' and has_function_privilege(role, p.oid, 'execute')`,
    );
    await expectNone(
      `select p.oid::regprocedure, role from pg_proc p, unnest(array['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker', 'l9_owner', 'l9_gateway']) as role
       where (p.proname = 'to_bm25query' or p.proname ~ '^bm25_.*score' or p.proname ~ '^(walk|scan_\\d+)_words$')
         and role <> 'l9_owner' and has_function_privilege(role, p.oid, 'execute')`,
    );
    await expectNone(
      `select member::regrole from pg_auth_members where roleid = 'l9_searcher'::regrole and (member <> 'l9_owner'::regrole or inherit_option)`,
    );
  });

  it('gives the reason for every function that runs as its owner', () =>
    expectNone(
      functions(`p.prosecdef and not coalesce(obj_description(p.oid, 'pg_proc') like '%Definer%', false)
      and p.prorettype <> 'trigger'::regtype
      or p.prosecdef and obj_description(p.oid, 'pg_proc') is null`),
    ));

  it('has a comment on every schema, table, policy, function and public column', async () => {
    await expectNone(`select nspname from pg_namespace
      where nspname in ${schemas} and obj_description(oid, 'pg_namespace') is null`);
    await expectNone(tables(`obj_description(c.oid, 'pg_class') is null`));
    await expectNone(functions(`obj_description(p.oid, 'pg_proc') is null`));
    await expectNone(`select c.relname, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
      where obj_description(p.oid, 'pg_policy') is null and c.relnamespace in (select oid from pg_namespace where nspname in ${schemas})`);
    await expectNone(`select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
      where (c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'c')
          or c.relnamespace = 'views'::regnamespace and c.relkind = 'm')
        and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null`);
  });

  it('describes functions that callers may execute in at most 400 characters', () =>
    // They are read in psql and in the editor of GraphQL; the pages in docs have the details.
    expectNone(
      functions(`n.nspname = 'public' and length(obj_description(p.oid, 'pg_proc')) > 400
        and (has_function_privilege('l9_agent', p.oid, 'execute') or has_function_privilege('l9_admin', p.oid, 'execute'))`),
    ));

  it('has one function of each name in a schema', () =>
    // Comments and grants name functions without arguments, which fails where there are two.
    expectNone(
      functions('(select count(*) from pg_proc q where q.pronamespace = p.pronamespace and q.proname = p.proname) > 1'),
    ));

  it('names every trigger after a band of db/CONVENTIONS.md', async () => {
    const numbers = bands.map(({ number }) => number);
    expect(numbers.length).toBeGreaterThan(5);
    expect(numbers, 'each band stands once, in order').toStrictEqual([...new Set(numbers)].sort());
    for (const { number, purpose } of bands) {
      expect(number).toMatch(/^[1-9]00$/);
      expect(purpose.trim(), `the purpose of ${number}`).not.toBe('');
    }
    const allowed = numbers.map((number) => number[0]).join('');
    expect(await namesOf(triggers('true'))).not.toHaveLength(0);
    await expectNone(triggers(`t.tgname !~ '^_[${allowed}][0-9]{2}_[a-z][a-z0-9_]*$'`));
  });

  it('has at most 45 triggers on packet_store, whose conditions every write prepares', async () =>
    expect((await namesOf(triggers(`c.relname = 'packet_store'`))).length).toBeLessThanOrEqual(45));

  it('uses every trigger band', async () => {
    const used = new Set((await namesOf(triggers('true'))).map((name) => `${/ _(\d)/.exec(name)![1]}00`));
    expect(bands.map(({ number }) => number)).toStrictEqual([...used].sort());
  });

  it('names every trigger function after its table, or as shared by several', () =>
    expectNone(
      triggers(`p.proname !~ ('^tg(_' || c.relname || ')?__[a-z]') and p.pronamespace <> 'l9_guard'::regnamespace`),
    ));

  it('writes audit rows in the audit band only', () =>
    expectNone(triggers(`p.proname ~ '(^tg__|__)audit' <> (t.tgname ~ '^_5[0-9]{2}_audit')`)));

  it('gives l9_gateway no grant of its own', async () => {
    await expectNone(tables(`exists (select from aclexplode(c.relacl) a where a.grantee = 'l9_gateway'::regrole)`));
    await expectNone(functions(`exists (select from aclexplode(p.proacl) a where a.grantee = 'l9_gateway'::regrole)`));
    await expect(db.pool.query('select * from public.packet_store')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('lets agents write memories, their feedback and idempotency keys, and no other table', async () => {
    expect(
      (
        await namesOf(
          tables(`has_table_privilege('l9_agent', c.oid, 'insert, update, delete, truncate')
          or has_any_column_privilege('l9_agent', c.oid, 'insert, update')`),
        )
      ).sort(),
    ).toStrictEqual(['public idempotency_keys', 'public memory_feedback', 'public packet_store']);
  });

  it.each([
    'packet_id',
    'content_hash',
    'tenant_id',
    'org_id',
    'user_id',
    'speaker',
    'words',
    'created_at',
    'access_count',
    'chunk_count',
    'updated_at',
  ])('lets agents set no %s of a memory, which only triggers and jobs set', async (column) => {
    const [row] = await db.asWorker(
      `select has_column_privilege('l9_agent', 'public.packet_store', $1, 'insert') as may_insert,
           has_column_privilege('l9_agent', 'public.packet_store', $1, 'update') as may_update`,
      [column],
    );
    expect(row).toStrictEqual({ may_insert: false, may_update: false });
  });
});
