// The world model, events, traces and tasks through MCP and GraphQL.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

describe('the world model through the doors', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  const update = (caller: string, entities: object[], more: object = {}) =>
    house.tool(caller, 'update_world_model', {
      insight: { insight_type: 'observation', content: `seen ${Math.random()}`, entities },
      project_id: 'l9',
      ...more,
    });
  const ask = async (caller: string, query: string, variables: object = {}) => {
    const { data, errors } = await house.graphql(caller, query, variables);
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  };

  it('is updated and read over MCP, on the record', async () => {
    const { result, isError, text } = await update('C', [
      { entity_id: 'api', entity_type: 'service', attributes: { port: 80 } },
    ]);
    assert.equal(isError, false, text);
    assert.deepEqual([result.status, result.version, result.entities], ['applied', 1, ['api']]);
    assert.equal(text, 'The world is at version 1: api.');
    await update('L', [{ entity_id: 'api', attributes: { port: 443 } }], { expected_version: 1 });
    const stale = await update('C', [{ entity_id: 'api', attributes: { port: 8080 } }], { expected_version: 1 });
    assert.equal(stale.isError, true);
    assert.match(stale.text, /^INVALID_INPUT \(L9VAL\): expected_version: the world is at version 2/);
    const world = await house.tool('C', 'get_world_model', { project_id: 'l9' });
    assert.deepEqual(world.result.entities[0].attributes, { port: 443 });
    assert.deepEqual([world.result.version, world.result.entities[0].version], [2, 2]);
    const former = await house.tool('C', 'get_world_model', { project_id: 'l9', version: 1 });
    assert.deepEqual(former.result.entities[0].attributes, { port: 80 });
    const looks = await house.sql(
      'L',
      "select scope, details from public.audit_log where operation = 'READ' and details ->> 'tool_name' = 'get_world_model'",
    );
    assert.deepEqual(
      looks.map(({ scope, details }) => [scope, details.tables.world_model_entities]),
      [
        ['developer', 1],
        ['developer', 1],
      ],
    );
    const refusals = await house.sql(
      'L',
      "select sqlstate from public.audit_log where status = 'error' and details ->> 'tool_name' = 'update_world_model'",
    );
    assert.deepEqual(refusals, [{ sqlstate: 'L9VAL' }]);
    const typo = await update('C', [{ entity_id: 'api', atributes: {} }]);
    assert.match(typo.text, /L9VAL.*atributes/s);
  });

  it('keeps a private world from C on both doors', async () => {
    const { result } = await update('L', [{ entity_id: 'hush', attributes: { hush: 'hush' } }], { scope: 'l-private' });
    const tried = await house.tool('C', 'get_world_model', { project_id: 'l9', scope: 'l-private' });
    const nowhere = await house.tool('C', 'get_world_model', { project_id: 'l9', scope: 'no-such' });
    assert.equal(tried.text, nowhere.text);
    assert.equal((await update('C', [], { scope: 'l-private' })).isError, true);
    const data = await ask(
      'C',
      `query ($id: UUID!) {
        worldModelEntities { nodes { entityId } totalCount }
        worldModelUpdates(condition: { audienceId: $id }) { nodes { content } totalCount }
        memoryByPacketId(packetId: "${result.source_packet}") { content worldModelUpdates { totalCount } }
      }`,
      { id: result.audience_id },
    );
    assert.deepEqual(data, {
      worldModelEntities: { nodes: [{ entityId: 'api' }], totalCount: 1 },
      worldModelUpdates: { nodes: [], totalCount: 0 },
      memoryByPacketId: null,
    });
  });

  it('is all in GraphQL, with relations', async () => {
    const { updateWorldModel } = await ask(
      'C',
      `mutation ($insight: JSON!) { updateWorldModel(input: { insight: $insight, projectId: "gql" }) {
        update { stateVersionAfter insightType confidence audienceId memory { kind content worldModelEntities { nodes { entityId version attributes } } } }
      } }`,
      {
        insight: {
          insight_type: 'change',
          content: 'a queue came',
          entities: [{ entity_id: 'queue', attributes: { of: 'api' } }],
        },
      },
    );
    assert.deepEqual(updateWorldModel.update.memory, {
      kind: 'insight',
      content: 'a queue came',
      worldModelEntities: { nodes: [{ entityId: 'queue', version: 1, attributes: { of: 'api' } }] },
    });
    const { snapshotWorld } = await ask(
      'C',
      'mutation { snapshotWorld(input: { description: "one", projectId: "gql" }) { snapshot { snapshotId stateVersion entityCount relationCount createdBy memory { kind } } } }',
    );
    const { snapshotId, ...snapshot } = snapshotWorld.snapshot;
    assert.deepEqual(snapshot, {
      stateVersion: 1,
      entityCount: 1,
      relationCount: 0,
      createdBy: 'C',
      memory: { kind: 'world_snapshot' },
    });
    await ask(
      'C',
      'mutation ($insight: JSON!) { updateWorldModel(input: { insight: $insight, projectId: "gql" }) { update { updateId } } }',
      {
        insight: { insight_type: 'change', content: 'no queue', entities: [{ entity_id: 'queue', delete: true }] },
      },
    );
    const { diffWorld, getWorldModel } = await ask(
      'C',
      `query ($a: String!) {
        diffWorld(a: $a) { nodes { entityId change formerAttributes } }
        getWorldModel(projectId: "gql", version: 1) { version entityCount entities { entityId attributes } }
      }`,
      { a: snapshotId },
    );
    assert.deepEqual(diffWorld.nodes, [{ entityId: 'queue', change: 'removed', formerAttributes: { of: 'api' } }]);
    assert.deepEqual(getWorldModel, {
      version: 1,
      entityCount: 1,
      entities: [{ entityId: 'queue', attributes: { of: 'api' } }],
    });
    const { restoreWorld } = await ask(
      'C',
      'mutation ($a: String!) { restoreWorld(input: { snapshot: $a, expectedVersion: 2 }) { update { insightType restoredVersion stateVersionAfter } } }',
      { a: snapshotId },
    );
    assert.deepEqual(restoreWorld.update, { insightType: 'restore', restoredVersion: 1, stateVersionAfter: 3 });
  });

  it('shows events and traces with their memories', async () => {
    await house.tool('C', 'save_memory', {
      content: 'it happened',
      project_id: 'l9',
      kind: 'event',
      envelope: { event_type: 'done' },
    });
    const bad = await house.tool('C', 'save_memory', { content: 'it happened too', project_id: 'l9', kind: 'event' });
    assert.match(bad.text, /L9VAL\): envelope.event_type: a text is required/);
    await house.tool('C', 'save_memory', {
      content: 'thus',
      project_id: 'l9',
      kind: 'reasoning_trace',
      envelope: { steps: ['so'] },
    });
    const { agentMemoryEvents, reasoningTraces } = await ask(
      'C',
      `{ agentMemoryEvents(condition: { eventType: "done" }) { nodes { agentId content memory { content event { eventType } } } }
         reasoningTraces { nodes { steps memory { kind reasoningTrace { steps } } } } }`,
    );
    assert.deepEqual(agentMemoryEvents.nodes, [
      {
        agentId: 'cursor',
        content: { content: 'it happened' },
        memory: { content: 'it happened', event: { eventType: 'done' } },
      },
    ]);
    assert.deepEqual(reasoningTraces.nodes, [
      { steps: ['so'], memory: { kind: 'reasoning_trace', reasoningTrace: { steps: ['so'] } } },
    ]);
  });

  it('lists tasks to those whom they concern', async () => {
    const { rows } = await house.gateway.database.workerPool.query(
      "select tasks.start_task('summarise', '00000000-0000-7000-8000-000000000001', '{\"memories\": 3}', scope => 'developer', project_id => 'l9') as ids",
    );
    await house.gateway.database.workerPool.query('select tasks.finish_task($1, \'{"summaries": 1}\')', [rows[0].ids]);
    await house.gateway.database.workerPool.query("select tasks.start_task('reembed')");
    const query = '{ tasks(orderBy: [CREATED_AT_ASC]) { nodes { type status payload result error } } }';
    const done = {
      type: 'summarise',
      status: 'completed',
      payload: { memories: 3 },
      result: { summaries: 1 },
      error: null,
    };
    assert.deepEqual((await ask('C', query)).tasks.nodes, [done]);
    assert.deepEqual(
      (await ask('L', query)).tasks.nodes.map(({ type }: { type: string }) => type),
      ['summarise', 'reembed'],
    );
  });
});
