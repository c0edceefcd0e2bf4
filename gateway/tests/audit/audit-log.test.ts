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
    const { data, errors } = await gateway.graphql('C', '{ auditLogs { totalCount } }');
    expect(data?.auditLogs?.totalCount ?? null).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('is verified through GraphQL by admins only', async () => {
    await sealAll(gateway);
    const { data, errors } = await gateway.graphql(
      'L',
      '{ verifyAudit { ok seals rows head reason } auditHead { hash } }',
    );
    expect(errors).toBeUndefined();
    expect(data.verifyAudit.ok, data.verifyAudit.reason).toBe(true);
    expect(data.auditHead.hash).toMatch(/^[0-9a-f]{64}$/);
    const refused = await gateway.graphql('C', '{ verifyAudit { ok } }');
    expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('shows the text of a search through GraphQL once the tenant keeps these texts', async () => {
    const setQueryTextAudit = (enabled: boolean) =>
      gateway.graphql(
        'L',
        'mutation ($enabled: Boolean) { setQueryTextAudit(input: { enabled: $enabled }) { tenant { auditsQueryText } } }',
        { enabled },
      );
    const search = (query: string) => gateway.sql('L', 'select public.search_memory($1)', [query]);
    await search('a secret wish');
    const { data, errors } = await setQueryTextAudit(true);
    expect(errors).toBeUndefined();
    expect(data.setQueryTextAudit.tenant.auditsQueryText).toBe(true);
    await search('an open wish');
    await setQueryTextAudit(false);
    await search('a second secret');
    const answer = await gateway.graphql(
      'L',
      '{ auditLogs(condition: { operation: "SEARCH" }, last: 3) { nodes { queryText } } }',
    );
    expect(answer.errors).toBeUndefined();
    expect(answer.data.auditLogs.nodes.map(({ queryText }: { queryText: string | null }) => queryText)).toStrictEqual([
      null,
      'an open wish',
      null,
    ]);
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
    await gateway.tool('C', 'save_memory', { content: 'seen by operators', scope: 'global' });
    await gateway.embedded();
    await sealAll(gateway);
    const { data, errors } = await gateway.graphql(
      { token },
      '{ memories { nodes { content embeddings { nodes { model } } } } auditSeals { totalCount } }',
    );
    expect(errors).toBeUndefined();
    expect(data.memories.nodes).toHaveLength(1);
    const audited = await gateway.sql(
      'P',
      "select table_name from public.audit_log where details ->> 'look' = 'platform' and caller = 'P'",
      [],
      claimsOfP,
    );
    const tables = audited.map(({ table_name }) => table_name);
    for (const table of ['packet_store', 'memory_embeddings', 'audit_seals']) expect(tables, table).toContain(table);
  });

  it('detaches a partition of the audit log through GraphQL', async () => {
    await gateway.asWorker("select audit.create_month_partitions('public.audit_log', '2021-01-01', 1)");
    const query = 'mutation { detachAuditPartition(input: { month: "2021-01-01" }) { result { tableName rowCount } } }';
    const { data, errors } = await gateway.graphql({ token }, query);
    expect(errors).toBeUndefined();
    expect(data.detachAuditPartition.result).toStrictEqual({
      tableName: 'partitions.audit_log_2021_01',
      rowCount: '0',
    });
    expect((await gateway.graphql('L', query)).errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });
});
