// What is read from knowledge writes its own audit row, so every API leaves the same one.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a read of knowledge', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await gateway.sql('C', "select public.relate('billing', 'uses', 'postgres', project_id => 'l9')");
    await gateway.sql(
      'C',
      `select public.apply_world_update(
         '{"insight_type": "observation", "content": "seen", "entities": [{"entity_id": "api", "attributes": {"is_up": true}}]}', project_id => 'l9')`,
    );
    await gateway.sql('C', "select public.assert_fact('billing', 'is', '\"slow\"', project_id => 'l9')");
    await gateway.sql('C', "select public.reflect('billing needs a retry', 'pattern', project_id => 'l9')");
    await gateway.sql('L', "select public.register_predicate('runs on', true)");
    for (const object of ['steam', 'diesel'])
      await gateway.sql('C', `select public.assert_fact('engine', 'runs on', '"${object}"', project_id => 'l9')`);
    await gateway.call('C', 'memory_store', {
      items: [
        { kind: 'document', project_id: 'l9', data: { title: 'Guide', source_url: 'g.md', body_md: '# One\n\nText.' } },
      ],
    });
    await gateway.asWorker('call public.refresh_memory_views()');
  });
  afterAll(() => gateway.close());

  /** The audit rows that a caller leaves while it calls this. */
  async function rowsLeftBy(read: () => Promise<unknown>, caller = 'C') {
    const newest = "select coalesce(max(audit_id::text), '') as id from public.audit_log";
    const [{ id }] = await gateway.sql('L', newest);
    await read();
    return gateway.sql(
      'L',
      'select operation, status, row_id, project_id, scope, details from public.audit_log where caller = $2 and audit_id::text > $1',
      [id, caller],
    );
  }
  const graphql = (query: string) => gateway.query('C', query);

  it.each([
    ['SQL', () => gateway.sql('C', "select * from public.explore_graph('billing')")],
    ['MCP', () => gateway.tool('C', 'explore_graph', { entity: 'billing' })],
    [
      'GraphQL',
      () =>
        graphql('{ exploreGraph(entity: "billing") { entity edgesFollowed paths { entity steps { confidence } } } }'),
    ],
  ])('leaves exactly one READ row for explore_graph over %s', async (_, read) => {
    const rows = await rowsLeftBy(read);
    expect(rows).toMatchObject([
      {
        operation: 'READ',
        status: 'success',
        details: { function: 'explore_graph', entity: 'billing', edges_followed: 2 },
      },
    ]);
    expect(JSON.stringify(rows), 'what was found is not in the audit log').not.toMatch(/postgres/);
  });

  it.each([
    ['SQL', () => gateway.sql('C', "select * from public.get_world_model('developer', 'l9')")],
    ['MCP', () => gateway.tool('C', 'get_world_model', { project_id: 'l9' })],
    [
      'GraphQL',
      () => graphql('{ getWorldModel(projectId: "l9") { version entityCount entities { entityId attributes } } }'),
    ],
  ])('leaves exactly one READ row for get_world_model over %s', async (_, read) => {
    expect(await rowsLeftBy(read)).toMatchObject([
      { operation: 'READ', scope: 'developer', details: { version: 1, tables: { world_model_entities: 1 } } },
    ]);
  });

  it.each([
    ['SQL', () => gateway.sql('C', "select * from public.diff_world('0', project_id => 'l9')")],
    ['GraphQL', () => graphql('{ diffWorld(a: "0", projectId: "l9") { entityId attributes } }')],
  ])('leaves exactly one READ row for diff_world over %s', async (_, read) => {
    expect(await rowsLeftBy(read)).toMatchObject([
      {
        operation: 'READ',
        project_id: 'l9',
        scope: 'developer',
        details: { version: 1, former_version: 0, tables: { world_model_entities: 1 } },
      },
    ]);
  });

  it.each([
    ['SQL', () => gateway.sql('C', "select public.find_facts(project_id => 'l9', scope => 'developer')")],
    ['MCP', () => gateway.tool('C', 'find_facts', { project_id: 'l9', scope: 'developer' })],
    ['GraphQL', () => graphql('{ findFacts(projectId: "l9", scope: "developer") { factId } }')],
  ])('names the project and scope of find_facts over %s', async (_, read) => {
    expect(await rowsLeftBy(read)).toMatchObject([{ operation: 'READ', project_id: 'l9', scope: 'developer' }]);
  });

  it.each([
    ['SQL', () => gateway.sql('C', "select public.summarize(project_id => 'l9')")],
    ['MCP', () => gateway.tool('C', 'summarize', { project_id: 'l9' })],
    ['GraphQL', () => graphql('mutation { summarize(input: { projectId: "l9" }) { status } }')],
  ])('names the project of summarize over %s', async (_, read) => {
    expect(await rowsLeftBy(read)).toMatchObject([{ operation: 'READ', project_id: 'l9' }]);
  });

  // The rows of each function, as SQL and GraphQL name their ids.
  const functions: [name: string, field: string, argument: string, sqlIds: string | null, selection: string][] = [
    [
      'agent_recent_important',
      'agentRecentImportant',
      "project_id => 'l9'",
      '(r.memory).packet_id',
      'memory { packetId content }',
    ],
    [
      'entity_graph',
      'entityGraph',
      "project_id => 'l9'",
      '(r.relationship).relationship_id',
      'relationship { relationshipId }',
    ],
    ['high_confidence_facts', 'highConfidenceFacts', "project_id => 'l9'", '(r.fact).fact_id', 'fact { factId }'],
    [
      'recurring_lessons',
      'recurringLessons',
      "project_id => 'l9'",
      '(r.reflection).reflection_id',
      'reflection { reflectionId }',
    ],
    ['reflection_patterns', 'reflectionPatterns', "project_id => 'l9'", null, 'count allTags'],
    ['due_summaries', 'dueSummaries', "project_id => 'l9', min_packets => 1", null, 'reason sourcePacketIds'],
  ];

  it.each(functions)('leaves exactly one READ row for %s over SQL', async (name, _, argument, sqlIds) => {
    let found: Record<string, unknown>[] = [];
    const rows = await rowsLeftBy(async () => {
      found = await gateway.sql('C', `select ${sqlIds} as id from public.${name}(${argument}) r`);
    });
    expect(found.length).toBeGreaterThan(0);
    const ids = sqlIds ? { ids: found.map(({ id }) => id) } : {};
    expect(rows).toMatchObject([
      {
        operation: 'READ',
        status: 'success',
        project_id: 'l9',
        details: { function: name, rows: found.length, ...ids },
      },
    ]);
  });

  it.each(functions)('leaves exactly one READ row for %s over GraphQL', async (name, field, argument, _, selection) => {
    const args = argument.replace("project_id => 'l9'", 'projectId: "l9"').replace('min_packets => 1', 'minPackets: 1');
    let answer: Record<string, unknown[]> = {};
    const rows = await rowsLeftBy(async () => {
      answer = await graphql(`{ ${field}(${args}) { ${selection} } }`);
    });
    expect(answer[field]!.length).toBeGreaterThan(0);
    expect(rows).toMatchObject([
      {
        operation: 'READ',
        status: 'success',
        project_id: 'l9',
        details: { function: name, rows: answer[field]!.length },
      },
    ]);
  });

  /** What a caller was shown, as ids, and how it was asked for. Each reads more than the rows that it is named after. */
  const disclosed: [what: string, read: string, ids: string][] = [
    [
      'relationships of a graph',
      "select * from public.explore_graph('billing')",
      "select relationship_id as id from public.entity_relationships where source_entity = 'billing'",
    ],
    [
      'memories behind a world',
      "select * from public.get_world_model('developer', 'l9')",
      'select source_packet as id from public.world_model_entities',
    ],
    [
      'memories behind the differences of a world',
      "select * from public.diff_world('0', project_id => 'l9')",
      'select source_packet as id from public.world_model_entities',
    ],
    [
      'sources of due summaries',
      "select * from public.due_summaries(project_id => 'l9', min_packets => 1)",
      "select unnest(source_packet_ids) as id from summaries.find_due_for_caller(null, null, 'l9', 1, 100, 20)",
    ],
    [
      'facts that were replaced',
      "select * from public.facts_as_of(subject => 'engine')",
      "select fact_id as id from public.knowledge_facts where subject = 'engine'",
    ],
    [
      'sections of a document',
      `select * from public.get_document((select packet_id from public.packet_store where packet_type = 'document'))`,
      "select packet_id as id from public.packet_store where packet_type in ('document', 'section')",
    ],
  ];

  it.each(disclosed)('records the ids of the %s', async (_, read, ids) => {
    const rows = await rowsLeftBy(() => gateway.sql('C', read));
    const shown = (await gateway.sql('C', ids)).map(({ id }) => id as string);
    expect(shown.length).toBeGreaterThan(0);
    expect(rows).toHaveLength(1);
    expect(new Set(rows[0]!.details.ids)).toStrictEqual(new Set(shown));
  });

  it.each([
    ['SQL', (id: string) => gateway.sql('L', "select (public.explain_access('C', $1)).is_visible", [id])],
    [
      'GraphQL',
      (id: string) =>
        gateway.query('L', 'query ($id: UUID!) { admin { explainAccess(caller: "C", packetId: $id) { isVisible } } }', {
          id,
        }),
    ],
  ])('leaves exactly one READ row, which names the memory, for explain_access over %s', async (_, read) => {
    const id = await gateway.save('L', 'a note of L');
    expect(await rowsLeftBy(() => read(id), 'L')).toMatchObject([
      {
        operation: 'READ',
        status: 'success',
        row_id: id,
        project_id: 'l9',
        scope: 'developer',
        details: { function: 'explain_access', explained_caller: 'C' },
      },
    ]);
  });

  it('stays a query over GraphQL, though the SQL functions are volatile', async () => {
    const { data } = await gateway.graphql(
      'C',
      `{ query: __type(name: "Query") { fields { name } } ofAdmin: __type(name: "AdminQuery") { fields { name } }
         mutation: __type(name: "Mutation") { fields { name } } }`,
    );
    const names = (type: { fields: { name: string }[] }) => type.fields.map(({ name }) => name);
    expect(names(data.ofAdmin)).toContain('explainAccess');
    for (const field of [...['exploreGraph', 'getWorldModel', 'diffWorld'], ...functions.map(([, field]) => field)]) {
      expect(names(data.query)).toContain(field);
      expect(names(data.mutation)).not.toContain(field);
    }
  });
});
