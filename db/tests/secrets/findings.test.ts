// What a refusal tells of a secret: the path in what the caller gave, line, column and pattern.
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { token } from './support.ts';

describe('a finding of a refusal', () => {
  const db = useTestDatabase({ rollsBack: true });
  const found = { pattern: 'github-token' };

  it('names path, line and column of a memory', async () => {
    const error = await errorOf(saveMemory(db, 'C', { content: `first\nsee ${token}` }));
    expect(JSON.parse((error as unknown as { detail: string }).detail)).toStrictEqual([
      { ...found, path: 'content', line: 2, column: 5 },
    ]);
    expect(JSON.stringify(error)).not.toContain(token.slice(4, 16));
  });

  it('names the place in the whole text of a document, and in the data of another item', async () => {
    const paragraphs = Array.from(
      { length: 60 },
      (_, n) => `## Part ${n}\n\n${'plain words of this part '.repeat(8)}\n\n`,
    );
    const body_md = `${paragraphs.join('')}the end\nuse ${token}\n`;
    const items = [
      { kind: 'document', project_id: 'l9', data: { title: 'a', body_md } },
      { kind: 'note', project_id: 'l9', data: { content: `see ${token}` } },
    ];
    const rows = await db.sql('C', 'select index, message, findings from public.memory_store($1) order by index', [
      JSON.stringify(items),
    ]);
    expect(rows[0].message).toMatch(/^data\.body_md: has what looks like a secret/);
    expect(rows[0].findings).toStrictEqual([{ ...found, path: 'data.body_md', line: 242, column: 5 }]);
    expect(rows[1].findings).toStrictEqual([{ ...found, path: 'data.content', line: 1, column: 5 }]);
  });
});
