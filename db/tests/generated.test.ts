import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { pino } from 'pino';
import { loadConfig } from '../../gateway/src/config.ts';
import { type Database, openDatabase } from '../../gateway/src/database/index.ts';
import { createTestHome, type TestHome } from '../../gateway/tests/support/databases.ts';
import { describeAccess } from '../../scripts/generate/access.ts';
import { committedFile, committedFolder, composeMigration } from '../../scripts/generate/migration.ts';
import { describeTriggers } from '../../scripts/generate/triggers.ts';

const generated = (file: string) => readFileSync(join(import.meta.dirname, '..', 'generated', file), 'utf8');

// Where one of these fails, `npm run generate` writes the file again.
describe('npm run generate', () => {
  let home: TestHome;
  let database: Database;
  let client: pg.PoolClient;
  beforeAll(async () => {
    home = await createTestHome();
    database = await openDatabase(loadConfig(home.env), pino({ level: 'silent' }));
    client = await database.pool.connect();
  });
  afterAll(async () => {
    client.release();
    await database.close();
    await home.drop();
  });

  it('puts every SQL source into the committed migration', async () => {
    expect(readFileSync(join(committedFolder, committedFile), 'utf8')).toBe(await composeMigration());
  });

  it('lists in access.md the policies and grants of the database', async () => {
    expect(generated('access.md')).toBe(await describeAccess(client));
  });

  it('lists in triggers.md the triggers of the database, in the order in which they fire', async () => {
    expect(generated('triggers.md')).toBe(await describeTriggers(client));
  });

  it('finds a reason for every trigger', () => {
    const withoutReason = generated('triggers.md').match(/^\| .*\|\s+\|$/gm);
    expect(withoutReason).toBeNull();
  });
});
