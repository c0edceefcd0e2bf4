// Summaries over MCP and GraphQL: an agent gets the due ones and writes them; their readers are limited.
import { checkAnswer } from '../support/check-answer.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('summarize', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const say = (caller: string, content: string, args: object = {}) =>
    gateway.save(caller, content, { thread_id: 'rollout', ...args });

  it('returns due summaries with their sources, and saves the text written from them', async () => {
    for (let i = 0; i < 10; i++) await say('C', `Step ${i} of the rollout: ${'as planned, '.repeat(60)}`);
    const secret = await say('L', 'The rollout of the private part', { scope: 'l-private' });
    const client = await gateway.mcp('C');
    const asked = await client.callTool({
      name: 'summarize',
      arguments: { scope_type: 'thread', project_id: 'l9', max_tokens: 1000 },
    });
    checkAnswer('summarize', asked.structuredContent as object);
    const { status, due } = asked.structuredContent as {
      status: string;
      due: {
        scope_value: string;
        reason: string;
        sources: { packet_id: string; content: string; is_truncated: boolean }[];
      }[];
    };
    expect(status).toBe('due');
    expect(due).toHaveLength(1);
    expect([due[0]!.scope_value, due[0]!.reason]).toStrictEqual(['rollout', 'none']);
    const { sources } = due[0]!;
    expect(sources.at(-1)!.content).toMatch(/^Step 9/);
    expect(sources.every(({ is_truncated }) => is_truncated)).toBe(true);
    expect(JSON.stringify(sources).length).toBeLessThan(6000);
    expect(JSON.stringify(asked)).not.toContain(secret);
    const [read] = await gateway.sql(
      'L',
      "select details from public.audit_log where operation = 'READ' order by occurred_at desc, audit_id desc limit 1",
    );
    expect(new Set(read.details.ids)).toStrictEqual(new Set(sources.map(({ packet_id }) => packet_id)));

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
    expect(saved.isError).toBeUndefined();
    checkAnswer('summarize', saved.structuredContent as object);
    const { summary } = saved.structuredContent as { summary: { summary_text: string; scope: string } };
    expect([summary.summary_text, summary.scope]).toStrictEqual(['The rollout goes as planned.', 'developer']);
    const nothing = await gateway.tool('C', 'summarize', { scope_type: 'thread', project_id: 'l9' });
    expect([nothing.result.status, nothing.text]).toStrictEqual(['nothing_due', 'No summary is due.']);

    const refused = await gateway.tool('C', 'summarize', {
      scope_type: 'thread',
      scope_value: 'rollout',
      summary_text: 'x',
      source_packet_ids: [secret],
    });
    expect(refused.text).toMatch(/^NOT_YOURS \(L9OWN\)/);
  });

  it('is available over GraphQL as dueSummaries and summarize, with relations', async () => {
    const id = await say('C', 'A memory on its own', { thread_id: 'alone', project_id: 'solo' });
    const asked = await gateway.graphql(
      'C',
      '{ dueSummaries(scopeTypes: ["thread"], projectId: "solo", minPackets: 1) { scopeType scopeValue reason sourcePacketIds } }',
    );
    expect(asked.errors).toBeUndefined();
    expect(asked.data.dueSummaries).toStrictEqual([
      { scopeType: 'thread', scopeValue: 'alone', reason: 'none', sourcePacketIds: [id] },
    ]);
    const saved = await gateway.graphql(
      'C',
      `mutation ($ids: [UUID!]!) {
        summarize(input: { scopeType: "thread", scopeValue: "alone", summaryText: "It is alone.", sourcePacketIds: $ids }) {
          summary { summaryText sourcePacketIds isStale memory { kind } sources { nodes { content } } }
        }
      }`,
      { ids: [id] },
    );
    expect(saved.errors).toBeUndefined();
    expect(saved.data.summarize.summary).toStrictEqual({
      summaryText: 'It is alone.',
      sourcePacketIds: [id],
      isStale: false,
      memory: { kind: 'summary' },
      sources: { nodes: [{ content: 'A memory on its own' }] },
    });
    const hidden = await say('L', 'More, in private', { thread_id: 'alone', project_id: 'solo', scope: 'l-private' });
    await gateway.graphql(
      'L',
      `mutation ($ids: [UUID!]!) {
        summarize(input: { scopeType: "thread", scopeValue: "alone", summaryText: "In private.", sourcePacketIds: $ids }) { summary { scope } }
      }`,
      { ids: [id, hidden] },
    );
    const list = `{ memorySummaries(filter: { scopeValue: { equalTo: "alone" } }) { nodes { scope summaryText memory { summary { scopeType } } } totalCount } }`;
    expect((await gateway.graphql('L', list)).data.memorySummaries.totalCount).toBe(2);
    expect((await gateway.graphql('C', list)).data.memorySummaries).toStrictEqual({
      nodes: [{ scope: 'developer', summaryText: 'It is alone.', memory: { summary: { scopeType: 'thread' } } }],
      totalCount: 1,
    });
  });
});
