import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { describeAccess } from '../../scripts/generate/access.ts';
import { describeKinds } from '../../scripts/generate/kinds.ts';
import {
  committedFile,
  committedFolder,
  composeMigration,
  firstMigrationHash,
  frozenHash,
} from '../../scripts/generate/migration.ts';
import { describeTriggers } from '../../scripts/generate/triggers.ts';
import { useTestDatabase } from './support/test-database.ts';

const generated = (file: string) => readFileSync(join(import.meta.dirname, '..', 'generated', file), 'utf8');

// Where one of these fails, `npm run generate` writes the file again.
describe('npm run generate', () => {
  const db = useTestDatabase();
  const described = async (describe: (client: pg.PoolClient) => Promise<string>) => {
    const client = await db.pool.connect();
    try {
      return await describe(client);
    } finally {
      client.release();
    }
  };

  it('puts every SQL source into the first migration, and leaves that alone once it is frozen', async () => {
    const frozen = frozenHash();
    if (frozen !== null) expect(firstMigrationHash()).toBe(frozen);
    else expect(readFileSync(join(committedFolder, committedFile), 'utf8')).toBe(await composeMigration());
  });

  it('lists in access.md the policies and grants of the database', async () => {
    expect(generated('access.md')).toBe(await described(describeAccess));
  });

  it('lists in triggers.md the triggers of the database, in the order in which they fire', async () => {
    expect(generated('triggers.md')).toBe(await described(describeTriggers));
  });

  it('lists in kinds.json the built-in kinds, from which tools are listed', async () => {
    const database = { query: async <Row>(text: string) => ({ rows: (await db.asWorker(text)) as Row[] }) };
    expect(generated('kinds.json')).toBe(await describeKinds(database));
  });

  it('finds a reason for every trigger', () => {
    const withoutReason = generated('triggers.md').match(/^\| .*\|\s+\|$/gm);
    expect(withoutReason).toBeNull();
  });
});
