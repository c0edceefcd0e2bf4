// The version of a memory is in every answer that shows it, and a write that expected another one is told what is there.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('expected_version', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async () =>
    (
      await gateway.tool('C', 'save_memory', {
        project_id: 'l9',
        content: `The ${['lion', 'crane', 'otter', 'heron', 'viper'][serial]} guards door number${serial++} of the archive`,
      })
    ).result.memory;

  it('is the updated_at that get_memory, search_memory, memory_find and memory_store answer', async () => {
    const memory = await save();
    const args = { project_id: 'l9', query: memory.content };
    const shown = [
      (await gateway.tool('C', 'get_memory', { packet_id: memory.packet_id })).result,
      (await gateway.tool('C', 'search_memory', { ...args, mode: 'lexical' })).result.hits[0],
      (await gateway.tool('C', 'memory_find', args)).result.hits[0],
      (await gateway.tool('C', 'memory_store', { items: [{ project_id: 'l9', data: { content: memory.content } }] }))
        .result.stored[0],
    ];
    for (const one of shown) {
      const { updated_at } = one.memory ?? one;
      // Some answers have milliseconds only, which the check allows.
      expect(new Date(updated_at)).toStrictEqual(new Date(memory.updated_at));
    }
    const changed = await gateway.tool('C', 'update_memory', {
      packet_id: memory.packet_id,
      tags: ['a'],
      expected_version: shown[1].updated_at,
    });
    expect(changed.result.status).toBe('updated');
  });

  it('is refused over MCP with the present text', async () => {
    const memory = await save();
    const content = `${memory.content}, says L`;
    await gateway.tool('L', 'update_memory', { packet_id: memory.packet_id, content });
    for (const [tool, args] of [
      ['update_memory', { tags: ['late'] }],
      ['delete_memory', {}],
    ] as const) {
      const refused = await gateway.tool('L', tool, {
        ...args,
        packet_id: memory.packet_id,
        expected_version: memory.updated_at,
      });
      expect(refused.text).toMatch(/^VERSION_CONFLICT \(L9VER\): expected_version: /);
      expect(JSON.stringify(refused)).toContain('says L');
    }
    const { result } = await gateway.tool('C', 'memory_store', {
      items: [
        { project_id: 'l9', data: { content }, expected_version: memory.updated_at },
        { project_id: 'l9', data: { content: `beside ${content}` } },
      ],
    });
    expect(result.errors).toMatchObject([
      { index: 0, code: 'VERSION_CONFLICT', sqlstate: 'L9VER', current: { packet_id: memory.packet_id, content } },
    ]);
    expect(result.stored).toMatchObject([{ index: 1, status: 'inserted' }]);
  });

  it('is refused over GraphQL with the present text, and accepted as GraphQL itself shows it', async () => {
    const memory = await save();
    const read = async () =>
      (
        await gateway.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { updatedAt tags } }', {
          id: memory.packet_id,
        })
      ).data.memoryByPacketId;
    const update = (tags: string[], version: string) =>
      gateway.graphql(
        'C',
        'mutation ($id: UUID!, $tags: [String!], $version: Datetime) { updateMemory(input: { packetId: $id, tags: $tags, expectedVersion: $version }) { status } }',
        { id: memory.packet_id, tags, version },
      );
    const { updatedAt } = await read();
    expect((await update(['first'], updatedAt)).data.updateMemory.status).toBe('updated');
    const { errors } = await update(['second'], updatedAt);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'VERSION_CONFLICT',
      sqlstate: 'L9VER',
      field: 'expectedVersion',
      current: { packet_id: memory.packet_id, content: memory.content },
    });
    expect((await read()).tags).toStrictEqual(['first']);
    const removed = await gateway.graphql(
      'C',
      'mutation ($id: UUID!, $version: Datetime) { deleteMemory(input: { packetId: $id, expectedVersion: $version }) { packetId } }',
      { id: memory.packet_id, version: updatedAt },
    );
    expect(removed.errors?.[0]?.extensions?.sqlstate).toBe('L9VER');
  });
});
