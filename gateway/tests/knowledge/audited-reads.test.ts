// explore_graph and get_world_model write their own audit row, so every API leaves the same one.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

describe('a read of the graph or of the world model', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
    await house.sql('C', "select public.relate('billing', 'uses', 'postgres', project_id => 'l9')");
    await house.sql(
      'C',
      `select public.apply_world_update(
         '{"insight_type": "observation", "content": "seen", "entities": [{"entity_id": "api"}]}', project_id => 'l9')`,
    );
  });
  after(() => house.close());

  const newestId = async () =>
    (await house.sql('L', 'select coalesce(max(audit_id::text), $1) as id from public.audit_log', ['']))[0]
      .id as string;
  /** The audit rows that C leaves while it calls this. */
  async function rowsLeftBy(read: () => Promise<unknown>) {
    const before = await newestId();
    await read();
    return house.sql(
      'L',
      `select operation, status, scope, details - 'tool_name' as details from public.audit_log
       where caller = 'C' and audit_id::text > $1`,
      [before],
    );
  }
  const graphql = async (query: string) => {
    const { errors } = await house.graphql('C', query);
    assert.equal(errors, undefined, JSON.stringify(errors));
  };

  it('leaves exactly one READ row for explore_graph over SQL, MCP and GraphQL', async () => {
    const reads = [
      () => house.sql('C', "select * from public.explore_graph('billing')"),
      () => house.tool('C', 'explore_graph', { entity: 'billing' }),
      () =>
        graphql('{ exploreGraph(entity: "billing") { entity edgesFollowed paths { entity steps { confidence } } } }'),
    ];
    for (const read of reads) {
      const rows = await rowsLeftBy(read);
      assert.equal(rows.length, 1, `${read}: ${JSON.stringify(rows)}`);
      const { operation, status, details } = rows[0];
      assert.deepEqual(
        [operation, status, details.function, details.edges_followed],
        ['READ', 'success', 'explore_graph', 2],
      );
    }
  });

  it('leaves exactly one READ row for get_world_model over SQL, MCP and GraphQL', async () => {
    const reads = [
      () => house.sql('C', "select * from public.get_world_model('developer', 'l9')"),
      () => house.tool('C', 'get_world_model', { project_id: 'l9' }),
      () => graphql('{ getWorldModel(projectId: "l9") { version entityCount entities { entityId attributes } } }'),
    ];
    for (const read of reads) {
      const rows = await rowsLeftBy(read);
      assert.equal(rows.length, 1, `${read}: ${JSON.stringify(rows)}`);
      const { operation, scope, details } = rows[0];
      assert.deepEqual(
        [operation, scope, details.version, details.tables],
        ['READ', 'developer', 1, { world_model_entities: 1 }],
      );
    }
  });

  it('stays a query over GraphQL, though the SQL functions are volatile', async () => {
    const { data } = await house.graphql(
      'C',
      '{ query: __type(name: "Query") { fields { name } } mutation: __type(name: "Mutation") { fields { name } } }',
    );
    const names = (type: { fields: { name: string }[] }) => type.fields.map(({ name }) => name);
    for (const field of ['exploreGraph', 'getWorldModel']) {
      assert.equal(names(data.query).includes(field), true, field);
      assert.equal(names(data.mutation).includes(field), false, field);
    }
  });
});
