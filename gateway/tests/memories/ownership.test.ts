// C changes only its own memories: GraphQL and MCP refuse the others with one error, and audit the refusal.
import { saveMemory } from '../../../db/tests/support/memories.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a memory of another writer', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async (caller: string): Promise<string> =>
    await saveMemory(gateway, caller, { content: `under contract ${serial++}` });
  const rowOf = async (id: string) =>
    (
      await gateway.sql(
        'L',
        'select content, tags, metadata, updated_at from public.packet_store where packet_id = $1',
        [id],
      )
    )[0];

  const mutations = {
    update: 'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, tags: ["taken"] }) { status } }',
    delete: 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }',
  };
  const apis: Record<string, (id: string, act: 'update' | 'delete') => Promise<string>> = {
    GraphQL: async (id, act) =>
      String((await gateway.graphql('C', mutations[act], { id })).errors?.[0]?.extensions?.sqlstate),
    MCP: async (id, act) =>
      /\((\w+)\)/.exec(
        (
          await gateway.tool('C', `${act}_memory`, {
            packet_id: id,
            ...(act === 'update' ? { tags: ['taken'] } : {}),
          })
        ).text,
      )?.[1] ?? 'done',
  };
  for (const [name, attempt] of Object.entries(apis)) {
    it(`refuses updates and deletes by C over ${name} with L9OWN, and audits the refusals`, async () => {
      const taken = await save('C');
      await gateway.sql('L', "select public.update_memory($1, kind => 'decision')", [taken]);
      for (const id of [await save('L'), taken]) {
        const was = await rowOf(id);
        for (const act of ['update', 'delete'] as const) expect(await attempt(id, act)).toBe('L9OWN');
        expect(await rowOf(id)).toStrictEqual(was);
        const refusals = await gateway.sql(
          'L',
          "select operation, caller, sqlstate from public.audit_log where row_id = $1 and status = 'error' order by audit_id",
          [id],
        );
        expect(refusals).toStrictEqual(
          ['UPDATE', 'DELETE'].map((operation) => ({ operation, caller: 'C', sqlstate: 'L9OWN' })),
        );
      }
    });
  }
});
