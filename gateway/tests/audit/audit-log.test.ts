// The audit rows of calls through MCP and GraphQL, and the audit log as GraphQL shows it.

import { claimsOfP, sealAll } from '../../../db/tests/audit/support.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { addOperator } from '../../../db/tests/support/tenants.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('audit_log', () => {
  const gateway = useTestGateway({ embedder: standIn });

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
    expect(JSON.stringify(search), 'the text of a query is not in the audit log').not.toContain('record"');

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

  it('has the references of the call: its claims, else its headers, else those of the memory', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { 'X-Correlation-Id': 'order-7', traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const post = async (path: string, authorization: string, body: object, more: object = headers) => {
      const response = await fetch(`${gateway.instance.url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${authorization}`,
          ...more,
        },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
      // biome-ignore lint/suspicious/noExplicitAny: answers differ by call
      return (await response.json()) as any;
    };
    const call = (name: string, args: object, more?: object) =>
      post(
        '/mcp',
        gateway.apiKey('C'),
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
        more,
      );
    const references = async (operation: string) => {
      const { correlation_id, session_id, trace_id } = await last(operation);
      return [correlation_id, session_id, trace_id];
    };

    const { result } = await call('save_memory', { content: 'in a trace', project_id: 'l9' });
    const { memory } = result.structuredContent;
    expect([memory.correlation_id, memory.session_id, memory.trace_id]).toStrictEqual(['order-7', null, trace]);
    expect(await references('INSERT')).toStrictEqual(['order-7', null, trace]);
    await call('search_memory', { query: 'trace', mode: 'lexical' });
    expect(await references('SEARCH')).toStrictEqual(['order-7', null, trace]);
    await call('get_memory_stats', {}, { 'X-Correlation-Id': 'with spaces', traceparent: 'none' });
    expect(await references('STATS')).toStrictEqual([null, null, null]);
    await call('get_memory', { packet_id: '01900000-0000-7000-8000-000000000000' });
    expect(await references('READ'), 'a refused call').toStrictEqual(['order-7', null, trace]);
    const { content } = memory;
    await post('/graphql', await gateway.token({ caller: 'C' }), { query: '{ memories { nodes { content } } }' });
    expect(content).toBe('in a trace');
    expect(await references('READ')).toStrictEqual(['order-7', null, trace]);

    const given = { correlation_id: 'c', session_id: 's', trace_id: 't' };
    await call('save_memory', { content: 'with its own', project_id: 'l9', ...given }, {});
    expect(await references('INSERT')).toStrictEqual(['c', 's', 't']);
    const { data } = await gateway.graphql(
      'L',
      '{ admin { auditLogs(first: 1, orderBy: PRIMARY_KEY_DESC, filter: { operation: { equalTo: "INSERT" } }) { nodes { correlationId sessionId traceId } } } }',
    );
    expect(data.admin.auditLogs.nodes).toStrictEqual([{ correlationId: 'c', sessionId: 's', traceId: 't' }]);
    await gateway.sql('C', 'select public.delete_memory($1)', [memory.packet_id], { 'jwt.claims.session_id': 'mine' });
    expect(await references('DELETE')).toStrictEqual(['order-7', 'mine', trace]);
  });

  it('has the project and scope to which a call about no single memory was limited', async () => {
    const token = await gateway.token({ caller: 'L', projects: ['l9'], scopes: ['developer'] });
    await gateway.graphql({ token }, '{ getMemoryStats { total } }');
    await gateway.graphql({ token }, 'mutation { deleteExpiredMemories(input: {}) { deleted } }');
    for (const operation of ['STATS', 'CLEANUP']) {
      const { project_id, scope } = await last(operation);
      expect([project_id, scope], operation).toStrictEqual(['l9', 'developer']);
    }
  });

  it('names the entity that was explored', async () => {
    await gateway.tool('C', 'explore_graph', { entity: ' The Lease ' });
    expect((await last('READ')).details).toMatchObject({ function: 'explore_graph', entity: 'The Lease' });
  });

  it('has a row with status error for every refused call, through GraphQL and MCP', async () => {
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

  it('shows an agent no count through GraphQL', async () => {
    const { data, errors } = await gateway.graphql('C', '{ admin { auditLogs { totalCount } } }');
    expect(data?.admin?.auditLogs?.totalCount ?? null).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('is verified through GraphQL by admins only', async () => {
    await sealAll(gateway);
    const { data, errors } = await gateway.graphql(
      'L',
      '{ admin { verifyAudit { ok seals rows head reason } auditHead { hash } } }',
    );
    expect(errors).toBeUndefined();
    expect(data.admin.verifyAudit.ok, data.admin.verifyAudit.reason).toBe(true);
    expect(data.admin.auditHead.hash).toMatch(/^[0-9a-f]{64}$/);
    const refused = await gateway.graphql('C', '{ admin { verifyAudit { ok } } }');
    expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('shows the text of a search through GraphQL once the tenant keeps these texts', async () => {
    const setQueryTextAudit = (enabled: boolean) =>
      gateway.graphql(
        'L',
        'mutation ($enabled: Boolean) { admin { setQueryTextAudit(enabled: $enabled) { auditsQueryText } } }',
        { enabled },
      );
    const search = (query: string) => gateway.sql('L', 'select public.search_memory($1)', [query]);
    await search('a secret wish');
    const { data, errors } = await setQueryTextAudit(true);
    expect(errors).toBeUndefined();
    expect(data.admin.setQueryTextAudit.auditsQueryText).toBe(true);
    await search('an open wish');
    await setQueryTextAudit(false);
    await search('a second secret');
    const answer = await gateway.graphql(
      'L',
      '{ admin { auditLogs(filter: { operation: { equalTo: "SEARCH" } }, last: 3) { nodes { queryText } } } }',
    );
    expect(answer.errors).toBeUndefined();
    expect(
      answer.data.admin.auditLogs.nodes.map(({ queryText }: { queryText: string | null }) => queryText),
    ).toStrictEqual([null, 'an open wish', null]);
  });
});

describe('an operator', () => {
  const gateway = useTestGateway({ embedder: standIn });
  let token: string;
  beforeAll(async () => {
    await addOperator(gateway, 'P');
    token = await gateway.token({ caller: 'P' });
    await eventually(async () => (await gateway.graphql({ token }, '{ __typename }')).status === 200);
  });

  it('has each table that a GraphQL query reads audited', async () => {
    await gateway.save('C', 'seen by operators', { scope: 'global' });
    await gateway.embedded();
    await sealAll(gateway);
    const { data, errors } = await gateway.graphql(
      { token },
      '{ memories { nodes { content embeddings { nodes { model } } } } admin { auditSeals { sealId } } }',
    );
    expect(errors).toBeUndefined();
    expect(data.memories.nodes).toHaveLength(1);
    const audited = await gateway.sql(
      'P',
      "select table_name from public.audit_log where details ->> 'reader' = 'operator' and caller = 'P'",
      [],
      claimsOfP,
    );
    const tables = audited.map(({ table_name }) => table_name);
    for (const table of ['packet_store', 'memory_embeddings', 'audit_seals']) expect(tables, table).toContain(table);
  });

  it('detaches a partition of the audit log through GraphQL', async () => {
    await gateway.asWorker("select audit.create_month_partitions('public.audit_log', '2021-01-01', 1)");
    const query = 'mutation { admin { detachAuditPartition(month: "2021-01-01") { tableName rowCount } } }';
    const { data, errors } = await gateway.graphql({ token }, query);
    expect(errors).toBeUndefined();
    expect(data.admin.detachAuditPartition).toStrictEqual({
      tableName: 'partitions.audit_log_2021_01',
      rowCount: '0',
    });
    expect((await gateway.graphql('L', query)).errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });
});
