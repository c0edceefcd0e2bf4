// `npm run generate`: writes every generated file of the repository, from the SQL sources and the operations. It needs no
// server: the embedded engine runs the committed migrations, and the other files are read from that database.
// With --check it writes nothing and fails if a file is stale.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pino } from 'pino';
import { loadConfig } from '../../gateway/src/config/config.ts';
import { type Database, openDatabase } from '../../gateway/src/database/index.ts';
import { readCatalogue } from '../../gateway/src/graphql/introspection.ts';
import { buildSchema } from '../../gateway/src/graphql/schema.ts';
import { describeAccess } from './access.ts';
import { printGraphqlSchema } from './graphql-schema.ts';
import { describeKinds } from './kinds.ts';
import {
  committedFile,
  committedFolder,
  composeMigration,
  currentSql,
  firstMigrationHash,
  frozenHash,
} from './migration.ts';
import { describeOperations } from './operations.ts';
import { describePlugin } from './plugin.ts';
import { describeTriggers } from './triggers.ts';
import { describeTypescriptClient } from './typescript-client.ts';

const root = join(import.meta.dirname, '..', '..');
const isCheck = process.argv.includes('--check');
const logger = pino({ level: 'silent' });
const stale: string[] = [];
/** What writing the files again does not mend. */
const problems: string[] = [];

function keep(file: string, text: string) {
  const path = join(root, file);
  if (read(path) === text) return;
  stale.push(file);
  if (isCheck) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(`${file} was written.`);
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Once the first migration is frozen, migrations are what graphile-migrate committed, and nothing here writes them. */
async function keepMigration() {
  const frozen = frozenHash();
  if (frozen === null) keep(relative(root, join(committedFolder, committedFile)), await composeMigration());
  else if (frozen !== firstMigrationHash())
    problems.push(
      `${committedFile} is frozen and was changed: take it back, and write a migration (docs/contributing.md)`,
    );
  else if (isCheck && (await currentSql()))
    problems.push('db/migrations/current holds what is not committed: run `npm run db:commit`');
}

async function keepCatalogue({ pool }: Database) {
  const client = await pool.connect();
  try {
    keep('db/generated/access.md', await describeAccess(client));
    keep('db/generated/triggers.md', await describeTriggers(client));
  } finally {
    client.release();
  }
}

async function keepKinds(database: Database) {
  keep('db/generated/kinds.json', await describeKinds(database.workerPool));
}

async function keepGraphqlSchema(database: Database) {
  const schema = await buildSchema(await readCatalogue(database));
  keep('gateway/schema.graphql', printGraphqlSchema(schema));
  const operations = readFileSync(join(root, 'clients/typescript/operations.graphql'), 'utf8');
  keep('clients/typescript/src/generated.ts', describeTypescriptClient(schema, operations));
}

await keepMigration();
keep('docs/reference/operations.md', describeOperations());
for (const [file, text] of Object.entries(describePlugin(root))) keep(file, text);
// With a stale migration the other files would be compared with an outdated database.
if (!isCheck || stale.length + problems.length === 0) {
  const home = mkdtempSync(join(tmpdir(), 'l9-generate-'));
  try {
    const database = await openDatabase(loadConfig({ L9_MEMORY_HOME: home }), logger);
    try {
      await keepCatalogue(database);
      await keepKinds(database);
      await keepGraphqlSchema(database);
    } finally {
      await database.close();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (stale.length + problems.length === 0) console.log('All generated files are up to date.');
if (isCheck && stale.length > 0) {
  console.error(`Run \`npm run generate\`: ${stale.join(', ')} ${stale.length === 1 ? 'is' : 'are'} stale.`);
  process.exitCode = 1;
}
for (const problem of problems) {
  console.error(problem);
  process.exitCode = 1;
}
