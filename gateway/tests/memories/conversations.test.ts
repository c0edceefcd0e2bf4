// Speaker, event time and time of saving through GraphQL, MCP and batches.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const MAY = '2023-05-12T09:30:00Z';
const isMay = expect.stringMatching(/^2023-05-12T09:30:00/);
const isToday = expect.stringMatching(new RegExp(`^${new Date().getUTCFullYear()}-`));

describe('a conversation', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const graphql = async (query: string, variables: object = {}) => {
    const { data, errors } = await gateway.graphql('C', query, variables);
    expect(errors).toBeUndefined();
    return data;
  };
  const tool = async (name: string, args: object) => (await gateway.tool('C', name, args)).result;
  const FIELDS = 'speaker timestamp createdAt';

  it('is saved, read, listed and searched over GraphQL with its speakers and both times', async () => {
    const input = {
      content: 'The heron has landed',
      projectId: 'l9',
      threadId: 'g',
      kind: 'message',
      speaker: 'Ann',
      timestamp: MAY,
    };
    const { saveMemory } = await graphql(
      `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status memory { packetId ${FIELDS} } } }`,
      { input },
    );
    const { packetId, ...saved } = saveMemory.memory;
    expect(saved).toStrictEqual({ speaker: 'Ann', timestamp: isMay, createdAt: isToday });

    const data = await graphql(
      `query ($id: UUID!) {
        getMemory(packetId: $id) { ${FIELDS} }
        memories(filter: { threadId: { equalTo: "g" } }, orderBy: CREATED_AT_DESC) { nodes { ${FIELDS} } }
        searchMemory(query: "heron", mode: lexical, speaker: "ann", until: "2023-06-01T00:00:00Z") { hits { ${FIELDS} } }
        nobody: searchMemory(query: "heron", mode: lexical, speaker: "Ben") { hits { ${FIELDS} } }
      }`,
      { id: packetId },
    );
    expect(data).toStrictEqual({
      getMemory: saved,
      memories: { nodes: [saved] },
      // Hits write times without trailing zeros.
      searchMemory: { hits: [{ speaker: 'Ann', timestamp: isMay, createdAt: isToday }] },
      nobody: { hits: [] },
    });

    const { updateMemory } = await graphql(
      `mutation ($id: UUID!) {
        updateMemory(input: { packetId: $id, speaker: "Ben", timestamp: "2024-01-01T00:00:00Z" }) { memory { ${FIELDS} versions { nodes { speaker timestamp } } } }
      }`,
      { id: packetId },
    );
    expect(updateMemory.memory).toStrictEqual({
      speaker: 'Ben',
      timestamp: expect.stringMatching(/^2024-01-01/),
      createdAt: saved.createdAt,
      versions: { nodes: [{ speaker: 'Ann', timestamp: isMay }] },
    });
  });

  it('is saved, read and searched over MCP with its speakers and both times', async () => {
    const { memory } = await tool('save_memory', {
      content: 'Cleo: the bittern has landed',
      project_id: 'l9',
      thread_id: 'm',
      kind: 'message',
      timestamp: MAY,
    });
    const expected = { speaker: 'Cleo', timestamp: isMay, created_at: isToday };
    expect(memory).toMatchObject(expected);
    expect((await tool('get_memory', { packet_id: memory.packet_id })).memory).toMatchObject(expected);
    const { hits } = await tool('search_memory', { query: 'bittern', mode: 'lexical', speaker: 'CLEO' });
    expect(hits).toStrictEqual([expect.objectContaining(expected)]);
    const changed = await tool('update_memory', { packet_id: memory.packet_id, speaker: 'Dan' });
    expect(changed.memory.speaker).toBe('Dan');
  });

  it('is saved in a batch in the order of its turns', async () => {
    const turn = (content: string, time: string) =>
      `saveMemory(input: { content: "${content}", projectId: "l9", threadId: "batch", kind: "message", timestamp: "${time}" }) { status memory { ${FIELDS} } }`;
    const data = await graphql(
      `mutation { a: ${turn('Ann: Thanks!', MAY)} b: ${turn('Ben: Welcome', '2023-05-12T09:31:00Z')} c: ${turn('Ann: Thanks!', '2023-05-12T09:32:00Z')} d: ${turn('Ann: Thanks!', MAY)} }`,
    );
    const statuses = ['a', 'b', 'c', 'd'].map((name) => data[name].status);
    expect(statuses).toStrictEqual(['inserted', 'inserted', 'inserted', 'skipped_dedupe']);
    expect(data.d.memory).toStrictEqual({ ...data.a.memory });
    const { memories } = await graphql(
      '{ memories(filter: { threadId: { equalTo: "batch" } }, orderBy: TIMESTAMP_ASC) { nodes { content } } }',
    );
    expect(memories.nodes.map(({ content }: { content: string }) => content)).toStrictEqual([
      'Ann: Thanks!',
      'Ben: Welcome',
      'Ann: Thanks!',
    ]);
  });

  it('keeps two turns with one text that nobody dated', async () => {
    const say = () =>
      tool('save_memory', { content: 'Thanks!', project_id: 'l9', thread_id: 'twice', kind: 'message' });
    const [first, second] = [await say(), await say()];
    expect([first.status, second.status]).toStrictEqual(['inserted', 'inserted']);
    expect(first.memory.timestamp < second.memory.timestamp).toBe(true);
  });

  it('is refused with a time in the future, naming the field', async () => {
    const timestamp = new Date(Date.now() + 10 * 60_000).toISOString();
    const { errors } = await gateway.graphql(
      'C',
      'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status } }',
      { input: { content: 'not yet', projectId: 'l9', timestamp } },
    );
    expect(errors![0]!.extensions).toMatchObject({ sqlstate: 'L9VAL', field: 'timestamp' });
    const { isError, text } = await gateway.tool('C', 'save_memory', {
      content: 'not yet',
      project_id: 'l9',
      timestamp,
    });
    expect(isError).toBe(true);
    expect(text).toMatch(/L9VAL.*timestamp: /);
  });
});
