// What SQL makes of a database that is bootstrapped and has no migration, such as one in memory.
import { _migrateMigrationSchema as makeMigrateSchema } from 'graphile-migrate/dist/migration.js';
import { bootstrapSql } from '../../gateway/src/database/migrations.ts';
import { createPglite } from '../../gateway/src/database/pglite.ts';
import { type Queryable, type SchemaObject, schemaOf } from './catalogue.ts';

/** The schema after l9_owner has run these texts, each in a transaction, as graphile-migrate does. `exec` runs several statements. */
export async function schemaMadeBy(
  texts: readonly string[],
  db: Queryable,
  exec: (statements: string) => Promise<unknown>,
): Promise<Map<string, SchemaObject>> {
  const client = { query: exec } as unknown as Parameters<typeof makeMigrateSchema>[0];
  const settings = { manageGraphileMigrateSchema: true } as Parameters<typeof makeMigrateSchema>[1];
  await makeMigrateSchema(client, settings);
  for (const text of texts) await exec(`begin; ${text}; commit`);
  return schemaOf(db);
}

export async function schemaInMemory(texts: readonly string[]): Promise<Map<string, SchemaObject>> {
  const db = await createPglite('memory://');
  try {
    await db.exec(bootstrapSql());
    await db.exec('set session authorization l9_owner');
    return await schemaMadeBy(texts, db, (statements) => db.exec(statements));
  } finally {
    await db.close();
  }
}
