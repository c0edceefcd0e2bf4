// Rules that hold for every table, view and function there is or will be, read from the catalogue.
import { useTestDatabase } from './support/test-database.ts';

const schemas = `(select nspname from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')`;
const ours = `n.nspname in ${schemas} and not exists (
  select from pg_depend d where d.objid = %.oid and d.deptype = 'e')`;

describe('the catalogue', () => {
  const db = useTestDatabase();

  /** Fails with the names of what breaks the rule. */
  const none = async (query: string) => {
    const { rows } = await db.pool.query(query);
    expect(rows.map((row) => Object.values(row).join(' '))).toStrictEqual([]);
  };
  const tables = (condition: string) => `
    select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and ${ours.replace('%', 'c')} and (${condition})`;
  const functions = (condition: string) => `
    select n.nspname, p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where ${ours.replace('%', 'p')} and (${condition})`;

  it('has the tables of every chapter', async () => {
    const { rows } = await db.pool.query(tables('true'));
    const names = rows.map(({ relname }) => relname);
    for (const name of [
      'tenants',
      'orgs',
      'users',
      'scopes',
      'actors',
      'api_keys',
      'api_key_hashes',
      'active_actors',
      'audit_log',
      'audit_query_texts',
      'audit_seals',
      'audit_archives',
      'packet_store',
      'packet_versions',
      'memory_tombstones',
      'idempotency_keys',
      'embedding_models',
      'memory_contexts',
      'memory_embeddings',
      'pending_embeddings',
      'stale_contexts',
      'search_settings',
      'legacy_ids',
      'access_roll_up',
      'memory_access_log',
      'memory_signals',
      'memory_feedback',
      'fact_predicates',
      'knowledge_facts',
      'fact_evidence',
      'reflection_store',
      'task_reflections',
      'task_reflection_lessons',
      'memory_summaries',
      'entity_relationships',
      'relationship_evidence',
      'entity_aliases',
      'memory_summary_sources',
      'extraction_settings',
      'extraction_usage',
      'pending_extractions',
      'summary_leases',
      'agent_memory_events',
      'reasoning_traces',
      'tasks',
      'world_model_entities',
      'world_model_updates',
      'world_model_snapshots',
    ]) {
      expect(names, name).toContain(name);
    }
  });

  it('enables and forces row-level security on every table', () =>
    none(tables('not (c.relrowsecurity and c.relforcerowsecurity)')));

  it('has a policy on every table', () =>
    none(tables('not c.relispartition and not exists (select from pg_policy p where p.polrelid = c.oid)')));

  it('lets nobody reach a partition but through its table', async () => {
    await none(tables("c.relispartition and (c.relacl is not null or c.relnamespace <> 'partitions'::regnamespace)"));
    await none(`select p.relname, t.tgname from pg_inherits i join pg_class p on p.oid = i.inhrelid
      join pg_trigger t on t.tgrelid = i.inhparent and not t.tgisinternal
      where p.relkind in ('r', 'p') and not exists (
        select from pg_trigger own where own.tgrelid = p.oid and own.tgname = t.tgname and own.tgtype = t.tgtype
          and own.tgfoid = t.tgfoid and own.tgenabled = t.tgenabled)`);
  });

  it('leaves a trace of every look of a platform admin, whatever table it is at', () =>
    none(`select tablename, policyname from pg_policies
      where schemaname in ${schemas} and 'l9_platform_admin' = any (roles) and permissive = 'PERMISSIVE'
        and tablename <> 'embedding_models'
        and (roles <> '{l9_platform_admin}' or qual !~ ('SELECT identity\\.allow_and_audit_operator_read\\(''' || tablename || '''::text\\)'))`));

  it('names the policies of every table with tenant columns as all others', async () => {
    const column = (name: string) =>
      `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = '${name}' and not a.attisdropped)`;
    const restrictive = (policy: string) =>
      `(c.relispartition or exists (select from pg_policy p where p.polrelid = c.oid and p.polname = '${policy}' and not p.polpermissive))`;
    const permissive = (policy: string) =>
      `(c.relispartition or exists (select from pg_policy p where p.polrelid = c.oid and p.polname = '${policy}' and p.polpermissive))`;
    await none(
      tables(`${column('tenant_id')} and not (${restrictive('tenant_isolation')} and ${permissive('scope_access')})`),
    );
    await none(
      tables(`${column('org_id')} and not (${restrictive('org_isolation')} and ${permissive('admin_override')})`),
    );
    await none(tables(`${column('user_id')} and not ${restrictive('user_visibility')}`));
  });

  it('addresses every policy to a role, never to everyone', () =>
    none(`select c.relname, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
      join pg_namespace n on n.oid = c.relnamespace where n.nspname in ${schemas} and 0 = any (p.polroles)`));

  it('reads claims in a policy once a query, inside (select …)', () =>
    none(`select tablename, policyname from pg_policies
      where schemaname in ${schemas} and (coalesce(qual, '') || coalesce(with_check, '')) ~ '(^|[^T]) identity\\.current_'
        and (coalesce(qual, '') || coalesce(with_check, '')) !~ 'SELECT identity\\.current_'`));

  it('grants nothing to everyone: no table, no function', async () => {
    await none(tables(`exists (select from aclexplode(c.relacl) a where a.grantee = 0)`));
    await none(
      functions(
        `exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)`,
      ),
    );
  });

  it('pins the search_path of every function, and leaves nothing of the session in it', () =>
    none(
      // But for those whose bodies were parsed when they were made: a search_path would only keep them from being inlined.
      functions(`not exists (select from unnest(p.proconfig) s where s like 'search_path=%')
        and (p.prosqlbody is null or p.prosecdef)
      or exists (select from unnest(p.proconfig) s where s like 'search_path=%' and s ~ 'public|\\$user')`),
    ));

  it('has every view read with the rights of whoever asks', () =>
    none(`select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'v' and ${ours.replace('%', 'c')}
        and not coalesce(c.reloptions @> array['security_invoker=true'], false)`));

  it('lets nobody select from a materialized view', () =>
    none(`select n.nspname, c.relname, a.grantee::regrole from pg_class c join pg_namespace n on n.oid = c.relnamespace,
      aclexplode(c.relacl) a where c.relkind = 'm' and ${ours.replace('%', 'c')} and a.grantee <> c.relowner`));

  it('has everything owned by l9_owner, who is no superuser and bypasses nothing', async () => {
    await none(tables(`c.relowner <> 'l9_owner'::regrole`));
    await none(functions(`p.proowner <> 'l9_owner'::regrole`));
    await none(
      `select rolname from pg_roles where rolname like 'l9\\_%' and (rolsuper or rolbypassrls or rolcreaterole)`,
    );
  });

  it('says of every function that runs as its owner why it does', () =>
    none(
      functions(`p.prosecdef and not coalesce(obj_description(p.oid, 'pg_proc') like '%Definer%', false)
      and p.prorettype <> 'trigger'::regtype
      or p.prosecdef and obj_description(p.oid, 'pg_proc') is null`),
    ));

  it('comments every table, policy and function, and every column that GraphQL can show', async () => {
    await none(tables(`obj_description(c.oid, 'pg_class') is null`));
    await none(functions(`obj_description(p.oid, 'pg_proc') is null`));
    await none(`select c.relname, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
      where obj_description(p.oid, 'pg_policy') is null and c.relnamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')`);
    await none(`select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
      where (c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'c')
          or c.relnamespace = 'views'::regnamespace and c.relkind = 'm')
        and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null`);
  });

  it('gives l9_gateway nothing of its own', async () => {
    await none(tables(`exists (select from aclexplode(c.relacl) a where a.grantee = 'l9_gateway'::regrole)`));
    await none(functions(`exists (select from aclexplode(p.proacl) a where a.grantee = 'l9_gateway'::regrole)`));
    await expect(db.pool.query('select * from public.packet_store')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('lets l9_agent write none of what only triggers and jobs may set', async () => {
    const columns = [
      'packet_id',
      'content_hash',
      'tenant_id',
      'org_id',
      'user_id',
      'timestamp',
      'access_count',
      'chunk_count',
      'updated_at',
    ];
    for (const column of columns) {
      const [row] = await db.asWorker(
        `select has_column_privilege('l9_agent', 'public.packet_store', $1, 'insert') as i, has_column_privilege('l9_agent', 'public.packet_store', $1, 'update') as u`,
        [column],
      );
      expect(row, column).toStrictEqual({ i: false, u: false });
    }
    for (const table of [
      'audit_log',
      'audit_query_texts',
      'audit_seals',
      'audit_archives',
      'packet_versions',
      'memory_tombstones',
      'memory_access_log',
      'memory_signals',
      'memory_embeddings',
      'memory_contexts',
      'knowledge_facts',
      'fact_evidence',
      'fact_predicates',
      'agent_memory_events',
      'reasoning_traces',
      'tasks',
      'world_model_entities',
      'world_model_updates',
      'world_model_snapshots',
      'search_settings',
      'entity_relationships',
      'relationship_evidence',
      'entity_aliases',
      'embedding_models',
      'actors',
      'scopes',
      'tenants',
      'orgs',
      'users',
      'api_keys',
      'reflection_store',
      'task_reflections',
      'task_reflection_lessons',
      'memory_summaries',
      'memory_summary_sources',
      'extraction_settings',
      'extraction_usage',
    ]) {
      const [row] = await db.asWorker(
        `select has_table_privilege('l9_agent', 'public.' || $1, 'insert, update, delete, truncate') as w`,
        [table],
      );
      expect(row.w, table).toBe(false);
    }
  });
});
