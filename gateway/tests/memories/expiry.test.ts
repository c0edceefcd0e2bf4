import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('an expired memory', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const save = async (caller: string, args: object) =>
    (await gateway.tool(caller, 'save_memory', { scope: 'global', ...args })).result.memory;

  it('disappears for everybody, in SQL and over MCP, before any cleanup', async () => {
    const { packet_id, content } = await save('L', { content: 'something that expires', ttl: '2099-01-01T00:00:00Z' });
    const isVisible = async () =>
      (await gateway.sql('C', 'select 1 from public.packet_store where packet_id = $1', [packet_id])).length === 1;
    expect(await isVisible()).toBe(true);
    await gateway.embedded();
    await gateway.tool('L', 'update_memory', { packet_id, ttl: new Date(Date.now() + 3000).toISOString() });
    await eventually(async () => !(await isVisible()));
    for (const caller of ['C', 'L']) {
      expect(
        await gateway.sql(caller, 'select 1 from public.packet_store where packet_id = $1', [packet_id]),
      ).toHaveLength(0);
      expect(
        await gateway.sql(caller, 'select 1 from public.memory_embeddings where packet_id = $1', [packet_id]),
        'nor its vectors',
      ).toHaveLength(0);
      expect((await gateway.tool(caller, 'get_memory', { packet_id })).text).toMatch(/L9OWN/);
      expect((await gateway.tool(caller, 'update_memory', { packet_id, ttl: 'infinity' })).text).toMatch(/L9OWN/);
      const { hits } = (await gateway.tool(caller, 'search_memory', { query: content })).result;
      expect(hits.some((hit: { packet_id: string }) => hit.packet_id === packet_id)).toBeFalsy();
    }
  });

  it('is deleted by delete_expired_memories over MCP, which keeps all others', async () => {
    const kept = await save('L', { content: 'something that stays', ttl: '2099-01-01T00:00:00Z' });
    const { result } = await gateway.tool('L', 'delete_expired_memories');
    expect(result.deleted).toBe(1);
    expect((await gateway.tool('L', 'get_memory', { packet_id: kept.packet_id })).isError).toBe(false);
    const [{ n }] = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'DELETE' and tool_name = 'delete_expired_memories'",
    );
    expect(n).toBe(1);
  });
});
