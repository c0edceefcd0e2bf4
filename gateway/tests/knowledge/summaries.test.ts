// Summaries through the doors: an agent asks what is due, writes it, and everyone reads what they may.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('summarize', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const say = async (caller: string, content: string, args: object = {}) =>
    (await house.tool(caller, 'save_memory', { content, project_id: 'l9', thread_id: 'rollout', ...args })).result
      .memory.packet_id as string;

  it('tells what is due with its sources, and saves what was made of them', async () => {
    for (let i = 0; i < 10; i++) await say('C', `Step ${i} of the rollout: ${'as planned, '.repeat(60)}`);
    const secret = await say('L', 'The rollout of the private part', { scope: 'l-private' });
    const client = await house.mcp('C');
    await client.listTools(); // so that the client checks what it gets against the schema
    const asked = await client.callTool({
      name: 'summarize',
      arguments: { scope_type: 'thread', project_id: 'l9', max_tokens: 1000 },
    });
    const { status, due } = asked.structuredContent as {
      status: string;
      due: {
        scope_value: string;
        reason: string;
        sources: { packet_id: string; content: string; is_truncated: boolean }[];
      }[];
    };
    assert.equal(status, 'due');
    assert.equal(due.length, 1);
    assert.deepEqual([due[0]!.scope_value, due[0]!.reason], ['rollout', 'none']);
    const { sources } = due[0]!;
    assert.match(sources.at(-1)!.content, /^Step 9/);
    assert.ok(sources.every(({ is_truncated }) => is_truncated));
    assert.ok(JSON.stringify(sources).length < 6000);
    assert.ok(!JSON.stringify(asked).includes(secret));
    const [read] = await house.sql(
      'L',
      "select details from public.audit_log where operation = 'READ' order by occurred_at desc, audit_id desc limit 1",
    );
    assert.deepEqual(new Set(read.details.ids), new Set(sources.map(({ packet_id }) => packet_id)));

    const saved = await client.callTool({
      name: 'summarize',
      arguments: {
        scope_type: 'thread',
        scope_value: 'rollout',
        summary_text: 'The rollout goes as planned.',
        source_packet_ids: sources.map(({ packet_id }) => packet_id),
        key_facts: ['ten steps'],
      },
    });
    assert.equal(saved.isError, undefined);
    const { summary } = saved.structuredContent as { summary: { summary_text: string; scope: string } };
    assert.deepEqual([summary.summary_text, summary.scope], ['The rollout goes as planned.', 'developer']);
    const nothing = await house.tool('C', 'summarize', { scope_type: 'thread', project_id: 'l9' });
    assert.deepEqual([nothing.result.status, nothing.text], ['nothing_due', 'No summary is due.']);

    const refused = await house.tool('C', 'summarize', {
      scope_type: 'thread',
      scope_value: 'rollout',
      summary_text: 'x',
      source_packet_ids: [secret],
    });
    assert.match(refused.text, /^NOT_YOURS \(L9OWN\)/);
  });

  it('is dueSummaries and summarize in GraphQL, with relations', async () => {
    const id = await say('C', 'A memory on its own', { thread_id: 'alone', project_id: 'solo' });
    const asked = await house.graphql(
      'C',
      '{ dueSummaries(scopeTypes: ["thread"], projectId: "solo", minPackets: 1) { scopeType scopeValue reason sourcePacketIds } }',
    );
    assert.equal(asked.errors, undefined);
    assert.deepEqual(asked.data.dueSummaries, [
      { scopeType: 'thread', scopeValue: 'alone', reason: 'none', sourcePacketIds: [id] },
    ]);
    const saved = await house.graphql(
      'C',
      `mutation ($ids: [UUID!]!) {
        summarize(input: { scopeType: "thread", scopeValue: "alone", summaryText: "It is alone.", sourcePacketIds: $ids }) {
          summary { summaryText sourcePacketIds isStale memory { kind } sources { nodes { content } } }
        }
      }`,
      { ids: [id] },
    );
    assert.equal(saved.errors, undefined);
    assert.deepEqual(saved.data.summarize.summary, {
      summaryText: 'It is alone.',
      sourcePacketIds: [id],
      isStale: false,
      memory: { kind: 'summary' },
      sources: { nodes: [{ content: 'A memory on its own' }] },
    });
    const hidden = await say('L', 'More, in private', { thread_id: 'alone', project_id: 'solo', scope: 'l-private' });
    await house.graphql(
      'L',
      `mutation ($ids: [UUID!]!) {
        summarize(input: { scopeType: "thread", scopeValue: "alone", summaryText: "In private.", sourcePacketIds: $ids }) { summary { scope } }
      }`,
      { ids: [id, hidden] },
    );
    const list = `{ memorySummaries(condition: { scopeValue: "alone" }) { nodes { scope summaryText memory { summary { scopeType } } } totalCount } }`;
    assert.equal((await house.graphql('L', list)).data.memorySummaries.totalCount, 2);
    assert.deepEqual((await house.graphql('C', list)).data.memorySummaries, {
      nodes: [{ scope: 'developer', summaryText: 'It is alone.', memory: { summary: { scopeType: 'thread' } } }],
      totalCount: 1,
    });
  });
});
