// The entity graph through GraphQL and MCP.
import { RECALLED } from '../../src/operations/recalled.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the entity graph', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const RELATE = `mutation ($input: RelateInput!) { relate(input: $input) { relationship {
    relationshipId sourceEntity relationshipType targetEntity confidence mentionCount sourceMemory { packetId content kind } } } }`;
  const relate = async (caller: string, input: object) =>
    (await gateway.query(caller, RELATE, { input })).relate.relationship;

  it('is written and read over GraphQL, with its memories', async () => {
    const sourcePacket = await gateway.save('C', 'We moved billing to Kafka.');
    const first = await relate('C', { source: 'Billing', type: 'publishes to', target: 'Kafka', sourcePacket });
    expect([first.relationshipType, first.confidence, first.sourceMemory.packetId]).toStrictEqual([
      'publishes_to',
      0.8,
      sourcePacket,
    ]);
    const again = await relate('C', {
      source: 'billing',
      type: 'publishes_to',
      target: 'kafka',
      projectId: 'l9',
      confidence: 0.5,
    });
    expect([again.relationshipId, again.confidence, again.mentionCount]).toStrictEqual([
      first.relationshipId,
      0.8,
      '2',
    ]);
    await relate('L', {
      source: 'Kafka',
      type: 'is watched by',
      target: 'Prometheus',
      projectId: 'l9',
      scope: 'l-private',
    });
    const { addAlias } = await gateway.query(
      'C',
      'mutation { addAlias(input: { alias: "the bus", entity: "Kafka", projectId: "l9" }) { alias { alias entity sourceMemory { kind } } } }',
    );
    expect(addAlias.alias).toStrictEqual({ alias: 'the bus', entity: 'Kafka', sourceMemory: { kind: 'fact' } });

    const { memoryByPacketId } = await gateway.query(
      'C',
      `query ($id: UUID!) { memoryByPacketId(packetId: $id) { relationships { nodes {
        sourceEntity targetEntity memories { nodes { content } } evidence { nodes { mentions confidence memory { content } } } } } } }`,
      { id: sourcePacket },
    );
    const [relationship] = memoryByPacketId.relationships.nodes;
    expect([relationship.sourceEntity, relationship.targetEntity]).toStrictEqual(['Billing', 'Kafka']);
    expect(relationship.memories.nodes.map(({ content }: { content: string }) => content)).toStrictEqual([
      'We moved billing to Kafka.',
      'billing publishes to kafka',
    ]);
    expect(
      relationship.evidence.nodes.map((it: { confidence: number; memory: { content: string } }) => [
        it.confidence,
        it.memory.content,
      ]),
    ).toStrictEqual([
      [0.8, 'We moved billing to Kafka.'],
      [0.5, 'billing publishes to kafka'],
    ]);

    const EXPLORE = `{ exploreGraph(entity: "BUS ", depth: 1) { isTruncated }
      bus: exploreGraph(entity: "the bus") { entity knownAs isTruncated paths { entity confidence depth steps { relationshipType direction confidence relationshipIds } } }
      entityRelationships(filter: { targetNormalized: { equalTo: "kafka" } }) { totalCount }
      all: entityRelationships { totalCount } }`;
    const mine = await gateway.query('C', EXPLORE);
    expect(mine.bus.paths).toStrictEqual([
      {
        entity: 'Billing',
        confidence: 0.8,
        depth: 1,
        steps: [
          {
            relationshipType: 'publishes_to',
            direction: 'incoming',
            confidence: 0.8,
            relationshipIds: [first.relationshipId],
          },
        ],
      },
    ]);
    expect([mine.bus.entity, mine.bus.isTruncated, mine.all.totalCount]).toStrictEqual(['Kafka', false, 1]);
    // L itself speaks of Kafka in private, so that the alias of C is not applied for L until L confirms it.
    expect((await gateway.query('L', EXPLORE)).bus.paths).toStrictEqual([]);
    const all = await gateway.query('L', EXPLORE.replace('"the bus"', '"kafka"'));
    expect(all.bus.paths.map(({ entity }: { entity: string }) => entity).sort()).toStrictEqual([
      'Billing',
      'Prometheus',
    ]);
    expect(all.all.totalCount).toBe(2);
  });

  it('refuses invalid input with the documented errors', async () => {
    const { errors } = await gateway.graphql('C', '{ exploreGraph(entity: "x", depth: 9) { entity } }');
    expect([errors?.[0]?.extensions?.code, errors?.[0]?.extensions?.field]).toStrictEqual(['INVALID_INPUT', 'depth']);
    const refused = await gateway.graphql('C', RELATE, {
      input: { source: 'a', type: 'b', target: 'c', scope: 'l-private', projectId: 'l9' },
    });
    expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    const { isError, text } = await gateway.tool('C', 'explore_graph', { entity: 'x', limit: 501 });
    expect(isError).toBe(true);
    expect(text).toMatch(/^INVALID_INPUT \(L9VAL\): limit: from 1 to 500/);
  });

  it('is explored and searched over MCP', async () => {
    await relate('C', { source: 'Checkout', type: 'calls', target: 'Ledger', projectId: 'l9', confidence: 0.9 });
    await relate('C', { source: 'Ledger', type: 'stores in', target: 'CockroachDB', projectId: 'l9', confidence: 0.5 });
    await relate('L', {
      source: 'Checkout',
      type: 'will be dropped by',
      target: 'Finance',
      projectId: 'l9',
      scope: 'l-private',
    });
    const { result, text } = await gateway.tool('C', 'explore_graph', { entity: 'cockroachdb', limit: 10 });
    expect(result.paths.map((path: { entity: string }) => path.entity)).toStrictEqual(['Ledger', 'Checkout']);
    expect(result.is_truncated).toBe(false);
    expect(text).toBe(
      `${RECALLED}\n2 entities reached from "cockroachdb".\n0.50 "cockroachdb ←stores_in— Ledger"\n0.40 "cockroachdb ←stores_in— Ledger ←calls— Checkout"`,
    );
    const [read] = await gateway.sql(
      'L',
      `select details from public.audit_log where operation = 'READ' and details ->> 'tool_name' = 'explore_graph' and status = 'success' order by audit_id desc limit 1`,
    );
    expect(read.details).toMatchObject({ function: 'explore_graph', entity: 'cockroachdb' });
    expect(JSON.stringify(read), 'what was found is not named').not.toMatch(/ledger|checkout/i);

    const found = await gateway.tool('C', 'search_memory', {
      query: 'What does Checkout touch?',
      mode: 'graph',
      explain: true,
    });
    expect(found.result.hits.map(({ content }: { content: string }) => content)).toStrictEqual([
      'Checkout calls Ledger',
      'Ledger stores in CockroachDB',
    ]);
    expect(found.result.searched.entities).toStrictEqual(['checkout']);
    expect(found.result.hits[1].explanation.graph.path.length).toBe(2);
    expect((await gateway.tool('C', 'explore_graph', { entity: 'Finance' })).result.paths.length).toBe(0);
    const viaGraphql = await gateway.query(
      'L',
      '{ searchMemory(query: "finance", mode: graph) { hits { content } searched { entities mode } } }',
    );
    expect(viaGraphql.searchMemory).toStrictEqual({
      hits: [{ content: 'Checkout will be dropped by Finance' }, { content: 'Checkout calls Ledger' }],
      searched: { entities: ['finance'], mode: 'graph' },
    });
  });
});
