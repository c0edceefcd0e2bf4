// What a memory's conversation adds to its score: the speaker whom the query names, the next memory, and the thread.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['harbour', 'crane', 'lease', 'lunch'], 0.4);

describe('a search of conversations', () => {
  const db = useTestDatabase();
  const ids: Record<string, string> = {};
  const say = (name: string, content: string, thread: string, minute: number, args: object = {}, caller = 'C') =>
    saveMemory(db, caller, {
      content,
      kind: 'message',
      thread_id: thread,
      timestamp: new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString(),
      ...args,
    }).then((id) => {
      ids[name] = id;
    });
  beforeAll(async () => {
    await serveModel(db, model);
    await say('offer', 'Ann: what would a crane at the harbour cost us?', 'planning', 1);
    await say('answer', 'Bob: the lease of a crane at the harbour is dear.', 'planning', 2);
    await say('aside', 'Ann: fine, and the harbour is near.', 'planning', 3);
    await say('elsewhere', 'Cem: we had lunch, and the harbour is near.', 'lunches', 4);
    ids.note = await saveMemory(db, 'C', { content: 'A note about the harbour that is near.' });
    await embedPending(db, model);
  });

  const search = async (query: string, args: object = {}) => {
    const all = { query, query_vector: model.vectorOf(query), model: model.name, project_id: 'l9', explain: true };
    return searchMemory(db, 'C', { ...all, min_relevance: 0, ...args });
  };
  const hit = async (name: string, query: string, args: object = {}) =>
    (await search(query, args)).hits.find(({ packet_id }) => packet_id === ids[name])!;
  const set = (settings: object) =>
    db.sql('L', `select public.set_search_settings(${named(settings)})`, Object.values(settings));
  const off = { thread_weight: 0, neighbour_weight: 0, speaker_boost: 0 };
  const on = { thread_weight: 0.5, neighbour_weight: 0.4, speaker_boost: 0.6 };
  beforeEach(() => set(off));

  it('lifts a memory towards the best of its thread, and no memory without one', async () => {
    const before = { aside: await hit('aside', 'crane lease'), note: await hit('note', 'crane lease') };
    await set({ ...off, thread_weight: on.thread_weight });
    const { aside, note } = { aside: await hit('aside', 'crane lease'), note: await hit('note', 'crane lease') };
    const { fused, conversation } = aside.explanation;
    expect(conversation.thread).toBeGreaterThan(fused);
    expect(Math.abs(conversation.lifted - (fused + 0.5 * conversation.thread) / 1.5)).toBeLessThan(1e-5);
    expect(aside.score).toBeGreaterThan(before.aside.score);
    expect(Math.abs((note?.score ?? 0) - (before.note?.score ?? 0))).toBeLessThan(1e-6);
    const best = await hit('answer', 'crane lease');
    expect(Math.abs(best.explanation.conversation.lifted - best.explanation.fused)).toBeLessThan(1e-6);
  });

  it('lets the first hits lend a part of their scores to the memories before and after them', async () => {
    await set({ ...off, neighbour_weight: on.neighbour_weight });
    const { explanation } = await hit('offer', 'lease');
    const { explanation: next } = await hit('answer', 'lease');
    expect(Math.abs(explanation.conversation.neighbour - next.fused)).toBeLessThan(1e-6);
    const lifted = explanation.fused + 0.4 * next.fused * (1 - explanation.fused);
    expect(Math.abs(explanation.conversation.lifted - lifted)).toBeLessThan(1e-5);
    const after = (await hit('aside', 'lease')).explanation.conversation;
    expect(Math.abs(after.neighbour - next.fused)).toBeLessThan(1e-6);
    expect((await hit('elsewhere', 'lunch')).explanation.conversation.neighbour).toBeNull();
  });

  it('lifts what the speaker said whom the query names', async () => {
    await set({ ...off, speaker_boost: on.speaker_boost });
    const said = (query: string) =>
      Promise.all(['offer', 'answer'].map(async (name) => (await hit(name, query)).explanation.conversation.speaker));
    expect(await said('what did ann say of the harbour?')).toStrictEqual([true, false]);
    expect(await said("Bob's view of the harbour")).toStrictEqual([false, true]);
    expect(await said('the annals of the bobbing harbour')).toStrictEqual([false, false]);
  });

  it('knows a speaker by the first name, and not by that of another', async () => {
    await set({ ...off, speaker_boost: on.speaker_boost });
    await say('full', 'Dora Smith: the harbour is deep.', 'depths', 7);
    await say('role', 'Project Manager: the harbour is a project.', 'depths', 8);
    await embedPending(db, model);
    const isNamed = async (query: string, name = 'full') =>
      (await hit(name, query)).explanation.conversation.speaker as boolean;
    expect(await isNamed('what did Dora say about the harbour?')).toBe(true);
    expect(await isNamed("Dora's harbour")).toBe(true);
    expect(await isNamed('what did dora smith say about the harbour?')).toBe(true);
    expect(await isNamed('what did Dora Jones say about the harbour?')).toBe(false);
    expect(await isNamed('what did Do say about the harbour?')).toBe(false);
    expect(await isNamed('the project of the harbour', 'role')).toBe(false);
    expect(await isNamed('the Project at the harbour', 'role')).toBe(true);
  });

  it('says that the speaker is named also where nothing is left to lift', async () => {
    await set({ ...off, speaker_boost: on.speaker_boost });
    const { explanation } = await hit('offer', 'Ann: what would a crane at the harbour cost us?', { mode: 'lexical' });
    expect([explanation.fused, explanation.conversation.speaker]).toStrictEqual([1, true]);
  });

  it('takes "my" words for those of the user', async () => {
    await set({ ...off, speaker_boost: on.speaker_boost });
    await say('own', 'user: the harbour is where I live.', 'chat', 6);
    await embedPending(db, model);
    expect((await hit('own', 'where is my harbour?')).explanation.conversation.speaker).toBe(true);
    expect((await hit('own', 'where is the harbour?')).explanation.conversation.speaker).toBe(false);
  });

  it('keeps every score between 0 and 1', async () => {
    await set({ thread_weight: 1, neighbour_weight: 1, speaker_boost: 1 });
    for (const mode of ['hybrid', 'lexical', 'semantic']) {
      const { hits } = await search('Ann, Bob: the lease of a crane at the harbour', { mode, k: 100 });
      expect(hits.length, mode).toBeGreaterThan(2);
      expect(
        hits.every(({ score }) => score >= 0 && score <= 1),
        mode,
      ).toBe(true);
    }
  });

  it('is the same whatever a hidden memory in the same thread says', async () => {
    await set(on);
    const ask = async () =>
      Promise.all(
        ['hybrid', 'lexical', 'semantic'].map(async (mode) => {
          const { hits, searched } = await search('Ann: the lease of a crane', { mode, k: 100 });
          // The recency of a hit falls with every moment.
          const answer = hits.map(({ packet_id, explanation: { fused, conversation } }) => [
            packet_id,
            fused,
            conversation,
          ]);
          return [answer, searched.candidates, searched.left_out];
        }),
      );
    const before = await ask();
    const hidden = { scope: 'l-private' };
    await say('hidden', 'Ann: the lease of a crane', 'planning', 2.5, hidden, 'L');
    await say('hidden thread', 'Bob: the lease of a crane', 'lunches', 5, hidden, 'L');
    await embedPending(db, model);
    expect(await ask()).toStrictEqual(before);
  });
});
