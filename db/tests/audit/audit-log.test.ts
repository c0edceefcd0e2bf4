import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

describe('audit_log', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const last = async (operation: string) => {
    const rows = await gateway.sql(
      'L',
      'select * from public.audit_log where operation = $1 order by audit_id desc limit 1',
      [operation],
    );
    return rows[0];
  };
  const who = {
    C: { caller: 'C', creator: 'Cursor-IDE', source: 'cursor-ide' },
    L: { caller: 'L', creator: 'L-CTO', source: 'l9-kernel' },
  };
  const picked = ({ caller, creator, source, tool_name, status, project_id, scope }: Record<string, unknown>) => ({
    caller,
    creator,
    source,
    tool_name,
    status,
    project_id,
    scope,
  });

  it('has a row for each save, read, update, search, stats, delete and cleanup', async () => {
    const saved = await gateway.tool('C', 'save_memory', { content: 'on the record', project_id: 'l9' });
    const id = saved.result.memory.packet_id;
    const seen = { ...who.C, status: 'success', project_id: 'l9', scope: 'developer' };
    expect(picked(await last('INSERT'))).toStrictEqual({ ...seen, tool_name: 'save_memory' });
    expect((await last('INSERT')).row_id).toBe(id);

    await gateway.tool('C', 'get_memory', { packet_id: id });
    expect(picked(await last('READ'))).toStrictEqual({ ...seen, tool_name: 'get_memory' });

    await gateway.tool('C', 'update_memory', { packet_id: id, tags: ['x'] });
    expect(picked(await last('UPDATE'))).toStrictEqual({ ...seen, tool_name: 'update_memory' });

    await gateway.tool('C', 'search_memory', {
      query: 'record',
      k: 3,
      mode: 'lexical',
      project_id: 'l9',
      scopes: ['developer'],
    });
    const search = await last('SEARCH');
    expect(picked(search)).toStrictEqual({ ...seen, tool_name: 'search_memory' });
    expect(search.details.ids).toStrictEqual([id]);
    expect(search.details.k).toBe(3);
    expect(search.details.mode).toBe('lexical');
    expect(search.details.query_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(search), 'the text of a query is not on the record').not.toContain('record"');

    await gateway.tool('C', 'get_memory_stats', { project_id: 'l9' });
    expect(picked(await last('STATS'))).toStrictEqual({ ...seen, scope: null, tool_name: 'get_memory_stats' });

    await gateway.tool('C', 'delete_memory', { packet_id: id });
    expect(picked(await last('DELETE'))).toStrictEqual({ ...seen, tool_name: 'delete_memory' });

    await gateway.graphql('L', 'mutation { deleteExpiredMemories(input: {}) { deleted } }');
    const cleanup = await last('CLEANUP');
    expect(picked(cleanup)).toStrictEqual({
      ...who.L,
      status: 'success',
      project_id: null,
      scope: null,
      tool_name: 'deleteExpiredMemories',
    });
    expect(cleanup.details.deleted).toBe(0);
  });

  it('has a row with status error for every refused call, through either API', async () => {
    const own = (await gateway.tool('L', 'save_memory', { content: 'of L', scope: 'global' })).result.memory.packet_id;
    const calls: [string, object, string, string][] = [
      ['save_memory', { content: 'x', scope: 'l-private', project_id: 'l9' }, 'INSERT', 'L9SCP'],
      ['save_memory', { content: ' ', project_id: 'l9' }, 'INSERT', 'L9VAL'],
      ['save_memory', { content: 1 }, 'INSERT', 'L9VAL'],
      ['get_memory', { packet_id: '01900000-0000-7000-8000-000000000000' }, 'READ', 'L9OWN'],
      ['update_memory', { packet_id: own, content: 'y' }, 'UPDATE', 'L9OWN'],
      ['delete_memory', { packet_id: own }, 'DELETE', 'L9OWN'],
      ['search_memory', { query: '' }, 'SEARCH', 'L9VAL'],
      ['search_memory', { query: 'x', k: 1000 }, 'SEARCH', 'L9VAL'],
      ['delete_expired_memories', {}, 'CLEANUP', 'L9SCP'],
    ];
    for (const [tool, args, operation, sqlstate] of calls) {
      expect((await gateway.tool('C', tool, args)).isError, tool).toBe(true);
      const row = await last(operation);
      const { caller, creator, source, tool_name, status } = row;
      expect({ caller, creator, source, tool_name, status }).toStrictEqual({
        ...who.C,
        tool_name: tool,
        status: 'error',
      });
      expect(row.sqlstate).toBe(sqlstate);
    }
    await gateway.graphql('C', 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }', {
      id: own,
    });
    const row = await last('DELETE');
    expect([row.status, row.sqlstate, row.row_id, row.tool_name]).toStrictEqual([
      'error',
      'L9OWN',
      own,
      'deleteMemory',
    ]);
  });

  it('keeps a write and its row together: neither is there when the transaction rolls back', async () => {
    const count = async () => (await gateway.sql('L', 'select count(*)::int as n from public.audit_log'))[0].n;
    const before = await count();
    await gateway
      .asCaller('C', async (client) => {
        await client.query("select public.save_memory('rolled back', project_id => 'l9')");
        throw new Error('on purpose');
      })
      .catch(() => {});
    expect(await count()).toBe(before);
    expect(await gateway.sql('C', "select 1 from public.packet_store where content = 'rolled back'")).toHaveLength(0);
  });

  it('writes one row for each memory of a batch', async () => {
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'batch ' || i), 'l9' from generate_series(1, 50) i`,
    );
    const rows = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'INSERT' and tool_name = 'sql'",
    );
    expect(rows[0].n).toBe(50);
  });

  it('can be changed by nobody, L and the jobs included', async () => {
    for (const caller of ['C', 'L']) {
      for (const statement of [
        "update public.audit_log set details = '{}'",
        'delete from public.audit_log',
        'truncate public.audit_log',
        `insert into public.audit_log (operation, table_name, details)
         values ('READ', 'x', '{"caller": "C", "creator": null, "source": null, "tool_name": "x"}')`,
      ]) {
        await expect(gateway.sql(caller, statement), `${caller}: ${statement}`).rejects.toMatchObject({
          code: '42501',
        });
      }
    }
    await expect(gateway.instance.database.workerPool.query('delete from public.audit_log')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('tells an agent nothing: it can read no row, not even a count', async () => {
    await expect(gateway.sql('C', 'select count(*) from public.audit_log')).rejects.toMatchObject({ code: '42501' });
    const { data, errors } = await gateway.graphql('C', '{ auditLogs { totalCount } }');
    expect(data?.auditLogs?.totalCount ?? null).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('shows L only the scopes of its token', async () => {
    await gateway.tool('L', 'save_memory', { content: 'kept private', scope: 'l-private', project_id: 'l9' });
    const scopes = async (claims: Record<string, string>) =>
      (
        await gateway.sql(
          'L',
          'select distinct scope from public.audit_log where scope is not null order by 1',
          [],
          claims,
        )
      ).map((row) => row.scope);
    expect(await scopes({})).toContain('l-private');
    expect(await scopes({ 'jwt.claims.scopes': '["global"]' })).toStrictEqual(['global']);
  });

  it('holds no content', async () => {
    await gateway.tool('C', 'save_memory', { content: 'xylophone quartz', project_id: 'l9', tags: ['zither'] });
    await gateway.tool('C', 'search_memory', { query: 'xylophone' });
    const rows = await gateway.sql('L', 'select audit_log::text as text from public.audit_log');
    expect(rows.filter(({ text }) => /xylophone|quartz/.test(text))).toHaveLength(0);
  });
});
