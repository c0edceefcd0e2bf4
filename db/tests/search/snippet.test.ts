import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['zygote']);

describe('the snippet of a hit', () => {
  const db = useTestDatabase();

  it('shows one passage of a text without spaces, and fits into any max_tokens', async () => {
    await serveModel(db, model);
    const texts = {
      han: '数据库'.repeat(200),
      base64: 'QUJD'.repeat(300),
      'han-marked': `zygote ${'数据库'.repeat(200)} zygote`,
    };
    for (const [project_id, content] of Object.entries(texts)) await saveMemory(db, 'C', { content, project_id });
    await embedPending(db, model);
    const vector = { query_vector: model.vectorOf('zygote'), model: model.name };
    for (const project_id of Object.keys(texts)) {
      for (const asked of [
        { query: 'zygote', ...vector },
        { query: 'zygote', mode: 'semantic', ...vector },
        { creator: 'Cursor-IDE' },
      ]) {
        for (const max_tokens of [null, 500]) {
          const { hits, searched } = await searchMemory(db, 'C', {
            ...asked,
            project_id,
            scopes: ['developer'],
            max_tokens,
          });
          const { query_vector: _, ...shown } = { query_vector: '', ...asked };
          const what = JSON.stringify({ project_id, ...shown, max_tokens });
          expect(hits.length, what).toBe(1);
          const { snippet, content } = hits[0]!;
          expect(Buffer.byteLength(snippet), `${what}: ${snippet.length}`).toBeLessThanOrEqual(750);
          expect(snippet.split('**').length % 2, `${what}: ${snippet}`).toBe(1);
          if (max_tokens) expect(searched.cut.tokens <= max_tokens && content.length > 50, what).toBe(true);
        }
      }
    }
    const marked = { query: 'zygote', project_id: 'han-marked', scopes: ['developer'], ...vector };
    expect((await searchMemory(db, 'C', marked)).hits[0]!.snippet).toMatch(/\*\*zygote\*\*/);
  });
});
