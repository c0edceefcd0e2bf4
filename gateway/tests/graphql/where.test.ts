// Lists of memories by fields of their envelopes, over GraphQL.
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('memories(where: …)', () => {
  const gateway = useTestGateway({ embedder: standIn });
  beforeAll(async () => {
    const save = (caller: string, name: string, envelope: object, args: object = {}) =>
      gateway.save(caller, `ticket ${name}`, { envelope, ...args });
    await save('C', 'one', { status: 'open', priority: 1 });
    await save('C', 'two', { status: 'closed', priority: 5 });
    await save('C', 'three', { status: 'open', priority: 7 });
    await save('L', 'hidden', { status: 'open', priority: 9 }, { scope: 'l-private' });
  });

  const ask = `query ($where: JSON, $first: Int, $after: Cursor) {
    memories(where: $where, first: $first, after: $after, filter: { kind: { equalTo: "note" } }) {
      totalCount notice nodes { content } pageInfo { endCursor hasNextPage }
    }
  }`;
  const list = async (caller: string, where?: object | null, paging: object = {}) => {
    const { memories } = await gateway.query(caller, ask, { where, ...paging });
    const contents = memories.nodes.map(({ content }: { content: string }) => content.replace('ticket ', ''));
    return { ...memories, contents };
  };

  it('lists memories whose fields match, with their count and in pages', async () => {
    expect(await list('C', { status: 'open' })).toMatchObject({
      contents: ['one', 'three'],
      totalCount: 2,
      notice: null,
    });
    expect((await list('C', { status: 'open', priority: { gte: 5 } })).contents).toStrictEqual(['three']);
    const page = await list('C', { status: { exists: true } }, { first: 2 });
    expect([page.contents, page.totalCount, page.pageInfo.hasNextPage]).toStrictEqual([['one', 'two'], 3, true]);
    const next = await list('C', { status: { exists: true } }, { first: 2, after: page.pageInfo.endCursor });
    expect([next.contents, next.pageInfo.hasNextPage]).toStrictEqual([['three'], false]);
  });

  it('lists all memories without it, and where it is null or empty', async () => {
    for (const where of [undefined, null, {}]) expect((await list('C', where)).contents).toHaveLength(3);
  });

  it('shows and counts nothing hidden', async () => {
    expect(await list('C', { priority: { gt: 8 } })).toMatchObject({ contents: [], totalCount: 0, notice: null });
    expect(await list('L', { priority: { gt: 8 } })).toMatchObject({ contents: ['hidden'], totalCount: 1 });
  });

  it('names the argument in what it refuses', async () => {
    const { errors } = await gateway.graphql('C', ask, { where: { status: { like: 'o' } } });
    expect(errors).toMatchObject([
      {
        message: expect.stringMatching(/^where: the operators are/),
        extensions: { code: 'INVALID_INPUT', field: 'where' },
      },
    ]);
  });

  it('says when it looked at the newest memories only, until an admin indexes the field', async () => {
    await gateway.asSuperuser(`
      create or replace function search.max_scanned_rows() returns integer language sql immutable parallel safe return 2`);
    const where = { status: 'open', priority: 1 };
    expect(await list('C', where)).toMatchObject({
      contents: [],
      notice: expect.stringMatching(/only the newest 2 memories/),
    });
    const index = (field: string) =>
      gateway.query(
        'L',
        'mutation ($field: String!) { admin { registerFieldIndex(field: $field) { field createdBy } } }',
        { field },
      );
    expect((await index('priority')).admin.registerFieldIndex).toStrictEqual({
      field: 'priority',
      createdBy: 'L',
    });
    expect(await list('C', where)).toMatchObject({ contents: ['one'], notice: null });
    const { fieldIndices } = await gateway.query('C', '{ fieldIndices { nodes { field } } }');
    expect(fieldIndices.nodes).toStrictEqual([{ field: 'priority' }]);
    const { admin } = await gateway.query('L', 'mutation { admin { dropFieldIndex(field: "priority") } }');
    expect(admin).toStrictEqual({ dropFieldIndex: true });
  });
});
