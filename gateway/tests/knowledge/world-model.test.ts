// The world model, events, traces and tasks through MCP and GraphQL.

import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the world model through the APIs', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const update = (caller: string, entities: object[], more: object = {}) =>
    gateway.tool(caller, 'update_world_model', {
      insight: { insight_type: 'observation', content: `seen ${Math.random()}`, entities },
      project_id: 'l9',
      ...more,
    });

  it('is updated and read over MCP, and audited', async () => {
    const { result, isError, text } = await update('C', [
      { entity_id: 'api', entity_type: 'service', attributes: { port: 80 } },
    ]);
    expect(isError, text).toBe(false);
    expect([result.status, result.version, result.entities]).toStrictEqual(['applied', 1, ['api']]);
    expect(text).toBe('The world is at version 1: "api".');
    await update('L', [{ entity_id: 'api', attributes: { port: 443 } }], { expected_version: 1 });
    const stale = await update('C', [{ entity_id: 'api', attributes: { port: 8080 } }], { expected_version: 1 });
    expect(stale.isError).toBe(true);
    expect(stale.text).toMatch(/^INVALID_INPUT \(L9VAL\): expected_version: the world is at version 2/);
    const world = await gateway.tool('C', 'get_world_model', { project_id: 'l9' });
    expect(world.result.entities[0].attributes).toStrictEqual({ port: 443 });
    expect([world.result.version, world.result.entities[0].version]).toStrictEqual([2, 2]);
    const former = await gateway.tool('C', 'get_world_model', { project_id: 'l9', version: 1 });
    expect(former.result.entities[0].attributes).toStrictEqual({ port: 80 });
    const looks = await gateway.sql(
      'L',
      "select scope, details from public.audit_log where operation = 'READ' and details ->> 'tool_name' = 'get_world_model'",
    );
    expect(looks.map(({ scope, details }) => [scope, details.tables.world_model_entities])).toStrictEqual([
      ['developer', 1],
      ['developer', 1],
    ]);
    const refusals = await gateway.sql(
      'L',
      "select sqlstate from public.audit_log where status = 'error' and details ->> 'tool_name' = 'update_world_model'",
    );
    expect(refusals).toStrictEqual([{ sqlstate: 'L9VAL' }]);
    const typo = await update('C', [{ entity_id: 'api', atributes: {} }]);
    expect(typo.text).toMatch(/L9VAL.*atributes/s);
  });

  it('hides a private world model from C over both APIs', async () => {
    const { result } = await update('L', [{ entity_id: 'hush', attributes: { hush: 'hush' } }], { scope: 'l-private' });
    const tried = await gateway.tool('C', 'get_world_model', { project_id: 'l9', scope: 'l-private' });
    const nowhere = await gateway.tool('C', 'get_world_model', { project_id: 'l9', scope: 'no-such' });
    expect(tried.text).toBe(nowhere.text);
    expect((await update('C', [], { scope: 'l-private' })).isError).toBe(true);
    const data = await gateway.query(
      'C',
      `query ($id: UUID!) {
        worldModelEntities { nodes { entityId } totalCount }
        worldModelUpdates(filter: { audienceId: { equalTo: $id } }) { nodes { content } totalCount }
        memoryByPacketId(packetId: "${result.source_packet}") { content worldModelUpdates { totalCount } }
      }`,
      { id: result.audience_id },
    );
    expect(data).toStrictEqual({
      worldModelEntities: { nodes: [{ entityId: 'api' }], totalCount: 1 },
      worldModelUpdates: { nodes: [], totalCount: 0 },
      memoryByPacketId: null,
    });
  });

  it('is available over GraphQL, with relations', async () => {
    const { updateWorldModel } = await gateway.query(
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
    expect(updateWorldModel.update.memory).toStrictEqual({
      kind: 'insight',
      content: 'a queue came',
      worldModelEntities: { nodes: [{ entityId: 'queue', version: 1, attributes: { of: 'api' } }] },
    });
    const { snapshotWorld } = await gateway.query(
      'C',
      'mutation { snapshotWorld(input: { description: "one", projectId: "gql" }) { snapshot { snapshotId stateVersion entityCount relationCount createdBy memory { kind } } } }',
    );
    const { snapshotId, ...snapshot } = snapshotWorld.snapshot;
    expect(snapshot).toStrictEqual({
      stateVersion: 1,
      entityCount: 1,
      relationCount: 0,
      createdBy: 'C',
      memory: { kind: 'world_snapshot' },
    });
    await gateway.query(
      'C',
      'mutation ($insight: JSON!) { updateWorldModel(input: { insight: $insight, projectId: "gql" }) { update { updateId } } }',
      {
        insight: { insight_type: 'change', content: 'no queue', entities: [{ entity_id: 'queue', delete: true }] },
      },
    );
    const { diffWorld, getWorldModel } = await gateway.query(
      'C',
      `query ($a: String!) {
        diffWorld(a: $a) { entityId change formerAttributes }
        getWorldModel(projectId: "gql", version: 1) { version entityCount entities { entityId attributes } }
      }`,
      { a: snapshotId },
    );
    expect(diffWorld).toStrictEqual([{ entityId: 'queue', change: 'removed', formerAttributes: { of: 'api' } }]);
    expect(getWorldModel).toStrictEqual({
      version: 1,
      entityCount: 1,
      entities: [{ entityId: 'queue', attributes: { of: 'api' } }],
    });
    const { restoreWorld } = await gateway.query(
      'C',
      'mutation ($a: String!) { restoreWorld(input: { snapshot: $a, expectedVersion: 2 }) { update { insightType restoredVersion stateVersionAfter } } }',
      { a: snapshotId },
    );
    expect(restoreWorld.update).toStrictEqual({ insightType: 'restore', restoredVersion: 1, stateVersionAfter: 3 });
  });

  it('shows events and traces with their memories', async () => {
    await gateway.tool('C', 'save_memory', {
      content: 'it happened',
      project_id: 'l9',
      kind: 'event',
      envelope: { event_type: 'done' },
    });
    const bad = await gateway.tool('C', 'save_memory', { content: 'it happened too', project_id: 'l9', kind: 'event' });
    expect(bad.text).toMatch(/L9VAL\): envelope.event_type: must be a text that is not blank/);
    await gateway.tool('C', 'save_memory', {
      content: 'thus',
      project_id: 'l9',
      kind: 'reasoning_trace',
      envelope: { steps: ['so'] },
    });
    const { agentMemoryEvents, reasoningTraces } = await gateway.query(
      'C',
      `{ agentMemoryEvents(filter: { eventType: { equalTo: "done" } }) { nodes { agentId content memory { content event { eventType } } } }
         reasoningTraces { nodes { steps memory { kind reasoningTrace { steps } } } } }`,
    );
    expect(agentMemoryEvents.nodes).toStrictEqual([
      {
        agentId: 'cursor',
        content: { content: 'it happened' },
        memory: { content: 'it happened', event: { eventType: 'done' } },
      },
    ]);
    expect(reasoningTraces.nodes).toStrictEqual([
      { steps: ['so'], memory: { kind: 'reasoning_trace', reasoningTrace: { steps: ['so'] } } },
    ]);
  });

  it('lists tasks to callers who can read their scope', async () => {
    const { rows } = await gateway.instance.database.workerPool.query(
      `select tasks.start_task('summarise', '${DEFAULT_TENANT}', '{"memories": 3}', scope => 'developer', project_id => 'l9') as ids`,
    );
    await gateway.instance.database.workerPool.query('select tasks.finish_task($1, \'{"summaries": 1}\')', [
      rows[0].ids,
    ]);
    await gateway.instance.database.workerPool.query("select tasks.start_task('reembed')");
    const query = '{ tasks(orderBy: [CREATED_AT_ASC]) { nodes { type status payload result error } } }';
    const done = {
      type: 'summarise',
      status: 'completed',
      payload: { memories: 3 },
      result: { summaries: 1 },
      error: null,
    };
    expect((await gateway.query('C', query)).tasks.nodes).toStrictEqual([done]);
    const types = (await gateway.query('L', query)).tasks.nodes.map(({ type }: { type: string }) => type);
    // The runs of the embedding job are listed too.
    expect(types.filter((type: string) => type !== 'embed_pending')).toStrictEqual(['summarise', 'reembed']);
  });
});
