import { callUpdateMemory, saveMemory } from '../../../db/tests/support/memories.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the history of a memory over GraphQL', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async (caller: string, args: object = {}): Promise<string> =>
    await saveMemory(gateway, caller, { content: `first words ${serial++}`, ...args });
  const update = (caller: string, id: string, args: object) => callUpdateMemory(gateway, caller, id, args);

  it('names the tool or mutation that wrote each state', async () => {
    const { result } = await gateway.tool('C', 'save_memory', { content: 'It is red.', project_id: 'l9', tags: ['a'] });
    const id = result.memory.packet_id;
    await gateway.tool('C', 'update_memory', { packet_id: id, content: 'It is green.' });
    await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, kind: "finding", tags: ["a", "b"] }) { status } }',
      { id },
    );
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryHistory(packetId: $id) { version creator toolName changedFields } }',
      { id },
    );
    expect(data.memoryHistory).toStrictEqual([
      { version: 3, creator: 'L-CTO', toolName: 'updateMemory', changedFields: ['kind', 'tags'] },
      { version: 2, creator: 'Cursor-IDE', toolName: 'update_memory', changedFields: ['content'] },
      { version: 1, creator: 'Cursor-IDE', toolName: 'save_memory', changedFields: [] },
    ]);
    const versions = await gateway.sql(
      'C',
      'select replaced_by, replaced_with from public.packet_versions where packet_id = $1 order by version_id',
      [id],
    );
    expect(versions).toStrictEqual([
      { replaced_by: 'C', replaced_with: 'update_memory' },
      { replaced_by: 'L', replaced_with: 'updateMemory' },
    ]);
  });

  it('gives C the same error for a private memory and for one that does not exist', async () => {
    const hidden = await save('L', { scope: 'l-private' });
    await update('L', hidden, { content: `still private ${serial++}` });
    const refusal = async (id: string) => {
      const { errors } = await gateway.graphql('C', 'query ($id: UUID!) { memoryHistory(packetId: $id) { version } }', {
        id,
      });
      return JSON.stringify([errors?.[0]?.message, errors?.[0]?.extensions]).replaceAll(id, '<id>');
    };
    expect(await refusal(hidden)).toMatch(/L9OWN.*NOT_YOURS|NOT_YOURS.*L9OWN/);
    expect(await refusal(hidden)).toBe(await refusal('01900000-0000-7000-8000-000000000000'));
  });

  it('hides from C the versions in which the memory was private', async () => {
    const id = await save('L', { content: 'began in private', scope: 'l-private' });
    await update('L', id, { content: 'shared at last', scope: 'developer' });
    await update('L', id, { content: 'shared, and changed' });
    await update('L', id, { content: 'back in private', scope: 'l-private' });
    await update('L', id, { content: 'shared again', scope: 'developer' });
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { versions { totalCount nodes { content scope replacedBy } } } }',
      { id },
    );
    expect(data.memoryByPacketId.versions.totalCount).toBe(2);
    expect(JSON.stringify(data)).not.toMatch(/private/);
  });

  it('returns the newest states first, as many as requested', async () => {
    const id = await save('C');
    for (const n of [1, 2, 3, 4]) await update('C', id, { importance: n / 10 });
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryHistory(packetId: $id, first: 1) { version changedFields } }',
      { id },
    );
    expect(data.memoryHistory[0]).toStrictEqual({ version: 5, changedFields: ['estimated_importance'] });
  });

  it('stores no version when a job cuts a long content into chunks', async () => {
    const id = await save('C', { content: Array.from({ length: 400 }, (_, i) => `long sentence ${i}.`).join(' ') });
    await gateway.embedded();
    const [{ chunk_count }] = await gateway.sql(
      'C',
      'select chunk_count from public.packet_store where packet_id = $1',
      [id],
    );
    expect(chunk_count).toBeGreaterThan(0);
    expect(await gateway.sql('L', 'select 1 from public.packet_versions where packet_id = $1', [id])).toStrictEqual([]);
  });
});
