// A memory of kind message is a turn of a conversation: people repeat themselves.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, callUpdateMemory, expireMemories, saveMemory } from '../support/memories.ts';
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['thanks', 'welcome', 'zeppelin']);

describe('a message', () => {
  const db = useTestDatabase();
  let count = 0;
  let thread_id: string;
  beforeAll(() => serveModel(db, model));
  beforeEach(() => {
    count += 1;
    thread_id = `talk ${count}`;
  });
  const at = '2023-05-12T10:00:00Z';
  const say = (content: string, args: object = {}) =>
    callSaveMemory(db, 'C', { content, kind: 'message', thread_id, ...args });
  const turns = async () =>
    (
      await db.sql(
        'C',
        'select packet_id, "timestamp"::text as at from public.packet_store where thread_id = $1 order by "timestamp", packet_id',
        [thread_id],
      )
    ).map(({ packet_id, at }) => [packet_id, at]);
  const contextOf = async (id: string): Promise<string | null> =>
    (await db.asSuperuser('select context from public.memory_contexts where packet_id = $1', [id]))[0]?.context ?? null;

  it('is two memories if it is said twice in a thread, and each next one keeps its predecessor', async () => {
    const saved = [];
    for (const content of ['The zeppelin is here', 'Thanks!', 'Welcome.', 'Thanks!', 'Bye'])
      saved.push(await say(content));
    expect(saved.map(({ status }) => status)).toStrictEqual(Array(5).fill('inserted'));
    const ids = saved.map(({ memory }) => memory.packet_id);
    expect((await turns()).map(([id]) => id)).toStrictEqual(ids);
    await embedPending(db, model);
    const contexts = await Promise.all(ids.map(contextOf));
    expect(contexts.map((context) => context?.split('\n')[0] ?? null)).toStrictEqual([
      null,
      'The zeppelin is here',
      'Thanks!',
      'Welcome.',
      'Thanks!',
    ]);
  });

  it('gets a time of its own, also in one statement', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id, packet_type, thread_id)
       select '{"content": "Thanks!"}', 'l9', 'message', $1 from generate_series(1, 20)`,
      [thread_id],
    );
    expect(new Set((await turns()).map(([, time]) => time)).size).toBe(20);
  });

  it('stays one memory if it is saved again with its time or its idempotency key', async () => {
    for (const args of [
      { timestamp: at },
      { idempotency_key: `key ${thread_id}` },
      { timestamp: at, speaker: 'Ann' },
    ]) {
      const first = await say('Thanks!', args);
      // A retry with a key repeats its text exactly.
      const again = await say('idempotency_key' in args ? 'Thanks!' : '  THANKS! ', args);
      expect(first.status).toBe('inserted');
      expect(again.memory.packet_id).toBe(first.memory.packet_id);
    }
    expect((await say('Thanks!', { timestamp: at })).status).toBe('skipped_dedupe');
  });

  it('is another one in another thread, at another time, and of another speaker', async () => {
    const answers = [
      await say('Yes', { timestamp: at }),
      await say('Yes', { timestamp: at, thread_id: `${thread_id} b` }),
      await say('Yes', { timestamp: '2023-05-12T10:00:01Z' }),
      await say('Yes', { timestamp: at, speaker: 'Ann' }),
      await say('Yes', { timestamp: at, speaker: 'Ben' }),
    ];
    expect(answers.map(({ status }) => status)).toStrictEqual(Array(5).fill('inserted'));
  });

  it('is neither skipped nor merged for being nearly the same as another turn', async () => {
    const first = await say('The zeppelin lands at noon in the harbour');
    for (const on_similar of ['skip', 'merge']) {
      const { status, similar } = await say('The zeppelin lands at noon in the harbour!', { on_similar });
      expect(status).toBe('inserted');
      expect(similar!.map(({ packet_id }) => packet_id)).toContain(first.memory.packet_id);
    }
    expect((await errorOf(say('x', { on_similar: 'perhaps' }))).code).toBe('L9VAL');
  });

  it('can take the place of the same one that has expired', async () => {
    const first = await say('Thanks!', { timestamp: at });
    const other = await say('Thanks!', { timestamp: '2023-05-12T11:00:00Z' });
    await expireMemories(db, [first.memory.packet_id, other.memory.packet_id]);
    expect((await say('Thanks!', { timestamp: at })).status).toBe('inserted');
    const left = await db.asSuperuser('select packet_id from public.packet_store where packet_id = any ($1)', [
      [first.memory.packet_id, other.memory.packet_id],
    ]);
    expect(left).toStrictEqual([{ packet_id: other.memory.packet_id }]);
  });

  it('cannot be moved to where the same one is already', async () => {
    await say('Thanks!', { timestamp: at });
    const { memory } = await say('Thanks!', { timestamp: '2023-05-12T11:00:00Z' });
    const error = await errorOf(callUpdateMemory(db, 'C', memory.packet_id, { timestamp: at }));
    expect(error.code).toBe('L9VAL');
    const note = await saveMemory(db, 'C', { content: 'Thanks!', thread_id, timestamp: at });
    expect((await errorOf(callUpdateMemory(db, 'C', note, { kind: 'message' }))).code).toBe('L9VAL');
  });

  it('is placed by its time when it is told later, and changes the context of the next one', async () => {
    const first = await say('The zeppelin is here', { timestamp: at });
    const third = await say('Bye', { timestamp: '2023-05-12T12:00:00Z' });
    await embedPending(db, model);
    expect(await contextOf(third.memory.packet_id)).toMatch(/^The zeppelin/);
    const second = await say('Welcome.', { timestamp: '2023-05-12T11:00:00Z' });
    await embedPending(db, model);
    await embedPending(db, model);
    expect(await contextOf(second.memory.packet_id)).toMatch(/^The zeppelin/);
    expect(await contextOf(third.memory.packet_id)).toMatch(/^Welcome/);
    await callUpdateMemory(db, 'C', first.memory.packet_id, { timestamp: '2023-05-12T13:00:00Z' });
    await embedPending(db, model);
    await embedPending(db, model);
    expect(await contextOf(second.memory.packet_id)).toBeNull();
    expect(await contextOf(first.memory.packet_id)).toMatch(/^Bye/);
    expect((await turns()).map(([id]) => id)).toStrictEqual(
      [second, third, first].map(({ memory }) => memory.packet_id),
    );
  });

  itOnServer('stays one memory when many writers save it at once with its time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => say('All at once', { timestamp: at })));
    expect(answers.map(({ status }) => status).sort()).toStrictEqual(['inserted', ...Array(19).fill('skipped_dedupe')]);
    const untimed = await Promise.all(Array.from({ length: 10 }, () => say('Each for itself')));
    expect(new Set(untimed.map(({ memory }) => memory.packet_id)).size).toBe(10);
    const keyed = await Promise.all(
      Array.from({ length: 10 }, () => say('By one key', { idempotency_key: `once ${thread_id}` })),
    );
    expect(new Set(keyed.map(({ memory }) => memory.packet_id)).size).toBe(1);
  });
});
