// Every column of every table of every schema, the catalogue's and the jobs' included.
import type pg from 'pg';

/** Which tables hold any of these words, in capitals or not, and in how many rows: `schema.table` → rows. */
export async function grepDatabase(client: pg.ClientBase, words: readonly string[]): Promise<Record<string, number>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and not pg_is_other_temp_schema(n.oid) order by 1`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ n: number }>(
      // A row is spelt out once, not once a word.
      `select count(*)::int as n from (select lower(t::text) as line from ${name} t offset 0) l
       where exists (select from unnest($1::text[]) as w (word) where strpos(l.line, w.word) > 0)`,
      [words.map((word) => word.toLowerCase())],
    );
    if (rows[0]!.n > 0) found[name] = rows[0]!.n;
  }
  return found;
}
