// db/generated/kinds.json: the built-in kinds and their fields, from which the gateway makes the schema of memory_store.
import type { Kind } from '../../gateway/src/operations/kind-fields.ts';

interface Queryable {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>;
}

export async function describeKinds(database: Queryable): Promise<string> {
  const { rows } = await database.query<Kind>('select kind, rules from kinds.built_in() order by kind');
  return `${JSON.stringify(rows, null, 2)}\n`;
}
