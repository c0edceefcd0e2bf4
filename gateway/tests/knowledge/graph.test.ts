// The entity graph through GraphQL and MCP.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';

describe('the entity graph', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  const graphql = async (caller: string, query: string, variables = {}) => {
    const { data, errors } = await house.graphql(caller, query, variables);
    assert.equal(errors, undefined);
    return data;
  };
  const RELATE = `mutation ($input: RelateInput!) { relate(input: $input) { relationship {
    relationshipId sourceEntity relationshipType targetEntity confidence mentionCount sourceMemory { packetId content kind } } } }`;
  const relate = async (caller: string, input: object) =>
    (await graphql(caller, RELATE, { input })).relate.relationship;

  it('is written and read by GraphQL, with its memories', async () => {
    const saved = await graphql(
      'C',
      'mutation { saveMemory(input: { content: "We moved billing to Kafka.", projectId: "l9" }) { memory { packetId } } }',
    );
    const sourcePacket = saved.saveMemory.memory.packetId as string;
    const first = await relate('C', { source: 'Billing', type: 'publishes to', target: 'Kafka', sourcePacket });
    assert.deepEqual(
      [first.relationshipType, first.confidence, first.sourceMemory.packetId],
      ['publishes_to', 0.8, sourcePacket],
    );
    const again = await relate('C', {
      source: 'billing',
      type: 'publishes_to',
      target: 'kafka',
      projectId: 'l9',
      confidence: 0.5,
    });
    assert.deepEqual([again.relationshipId, again.confidence, again.mentionCount], [first.relationshipId, 0.9, '2']);
    await relate('L', {
      source: 'Kafka',
      type: 'is watched by',
      target: 'Prometheus',
      projectId: 'l9',
      scope: 'l-private',
    });
    const { addAlias } = await graphql(
      'C',
      'mutation { addAlias(input: { alias: "the bus", entity: "Kafka", projectId: "l9" }) { alias { alias entity sourceMemory { kind } } } }',
    );
    assert.deepEqual(addAlias.alias, { alias: 'the bus', entity: 'Kafka', sourceMemory: { kind: 'fact' } });

    const { memoryByPacketId } = await graphql(
      'C',
      `query ($id: UUID!) { memoryByPacketId(packetId: $id) { relationships { nodes {
        sourceEntity targetEntity memories { nodes { content } } evidence { nodes { mentions confidence memory { content } } } } } } }`,
      { id: sourcePacket },
    );
    const [relationship] = memoryByPacketId.relationships.nodes;
    assert.deepEqual([relationship.sourceEntity, relationship.targetEntity], ['Billing', 'Kafka']);
    assert.deepEqual(
      relationship.memories.nodes.map(({ content }: { content: string }) => content),
      ['We moved billing to Kafka.', 'billing publishes to kafka'],
    );
    assert.deepEqual(
      relationship.evidence.nodes.map((it: { confidence: number; memory: { content: string } }) => [
        it.confidence,
        it.memory.content,
      ]),
      [
        [0.8, 'We moved billing to Kafka.'],
        [0.5, 'billing publishes to kafka'],
      ],
    );

    const EXPLORE = `{ exploreGraph(entity: "BUS ", depth: 1) { isTruncated }
      bus: exploreGraph(entity: "the bus") { entity knownAs isTruncated paths { entity confidence depth steps { relationshipType direction confidence relationshipIds } } }
      entityRelationships(condition: { targetNormalized: "kafka" }) { totalCount }
      all: entityRelationships { totalCount } }`;
    const mine = await graphql('C', EXPLORE);
    assert.deepEqual(mine.bus.paths, [
      {
        entity: 'Billing',
        confidence: 0.9,
        depth: 1,
        steps: [
          {
            relationshipType: 'publishes_to',
            direction: 'incoming',
            confidence: 0.9,
            relationshipIds: [first.relationshipId],
          },
        ],
      },
    ]);
    assert.deepEqual([mine.bus.entity, mine.bus.isTruncated, mine.all.totalCount], ['Kafka', false, 1]);
    const all = await graphql('L', EXPLORE);
    assert.deepEqual(all.bus.paths.map(({ entity }: { entity: string }) => entity).sort(), ['Billing', 'Prometheus']);
    assert.equal(all.all.totalCount, 2);
  });

  it('refuses with the documented errors', async () => {
    const { errors } = await house.graphql('C', '{ exploreGraph(entity: "x", depth: 9) { entity } }');
    assert.deepEqual([errors?.[0]?.extensions?.code, errors?.[0]?.extensions?.field], ['INVALID_INPUT', 'depth']);
    const refused = await house.graphql('C', RELATE, {
      input: { source: 'a', type: 'b', target: 'c', scope: 'l-private', projectId: 'l9' },
    });
    assert.equal(refused.errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
    const { isError, text } = await house.tool('C', 'explore_graph', { entity: 'x', limit: 501 });
    assert.equal(isError, true);
    assert.match(text, /^INVALID_INPUT \(L9VAL\): limit: from 1 to 500/);
  });

  it('is explored and searched by MCP', async () => {
    await relate('C', { source: 'Checkout', type: 'calls', target: 'Ledger', projectId: 'l9', confidence: 0.9 });
    await relate('C', { source: 'Ledger', type: 'stores in', target: 'CockroachDB', projectId: 'l9', confidence: 0.5 });
    await relate('L', {
      source: 'Checkout',
      type: 'will be dropped by',
      target: 'Finance',
      projectId: 'l9',
      scope: 'l-private',
    });
    const { result, text } = await house.tool('C', 'explore_graph', { entity: 'cockroachdb', limit: 10 });
    assert.deepEqual(
      result.paths.map((path: { entity: string }) => path.entity),
      ['Ledger', 'Checkout'],
    );
    assert.equal(result.is_truncated, false);
    assert.equal(
      text,
      '2 entities reached from cockroachdb.\n0.50 cockroachdb ←stores_in— Ledger\n0.45 cockroachdb ←stores_in— Ledger ←calls— Checkout',
    );
    const [read] = await house.sql(
      'L',
      `select details from public.audit_log where operation = 'READ' and details ->> 'tool_name' = 'explore_graph' and status = 'success' order by audit_id desc limit 1`,
    );
    assert.equal(read.details.function, 'explore_graph');
    assert.doesNotMatch(JSON.stringify(read), /cockroach/);

    const found = await house.tool('C', 'search_memory', {
      query: 'What does Checkout touch?',
      mode: 'graph',
      explain: true,
    });
    assert.deepEqual(
      found.result.hits.map(({ content }: { content: string }) => content),
      ['Checkout calls Ledger', 'Ledger stores in CockroachDB'],
    );
    assert.deepEqual(found.result.searched.entities, ['checkout']);
    assert.equal(found.result.hits[1].explanation.graph.path.length, 2);
    assert.equal((await house.tool('C', 'explore_graph', { entity: 'Finance' })).result.paths.length, 0);
    const viaGraphql = await graphql(
      'L',
      '{ searchMemory(query: "finance", mode: graph) { hits { content } searched { entities mode } } }',
    );
    assert.deepEqual(viaGraphql.searchMemory, {
      hits: [{ content: 'Checkout will be dropped by Finance' }, { content: 'Checkout calls Ledger' }],
      searched: { entities: ['finance'], mode: 'graph' },
    });
  });
});
