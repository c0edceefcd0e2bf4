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
      const id = await save('L');
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
    });
  }

  it('stays its writer’s after L changed it, and says who changed it', async () => {
    const { result } = await gateway.tool('C', 'save_memory', {
      content: 'the lease ends in May',
      project_id: 'l9',
      metadata: { agent: 'l-cto' },
    });
    const saved = result.memory.metadata;
    expect(saved).toStrictEqual({
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      agent: 'cursor',
      tool_name: 'save_memory',
      notes: { agent: 'l-cto' },
    });
    const packet_id = result.memory.packet_id;
    const { data } = await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, kind: "finding", metadata: { agent: "l-cto" } }) { memory { metadata } } }',
      { id: packet_id },
    );
    expect(data.updateMemory.memory.metadata).toStrictEqual({
      ...saved,
      updated_by: {
        caller: 'L',
        creator: 'L-CTO',
        source: 'l9-kernel',
        agent: 'l-cto',
        tool_name: 'updateMemory',
        at: expect.any(String),
      },
    });
    const again = await gateway.tool('C', 'update_memory', { packet_id, tags: ['mine'] });
    expect(again.result.memory.metadata).toMatchObject({
      ...saved,
      updated_by: { caller: 'C', creator: 'Cursor-IDE', tool_name: 'update_memory' },
    });
    expect((await gateway.tool('C', 'delete_memory', { packet_id })).isError).toBe(false);
  });

  it('stays its writer’s as a task reflection, until an administrator writes it', async () => {
    const reflectOnTask = async (caller: string, outcome: string) =>
      (
        await gateway.query(
          caller,
          `mutation ($outcome: String) {
             reflectOnTask(input: { taskId: "lease", description: "Renew the lease.", outcome: $outcome, projectId: "l9" }) {
               taskReflection { outcome creator } } }`,
          { outcome },
        )
      ).reflectOnTask.taskReflection;
    for (const [caller, outcome] of [
      ['C', 'unknown'],
      ['C', 'failure'],
      ['L', 'partial'],
      ['L', 'success'],
    ] as const) {
      expect(await reflectOnTask(caller, outcome), caller).toStrictEqual({ outcome, creator: 'Cursor-IDE' });
    }
    await expect(reflectOnTask('C', 'failure')).rejects.toThrow(/NOT_YOURS/);
  });
});
