// The SQL of the database as text: the sources of db/schema in one, and the committed migrations. Until the first migration is
// frozen, it is written from the sources, byte for byte as `graphile-migrate commit` would, which wants a server for that.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCurrentMigrationLocation, readCurrentMigration } from 'graphile-migrate/dist/current.js';
import { calculateHash } from 'graphile-migrate/dist/hash.js';
import { compileIncludes, parseMigrationText, serializeMigration } from 'graphile-migrate/dist/migration.js';

const MESSAGE = 'the first schema';
const CURRENT = '1-current.sql';

const db = join(import.meta.dirname, '..', '..', 'db');
const migrationsFolder = join(db, 'migrations');
/** graphile-migrate includes files from here: its folder `fixtures` is a link to this one. */
const sources = join(db, 'schema');
// What graphile-migrate reads of its settings here is the folder.
const settings = { migrationsFolder } as Parameters<typeof compileIncludes>[0];

export const committedFolder = join(migrationsFolder, 'committed');
export const committedFile = '000001-the-first-schema.sql';
export const currentFile = join(migrationsFolder, 'current', CURRENT);
export const frozenFile = join(migrationsFolder, 'frozen.json');

const hashOfMigration = (text: string) => {
  const { headers, body } = parseMigrationText(committedFile, text);
  return calculateHash(body, headers.Previous === '-' ? null : headers.Previous!);
};

/** The hash that the first migration keeps forever, or null while it is not frozen. */
export function frozenHash(): string | null {
  try {
    return JSON.parse(readFileSync(frozenFile, 'utf8'))[committedFile] ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export const firstMigrationHash = (): string =>
  hashOfMigration(readFileSync(join(committedFolder, committedFile), 'utf8'));

/** All sources of db/schema, in their order. */
export async function sourceSql(): Promise<string> {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.sql'))
    .sort();
  const current = files.map((file) => `--! include ${file}`).join('\n');
  const included = await compileIncludes(settings, current, new Set([currentFile]));
  return parseMigrationText(CURRENT, `--! split: ${CURRENT}\n${included.trim()}\n`, false).body;
}

/** The first migration, as long as it is not frozen. */
export async function composeMigration(): Promise<string> {
  const body = await sourceSql();
  return serializeMigration(body, { Previous: '-', Hash: calculateHash(body, null), Message: MESSAGE });
}

export const committedFiles = (): string[] =>
  readdirSync(committedFolder)
    .filter((file) => file.endsWith('.sql'))
    .sort();

/** The committed migrations in their order, without their headers. */
export const committedBodies = (): string[] =>
  committedFiles().map((file) => parseMigrationText(file, readFileSync(join(committedFolder, file), 'utf8')).body);

/** What waits in db/migrations/current to be committed; empty if it holds comments only. */
export async function currentSql(): Promise<string> {
  const text = await readCurrentMigration(settings, await getCurrentMigrationLocation(settings));
  return /^(?!\s*(--|$))/m.test(text) ? text : '';
}
