// The committed migration: all SQL sources in one file. It is byte for byte what graphile-migrate's `commit` writes, which
// wants a server for its shadow database where this does not. Until version 1.0 nobody has data to keep, so a source is
// changed in place and the first migration is written again; from 1.0 on this file goes, and `npm run db:commit` is the way.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { calculateHash } from 'graphile-migrate/dist/hash.js';
import { compileIncludes, parseMigrationText, serializeMigration } from 'graphile-migrate/dist/migration.js';

const MESSAGE = 'the first schema';
const CURRENT = '1-current.sql';

const db = join(import.meta.dirname, '..', '..', 'db');
const migrationsFolder = join(db, 'migrations');
/** graphile-migrate includes files from here: its folder `fixtures` is a link to this one. */
const sources = join(db, 'schema');

export const committedFolder = join(migrationsFolder, 'committed');
export const committedFile = '000001-the-first-schema.sql';

export async function composeMigration(): Promise<string> {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.sql'))
    .sort();
  const current = files.map((file) => `--! include ${file}`).join('\n');
  // It reads only the folder of these settings.
  const settings = { migrationsFolder } as Parameters<typeof compileIncludes>[0];
  const included = await compileIncludes(settings, current, new Set([join(migrationsFolder, 'current', CURRENT)]));
  const { body } = parseMigrationText(CURRENT, `--! split: ${CURRENT}\n${included.trim()}\n`, false);
  return serializeMigration(body, { Previous: '-', Hash: calculateHash(body, null), Message: MESSAGE });
}
