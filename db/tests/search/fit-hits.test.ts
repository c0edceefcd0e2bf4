import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a search with max_tokens', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (let n = 0; n < 6; n++)
      await saveMemory(db, 'C', { content: `Bulky number ${n}. ${'It goes on and on. '.repeat(200)}` });
  });
  const search = (args: object) => searchMemory(db, 'C', { query: 'bulky', mode: 'lexical', ...args });

  it('shows previews, the last hits first, and reports what was cut', async () => {
    expect((await search({})).searched.cut).toBeNull();
    const { hits, searched } = await search({ max_tokens: 5000 });
    const { max_tokens, tokens, previews, left_out } = searched.cut;
    expect(max_tokens).toBe(5000);
    expect(tokens, JSON.stringify(searched.cut)).toBeLessThanOrEqual(5000);
    expect(previews, JSON.stringify(searched.cut)).toBeGreaterThan(0);
    expect(previews, JSON.stringify(searched.cut)).toBeLessThan(6);
    expect(left_out, JSON.stringify(searched.cut)).toBe(0);
    expect(Buffer.byteLength(JSON.stringify(hits)) / 3).toBeLessThanOrEqual(5000);
    expect(hits[0]!.is_truncated).toBe(false);
    for (const hit of hits.slice(6 - previews)) {
      expect(hit.is_truncated).toBe(true);
      expect(hit.content.length).toBe(240);
      const [{ content }] = await db.sql('C', 'select content from public.packet_store where packet_id = $1', [
        hit.packet_id,
      ]);
      expect(content.startsWith(hit.content)).toBe(true);
      expect(content.length).toBeGreaterThan(3000);
    }
  });

  it('leaves out hits that do not fit as previews, also from the audit log', async () => {
    const { hits, searched } = await search({ max_tokens: 700 });
    expect(hits.length).toBeGreaterThanOrEqual(1);
    expect(hits.length).toBeLessThan(6);
    expect(searched.cut.left_out).toBe(6 - hits.length);
    const [{ ids }] = await db.sql(
      'L',
      "select details -> 'ids' as ids from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1",
    );
    expect(ids).toStrictEqual(hits.map(({ packet_id }) => packet_id));
  });

  it('refuses a limit into which no hit fits', async () => {
    await expect(search({ max_tokens: 499 })).rejects.toMatchObject({ code: 'L9VAL', column: 'max_tokens' });
  });
});
