// Erasure over GraphQL and MCP; db/tests/forgetting tests what it does.
import { saveMemory } from '../../../db/tests/support/memories.ts';
import { useTestGateway } from '../support/gateway.ts';

const missing = '01900000-0000-7000-8000-000000000000';

describe('erasure over GraphQL and MCP', () => {
  const gateway = useTestGateway();
  const mutation =
    'mutation ($id: UUID!) { admin { eraseMemory(packetId: $id, reason: "asked for") { erasureId memories removed } } }';
  const isThere = async (id: string) =>
    (await gateway.asSuperuser('select 1 from public.packet_store where packet_id = $1', [id])).length === 1;

  it('erases a memory for L and refuses agents', async () => {
    const id = await saveMemory(gateway, 'C', { content: 'to be forgotten over GraphQL' });
    const refused = await gateway.graphql('C', mutation, { id });
    expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    expect(await isThere(id)).toBe(true);
    const { data, errors } = await gateway.graphql('L', mutation, { id });
    expect(errors).toBeUndefined();
    expect({
      memories: data.admin.eraseMemory.memories,
      versions: data.admin.eraseMemory.removed.versions,
    }).toStrictEqual({ memories: 1, versions: 0 });
    expect(await isThere(id)).toBe(false);
  });

  it('shows no tombstones to agents', async () => {
    const { data } = await gateway.graphql('C', '{ admin { memoryTombstones { packetId } } }');
    expect(data?.admin?.memoryTombstones ?? null).toBeNull();
  });

  it('answers for an erased memory as for one that never existed', async () => {
    const id = await saveMemory(gateway, 'C', { content: 'to be forgotten over MCP' });
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [id]);
    for (const caller of ['C', 'L']) {
      for (const [tool, args] of [
        ['get_memory', {}],
        ['update_memory', { tags: ['x'] }],
        ['delete_memory', {}],
      ] as const) {
        const erased = await gateway.tool(caller, tool, { ...args, packet_id: id });
        const never = await gateway.tool(caller, tool, { ...args, packet_id: missing });
        expect(erased.text.replaceAll(id, '<id>')).toBe(never.text.replaceAll(missing, '<id>'));
        expect(erased.text).toMatch(/L9OWN/);
      }
    }
  });

  it('refuses to erase a subject for agents', async () => {
    const user = '01900000-0000-7000-8000-0000000000bb';
    const { errors } = await gateway.graphql(
      'C',
      'mutation ($id: UUID!) { admin { eraseSubject(userId: $id, reason: "x") { memories } } }',
      { id: user },
    );
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });
});
