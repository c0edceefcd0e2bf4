// A session that goes on after it was archived: its archives, and which of them searches show.
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { keepMessages, retrieve, sessionOf, store } from './support.ts';

describe('a session that was resumed', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const place = { scope: 'developer', project_id: 'gears' };
  /** The session as it was after so many of its hours, with two messages for each. */
  const asOf = (name: string, hours: number, fields: object = {}) => {
    const session = sessionOf(name);
    return {
      ...session,
      ended_at: `2026-11-20T${9 + hours}:45:00Z`,
      messages: Array.from({ length: hours }, () => session.messages).flat(),
      ...fields,
    };
  };
  const found = async (name: string) => ({
    listed: (await gateway.call('C', 'query_cascade_memories', { tags: [name] })).sessions.map(
      ({ pointer }: { pointer: string }) => pointer,
    ),
    asked: (
      await gateway.call('C', 'query_cascade_memories', { query: `repaired ${name}`, tags: [name] })
    ).sessions.map(({ pointer }: { pointer: string }) => pointer),
    searched: (
      await gateway.call('C', 'search_memory', { query: `repaired ${name}`, kinds: ['session'], tags: [name] })
    ).hits.length,
  });

  it('is found by its last archive, which names the one before; that one can still be opened', async () => {
    const first = await store(gateway, 'C', asOf('valve', 1), place);
    const second = await store(gateway, 'C', asOf('valve', 2), place);
    const third = await store(gateway, 'C', asOf('valve', 3), place);
    expect([first, second, third].map(({ status, predecessor }) => [status, predecessor])).toStrictEqual([
      ['inserted', null],
      ['inserted', first.pointer],
      ['inserted', second.pointer],
    ]);
    const only = { listed: [third.pointer], asked: [third.pointer], searched: 1 };
    expect(await found('valve')).toStrictEqual(only);
    expect((await retrieve(gateway, 'C', first.pointer)).isError).toBe(false);
    expect(await store(gateway, 'C', asOf('valve', 2), place)).toMatchObject({
      status: 'skipped_dedupe',
      pointer: second.pointer,
      predecessor: first.pointer,
    });
    expect(await found('valve')).toStrictEqual(only);
    expect(
      (await gateway.call('C', 'search_memory', { query: 'repaired valve', tags: ['valve'], include_archived: true }))
        .hits,
    ).toHaveLength(3);
  });

  it('keeps its place when its archives come in another order, or one between them is deleted', async () => {
    const third = await store(gateway, 'C', asOf('piston', 3), place);
    const first = await store(gateway, 'C', asOf('piston', 1), place);
    expect([third.predecessor, first.predecessor]).toStrictEqual([null, null]);
    const fourth = await store(gateway, 'C', asOf('piston', 4), place);
    expect(fourth.predecessor).toBe(third.pointer);
    expect(await found('piston')).toStrictEqual({ listed: [fourth.pointer], asked: [fourth.pointer], searched: 1 });
    await gateway.call('C', 'delete_memory', { packet_id: third.packet_id });
    const [{ predecessor }] = (await gateway.call('C', 'query_cascade_memories', { tags: ['piston'] })).sessions;
    expect(predecessor).toBe(first.pointer);
  });

  it('is another one with another beginning, tool, writer, scope or project, or the same length', async () => {
    const { pointer } = await store(gateway, 'C', asOf('gasket', 1), place);
    const others = [
      await store(gateway, 'C', asOf('gasket', 2, { timestamp: '2026-11-20T09:31:00Z' }), place),
      await store(gateway, 'C', asOf('gasket', 2, { tool_name: 'codex' }), place),
      await store(gateway, 'L', asOf('gasket', 2), place),
      await store(gateway, 'C', asOf('gasket', 2), { ...place, project_id: 'wheels' }),
      await store(gateway, 'C', asOf('gasket', 2), { scope: 'global', project_id: undefined }),
      await store(gateway, 'C', asOf('gasket', 1, { summary: 'Repaired the gasket, told otherwise.' }), place),
    ];
    expect(others.map(({ status, predecessor }) => [status, predecessor])).toStrictEqual(
      others.map(() => ['inserted', null]),
    );
    expect((await found('gasket')).listed).toContain(pointer);
  });

  it('is told by its messages where it names no times', async () => {
    // Without its messages the second document would be the first one.
    await keepMessages(gateway);
    const untimed = (hours: number) => asOf('washer', hours, { timestamp: undefined, ended_at: undefined });
    const first = await store(gateway, 'C', untimed(1), place);
    expect(await store(gateway, 'C', untimed(2), place)).toMatchObject({ predecessor: first.pointer });
  });
});
