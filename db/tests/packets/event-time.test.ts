// timestamp is when it happened and may be given; created_at is when it was saved and never is.
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, callUpdateMemory, saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the event time of a memory', () => {
  const db = useTestDatabase();
  const row = async (id: string) =>
    (
      await db.sql('C', 'select "timestamp", created_at, updated_at from public.packet_store where packet_id = $1', [
        id,
      ])
    )[0];
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const EARLY = '2023-05-12T09:30:00.000Z';

  it('is the time of saving unless the writer gives one', async () => {
    const before = Date.now() - 1_000;
    const plain = await row(await saveMemory(db, 'C', { content: 'without a time' }));
    expect(plain.timestamp).toStrictEqual(plain.created_at);
    expect(plain.created_at.getTime()).toBeGreaterThan(before);

    const given = await row(await saveMemory(db, 'C', { content: 'long ago', timestamp: EARLY }));
    expect(given.timestamp.toISOString()).toBe(EARLY);
    expect(given.created_at.getTime()).toBeGreaterThan(before);
    expect(given.updated_at).toStrictEqual(given.created_at);
  });

  it('may be given in a plain INSERT, but the time of saving may not', async () => {
    const insert = (column: string) =>
      db.sql(
        'C',
        `insert into public.packet_store (envelope, project_id, "${column}") values ('{"content": "inserted with ${column}"}', 'l9', $1) returning "timestamp"`,
        [EARLY],
      );
    expect((await insert('timestamp'))[0].timestamp.toISOString()).toBe(EARLY);
    expect((await errorOf(insert('created_at'))).code).toBe('42501');
  });

  it.each([
    ['more than five minutes ahead', () => inMinutes(7)],
    ['infinity', () => 'infinity'],
    ['minus infinity', () => '-infinity'],
    ['before the year 1', () => '0044-03-15 BC'],
  ])('is refused when it is %s, by save and by update', async (_, time) => {
    const id = await saveMemory(db, 'C', { content: `to be moved to ${time()}` });
    for (const call of [
      () => callSaveMemory(db, 'C', { content: `at ${time()}`, timestamp: time() }),
      () => callUpdateMemory(db, 'C', id, { timestamp: time() }),
    ]) {
      const error = await errorOf(call());
      expect([error.code, error.column]).toStrictEqual(['L9VAL', 'timestamp']);
      expect(error.message).toMatch(/^timestamp: /);
    }
  });

  it('may be a little ahead of the clock', async () => {
    const soon = inMinutes(4);
    expect((await row(await saveMemory(db, 'C', { content: 'soon', timestamp: soon }))).timestamp.toISOString()).toBe(
      soon,
    );
  });

  it('can be corrected, and its history and a search as of then tell the former time', async () => {
    const id = await saveMemory(db, 'C', { content: 'The quincunx was planted', timestamp: EARLY });
    const { created_at } = await row(id);
    const [{ now }] = await db.asSuperuser('select clock_timestamp() as now');
    const { memory } = await callUpdateMemory(db, 'C', id, { timestamp: '2024-01-01T00:00:00Z', speaker: 'Gardener' });
    expect([new Date(memory.timestamp).getTime(), memory.speaker]).toStrictEqual([Date.UTC(2024, 0, 1), 'Gardener']);
    expect((await row(id)).created_at).toStrictEqual(created_at);

    const history = await db.sql('C', 'select changed_fields, state from public.memory_history($1)', [id]);
    expect(history.map(({ changed_fields, state }) => [changed_fields, state.speaker])).toStrictEqual([
      [['speaker', 'timestamp'], 'Gardener'],
      [[], null],
    ]);
    const search = async (args: object) =>
      (await searchMemory(db, 'C', { query: 'quincunx', mode: 'lexical', ...args })).hits;
    const [then] = await search({ as_of: now, until: '2023-12-31T00:00:00Z' });
    expect([then!.timestamp, then!.speaker]).toStrictEqual([expect.stringMatching(/^2023-05-12/), null]);
    const [today] = await search({ since: '2023-12-31T00:00:00Z' });
    expect([today!.timestamp, today!.speaker]).toStrictEqual([expect.stringMatching(/^2024-01-01/), 'Gardener']);
    expect(await search({ until: '2023-12-31T00:00:00Z' })).toStrictEqual([]);
    expect(await search({ as_of: now, since: '2023-12-31T00:00:00Z' })).toStrictEqual([]);
  });

  it('decides since, until, the newest and recency, while as_of goes by the time of saving', async () => {
    const project_id = 'times';
    const [{ start }] = await db.asSuperuser('select clock_timestamp() as start');
    const late = await saveMemory(db, 'C', {
      project_id,
      content: 'The ferry left at noon',
      timestamp: '2025-06-01T12:00:00Z',
    });
    const early = await saveMemory(db, 'C', { project_id, content: 'The ferry came at dawn', timestamp: EARLY });
    const ids = async (args: object) =>
      (await searchMemory(db, 'C', { project_id, kinds: ['note'], ...args })).hits.map(({ packet_id }) => packet_id);
    expect(await ids({})).toStrictEqual([late, early]);
    for (const query of [undefined, 'ferry']) {
      const asked = query ? { query, mode: 'lexical' } : {};
      expect(await ids({ ...asked, since: '2025-01-01T00:00:00Z' })).toStrictEqual([late]);
      expect(await ids({ ...asked, until: '2025-01-01T00:00:00Z' })).toStrictEqual([early]);
      expect(await ids({ ...asked, as_of: start })).toStrictEqual([]);
    }
    const { hits } = await searchMemory(db, 'C', { query: 'ferry', project_id, mode: 'lexical', explain: true });
    const recency = Object.fromEntries(hits.map((hit) => [hit.packet_id, hit.explanation.boosts.recency]));
    expect(recency[late]).toBeGreaterThan(recency[early]);
    expect(new Date(hits[0]!.created_at).getTime()).toBeGreaterThanOrEqual(start.getTime());
  });

  it('says nothing about which of two memories can be the parent of the other', async () => {
    const parent = await saveMemory(db, 'C', { content: 'told today' });
    const { memory } = await callSaveMemory(db, 'C', {
      content: 'happened before',
      timestamp: EARLY,
      parent_ids: [parent],
    });
    expect(memory.parent_ids).toStrictEqual([parent]);
    const error = await errorOf(callUpdateMemory(db, 'C', parent, { parent_ids: [memory.packet_id] }));
    expect([error.code, error.column]).toStrictEqual(['L9VAL', 'parent_ids']);
  });

  it('is that of the envelope for an event, unless the writer gives another', async () => {
    const envelope = { event_type: 'deploy.finished', timestamp: EARLY };
    const times = async (id: string) => {
      const [event] = await db.sql('C', 'select "timestamp" from public.agent_memory_events where packet_id = $1', [
        id,
      ]);
      return [(await row(id)).timestamp.toISOString(), event.timestamp.toISOString()];
    };
    const event = await saveMemory(db, 'C', { content: 'deployed', kind: 'event', envelope });
    expect(await times(event)).toStrictEqual([EARLY, EARLY]);
    const moved = '2024-02-02T00:00:00.000Z';
    await callUpdateMemory(db, 'C', event, { envelope: { timestamp: moved } });
    expect(await times(event)).toStrictEqual([moved, moved]);
    await callUpdateMemory(db, 'C', event, { timestamp: EARLY });
    expect(await times(event)).toStrictEqual([EARLY, EARLY]);
    const other = await saveMemory(db, 'C', { content: 'deployed again', kind: 'event', envelope, timestamp: moved });
    expect(await times(other)).toStrictEqual([moved, moved]);
  });

  it('counts a memory that was added later as new for a summary, whenever it happened', async () => {
    const thread_id = 'told backwards';
    const first = await saveMemory(db, 'C', { content: 'the end', thread_id, timestamp: '2025-01-02T00:00:00Z' });
    await db.sql('C', `select public.save_summary('thread', $1, 'It ended.', $2)`, [thread_id, [first]]);
    await saveMemory(db, 'C', { content: 'the beginning', thread_id, timestamp: '2025-01-01T00:00:00Z' });
    const [due] = await db.sql('C', "select * from public.due_summaries('{thread}', $1, min_packets => 1)", [
      thread_id,
    ]);
    expect([due.reason, due.new_packets]).toStrictEqual(['packets', 1]);
    const [summary] = await db.sql('C', 'select coverage_end from public.memory_summaries where scope_value = $1', [
      thread_id,
    ]);
    expect(summary.coverage_end.toISOString()).toBe('2025-01-02T00:00:00.000Z');
  });
});
