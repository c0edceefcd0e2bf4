// Facts by GraphQL, with relations, and by MCP.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

describe('facts', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  const assertFact = async (caller: string, input: object) => {
    const { data, errors } = await house.graphql(
      caller,
      `mutation ($input: AssertFactInput!) { assertFact(input: $input) { fact {
         factId subject predicate object confidence validFrom validTo supersededById contradictionCount supportingPacketCount
         sourceMemory { packetId content kind } replaced { nodes { object } } evidence { nodes { confidence memory { packetId } } } } } }`,
      { input },
    );
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data.assertFact.fact;
  };

  it('lead in GraphQL from a memory to what it says, and on to what took its place', async () => {
    const registered = await house.graphql(
      'L',
      'mutation { registerPredicate(input: { predicate: "deploys on", isSingleValued: true }) { predicate { predicate isSingleValued } } }',
    );
    assert.deepEqual(registered.data.registerPredicate.predicate, { predicate: 'deploys on', isSingleValued: true });
    const { result } = await house.tool('L', 'save_memory', { content: 'We deploy on Mondays.', project_id: 'l9' });
    const packetId = result.memory.packet_id;
    const first = await assertFact('L', {
      subject: 'billing',
      predicate: 'deploys on',
      object: 'Monday',
      sourcePacket: packetId,
    });
    assert.equal(first.sourceMemory.packetId, packetId);
    assert.deepEqual(first.evidence.nodes, [{ confidence: 0.8, memory: { packetId } }]);
    const second = await assertFact('C', {
      subject: 'Billing',
      predicate: 'deploys on',
      object: 'Tuesday',
      projectId: 'l9',
    });
    assert.deepEqual([second.sourceMemory.kind, second.contradictionCount], ['fact', 1]);
    assert.deepEqual(second.replaced.nodes, [{ object: 'Monday' }]);

    const { data, errors } = await house.graphql(
      'C',
      `query ($id: UUID!) {
         memoryByPacketId(packetId: $id) { contradictionCount facts { nodes {
           object validTo supersededBy { object evidence { nodes { memory { content } } } } } } }
         facts(condition: { subjectNormalized: "billing" }) { totalCount }
         findFacts(subject: "billing") { object confidence sourceMemory { content } }
         old: findFacts(subject: "billing", validAt: "${new Date(Date.parse(first.validFrom) + 1).toISOString()}") { object }
         factsAsOf(subject: "billing") { validTo fact { object } replaced { object } }
       }`,
      { id: packetId },
    );
    assert.equal(errors, undefined, JSON.stringify(errors));
    const [fact] = data.memoryByPacketId.facts.nodes;
    assert.equal(fact.supersededBy.object, 'Tuesday');
    assert.equal(fact.supersededBy.evidence.nodes[0].memory.content, 'Billing deploys on: Tuesday');
    assert.equal(data.memoryByPacketId.contradictionCount, 1);
    assert.equal(data.facts.totalCount, 2);
    assert.deepEqual(data.findFacts, [
      { object: 'Tuesday', confidence: 0.8, sourceMemory: { content: 'Billing deploys on: Tuesday' } },
    ]);
    assert.deepEqual(data.old, [{ object: 'Monday' }]);
    assert.deepEqual(data.factsAsOf, [{ validTo: null, fact: { object: 'Tuesday' }, replaced: { object: 'Monday' } }]);

    const refused = await house.graphql(
      'C',
      'mutation ($id: UUID!) { retractFact(input: { factId: $id, reason: "no" }) { fact { factId } } }',
      { id: first.factId },
    );
    assert.equal(refused.errors![0]!.extensions!.sqlstate, 'L9OWN');
    const retracted = await house.graphql(
      'C',
      'mutation ($id: UUID!) { retractFact(input: { factId: $id, reason: "a slip" }) { fact { retractionReason } } }',
      { id: second.factId },
    );
    assert.deepEqual(retracted.data.retractFact, { fact: { retractionReason: 'a slip' } });
    const now = await house.graphql('C', 'query { findFacts(subject: "billing") { object } }');
    assert.deepEqual(now.data.findFacts, [{ object: 'Monday' }]);
  });

  it('are stated and found by the tools', async () => {
    const stated = await house.tool('C', 'assert_fact', {
      subject: 'the gateway',
      predicate: 'listens on',
      object: 9001,
      project_id: 'l9',
    });
    assert.equal(stated.isError, false, stated.text);
    assert.equal(stated.text, 'Noted: the gateway listens on: 9001 (0.80).');
    assert.equal(stated.result.fact.object, 9001);
    const { result, text } = await house.tool('C', 'find_facts', { subject: 'The Gateway' });
    assert.equal(result.facts.length, 1);
    assert.equal(result.facts[0].fact_id, stated.result.fact.fact_id);
    assert.equal(text, '1 fact:\nthe gateway listens on: 9001 (0.80)');
    const nothing = await house.tool('C', 'find_facts', { subject: 'nobody knows' });
    assert.deepEqual(nothing.result, { facts: [] });
    assert.match(nothing.text, /No such fact/);

    await house.tool('L', 'assert_fact', {
      subject: 'the gateway',
      predicate: 'guards',
      object: ['a', { b: 'secret' }],
      scope: 'l-private',
      project_id: 'l9',
    });
    assert.equal((await house.tool('C', 'find_facts', { object: ['a', { b: 'secret' }] })).result.facts.length, 0);
    assert.equal((await house.tool('L', 'find_facts', { object: ['a', { b: 'secret' }] })).result.facts.length, 1);
    const refused = await house.tool('C', 'assert_fact', {
      subject: 'x',
      predicate: 'y',
      object: 'z',
      scope: 'l-private',
    });
    assert.match(refused.text, /L9SCP/);
    const missing = await house.tool('C', 'assert_fact', { subject: 'x', predicate: 'y', project_id: 'l9' });
    assert.match(missing.text, /L9VAL.*object/);
  });
});
