// Facts over GraphQL, with relations, and over MCP.
import { RECALLED } from '../../src/operations/recalled.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('facts', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const assertFact = async (caller: string, input: object) => {
    const data = await gateway.query(
      caller,
      `mutation ($input: AssertFactInput!) { assertFact(input: $input) { fact {
         factId subject predicate object confidence validFrom validTo supersededById contradictionCount supportingPacketCount
         sourceMemory { packetId content kind } replaced { nodes { object } } evidence { nodes { confidence memory { packetId } } } } } }`,
      { input },
    );
    return data.assertFact.fact;
  };

  it('leads over GraphQL from a memory to its facts, and on to those that superseded them', async () => {
    const registered = await gateway.graphql(
      'L',
      'mutation { admin { registerPredicate(predicate: "deploys on", isSingleValued: true) { predicate isSingleValued } } }',
    );
    expect(registered.data.admin.registerPredicate).toStrictEqual({
      predicate: 'deploys on',
      isSingleValued: true,
    });
    const packetId = await gateway.save('C', 'We deploy on Mondays.');
    const first = await assertFact('C', {
      subject: 'billing',
      predicate: 'deploys on',
      object: 'Monday',
      sourcePacket: packetId,
    });
    expect(first.sourceMemory.packetId).toBe(packetId);
    expect(first.evidence.nodes).toStrictEqual([{ confidence: 0.8, memory: { packetId } }]);
    const second = await assertFact('L', {
      subject: 'Billing',
      predicate: 'deploys on',
      object: 'Tuesday',
      projectId: 'l9',
    });
    expect([second.sourceMemory.kind, second.contradictionCount]).toStrictEqual(['fact', 1]);
    expect(second.replaced.nodes).toStrictEqual([{ object: 'Monday' }]);

    const { data, errors } = await gateway.graphql(
      'C',
      `query ($id: UUID!) {
         memoryByPacketId(packetId: $id) { contradictionCount facts { nodes {
           object validTo supersededBy { object evidence { nodes { memory { content } } } } } } }
         facts(filter: { subjectNormalized: { equalTo: "billing" } }) { totalCount }
         findFacts(subject: "billing") { object confidence sourceMemory { content } }
         old: findFacts(subject: "billing", validAt: "${new Date(Date.parse(first.validFrom) + 1).toISOString()}") { object }
         factsAsOf(subject: "billing") { validTo fact { object } replaced { object } }
       }`,
      { id: packetId },
    );
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    const [fact] = data.memoryByPacketId.facts.nodes;
    expect(fact.supersededBy.object).toBe('Tuesday');
    expect(fact.supersededBy.evidence.nodes[0].memory.content).toBe('Billing deploys on: Tuesday');
    expect(data.memoryByPacketId.contradictionCount).toBe(1);
    expect(data.facts.totalCount).toBe(2);
    expect(data.findFacts).toStrictEqual([
      { object: 'Tuesday', confidence: 0.8, sourceMemory: { content: 'Billing deploys on: Tuesday' } },
    ]);
    expect(data.old).toStrictEqual([{ object: 'Monday' }]);
    expect(data.factsAsOf).toStrictEqual([
      { validTo: null, fact: { object: 'Tuesday' }, replaced: { object: 'Monday' } },
    ]);

    const refused = await gateway.graphql(
      'C',
      'mutation ($id: UUID!) { retractFact(input: { factId: $id, reason: "no" }) { fact { factId } } }',
      { id: second.factId },
    );
    expect(refused.errors![0]!.extensions!.sqlstate).toBe('L9OWN');
    const retracted = await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { retractFact(input: { factId: $id, reason: "a slip" }) { fact { retractionReason } } }',
      { id: second.factId },
    );
    expect(retracted.data.retractFact).toStrictEqual({ fact: { retractionReason: 'a slip' } });
    const now = await gateway.graphql('C', 'query { findFacts(subject: "billing") { object } }');
    expect(now.data.findFacts).toStrictEqual([{ object: 'Monday' }]);
  });

  it('asserts and finds facts over MCP', async () => {
    const stated = await gateway.tool('C', 'assert_fact', {
      subject: 'the gateway',
      predicate: 'listens on',
      object: 9001,
      project_id: 'l9',
    });
    expect(stated.isError, stated.text).toBe(false);
    expect(stated.text).toBe('Noted: "the gateway listens on: 9001" (0.80).');
    expect(stated.result.fact.object).toBe(9001);
    const { result, text } = await gateway.tool('C', 'find_facts', { subject: 'The Gateway' });
    expect(result.facts.length).toBe(1);
    expect(result.facts[0].fact_id).toBe(stated.result.fact.fact_id);
    expect(text).toBe(`${RECALLED}\n1 fact:\n"the gateway listens on: 9001" (0.80)`);
    const nothing = await gateway.tool('C', 'find_facts', { subject: 'nobody knows' });
    expect(nothing.result).toStrictEqual({ facts: [], aliases: [] });
    expect(nothing.text).toMatch(/No such fact/);

    await gateway.tool('L', 'assert_fact', {
      subject: 'the gateway',
      predicate: 'guards',
      object: ['a', { b: 'secret' }],
      scope: 'l-private',
      project_id: 'l9',
    });
    expect((await gateway.tool('C', 'find_facts', { object: ['a', { b: 'secret' }] })).result.facts.length).toBe(0);
    expect((await gateway.tool('L', 'find_facts', { object: ['a', { b: 'secret' }] })).result.facts.length).toBe(1);
    const refused = await gateway.tool('C', 'assert_fact', {
      subject: 'x',
      predicate: 'y',
      object: 'z',
      scope: 'l-private',
    });
    expect(refused.text).toMatch(/L9SCP/);
    const missing = await gateway.tool('C', 'assert_fact', { subject: 'x', predicate: 'y', project_id: 'l9' });
    expect(missing.text).toMatch(/L9VAL.*object/);
  });
});
