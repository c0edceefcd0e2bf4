import { getIntrospectionQuery } from 'postgraphile/graphql';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('GraphQL', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const save = async (caller: string, input: object) => {
    const { data, errors } = await gateway.graphql(
      caller,
      'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { clientMutationId status memory { packetId content kind scope projectId tags metadata parentIds } } }',
      { input },
    );
    expect(errors).toBeUndefined();
    return data.saveMemory;
  };

  it('saves, updates and deletes a memory', async () => {
    const { status, memory } = await save('C', {
      content: 'From GraphQL',
      projectId: 'l9',
      tags: ['x'],
      metadata: { notes: { a: 1 } },
    });
    expect(status).toBe('inserted');
    expect([memory.kind, memory.scope, memory.projectId, memory.tags]).toStrictEqual([
      'note',
      'developer',
      'l9',
      ['x'],
    ]);
    expect(memory.metadata).toStrictEqual({
      agent: 'cursor',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'saveMemory',
      notes: { a: 1 },
    });

    const id = memory.packetId;
    const updated = await gateway.graphql(
      'C',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, kind: "finding" }) { status memory { kind content } } }',
      { id },
    );
    expect(updated.data.updateMemory).toStrictEqual({
      status: 'updated',
      memory: { kind: 'finding', content: 'From GraphQL' },
    });

    const deleted = await gateway.graphql(
      'C',
      'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { status packetId } }',
      { id },
    );
    expect(deleted.data.deleteMemory).toStrictEqual({ status: 'deleted', packetId: id });
    expect(
      (await gateway.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { content } }', { id })).data
        .memoryByPacketId,
    ).toBeNull();
  });

  it('runs the mutations of one request in order, each with its own result', async () => {
    const { data, errors } = await gateway.graphql(
      'C',
      `mutation {
        a: saveMemory(input: { content: "in order", projectId: "l9" }) { status }
        b: saveMemory(input: { content: "IN order", projectId: "l9" }) { status }
        c: saveMemory(input: { content: "x", scope: "l-private", projectId: "l9" }) { status }
      }`,
    );
    expect(data).toStrictEqual({ a: { status: 'inserted' }, b: { status: 'skipped_dedupe' }, c: null });
    expect(errors?.map(({ extensions }) => [extensions?.code, extensions?.field])).toStrictEqual([
      ['SCOPE_DENIED', 'scope'],
    ]);
  });

  it('searches, and follows a hit to its memory and vectors', async () => {
    await save('C', { content: 'Otters hold hands while they sleep.', projectId: 'l9' });
    await gateway.embedded();
    const { data, errors } = await gateway.graphql(
      'C',
      `query ($q: String!) { searchMemory(query: $q, k: 1, mode: hybrid) {
        hits { packetId score snippet memory { content embeddings { nodes { model chunkIndex } } } }
        searched { mode scopes projects vectors }
      } }`,
      { q: 'animals holding paws at night' },
    );
    expect(errors).toBeUndefined();
    const [hit] = data.searchMemory.hits;
    expect(hit.memory.content).toBe('Otters hold hands while they sleep.');
    expect(hit.memory.embeddings.nodes).toStrictEqual([{ model: 'all-MiniLM-L6-v2-int8', chunkIndex: 0 }]);
    expect(data.searchMemory.searched).toStrictEqual({
      mode: 'hybrid',
      scopes: ['developer', 'global'],
      projects: ['*'],
      vectors: 'used',
    });
  });

  it('lists memories with conditions, order and pages', async () => {
    for (const n of [1, 2, 3])
      await save('C', { content: `page ${n}`, projectId: 'paged', kind: n === 3 ? 'errand' : 'note' });
    const { data, errors } = await gateway.graphql(
      'C',
      `{ memories(first: 2, orderBy: TIMESTAMP_DESC, filter: { projectId: { equalTo: "paged" } }) { totalCount nodes { content } pageInfo { hasNextPage } }
         errands: memories(filter: { projectId: { equalTo: "paged" }, kind: { equalTo: "errand" } }) { nodes { content } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.memories).toStrictEqual({
      totalCount: 3,
      nodes: [{ content: 'page 3' }, { content: 'page 2' }],
      pageInfo: { hasNextPage: true },
    });
    expect(data.errands.nodes).toStrictEqual([{ content: 'page 3' }]);
  });

  it('counts memories', async () => {
    const { data } = await gateway.graphql(
      'C',
      '{ getMemoryStats(projectId: "paged") { total byKind byScope byProject byCreator awaitingEmbedding oldest } }',
    );
    expect({ ...data.getMemoryStats, awaitingEmbedding: 0, oldest: typeof data.getMemoryStats.oldest }).toStrictEqual({
      total: 3,
      byKind: { note: 2, errand: 1 },
      byScope: { developer: 3 },
      byProject: { paged: 3 },
      byCreator: { 'Cursor-IDE': 3 },
      awaitingEmbedding: 0,
      oldest: 'string',
    });
  });

  it('names the field of invalid input, and masks no error that the caller can correct', async () => {
    const cases: [string, string, string | undefined][] = [
      [
        'mutation { saveMemory(input: { content: "x", projectId: "not a name" }) { status } }',
        'INVALID_INPUT',
        'projectId',
      ],
      [
        'mutation { saveMemory(input: { content: "x", projectId: "l9", importance: 2 }) { status } }',
        'INVALID_INPUT',
        'importance',
      ],
      ['{ searchMemory(query: "x", k: 0) { hits { content } } }', 'INVALID_INPUT', 'k'],
      ['mutation { deleteExpiredMemories(input: {}) { deleted } }', 'SCOPE_DENIED', undefined],
      [
        'mutation { deleteMemory(input: { packetId: "01900000-0000-7000-8000-000000000000" }) { packetId } }',
        'NOT_YOURS',
        'packetId',
      ],
    ];
    for (const [query, code, field] of cases) {
      const { errors } = await gateway.graphql('C', query);
      expect([errors?.[0]?.extensions?.code, errors?.[0]?.extensions?.field], query).toStrictEqual([code, field]);
    }
  });

  it('refuses cyclic queries, and lets an editor introspect the schema', async () => {
    const circle = (turns: number): string =>
      turns === 0 ? '{ content }' : `{ embeddings { nodes { memory ${circle(turns - 1)} } } }`;
    expect((await gateway.graphql('C', `{ memories { nodes ${circle(1)} } }`)).errors).toBeUndefined();
    const { status, errors } = await gateway.graphql('C', `{ memories { nodes ${circle(8)} } }`);
    expect(status).toBe(400);
    expect(errors?.[0]?.message ?? '').toMatch(/depth|nest|limit/i);
    expect((await gateway.graphql('C', getIntrospectionQuery())).errors).toBeUndefined();
  });

  it('offers a GraphQL editor at / except in production', async () => {
    const page = await fetch(`${gateway.instance.url}/`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(await page.text()).toMatch(/ruru|graphiql/i);
    const production = await startTestGateway({ env: { NODE_ENV: 'production' } });
    try {
      expect((await fetch(`${production.instance.url}/`, { headers: { accept: 'text/html' } })).status).toBe(404);
      expect((await production.graphql('C', '{ __typename }')).status).toBe(200);
    } finally {
      await production.close();
    }
  });
});
