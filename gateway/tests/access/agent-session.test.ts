// What an agent's session can reach in PostgreSQL itself. The objects are read from the catalogue, so that objects added
// later are attacked too.
import type pg from 'pg';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { assertNoTrace, attempt, type Hidden, MISSING, plantHidden, snapshot } from './attacker.ts';

describe('a session under the role of an agent', () => {
  let gateway: TestGateway;
  let hidden: Hidden;
  let traces: string[];
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    const planted = await plantHidden(gateway);
    hidden = planted.ofL;
    traces = planted.traces;
    // More hidden rows, so that the planner's statistics have something to sample.
    await gateway.sql(
      'L',
      `insert into public.packet_store (envelope, scope, project_id, thread_id, tags)
       select jsonb_build_object('content', 'quincunx-sample number ' || i), 'l-private', $1, $2, '{quincunx-tag}' from generate_series(1, 50) i`,
      [hidden.projectId, hidden.threadId],
    );
    await gateway.save('C', 'what C may see');
    await gateway.embedded();
    await gateway.asSuperuser('analyze');
  });
  afterAll(() => gateway.close());

  const mine = (query: string) => gateway.sql('C', query);

  it('cannot create a table, temporary table, function, schema or extension', async () => {
    for (const statement of [
      'create table public.mine (a int)',
      'create temp table mine (a int)',
      'create temp view mine as select 1',
      'select 1 as a into temp mine',
      'create schema mine',
      'create function public.mine() returns int language sql as $$ select 1 $$',
      // The function is cheap, so the planner would run it before the policies if it could, which is how rows leak.
      "create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 as $$ begin raise notice '%', $1; return true; end $$",
      'create function extensions.leak() returns int language sql as $$ select 1 $$',
      'create operator public.= (leftarg = text, rightarg = text, function = pg_catalog.texteq)',
      'create operator pg_catalog.<<<< (leftarg = text, rightarg = text, function = pg_catalog.texteq)',
      'create cast (text as uuid) with inout as implicit',
      'create extension dblink',
      'create publication mine for all tables',
      'create statistics mine on scope, project_id from public.packet_store',
      'create index on public.packet_store (thread_id)',
      'create rule mine as on select to public.packet_store do instead select 1',
      'create trigger mine after insert on public.packet_store for each row execute function packets.tg_packet_store__audit()',
      'create policy mine on public.packet_store using (true)',
      'alter table public.packet_store disable row level security',
      'alter table public.packet_store no force row level security',
      'alter function identity.current_scopes() leakproof',
      'alter role l9_agent bypassrls',
      'grant l9_admin to l9_agent',
      'comment on table public.packet_store is null',
      'analyze public.packet_store',
      'vacuum public.packet_store',
    ]) {
      const error = await gateway.sql('C', statement).then(
        () => null,
        ({ code, message }) => ({ code, message }),
      );
      // A statement that fails for a missing privilege may only warn.
      const onlyWarns = /^(analyze|vacuum)/.test(statement);
      expect(
        error ? ['42501', '25001', '0A000'].includes(error.code) : onlyWarns,
        `${statement}: ${JSON.stringify(error)}`,
      ).toBe(true);
    }
    const [can] = await mine(`
      select array(select nspname::text from pg_namespace where has_schema_privilege('l9_agent', oid, 'create')) as schemas,
        has_database_privilege('l9_agent', current_database(), 'create') or has_database_privilege('l9_agent', current_database(), 'temp') as db,
        array(select r.rolname::text from pg_roles r where r.rolname <> 'l9_agent' and pg_has_role('l9_agent', r.oid, 'member')) as roles`);
    expect(can).toStrictEqual({ schemas: [], db: false, roles: [] });
  });

  it('finds no trace of a hidden row in any table, view or sequence of any schema', async () => {
    const relations = await mine(`
      select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and has_schema_privilege('l9_agent', n.oid, 'usage')
        and (has_table_privilege('l9_agent', c.oid, 'select') or has_any_column_privilege('l9_agent', c.oid, 'select'))
      order by 1`);
    expect(relations.length, 'pg_catalog and information_schema are among them').toBeGreaterThan(150);
    await gateway.asCaller('C', async (client) => {
      for (const { name } of relations) {
        const { rows, error } = await attempt(client, `select x::text as row from ${name} x`);
        if (error) expect(['42501', '55000', '0A000'], `${name}: ${error.code} ${error.message}`).toContain(error.code);
        assertNoTrace((rows ?? []).map(({ row }) => row).join('\n'), traces, name as string);
      }
    });
  });

  it('has no right on a materialized view, and on no table without policies', async () => {
    const open = await mine(`
      select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname not in ('pg_catalog', 'information_schema') and has_schema_privilege('l9_agent', n.oid, 'usage')
        and has_table_privilege('l9_agent', c.oid, 'select, insert, update, delete')
        and (c.relkind in ('m', 'f', 'S') or c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)
          or c.relkind = 'v' and not coalesce(c.reloptions @> '{security_invoker=true}', false))`);
    expect(open).toStrictEqual([]);
  });

  it('reads only the system views that PostgreSQL opens to every role: no counters, sizes or locks', async () => {
    for (const [statement, values] of [
      ['select * from pg_stat_user_tables', []],
      ['select * from pg_stat_xact_user_tables', []],
      ['select * from pg_statio_user_indexes', []],
      ['select * from pg_stat_activity', []],
      ['select * from pg_locks', []],
      ["select pg_stat_get_tuples_inserted('public.packet_store'::regclass)", []],
      ["select pg_stat_get_live_tuples('public.packet_store'::regclass)", []],
      ["select pg_total_relation_size('public.packet_store')", []],
      ["select pg_relation_size('public.packet_store_words_bm25_0')", []],
      ['select * from pg_statistic', []],
      ['select * from pg_statistic_ext_data', []],
      ["select bm25_dump_index('public.packet_store_words_bm25_0')", []],
      ["select bm25_level_counts('public.packet_store_words_bm25_0')", []],
      ["select bm25_force_merge('public.packet_store_words_bm25_0')", []],
      ['select * from pg_authid', []],
      ["select pg_read_file('/etc/passwd')", []],
      ["select pg_ls_dir('.')", []],
      ["copy (select 1) to '/tmp/l9-hostile'", []],
      ["copy (select 1) to program 'true'", []],
      ['select lo_create(0)', []],
      ["select lo_from_bytea(0, 'x')", []],
      ["select lo_export(1, '/tmp/l9-hostile')", []],
      ["set session_replication_role = 'replica'", []],
      ["set log_statement = 'all'", []],
      ['select * from public.audit_log', []],
      ['select * from embeddings.pending_embeddings', []],
      ['select * from graphile_migrate.migrations', []],
    ] as [string, unknown[]][]) {
      await expect(gateway.sql('C', statement, values), statement).rejects.toMatchObject({ code: '42501' });
    }
    expect(
      await mine(
        "select * from pg_stats where schemaname in (select nspname from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')",
      ),
    ).toStrictEqual([]);
    expect(await mine('select * from pg_stats_ext')).toStrictEqual([]);
    expect(await mine('select * from pg_prepared_xacts')).toStrictEqual([]);
  });

  it('can run no extension function that reads an index directly, or writes to it', async () => {
    const rows = await mine(`
      select p.oid::regprocedure::text as name from pg_proc p
      join pg_depend d on d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e'
      where has_function_privilege('l9_agent', p.oid, 'execute') and p.proname <> 'plpgsql_validator'
        and not p.proargtypes::oid[] && array['cstring'::regtype::oid, 'internal'::regtype::oid]
        and (p.proargtypes::oid[] && array['regclass'::regtype::oid, 'oid'::regtype::oid]
          or p.provolatile = 'v' and p.proname ~ 'index|merge|spill|compact|dump|debug|summar')`);
    expect(rows).toStrictEqual([]);
  });

  it('finds no hidden text in the statistics that EXPLAIN uses', async () => {
    // EXPLAIN uses statistics for leakproof operators, such as = and < on text, and policies do not prevent that.
    const [{ sampled }] = await gateway.asSuperuser(`
      select string_agg(coalesce(stavalues1::text, '') || coalesce(stavalues2::text, '') || coalesce(stavalues3::text, '')
        || coalesce(stavalues4::text, '') || coalesce(stavalues5::text, ''), ' ') as sampled
      from pg_statistic s join pg_class c on c.oid = s.starelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate'`);
    // Ids, projects and threads are sampled, because the planner needs them (db/README.md says what that reveals).
    assertNoTrace(
      sampled,
      [
        'quincunx-content',
        'quincunx-sample',
        'quincunx-meta',
        'quincunx-field',
        'quincunx-session',
        'quincunx-trace',
        'quincunx-correlation',
      ],
      'pg_statistic',
    );
    const estimate = async (prefix: string): Promise<number> => {
      const explain = `explain (format json) select from public.packet_store where envelope ->> 'content' < '${prefix}'`;
      const [row] = await gateway.sql('C', explain);
      return row['QUERY PLAN'][0].Plan['Plan Rows'];
    };
    expect(await estimate('quincunx-sample number 2')).toBe(await estimate('quincunx-sample number 4'));
  });

  it('gets no value of a hidden row into an error message', async () => {
    const tables = await mine(`
      select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and c.relkind in ('r', 'p', 'v') and has_table_privilege('l9_agent', c.oid, 'select')`);
    expect(tables.length).toBeGreaterThanOrEqual(6);
    const leaks = tables.flatMap(({ name }) => [
      // Each statement divides by zero, or casts with an error that quotes the value, on hidden rows only.
      `select from ${name} t where 1 / (case when t::text ~ 'quincunx|zeugmatic' then 0 else 1 end) = 1`,
      `select from ${name} t where case when t::text ~ 'quincunx|zeugmatic' then t::text::int else 1 end = 1`,
      `select from ${name} t order by 1 / (case when t::text ~ 'quincunx|zeugmatic' then 0 else 1 end)`,
      `select count(*) filter (where 1 / (case when t::text ~ 'quincunx|zeugmatic' then 0 else 1 end) = 1) from ${name} t`,
      `with all_of_it as not materialized (select * from ${name}) select from all_of_it t where 1 / (case when t::text ~ 'quincunx' then 0 else 1 end) = 1`,
      `select from ${name} t where exists (select 1 / (case when t::text ~ 'quincunx|zeugmatic' then 0 else 1 end))`,
    ]);
    const specific = [
      "select from public.packet_store where (envelope ->> 'content')::int = 1 and scope = 'l-private'",
      "select from public.packet_store where content::uuid is null and scope = 'l-private'",
      "select from public.packet_store p join public.memory_embeddings e using (packet_id) where e.chunk_text::int = 1 or p.thread_id like 'quincunx%' and p.thread_id::int = 1",
      "select from public.packet_store tablesample bernoulli (100) where thread_id like 'quincunx%' and thread_id::int = 1",
      "select from only public.packet_store where thread_id like 'quincunx%' and thread_id::int = 1",
      "select from public.packet_store where ctid = any (array(select format('(%s,%s)', a, b)::tid from generate_series(0, 5) a, generate_series(1, 60) b)) and thread_id like 'quincunx%' and thread_id::int = 1",
      "select from public.packet_store where tableoid > 0 and xmin is not null and thread_id like 'quincunx%' and thread_id::int = 1",
      "update public.packet_store set tags = '{}' where thread_id like 'quincunx%' and thread_id::int = 1",
      "delete from public.packet_store where thread_id like 'quincunx%' and thread_id::int = 1",
      "merge into public.packet_store p using (values (1)) v on p.thread_id like 'quincunx%' and p.thread_id::int = 1 when matched then delete",
      "select from public.packet_store where thread_id like 'quincunx%' and thread_id::int = 1 for update",
      "select from public.packet_store where speaker like 'quincunx%' and speaker::int = 1",
      'select from public.packet_store where "timestamp" < \'1990-01-01\' and speaker::int = 1',
      "select from public.packet_versions where speaker like 'quincunx%' and speaker::int = 1",
    ];
    await gateway.asCaller('C', async (client) => {
      for (const gucs of ['set local enable_seqscan = on', 'set local enable_seqscan = off']) {
        await client.query(gucs);
        for (const statement of [...leaks, ...specific]) {
          const { error } = await attempt(client, statement);
          expect(error, `${statement}: ${error?.message}`).toBeNull();
        }
      }
    });
  });

  it('gets an error when it turns row-level security off', async () => {
    await gateway.asCaller('C', async (client) => {
      await client.query('set local row_security = off');
      const { error } = await attempt(client, 'select * from public.packet_store');
      expect(error?.code).toBe('42501');
    });
  });

  it('gets the same answer from every function for a hidden and for a missing id or hash', async () => {
    const before = await snapshot(gateway);
    const functions = (await mine(`
      select p.oid::regprocedure::text as name, p.pronamespace::regnamespace::text || '.' || quote_ident(p.proname) as call,
        coalesce(p.proargnames[1:p.pronargs], '{}') as names, array(select t::regtype::text from unnest(p.proargtypes::oid[]) t) as types,
        p.pronargs - p.pronargdefaults as required
      from pg_proc p
      where p.pronamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate') and p.prorettype <> 'trigger'::regtype
        and p.prokind = 'f' and has_function_privilege('l9_agent', p.oid, 'execute')
        -- What is immutable and runs as the caller answers by its arguments alone.
        and (p.provolatile <> 'i' or p.prosecdef)`)) as unknown as {
      name: string;
      call: string;
      names: string[];
      types: string[];
      required: number;
    }[];
    const asked: string[] = [];
    const about = async (
      client: Parameters<typeof attempt>[0],
      id: string,
      hash: string,
      thread: string,
      routine: (typeof functions)[number],
    ) => {
      const samples: Record<string, string> = {
        uuid: `'${id}'`,
        'uuid[]': `array['${id}']::uuid[]`,
        bytea: `decode('${hash}', 'hex')`,
        text: "'developer'",
        'text[]': `array['${thread}']`,
        integer: '1',
        bigint: '1',
        boolean: 'true',
        real: '0.5',
        'double precision': '0.5',
        jsonb: "'{}'",
        'timestamp with time zone': 'now()',
        interval: "'1 day'",
        tsquery: "'x'",
      };
      const given = routine.types
        .map((type, at) => ({ name: routine.names[at], type, isRequired: at < routine.required }))
        .filter(({ type, isRequired }) => isRequired || /uuid|bytea/.test(type))
        .map(({ name, type }) => `${name ? `${name} => ` : ''}${samples[type] ?? 'null'}::${type}`);
      const { rows, error } = await attempt(
        client,
        `select r::text as answer from ${routine.call}(${given.join(', ')}) r`,
      );
      const answer = error ? `${error.code} ${error.message}` : JSON.stringify(rows);
      // The age of the views differs between two calls.
      return (routine.name === 'memory_views_status()' ? answer.replace(/,[\d.]+,/g, ',<age>,') : answer)
        .replaceAll(id, '<id>')
        .replaceAll(hash, '<hash>')
        .replaceAll(thread, '<thread>')
        .replace(/\d{4}-\d\d-\d\d[ T][\d:.+-]+/g, '<time>')
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f-]{17}/g, '<new id>');
    };
    await gateway.asCaller('C', async (client) => {
      for (const routine of functions) {
        const otherHash = 'ab'.repeat(32);
        const onHidden = await about(client, hidden.id, hidden.contentHash, hidden.threadId, routine);
        const onMissing = await about(client, MISSING, otherHash, 'no-such-thread', routine);
        expect(onHidden, routine.name).toBe(onMissing);
        assertNoTrace(onHidden, traces, routine.name);
        if (routine.types.some((type) => /uuid|bytea/.test(type))) asked.push(routine.name);
      }
    });
    expect(asked.length, asked.join()).toBeGreaterThanOrEqual(5);
    expect(await snapshot(gateway)).toBe(before);
  });

  it('can call no trigger function, and no function granted to another role', async () => {
    const functions = await mine(`
      select p.oid::regprocedure::text as name, p.pronargs from pg_proc p
      where p.pronamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')
        and (p.prorettype in ('trigger'::regtype, 'event_trigger'::regtype)) and has_function_privilege('l9_agent', p.oid, 'execute')`);
    expect(functions).toStrictEqual([]);
    for (const call of [
      'packets.tg_packet_store__audit()',
      "audit.write_audit('INSERT', 'packet_store')",
      "embeddings.lease_pending_embeddings('any', 10, '1 day')",
      "public.register_embedding_model('mine', 3)",
    ]) {
      await expect(gateway.sql('C', `select ${call}`), call).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('gets only what its claims allow from definer functions, whatever its search_path and settings', async () => {
    await gateway.asCaller('C', async (client) => {
      for (const setting of [
        'set local search_path = pg_temp, public, pg_catalog',
        "set local search_path = ''",
        'set local standard_conforming_strings = off',
        "set local bytea_output = 'escape'",
        "set local DateStyle = 'German'",
        'set local transform_null_equals = on',
        'set local array_nulls = off',
        "set local plan_cache_mode = 'force_generic_plan'",
        "set local default_text_search_config = 'pg_catalog.simple'",
      ]) {
        await client.query(setting);
        const { rows: scopes } = await client.query('select identity.current_scopes() as scopes');
        expect(scopes, setting).toStrictEqual([{ scopes: ['developer', 'global'] }]);
        const { error } = await attempt(client, 'select public.get_memory($1)', [hidden.id]);
        expect(error?.code, setting).toBe('L9OWN');
        const { rows } = await attempt(
          client,
          "select r.hits::text as hits from public.search_memory('quincunx zeugmatic', mode => 'lexical') r",
        );
        assertNoTrace(JSON.stringify(rows), traces, setting);
      }
    });
  });

  it('gets back a composite value that it built itself, and nothing else', async () => {
    const crafted = `jsonb_populate_record(null::public.packet_store, '{"packet_id": "${hidden.id}", "envelope": {}}')`;
    const [row] = (await mine(`select memories.memory_json(${crafted}) as memory`)) as unknown as [
      { memory: Record<string, unknown> },
    ];
    expect([row.memory.content, row.memory.project_id, row.memory.metadata]).toStrictEqual([null, null, null]);
  });

  itOnServer('hears no content of a memory on any channel', async () => {
    const heard: string[] = [];
    const client = await gateway.instance.database.pool.connect();
    const listener = (message: pg.Notification) => heard.push(`${message.channel} ${message.payload}`);
    client.on('notification', listener);
    try {
      const channels = ['jobs:insert', 'worker:migrate', 'packet_store', 'audit_log', 'postgraphile_watch'];
      for (const channel of channels) await client.query(`listen "${channel}"`);
      const { result } = await gateway.tool('L', 'save_memory', {
        content: 'quincunx aloud',
        scope: 'l-private',
        project_id: hidden.projectId,
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await client.query('unlisten *');
      for (const text of [result.memory.packet_id, 'quincunx'])
        expect(heard.join('\n'), heard.join('\n')).not.toContain(text);
    } finally {
      client.off('notification', listener);
      client.release();
    }
  });
});
