// Memories that the rules of their kind have archived are out of searches and lists, unless they are asked for.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('an archived memory', () => {
  let gateway: TestGateway;
  let archived: string;
  let open: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    const todo = (text: string, more: object) => ({
      kind: 'todo',
      data: { text, status: 'open', ...more },
      project_id: 'l9',
    });
    const { stored } = await gateway.call('C', 'memory_store', {
      items: [
        todo('Oil the hinges of the lighthouse', { status: 'done', closed_at: '2026-01-10T00:00:00Z' }),
        todo('Oil the lamp of the lighthouse', {}),
      ],
    });
    [archived, open] = stored.map(({ packet_id }: { packet_id: string }) => packet_id);
    await gateway.embedded();
  });
  afterAll(() => gateway.close());

  const search = async (args: object) =>
    (await gateway.call('C', 'search_memory', { query: 'oil lighthouse', min_relevance: 0, ...args })).hits
      .map(({ packet_id }: { packet_id: string }) => packet_id)
      .sort();
  const list = async (args: string) =>
    (
      await gateway.query(
        'C',
        `{ memories(filter: { projectId: { equalTo: "l9" } } ${args}) { totalCount nodes { packetId } } }`,
      )
    ).memories;

  it.each(['lexical', 'semantic', 'hybrid'])('is found by a %s search only with include_archived', async (mode) => {
    expect(await search({ mode })).toStrictEqual([open]);
    expect(await search({ mode, include_archived: true })).toStrictEqual([archived, open].sort());
  });

  it.each([
    'fast',
    'deep',
  ])('is found by memory_find %s only with include_archived, which is suggested', async (mode) => {
    const find = (args: object) => gateway.call('C', 'memory_find', { query: 'oil lighthouse', mode, ...args });
    const ids = (hits: { packet_id: string }[]) => hits.map(({ packet_id }) => packet_id).sort();
    const { hits, suggestions } = await find({});
    expect(ids(hits)).toStrictEqual([open]);
    expect(suggestions).toContainEqual({ reason: 'archived', value: '', hits: 1 });
    const { text } = await gateway.tool('C', 'memory_find', { query: 'oil lighthouse', mode });
    expect(text).toMatch('Try include_archived: it finds 1.');
    expect(ids((await find({ include_archived: true })).hits)).toStrictEqual([archived, open].sort());
  });

  it('is left out without a query, and where a field or a kind is asked for', async () => {
    expect(await search({ query: undefined, kinds: ['todo'] })).toStrictEqual([open]);
    expect(await search({ where: { status: 'done' } })).toStrictEqual([]);
    expect(await search({ where: { status: 'done' }, include_archived: true })).toStrictEqual([archived]);
  });

  it('is in a list of GraphQL only with includeArchived', async () => {
    expect(await list('')).toStrictEqual({ totalCount: 1, nodes: [{ packetId: open }] });
    expect((await list('includeArchived: true')).totalCount).toBe(2);
  });

  it('is read by its id, which says since when it is archived', async () => {
    const { memory } = await gateway.call('C', 'get_memory', { packet_id: archived });
    expect(memory.archived_at).toMatch(/^2026-04-10/);
    const { memory: byGraphql } = await gateway.query(
      'C',
      `{ memory: getMemory(packetId: "${archived}") { archivedAt title content } }`,
    );
    expect(byGraphql).toMatchObject({
      archivedAt: expect.stringMatching(/^2026-04-10/),
      content: 'Oil the hinges of the lighthouse',
    });
  });

  it('is found again once it is open again', async () => {
    await gateway.call('C', 'update_memory', { packet_id: archived, envelope: { status: 'open', closed_at: null } });
    expect(await search({})).toStrictEqual([archived, open].sort());
  });
});
