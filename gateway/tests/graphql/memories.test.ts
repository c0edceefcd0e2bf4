import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getIntrospectionQuery } from 'postgraphile/graphql';
import { type House, openHouse } from '../support/house.ts';

describe('GraphQL', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  const save = async (caller: string, input: object) => {
    const { data, errors } = await house.graphql(
      caller,
      'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { clientMutationId status memory { packetId content kind scope projectId tags metadata parentIds } } }',
      { input },
    );
    assert.equal(errors, undefined);
    return data.saveMemory;
  };

  it('saves, updates and deletes', async () => {
    const { status, memory } = await save('C', {
      content: 'From GraphQL',
      projectId: 'l9',
      tags: ['x'],
      metadata: { notes: { a: 1 } },
    });
    assert.equal(status, 'inserted');
    assert.deepEqual([memory.kind, memory.scope, memory.projectId, memory.tags], ['note', 'developer', 'l9', ['x']]);
    assert.deepEqual(memory.metadata, {
      agent: 'cursor',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'saveMemory',
      notes: { a: 1 },
    });

    const id = memory.packetId;
    const updated = await house.graphql(
      'C',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, kind: "decision" }) { status memory { kind content } } }',
      { id },
    );
    assert.deepEqual(updated.data.updateMemory, {
      status: 'updated',
      memory: { kind: 'decision', content: 'From GraphQL' },
    });

    const deleted = await house.graphql(
      'C',
      'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { status packetId } }',
      { id },
    );
    assert.deepEqual(deleted.data.deleteMemory, { status: 'deleted', packetId: id });
    assert.equal(
      (await house.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { content } }', { id })).data
        .memoryByPacketId,
      null,
    );
  });

  it('runs mutations of one request in order, each with its own answer', async () => {
    const { data, errors } = await house.graphql(
      'C',
      `mutation {
        a: saveMemory(input: { content: "in order", projectId: "l9" }) { status }
        b: saveMemory(input: { content: "IN order", projectId: "l9" }) { status }
        c: saveMemory(input: { content: "x", scope: "l-private", projectId: "l9" }) { status }
      }`,
    );
    assert.deepEqual(data, { a: { status: 'inserted' }, b: { status: 'skipped_dedupe' }, c: null });
    assert.deepEqual(
      errors?.map(({ extensions }) => [extensions?.code, extensions?.field]),
      [['SCOPE_DENIED', 'scope']],
    );
  });

  it('searches, and follows a hit to its memory and vectors', async () => {
    await save('C', { content: 'Otters hold hands while they sleep.', projectId: 'l9' });
    await house.embedded();
    const { data, errors } = await house.graphql(
      'C',
      `query ($q: String!) { searchMemory(query: $q, k: 1, mode: hybrid) {
        hits { packetId score snippet memory { content embeddings { nodes { model chunkIndex } } } }
        searched { mode scopes projects vectors }
      } }`,
      { q: 'animals holding paws at night' },
    );
    assert.equal(errors, undefined);
    const [hit] = data.searchMemory.hits;
    assert.equal(hit.memory.content, 'Otters hold hands while they sleep.');
    assert.deepEqual(hit.memory.embeddings.nodes, [{ model: 'all-MiniLM-L6-v2-int8', chunkIndex: 0 }]);
    assert.deepEqual(data.searchMemory.searched, {
      mode: 'hybrid',
      scopes: ['developer', 'global'],
      projects: ['*'],
      vectors: 'used',
    });
  });

  it('lists with conditions, order and pages', async () => {
    for (const n of [1, 2, 3])
      await save('C', { content: `page ${n}`, projectId: 'paged', kind: n === 3 ? 'todo' : 'note' });
    const { data, errors } = await house.graphql(
      'C',
      `{ memories(first: 2, orderBy: TIMESTAMP_DESC, condition: { projectId: "paged" }) { totalCount nodes { content } pageInfo { hasNextPage } }
         todos: memories(condition: { projectId: "paged", kind: "todo" }) { nodes { content } } }`,
    );
    assert.equal(errors, undefined);
    assert.deepEqual(data.memories, {
      totalCount: 3,
      nodes: [{ content: 'page 3' }, { content: 'page 2' }],
      pageInfo: { hasNextPage: true },
    });
    assert.deepEqual(data.todos.nodes, [{ content: 'page 3' }]);
  });

  it('counts', async () => {
    const { data } = await house.graphql(
      'C',
      '{ getMemoryStats(projectId: "paged") { total byKind byScope byProject byCreator awaitingEmbedding oldest } }',
    );
    assert.deepEqual(
      { ...data.getMemoryStats, awaitingEmbedding: 0, oldest: typeof data.getMemoryStats.oldest },
      {
        total: 3,
        byKind: { note: 2, todo: 1 },
        byScope: { developer: 3 },
        byProject: { paged: 3 },
        byCreator: { 'Cursor-IDE': 3 },
        awaitingEmbedding: 0,
        oldest: 'string',
      },
    );
  });

  it('names the field of bad input, and masks nothing that the caller can mend', async () => {
    const cases: [string, string, string | undefined][] = [
      ['mutation { saveMemory(input: { content: "x" }) { status } }', 'INVALID_INPUT', 'project_id'],
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
        'packet_id',
      ],
    ];
    for (const [query, code, field] of cases) {
      const { errors } = await house.graphql('C', query);
      assert.deepEqual([errors?.[0]?.extensions?.code, errors?.[0]?.extensions?.field], [code, field], query);
    }
  });

  it('ends queries that go round in circles, and lets an editor look at the schema', async () => {
    const circle = (turns: number): string =>
      turns === 0 ? '{ content }' : `{ embeddings { nodes { memory ${circle(turns - 1)} } } }`;
    assert.equal((await house.graphql('C', `{ memories { nodes ${circle(1)} } }`)).errors, undefined);
    const { status, errors } = await house.graphql('C', `{ memories { nodes ${circle(8)} } }`);
    assert.equal(status, 400);
    assert.match(errors?.[0]?.message ?? '', /depth|nest|limit/i);
    assert.equal((await house.graphql('C', getIntrospectionQuery())).errors, undefined);
  });

  it('offers a GraphQL editor at / unless in production', async () => {
    const page = await fetch(`${house.gateway.url}/`, { headers: { accept: 'text/html' } });
    assert.equal(page.status, 200);
    assert.match(await page.text(), /ruru|graphiql/i);
    const production = await openHouse({ env: { NODE_ENV: 'production' } });
    try {
      assert.equal((await fetch(`${production.gateway.url}/`, { headers: { accept: 'text/html' } })).status, 404);
      assert.equal((await production.graphql('C', '{ __typename }')).status, 200);
    } finally {
      await production.close();
    }
  });
});
