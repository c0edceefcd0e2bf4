// One trace followed through the tables: what was saved in it, what was derived from that, and who read it.
import { randomBytes } from 'node:crypto';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('trace_of', () => {
  let gateway: TestGateway;
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const references = { trace_id: trace, session_id: 'session 1', correlation_id: 'order-7' };
  let shared: string;
  let secret: string;

  /** A memory with a row in every table that is derived from memories. */
  async function derive(caller: string, scope: string, name: string): Promise<string> {
    const args = { project_id: 'l9', scope, ...references };
    const event = { kind: 'event', envelope: { event_type: 'deploy.finished' } };
    const steps = { kind: 'reasoning_trace', envelope: { steps: ['look', 'see'] } };
    const id = await gateway.save(caller, `${name} runs on postgres`, args);
    await gateway.save(caller, `${name} was deployed`, { ...args, ...event });
    await gateway.save(caller, `${name} was thought over`, { ...args, ...steps });
    const sql = (statement: string, values: unknown[] = [id]) => gateway.sql(caller, statement, values);
    await sql('select public.assert_fact($2, $3, to_jsonb($4::text), source_packet => $1)', [
      id,
      name,
      'runs_on',
      'postgres',
    ]);
    await sql('select public.relate($2, $3, $4, source_packet => $1)', [id, name, 'uses', 'postgres']);
    await sql('select public.add_alias($2, $3, source_packet => $1)', [id, `${name} too`, name]);
    await gateway.sql(caller, `select public.save_summary('topic', $1, 'It runs.', array[$2]::uuid[])`, [name, id], {
      'jwt.claims.trace_id': trace,
      'jwt.claims.session_id': 'session 1',
      'jwt.claims.correlation_id': 'order-7',
    });
    await gateway.sql(
      caller,
      "select public.reflect($1, scope => $2, project_id => 'l9'), public.reflect_on_task($1, 'to run', scope => $2, project_id => 'l9')",
      [`${name} needs care`, scope],
      { 'jwt.claims.trace_id': trace, 'jwt.claims.session_id': 'session 1', 'jwt.claims.correlation_id': 'order-7' },
    );
    await archive(caller, scope, name);
    await gateway.tool(caller, 'get_memory', { packet_id: id });
    await gateway.call(caller, 'find_facts', { subject: name });
    return id;
  }

  /** The session of another day, which was archived in this trace. The bytes need not open here. */
  async function archive(caller: string, scope: string, name: string) {
    const claims = { 'jwt.claims.trace_id': trace, 'jwt.claims.correlation_id': 'order-7' };
    const [{ archive_id: id }] = await gateway.sql(
      caller,
      "select archive_id from archive.prepare_session_archive(jsonb_build_object('session_id', 'session 1', 'tool_name', 'codex', 'summary', $1::text), $2, 'l9')",
      [`${name} was archived`, scope],
    );
    const blob = Buffer.concat([Buffer.of(1), randomBytes(60)]);
    await gateway.sql(
      caller,
      "select archive.finish_session_archive($1, sha256($2), 61, '{postgres}', 'k1', $3, $4, $2)",
      [id, blob, randomBytes(60), [randomBytes(32)]],
      claims,
    );
  }

  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    shared = await derive('C', 'developer', 'billing');
    secret = await derive('L', 'l-private', 'payroll');
    await gateway.save('C', 'of another trace', { project_id: 'l9', trace_id: 'other' });
    await gateway.embedded();
  });
  afterAll(() => gateway.close());

  const derivedTables = `
    select c.relname as name, (select a.attname from pg_attribute a
        where a.attrelid = c.oid and a.attname in ('source_packet', 'packet_id') order by a.attname desc limit 1) as source,
      case c.relname when 'reasoning_traces' then 'packet_trace_id' else 'trace_id' end as trace
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and (c.relname = 'memory_embeddings' or exists (
      select from pg_trigger t where t.tgrelid = c.oid and t.tgname = '_310_take_references_again'))
    order by 1`;

  it('finds the references of the memory in every table that is derived from memories', async () => {
    const tables = await gateway.asSuperuser(derivedTables);
    expect(tables.length).toBeGreaterThan(12);
    for (const { name, source, trace: column } of tables) {
      const rows = await gateway.asSuperuser(
        `select count(*)::int as n, count(*) filter (where (d.correlation_id, d.session_id, d.${column})
             is distinct from (p.correlation_id, p.session_id, p.trace_id))::int as astray
         from public.${name} d join public.packet_store p on p.packet_id = d.${source} where p.trace_id = $1`,
        [trace],
      );
      expect(rows, name).toStrictEqual([{ n: /world_model/.test(name) ? 0 : expect.any(Number), astray: 0 }]);
      if (!/world_model/.test(name)) expect(rows[0].n, name).toBeGreaterThan(0);
    }
    const [access] = await gateway.sql('C', 'select * from public.memory_access_log where target_id = $1', [shared]);
    expect(access).toMatchObject(references);
  });

  it('finds the references of a fact in its accesses, as far as the reader may read the fact', async () => {
    const accessesOf = (caller: string, packetId: string, columns: string) =>
      gateway.sql(
        caller,
        `select ${columns} from public.memory_access_log
         where target_type = 'fact' and target_id in (select fact_id from public.knowledge_facts where source_packet = $1)`,
        [packetId],
      );
    expect(await accessesOf('C', shared, 'correlation_id, session_id, trace_id')).toStrictEqual([references]);
    expect(await accessesOf('L', secret, 'correlation_id, session_id, trace_id')).toStrictEqual([references]);
    const [{ fact_id: fact }] = await gateway.sql(
      'L',
      'select fact_id from public.knowledge_facts where source_packet = $1',
      [secret],
    );
    // The access of C to a fact that is hidden from it by now, as if L had moved its memory.
    await gateway.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_type, target_id, agent_id, access_context, tenant_id, project_id, scope, is_admin)
       select i.id, uuid_extract_timestamp(i.id), 'fact', $1, 'C', 'search', tenant_id, 'l9', 'developer', false
       from public.packet_store, (select uuidv7() as id) i where packet_id = $2`,
      [fact, secret],
    );
    const ofHidden = 'select trace_id, session_id, correlation_id from public.memory_access_log where target_id = $1';
    expect(await gateway.sql('C', ofHidden, [fact])).toStrictEqual([
      { trace_id: null, session_id: null, correlation_id: null },
    ]);
  });

  const read = async (caller: string) =>
    (
      await gateway.query(
        caller,
        'query ($trace: String!) { traceOf(traceId: $trace) { occurredAt tableName packetId scope what } }',
        { trace },
      )
    ).traceOf as { occurredAt: string; tableName: string; packetId: string; scope: string; what: string }[];

  it('shows them in order, through all tables, and audits the read', async () => {
    const steps = await read('C');
    expect(steps[0]).toMatchObject({ tableName: 'packet_store', packetId: shared, what: 'note' });
    const times = steps.map(({ occurredAt }) => occurredAt);
    expect(times).toStrictEqual(times.toSorted());
    expect([...new Set(steps.map(({ tableName }) => tableName))].toSorted()).toStrictEqual([
      'agent_memory_events',
      'entity_aliases',
      'entity_relationships',
      'fact_evidence',
      'knowledge_facts',
      'memory_access_log',
      'memory_embeddings',
      'memory_summaries',
      'packet_store',
      'reasoning_traces',
      'reflection_store',
      'relationship_evidence',
      'session_archives',
      'task_reflections',
    ]);
    const [row] = await gateway.sql(
      'L',
      "select details from public.audit_log where operation = 'READ' order by audit_id desc limit 1",
    );
    expect(row.details).toMatchObject({ function: 'trace_of', rows: steps.length });
    expect(row.details.ids).toContain(shared);
  });

  it('follows the accesses to facts, too', async () => {
    const accesses = (await read('C')).filter(({ tableName }) => tableName === 'memory_access_log');
    expect(accesses.map(({ packetId, what }) => [packetId, what])).toStrictEqual([
      [shared, 'get'],
      [shared, 'search'],
    ]);
  });

  it('shows to each caller only what it may read, and nothing that tells of the rest', async () => {
    const forC = await read('C');
    expect(new Set(forC.map(({ scope }) => scope))).toStrictEqual(new Set(['developer']));
    expect(JSON.stringify(forC)).not.toMatch(/payroll|l-private/);
    expect(forC.map(({ packetId }) => packetId)).not.toContain(secret);
    const forL = await read('L');
    expect(forL.map(({ packetId }) => packetId)).toContain(secret);
    const limited = await gateway.sql('L', 'select distinct scope from public.trace_of($1)', [trace], {
      'jwt.claims.scopes': '["developer"]',
    });
    expect(limited).toStrictEqual([{ scope: 'developer' }]);
    await gateway.save('L', 'alone in its trace', { project_id: 'l9', scope: 'l-private', trace_id: 'of L alone' });
    const forOne = async (one: string) => gateway.sql('C', 'select * from public.trace_of($1)', [one]);
    expect(await forOne('of L alone')).toStrictEqual(await forOne('of nobody'));
  });

  it('follows a memory that moves, and one whose references change', async () => {
    const id = await gateway.save('C', 'reports run on redis', { project_id: 'l9', ...references });
    await gateway.sql(
      'C',
      "select public.assert_fact('reports', 'runs_on', to_jsonb('redis'::text), source_packet => $1)",
      [id],
    );
    const tablesOf = async (caller: string, one: string) =>
      (
        await gateway.sql(caller, 'select table_name from public.trace_of($1) where packet_id = $2 order by 1', [
          one,
          id,
        ])
      ).map(({ table_name }) => table_name);
    await gateway.embedded();
    const all = ['fact_evidence', 'knowledge_facts', 'memory_embeddings', 'packet_store'];
    expect(await tablesOf('C', trace)).toStrictEqual(all);
    await gateway.sql('C', "update public.packet_store set trace_id = 'moved on' where packet_id = $1", [id]);
    expect(await tablesOf('C', trace)).toStrictEqual([]);
    expect(await tablesOf('C', 'moved on')).toStrictEqual(all);
    const [fact] = await gateway.sql('C', 'select trace_id from public.knowledge_facts where source_packet = $1', [id]);
    expect(fact.trace_id).toBe('moved on');
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [id]);
    expect(await tablesOf('C', 'moved on')).toStrictEqual([]);
    expect(await tablesOf('L', 'moved on')).toStrictEqual(all);
  });

  it('refuses a trace or a number of rows that cannot be', async () => {
    for (const call of ["trace_of('')", 'trace_of(null)', "trace_of('x', 0)", "trace_of('x', 10001)"]) {
      await expect(gateway.sql('C', `select public.${call}`), call).rejects.toMatchObject({ code: 'L9VAL' });
    }
  });
});
