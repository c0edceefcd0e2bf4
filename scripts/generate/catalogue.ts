// Helpers for the pages that are generated from the catalogue.
import type pg from 'pg';

/** The condition on a row `n` of pg_namespace that it is a schema of this project, and not one of a library. */
export const IS_OUR_SCHEMA = `(n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate')`;

/** Every role of this project, in the order in which pages name them. */
export const ROLES = [
  'l9_agent',
  'l9_admin',
  'l9_platform_admin',
  'l9_worker',
  'l9_searcher',
  'l9_owner',
  'l9_gateway',
  'l9_backup',
];

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
type Row = Record<string, any>;

/** Without a search_path, names in the answer have their schema, whatever the session may use. */
export async function rowsOf(client: pg.ClientBase, query: string, values: unknown[] = []): Promise<Row[]> {
  await client.query("begin; set local search_path = ''");
  try {
    return (await client.query<Row>(query, values)).rows;
  } finally {
    await client.query('rollback');
  }
}

const cell = (value: unknown) =>
  String(value ?? '')
    .replaceAll('|', '\\|')
    .replace(/\s+/g, ' ');

export const markdownTable = (head: readonly string[], rows: readonly unknown[][]) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** The rows of each table, in the order of their first rows. */
export const byTable = (rows: readonly Row[]) => Map.groupBy(rows, ({ table }): string => table);
