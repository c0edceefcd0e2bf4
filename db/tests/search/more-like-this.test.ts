import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['apple', 'boat', 'candle'], 0.3);

describe('a search by packet_id', () => {
  const db = useTestDatabase();
  let apple: string;
  let boat: string;
  let secret: string;
  beforeAll(async () => {
    await serveModel(db, model);
    apple = await saveMemory(db, 'C', { content: 'An apple a day.' });
    boat = await saveMemory(db, 'C', { content: 'A boat with an apple in it.' });
    await saveMemory(db, 'L', { content: 'A candle burns.' });
    secret = await saveMemory(db, 'L', { content: 'An apple, in secret.', scope: 'l-private' });
    await embedPending(db, model);
  });
  const found = async (caller: string, args: object) =>
    (await searchMemory(db, caller, { packet_id: apple, threshold: 0.6, ...args })).hits.map(
      ({ packet_id }) => packet_id,
    );

  it('finds similar memories by words and by meaning, and not the memory itself', async () => {
    for (const mode of ['hybrid', 'lexical', 'semantic'])
      expect(await found('C', { mode }), mode).toStrictEqual([boat]);
    expect((await found('L', {})).sort()).toStrictEqual([boat, secret].sort());
    expect((await searchMemory(db, 'C', { packet_id: apple })).searched.like).toBe(apple);
  });

  it('searches by the stored words of the memory, in its own language', async () => {
    const german = { language: 'german' };
    const one = await saveMemory(db, 'C', { content: 'Die alten Häuser am Marktplatz.', ...german });
    const other = await saveMemory(db, 'C', { content: 'Ein altes Haus mit Garten.', ...german });
    const args = { packet_id: one, mode: 'lexical', threshold: null };
    expect(await found('C', args)).toStrictEqual([other]);
    const [hit] = (await searchMemory(db, 'C', { ...args, explain: true })).hits;
    // Both stems, alt and haus, of the three.
    expect(hit!.relevance!).toBeGreaterThan(0.4);
  });

  it('does not take the date of a message for what it is about', async () => {
    const message = { kind: 'message', timestamp: '2026-03-06T09:00:00Z', thread_id: 'standup' };
    const one = await saveMemory(db, 'C', { content: 'Ann: the zeppelin leaves.', ...message });
    await saveMemory(db, 'C', { content: 'Bob: lunch is ready.', ...message, thread_id: 'other' });
    expect(await found('C', { packet_id: one, mode: 'lexical', threshold: null })).toStrictEqual([]);
  });

  it('raises the same error for a hidden memory and for a missing one', async () => {
    for (const packet_id of [secret, '01900000-0000-7000-8000-000000000000'])
      await expect(searchMemory(db, 'C', { packet_id })).rejects.toMatchObject({ code: 'L9OWN' });
  });
});
