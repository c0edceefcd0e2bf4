// What is read from knowledge writes its own audit row, so every API leaves the same one.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a read of the graph or of the world model', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await gateway.sql('C', "select public.relate('billing', 'uses', 'postgres', project_id => 'l9')");
    await gateway.sql(
      'C',
      `select public.apply_world_update(
         '{"insight_type": "observation", "content": "seen", "entities": [{"entity_id": "api"}]}', project_id => 'l9')`,
    );
  });
  afterAll(() => gateway.close());

  /** The audit rows that C leaves while it calls this. */
  async function rowsLeftBy(read: () => Promise<unknown>) {
    const newest = "select coalesce(max(audit_id::text), '') as id from public.audit_log";
    const [{ id }] = await gateway.sql('L', newest);
    await read();
    return gateway.sql(
      'L',
      "select operation, status, row_id, project_id, scope, details from public.audit_log where caller = 'C' and audit_id::text > $1",
      [id],
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

  it('stays a query over GraphQL, though the SQL functions are volatile', async () => {
    const { data } = await gateway.graphql(
      'C',
      '{ query: __type(name: "Query") { fields { name } } mutation: __type(name: "Mutation") { fields { name } } }',
    );
    const names = (type: { fields: { name: string }[] }) => type.fields.map(({ name }) => name);
    for (const field of ['exploreGraph', 'getWorldModel', 'diffWorld']) {
      expect(names(data.query)).toContain(field);
      expect(names(data.mutation)).not.toContain(field);
    }
  });
});
