// What docs/how-to/export-and-import.md says to run in SQL runs, and its table names each kind of lines.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useTestDatabase } from '../../../db/tests/support/test-database.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'export-and-import.md'),
  'utf8',
);

describe('docs/how-to/export-and-import.md', () => {
  const db = useTestDatabase();

  it('counts and exports in SQL as it says', async () => {
    const answers = await runBlocks(db, page);
    expect(answers.flat()).toEqual(
      expect.arrayContaining([{ kind: 'memory', lines: '0' }, { kind: 'fact', lines: '0' }, { memories: '0' }]),
    );
  });

  it('names each kind of lines', async () => {
    const kinds = (await db.asOwner('select kind from transfer.kinds()')).map(({ kind }) => kind);
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(named.sort()).toStrictEqual(kinds.sort());
  });
});
