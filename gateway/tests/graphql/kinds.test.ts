// The views of the built-in kinds and their rules over GraphQL.
import { eventually } from '../../../db/tests/support/eventually.ts';
import { addTenant } from '../../../db/tests/support/tenants.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('typed memories over GraphQL', () => {
  let gateway: TestGateway;
  const ids: Record<string, string> = {};
  const decision = (title: string, status = 'accepted') => ({ title, status, rationale: `Because of ${title}.` });
  beforeAll(async () => {
    gateway = await startTestGateway();
    for (const [caller, name, status, scope] of [
      ['C', 'one queue', 'accepted', 'developer'],
      ['C', 'two queues', 'proposed', 'developer'],
      ['L', 'a private queue', 'accepted', 'l-private'],
    ] as const) {
      const { result } = await gateway.tool(caller, 'memory_store', {
        items: [{ kind: 'decision', data: decision(name, status), scope, project_id: 'l9' }],
      });
      expect(result.errors).toStrictEqual([]);
      ids[name] = result.stored[0].packet_id;
    }
  });
  afterAll(() => gateway.close());

  it('finds decisions by a field, each with its memory', async () => {
    const query = `query ($status: String) { decisions(filter: { status: { equalTo: $status } }, orderBy: TITLE_ASC) {
      totalCount nodes { packetId title rationale memory { packetId kind title scope } } } }`;
    const { data, errors } = await gateway.graphql('C', query, { status: 'accepted' });
    expect(errors).toBeUndefined();
    const [row] = data.decisions.nodes;
    expect(data.decisions.totalCount).toBe(1);
    expect(row).toStrictEqual({
      packetId: ids['one queue'],
      title: 'one queue',
      rationale: 'Because of one queue.',
      memory: { packetId: ids['one queue'], kind: 'decision', title: 'one queue', scope: 'developer' },
    });
    const ofL = await gateway.graphql('L', query, { status: 'accepted' });
    expect(ofL.data.decisions.nodes.map(({ title }: { title: string }) => title)).toStrictEqual([
      'a private queue',
      'one queue',
    ]);
  });

  it('leaves out what is archived, unless it is asked for', async () => {
    const data = { text: 'Oil the lamp', status: 'done', closed_at: '2026-01-10' };
    await gateway.call('C', 'memory_store', { items: [{ kind: 'todo', data, project_id: 'l9' }] });
    const texts = async (args: string) =>
      (await gateway.query('C', `{ todos${args} { totalCount nodes { text } } }`)).todos;
    expect(await texts('')).toStrictEqual({ totalCount: 0, nodes: [] });
    expect(await texts('(includeArchived: true)')).toStrictEqual({ totalCount: 1, nodes: [{ text: 'Oil the lamp' }] });
  });

  it('answers for a decision that the caller may not read as for one that does not exist', async () => {
    const query = 'query ($id: UUID!) { decisionByPacketId(packetId: $id) { title } }';
    const hidden = await gateway.graphql('C', query, { id: ids['a private queue'] });
    const absent = await gateway.graphql('C', query, { id: '00000000-0000-7000-8000-0000000000ff' });
    expect(hidden).toStrictEqual(absent);
    expect(hidden.data).toStrictEqual({ decisionByPacketId: null });
  });

  it('audits what was read with the ids of the memories, whatever the query selects', async () => {
    const since = (await gateway.sql('L', 'select max(audit_id::text) as since from public.audit_log'))[0].since;
    const { data } = await gateway.graphql(
      'C',
      'query Titles { decisions { nodes { title } } todos(filter: { scope: { equalTo: "developer" } }) { nodes { text } } }',
    );
    expect(Object.keys(data.decisions.nodes[0]), 'nothing is added to the answer').toStrictEqual(['title']);
    const rows = await gateway.sql(
      'L',
      `select project_id, scope, details from public.audit_log where audit_id > $1 and operation = 'READ'`,
      [since],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].details.tables).toStrictEqual({ decisions: 2, todos: 0 });
    expect(rows[0].details.ids.toSorted()).toStrictEqual([ids['one queue'], ids['two queues']].toSorted());
    expect([rows[0].project_id, rows[0].scope]).toStrictEqual(['l9', 'developer']);
    expect(JSON.stringify(rows)).not.toContain('one queue');

    const node = await gateway.graphql('C', '{ decisions(first: 1) { nodes { id packetId } } }');
    const [{ id, packetId }] = node.data.decisions.nodes;
    const last = (await gateway.sql('L', 'select max(audit_id::text) as since from public.audit_log'))[0].since;
    const answer = await gateway.graphql('C', 'query ($id: ID!) { node(id: $id) { id } }', { id });
    expect(answer.data).toStrictEqual({ node: { id } });
    const [read] = await gateway.sql(
      'L',
      `select row_id from public.audit_log where audit_id > $1 and operation = 'READ'`,
      [last],
    );
    expect(read.row_id).toBe(packetId);
  });

  it('shows agents the rules of the kinds', async () => {
    const { data, errors } = await gateway.graphql(
      'C',
      '{ memoryKinds(filter: { kind: { equalTo: "decision" } }) { nodes { purpose identityFields fields { nodes { field type isRequired choices meaning } } } } }',
    );
    expect(errors).toBeUndefined();
    const [kind] = data.memoryKinds.nodes;
    expect(kind.purpose).toMatch(/decision/i);
    expect(kind.identityFields).toStrictEqual(['component', 'title']);
    expect(kind.fields.nodes.map(({ field }: { field: string }) => field)).toContain('rationale');
  });

  it('lets only admins register a kind, and shows another tenant nothing of it', async () => {
    const register = `mutation { admin { registerMemoryKind(kind: "customer", purpose: "A customer.", titleField: "name",
      fields: [{ field: "name", is_required: true }]) { kind fields { nodes { field } } } } }`;
    const refused = await gateway.graphql('C', register);
    expect(refused.errors).toMatchObject([{ extensions: { code: 'SCOPE_DENIED' } }]);
    expect((await gateway.query('L', register)).admin.registerMemoryKind).toStrictEqual({
      kind: 'customer',
      fields: { nodes: [{ field: 'name' }] },
    });
    const ask = '{ memoryKinds(filter: { kind: { equalTo: "customer" } }) { totalCount } }';
    expect((await gateway.query('C', ask)).memoryKinds.totalCount).toBe(1);
    const theirs = await addTenant(gateway, 'acme');
    const token = await gateway.token({ caller: 'C', tenantId: theirs['jwt.claims.tenant_id'] });
    // The gateway knows a new tenant once the database has notified it.
    const data = await eventually(async () => (await gateway.graphql({ token }, ask)).data);
    expect(data.memoryKinds.totalCount).toBe(0);
    const free = await gateway.graphql(
      { token },
      'mutation { memoryStore(input: { items: [{ kind: "customer", projectId: "l9", data: { content: "free", city: "Rome" } }] }) { stored { status } errors { message } } }',
    );
    expect(free.data.memoryStore, 'there the kind is free').toStrictEqual({
      stored: [{ status: 'inserted' }],
      errors: [],
    });
  });

  it('has nothing of schema cortex', async () => {
    const { root, admin } = await gateway.query(
      'C',
      '{ root: __type(name: "Query") { fields { name } } admin: __type(name: "AdminQuery") { fields { name } } }',
    );
    const names = [...root.fields, ...admin.fields].map(({ name }: { name: string }) => name);
    expect(names).toContain('decisions');
    expect(names.filter((name: string) => /cortex|adr|Log?s$|eventAudit/.test(name))).toStrictEqual(['auditLogs']);
  });
});
