import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeAccess } from '../access.ts';
import { openTestDatabase } from './support/test-database.ts';

const file = join(import.meta.dirname, '..', 'access.md');

describe('db/access.md', () => {
  it('says what the catalogue says, so that a change of policies or grants shows in a diff', async () => {
    const db = await openTestDatabase();
    try {
      const page = await db.asCaller('L', describeAccess);
      if (process.env.UPDATE_ACCESS) writeFileSync(file, page);
      expect(page, 'run UPDATE_ACCESS=1 npm test db/tests/access.test.ts').toBe(readFileSync(file, 'utf8'));
    } finally {
      await db.close();
    }
  });
});
