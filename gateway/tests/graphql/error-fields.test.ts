// The field that an error is about, by the name that the request has for it.
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the field of an error over GraphQL', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const refusal = async (query: string, variables = {}, caller = 'C') => {
    const { errors } = await gateway.graphql(caller, query, variables);
    expect(errors, query).toHaveLength(1);
    return errors![0]!;
  };
  const badMetrics =
    'mutation { reflectOnTask(input: { taskId: "t", description: "d", outcome: "success", projectId: "l9", metricsImproved: [1] }) { clientMutationId } }';

  it.each([
    ['an argument in the input of a function', badMetrics, 'metricsImproved'],
    ['an argument of a function', '{ dueSummaries(minPackets: 0) { reason } }', 'minPackets'],
    [
      'an argument of an operation',
      '{ searchMemory(query: "x", minRelevance: 2) { hits { content } } }',
      'minRelevance',
    ],
    [
      'an argument in the input of an operation',
      'mutation { saveMemory(input: { content: "x", scope: "global", projectId: "l9" }) { status } }',
      'projectId',
    ],
    [
      'a query within a query, under another name',
      '{ query { due: dueSummaries(minPackets: 0) { reason } } }',
      'minPackets',
    ],
  ])('is the name of %s', async (_, query, field) => {
    expect((await refusal(query)).extensions).toMatchObject({ sqlstate: 'L9VAL', field });
  });

  it.each([
    [
      'mutation ($value: JSON!) { updateWorldModel(input: { projectId: "l9", insight: $value }) { status } }',
      { insight_type: 'change', content: 'seen', entities: [{ entity_id: 'queue', entity_type: 7 }] },
      'insight.entities.0.entity_type',
    ],
    [
      'mutation ($value: JSON!) { saveMemory(input: { projectId: "l9", kind: "reasoning_trace", content: "x", envelope: $value }) { status } }',
      { steps: ['one'], inference_steps: 'two' },
      'envelope.inference_steps',
    ],
  ])('keeps the names within a value of JSON: %s', async (query, value, field) => {
    expect((await refusal(query, { value })).extensions).toMatchObject({ code: 'INVALID_INPUT', field });
  });

  it('begins the message, and that of an item of a batch, as the request spells it', async () => {
    expect((await refusal(badMetrics)).message).toMatch(/^metricsImproved: must be an object/);
    const batch = async (item: string) => {
      const { data } = await gateway.graphql(
        'C',
        `mutation { made: memoryStore(input: { items: [${item}] }) { errors { field message } } }`,
      );
      const [{ field, message }] = data.made.errors;
      return [field, message.split(':')[0]];
    };
    expect(await batch('{ kind: "note", projectId: "a b", data: { content: "x" } }')).toStrictEqual([
      'projectId',
      'projectId',
    ]);
    // A field of the kind keeps its name.
    expect(await batch('{ kind: "document", projectId: "l9", data: { title: "x", source_url: 7 } }')).toStrictEqual([
      'source_url',
      'source_url',
    ]);
  });

  it('is spelt so within a message, and is the list where one of its ids is refused', async () => {
    const { message } = await refusal('{ searchMemory(query: "") { hits { content } } }');
    expect(message).toMatch(/^query: give a query, the packetId of a memory/);
    const approve = 'mutation ($id: UUID!) { approveMemory(input: { packetIds: [$id] }) { decided { status } } }';
    const { extensions } = await refusal(approve, { id: '00000000-0000-7000-8000-000000000000' }, 'L');
    expect(extensions).toMatchObject({ sqlstate: 'L9OWN', field: 'packetIds' });
  });

  it('stands in the audit log by its name in SQL, as over every API', async () => {
    await refusal(badMetrics);
    const [row] = await gateway.sql(
      'L',
      "select details ->> 'field' as field from public.audit_log where operation = 'DENIED' and caller = 'C' order by audit_id desc limit 1",
    );
    expect(row).toStrictEqual({ field: 'metrics_improved' });
  });
});
