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

  it('raises the same error for a hidden memory and for a missing one', async () => {
    for (const packet_id of [secret, '01900000-0000-7000-8000-000000000000'])
      await expect(searchMemory(db, 'C', { packet_id })).rejects.toMatchObject({ code: 'L9OWN' });
  });
});
