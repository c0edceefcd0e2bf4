// Reads the old tables: their names, their columns, and their rows in batches.
import pg from 'pg';
import {
  type AuditField,
  type Column,
  familyOf,
  isDerived,
  type Mapping,
  type MemoryField,
  mapAuditColumns,
  mapMemoryColumns,
} from './columns.ts';
import { parseJson } from './json.ts';
import type { OldRow } from './memory.ts';

export const SCHEMA = 'memory';

const MEMORY_TABLE = /^(memory_?)?(short|medium|mid|long)_?term(_?memor(y|ies))?$/i;
const AUDIT_TABLE = /^(memory_?)?audit(_?(log|logs|trail|events?))?$/i;
const KEY_NAMES = ['id', 'uuid', 'memory_id', 'packet_id', 'audit_id', 'log_id', 'entry_id', 'row_id'];

/** A problem of the old tables that a person has to solve first. */
export class LegacyProblem extends Error {}

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
export type Query = (sql: string, values?: unknown[]) => Promise<any[]>;

export interface OldTable {
  /** memory.long_term, quoted where needed. */
  name: string;
  oid: number;
  holds: 'memories' | 'audit';
  rows: number;
  columns: Column[];
  /** Non-null values of each column. */
  values: Record<string, number>;
  key: Column;
  fields: Mapping<MemoryField>;
  auditFields: Mapping<AuditField>;
}

export interface OldId {
  key: string;
  hash: string | null;
  bytes: number;
}

/** All old tables. Rejects with a LegacyProblem if they cannot be read. */
export async function findTables(query: Query): Promise<OldTable[]> {
  const found = await query(
    `select c.oid, c.relname as name, n.nspname || '.' || pg_catalog.quote_ident(c.relname) as shown,
      pg_catalog.has_schema_privilege(n.oid, 'usage') as may_enter, pg_catalog.has_table_privilege(c.oid, 'select') as may_read,
      pg_catalog.row_security_active(c.oid) as is_filtered, current_user::text as me
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname`,
    [SCHEMA],
  );
  const known = found.filter(({ name }) => MEMORY_TABLE.test(name) || AUDIT_TABLE.test(name));
  const grants = [
    ...(known.some(({ may_enter }) => !may_enter) ? [`grant usage on schema ${SCHEMA} to ${known[0].me};`] : []),
    ...known.filter(({ may_read }) => !may_read).map(({ shown, me }) => `grant select on ${shown} to ${me};`),
  ];
  if (grants.length > 0) {
    throw new LegacyProblem(
      `${known[0].me} may not read the old tables. As their owner or a superuser:\n  ${grants.join('\n  ')}`,
    );
  }
  const filtered = known.find(({ is_filtered }) => is_filtered);
  if (filtered) {
    throw new LegacyProblem(
      `row-level security hides rows of ${filtered.shown} from ${filtered.me}: read it as its owner, or \`alter table ${filtered.shown} disable row level security\``,
    );
  }
  const tables: OldTable[] = [];
  for (const { oid, name, shown } of known) {
    tables.push(await describeTable(query, oid, shown, MEMORY_TABLE.test(name) ? 'memories' : 'audit'));
  }
  // The table with the longest lifetime comes first, so that its row is kept if two have the same content.
  const rank = ({ name, holds }: OldTable) =>
    holds === 'audit' ? 9 : /long/i.test(name) ? 0 : /mid|medium/i.test(name) ? 1 : 2;
  return tables.sort((a, b) => rank(a) - rank(b));
}

async function describeTable(query: Query, oid: number, name: string, holds: OldTable['holds']): Promise<OldTable> {
  const columns: Column[] = (
    await query(
      `select a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type, a.attgenerated <> '' as "isGenerated",
        case when b.typnamespace = 'pg_catalog'::pg_catalog.regnamespace then pg_catalog.format_type(b.oid, null) else b.typname end as base,
        b.typtype = 'e' as "isEnum", case when b.typname in ('vector', 'halfvec') and a.atttypmod > 0 then a.atttypmod end as dimensions
      from pg_catalog.pg_attribute a
      join pg_catalog.pg_type t on t.oid = a.atttypid
      join pg_catalog.pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
      where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
      [oid],
    )
  ).map(({ base, isEnum, ...column }) => ({ ...column, family: familyOf(base, isEnum) }));

  const counts = columns.map((column, index) => `count(${quote(column.name)}) as c${index}`);
  const [counted] = await query(`select count(*) as n, ${counts.join(', ')} from ${name}`);
  const values = Object.fromEntries(columns.map((column, index) => [column.name, Number(counted[`c${index}`])]));
  const rows = Number(counted.n);
  const key = await findKey(query, oid, name, columns, values, rows);
  const fields = holds === 'memories' ? mapMemoryColumns(columns, key.name) : {};
  if (holds === 'memories' && !fields.content) {
    throw new LegacyProblem(`${name} has no column that could be the content (content, text, body …)`);
  }
  const auditFields = holds === 'audit' ? mapAuditColumns(columns, key.name) : {};
  return { name, oid, holds, rows, columns, values, key, fields, auditFields };
}

/** The unique column that orders the rows. */
async function findKey(
  query: Query,
  oid: number,
  name: string,
  columns: Column[],
  values: Record<string, number>,
  rows: number,
): Promise<Column> {
  const unique = await query(
    `select a.attname as name from pg_catalog.pg_index i
    join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = $1 and i.indisunique and i.indisvalid and i.indnkeyatts = 1 and i.indpred is null and i.indexprs is null
    order by i.indisprimary desc, a.attnum`,
    [oid],
  );
  const whole = unique.map((one) => columns.find((column) => column.name === one.name)!);
  const found = whole.find((column) => values[column.name] === rows);
  if (found) return found;
  const ownId = `${name.replace(/^.*\./, '').replaceAll('"', '')}_id`;
  for (const candidate of [...KEY_NAMES, ownId]) {
    const column = columns.find((one) => one.name.toLowerCase() === candidate && values[one.name] === rows);
    if (!column) continue;
    const [{ distinct }] = await query(`select count(distinct ${quote(column.name)}) as distinct from ${name}`);
    if (Number(distinct) === rows) return column;
  }
  throw new LegacyProblem(
    `${name} has no column with a unique value in every row: add one (alter table ${name} add column id bigint generated always as identity primary key)`,
  );
}

/** The highest importance, from which the scale is inferred; null if there is none. */
export async function highestImportance(query: Query, tables: OldTable[]): Promise<number | null> {
  let highest: number | null = null;
  for (const { name, fields } of tables) {
    if (!fields.importance) continue;
    const [{ max }] = await query(
      `select max(substring(${quote(fields.importance.name)}::text from '^\\s*(-?\\d+(?:\\.\\d+)?)\\s*$')::numeric)::float8 as max from ${name}`,
    );
    if (max !== null) highest = Math.max(highest ?? max, max);
  }
  return highest;
}

/** The number of vectors by their dimensions. */
export async function countDimensions(
  query: Query,
  tables: OldTable[],
): Promise<{ dimensions: number; rows: number }[]> {
  const all = new Map<number, number>();
  for (const { name, fields, values } of tables) {
    const column = fields.embedding;
    if (!column || values[column.name] === 0) continue;
    const counted = column.dimensions
      ? [{ dimensions: column.dimensions, rows: values[column.name] }]
      : await query(
          `select ${await dimensionsOf(query, column)} as dimensions, count(*) as rows from ${name}
          where ${quote(column.name)} is not null group by 1`,
        );
    for (const { dimensions, rows } of counted) {
      all.set(Number(dimensions), (all.get(Number(dimensions)) ?? 0) + Number(rows));
    }
  }
  return [...all].map(([dimensions, rows]) => ({ dimensions, rows })).sort((a, b) => b.rows - a.rows);
}

async function dimensionsOf(query: Query, column: Column): Promise<string> {
  const name = quote(column.name);
  if (column.family === 'numbers') return `cardinality(${name})`;
  if (column.family !== 'vector')
    return `coalesce(pg_catalog.array_length(pg_catalog.string_to_array(${name}::text, ','), 1), 0)`;
  const [{ schema }] = await query(
    "select pg_catalog.quote_ident(n.nspname) as schema from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'",
  );
  return `${schema}.vector_dims(${name})`;
}

/** Ids in order, with a hash of each row. */
export async function* readIds(query: Query, table: OldTable, size: number): AsyncGenerator<OldId[]> {
  const key = quote(table.key.name);
  const held = table.holds === 'memories' ? contentOf(table.fields.content!) : 'old::text';
  const select = `select ${key}::text as key, coalesce(octet_length(held), 0) as bytes,
      pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(held, 'UTF8')), 'hex') as hash
    from (select ${key}, ${held} as held from ${table.name} old`;
  let last: string | null = null;
  for (;;) {
    const ids: OldId[] = await query(
      last === null
        ? `${select} order by ${key} limit ${size}) batch order by ${key}`
        : `${select} where ${key} > $1::${table.key.type} order by ${key} limit ${size}) batch order by ${key}`,
      last === null ? [] : [last],
    );
    if (ids.length > 0) yield ids;
    if (ids.length < size) return;
    last = ids.at(-1)!.key;
  }
}

/** The rows of these ids in their order, without contents over `maxContent` bytes, with vectors only if requested. */
export async function readRows(
  query: Query,
  table: OldTable,
  ids: OldId[],
  { withVectors, maxContent }: { withVectors: boolean; maxContent: number },
): Promise<OldRow[]> {
  const { content, embedding, expires } = table.fields;
  const key = quote(table.key.name);
  const held = content ? contentOf(content) : null;
  const rest = table.columns
    .filter((column) => !isDerived(column) && column.name !== embedding?.name && column.name !== table.key.name)
    .filter((column) => column.name !== content?.name || column.family === 'json')
    .map((column) =>
      column.name === expires?.name && column.family === 'interval'
        ? `extract(epoch from ${quote(column.name)}) as ${quote(column.name)}`
        : quote(column.name),
    );
  const rows = await query(
    `select ${key}::text as key,
      ${held ? `case when octet_length(${held}) <= ${maxContent} then ${held} end` : 'null'} as content,
      ${embedding && withVectors ? `${quote(embedding.name)}::text` : 'null'} as embedding,
      ${rest.length > 0 ? `(select pg_catalog.to_jsonb(others) from (select ${rest.join(', ')}) others)::text` : "'{}'"} as rest
    from ${table.name} old
    where ${key} = any ($1::${table.key.type}[])`,
    [ids.map((id) => id.key)],
  );
  const byKey = new Map(rows.map((row) => [row.key as string, row]));
  return ids.flatMap(({ key, hash, bytes }) => {
    const row = byKey.get(key);
    return row
      ? [
          {
            key,
            hash,
            bytes,
            content: row.content,
            embedding: row.embedding,
            rest: parseJson(row.rest) as Record<string, unknown>,
          },
        ]
      : [];
  });
}

/** The text of a content column. In JSON it is a string or the value of a key. */
function contentOf({ name, family }: Column): string {
  const column = quote(name);
  if (family !== 'json') return `${column}::text`;
  return `(case pg_catalog.jsonb_typeof(${column}::jsonb) when 'string' then ${column}::jsonb #>> '{}'
    when 'object' then coalesce(${column}::jsonb ->> 'content', ${column}::jsonb ->> 'text', ${column}::text)
    when 'null' then null else ${column}::text end)`;
}

export const quote = (name: string) => pg.escapeIdentifier(name);
