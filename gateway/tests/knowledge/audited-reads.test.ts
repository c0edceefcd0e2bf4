// explore_graph and get_world_model write their own audit row, so every API leaves the same one.
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('a read of the graph or of the world model', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
    await gateway.sql('C', "select public.relate('billing', 'uses', 'postgres', project_id => 'l9')");
    await gateway.sql(
      'C',
      `select public.apply_world_update(
         '{"insight_type": "observation", "content": "seen", "entities": [{"entity_id": "api"}]}', project_id => 'l9')`,
    );
  });
  afterAll(() => gateway.close());

  const newestId = async () =>
    (await gateway.sql('L', 'select coalesce(max(audit_id::text), $1) as id from public.audit_log', ['']))[0]
      .id as string;
  /** The audit rows that C leaves while it calls this. */
  async function rowsLeftBy(read: () => Promise<unknown>) {
    const before = await newestId();
    await read();
    return gateway.sql(
      'L',
      `select operation, status, scope, details - 'tool_name' as details from public.audit_log
       where caller = 'C' and audit_id::text > $1`,
      [before],
    );
  }
  const graphql = async (query: string) => {
    const { errors } = await gateway.graphql('C', query);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
  };

  it('leaves exactly one READ row for explore_graph over SQL, MCP and GraphQL', async () => {
    const reads = [
      () => gateway.sql('C', "select * from public.explore_graph('billing')"),
      () => gateway.tool('C', 'explore_graph', { entity: 'billing' }),
      () =>
        graphql('{ exploreGraph(entity: "billing") { entity edgesFollowed paths { entity steps { confidence } } } }'),
    ];
    for (const read of reads) {
      const rows = await rowsLeftBy(read);
      expect(rows, `${read}: ${JSON.stringify(rows)}`).toHaveLength(1);
      const { operation, status, details } = rows[0];
      expect([operation, status, details.function, details.edges_followed]).toStrictEqual([
        'READ',
        'success',
        'explore_graph',
        2,
      ]);
    }
  });

  it('leaves exactly one READ row for get_world_model over SQL, MCP and GraphQL', async () => {
    const reads = [
      () => gateway.sql('C', "select * from public.get_world_model('developer', 'l9')"),
      () => gateway.tool('C', 'get_world_model', { project_id: 'l9' }),
      () => graphql('{ getWorldModel(projectId: "l9") { version entityCount entities { entityId attributes } } }'),
    ];
    for (const read of reads) {
      const rows = await rowsLeftBy(read);
      expect(rows, `${read}: ${JSON.stringify(rows)}`).toHaveLength(1);
      const { operation, scope, details } = rows[0];
      expect([operation, scope, details.version, details.tables]).toStrictEqual([
        'READ',
        'developer',
        1,
        { world_model_entities: 1 },
      ]);
    }
  });

  it('stays a query over GraphQL, though the SQL functions are volatile', async () => {
    const { data } = await gateway.graphql(
      'C',
      '{ query: __type(name: "Query") { fields { name } } mutation: __type(name: "Mutation") { fields { name } } }',
    );
    const names = (type: { fields: { name: string }[] }) => type.fields.map(({ name }) => name);
    for (const field of ['exploreGraph', 'getWorldModel']) {
      expect(names(data.query).includes(field), field).toBe(true);
      expect(names(data.mutation).includes(field), field).toBe(false);
    }
  });
});
