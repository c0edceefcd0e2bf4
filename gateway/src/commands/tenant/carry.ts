// Carries the rows of a tenant into another database, whose transaction stays open meanwhile: first all of them, while the tenant is
// served; then, as often as needed, what has changed since. Whatever was carried is read again there, and compared.

import { copyRows, count, type Digest, digestOf } from './copy.ts';
import type { CellDatabase } from './database.ts';
import { TenantProblem } from './problem.ts';
import { ACCESS_LOG, APPEND_ONLY, copiedRowsOf, rowsOf, type TenantTable } from './tables.ts';

export interface Snapshot {
  /** The oldest transaction of this database that the snapshot may not see. */
  since: string;
  /** How far the roll-up of accesses was. */
  countedTo: string;
}

/**
 * A transaction such that all earlier ones of this database have ended. That of a snapshot would be no later than the oldest
 * of the whole server, which the target may be on, too.
 */
async function oldestRunning(query: CellDatabase['query']): Promise<string> {
  const oldest = async (text: string, values: string[] = []) =>
    (await query<{ xid: string }>(text, values)).rows[0]!.xid;
  const next = await oldest('select pg_snapshot_xmax(pg_current_snapshot())::xid::text as xid');
  const at = (from: string) =>
    `select coalesce((select x.xid from (${from}) as x (xid) where age(x.xid) > age($1::xid) order by age(x.xid) desc limit 1), $1::xid)::text as xid`;
  const running = await oldest(
    at('select a.backend_xid from pg_catalog.pg_stat_activity a where a.datname = current_database()'),
    [next],
  );
  // In this order, because one that is being prepared is first in the one list, and then in the other.
  return oldest(at('select p.transaction from pg_catalog.pg_prepared_xacts p where p.database = current_database()'), [
    running,
  ]);
}

/** Runs work that reads the source as it was at one moment. */
export async function inSnapshot<Result>(
  { query }: CellDatabase,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const since = await oldestRunning(query);
  await query('begin isolation level repeatable read read only');
  try {
    const { rows } = await query<{ countedTo: string }>(
      'select r.to_xid::text as "countedTo" from importance.access_roll_up r',
    );
    return await work({ since, ...rows[0]! });
  } finally {
    await query('commit').catch(() => {});
  }
}

const equal = (one: Digest, other: Digest) => one.rows === other.rows && one.sha256 === other.sha256;

export function requireEqual(name: string, read: Digest, arrived: Digest): void {
  if (!equal(read, arrived))
    throw new TenantProblem(
      `${name}: ${read.rows} rows were read, and ${arrived.rows} arrived${read.rows === arrived.rows ? ' with other contents' : ''}: nothing was moved`,
    );
}

/** How many rows of each table have arrived. Until they are committed only the session that brought them can change them. */
export type Arrived = Map<string, number>;

/** Carries all rows. */
export async function carryAll(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  signal: AbortSignal,
): Promise<Arrived> {
  const arrived: Arrived = new Map();
  for (const table of tables) {
    signal.throwIfAborted();
    if (table.name === ACCESS_LOG) continue;
    const read = await copyRows(source.client, rowsOf(table), target.client, table.name, table.columns);
    requireEqual(table.name, read, await digestOf(target.client, copiedRowsOf(table)));
    arrived.set(table.name, read.rows);
  }
  return arrived;
}

const same = (key: string[], one: string, other: string) =>
  key.map((column) => `${one}.${column} = ${other}.${column}`).join(' and ');

// A list of places that is longer than this is not faster than a search through the table.
const MOST_PLACES = 10_000;

interface Found {
  total: number;
  changed: number;
  /** The condition on the rows that have changed. */
  isChanged: string;
}

/** What has changed since a transaction, table by table, in one pass over each. */
async function findChanges({ query }: CellDatabase, tables: TenantTable[], since: string): Promise<Map<string, Found>> {
  const changed = `age(t.xmin) <= age('${since}'::xid)`;
  const { rows } = await query<{ name: string; total: string; places: string[] | null }>(
    tables
      .map(
        ({ name, where }) =>
          `select '${name}' as name, count(*) as total, array_agg(t.ctid::text) filter (where ${changed}) as places from ${name} t where ${where}`,
      )
      .join(' union all '),
  );
  return new Map(
    rows.map(({ name, total, places }) => {
      // Partitions have rows in the same places, so the other condition stays.
      const list = (places ?? []).map((place) => `"${place}"`).join(',');
      const near = places && places.length <= MOST_PLACES ? ` and t.ctid = any ('{${list}}'::tid[])` : '';
      const found = { total: Number(total), changed: places?.length ?? 0, isChanged: `${near} and ${changed}` };
      return [name, found];
    }),
  );
}

/**
 * Carries what was written, changed or deleted since a transaction; returns how many rows differed. Tables in which nothing
 * differs are left as they were counted and compared before.
 */
export async function carryDifference(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  arrived: Arrived,
  since: string,
  signal: AbortSignal,
): Promise<number> {
  const carried = tables.filter(({ name }) => name !== ACCESS_LOG);
  const changes = await findChanges(source, carried, since);
  const found = ({ name }: TenantTable) => changes.get(name)!;
  const different = carried.filter(
    (table) => found(table).changed > 0 || found(table).total !== arrived.get(table.name),
  );
  const wholes = new Map<string, Digest>();
  let rows = 0;
  // Rows that others refer to are found by those, so they go last.
  for (const table of different.toReversed()) {
    signal.throwIfAborted();
    const before = arrived.get(table.name)!;
    if (table.key) rows += await carryChanged(source, target, { ...table, key: table.key }, found(table), before);
    else {
      const read = await carryWhole(source, target, table);
      wholes.set(table.name, read);
      rows += read.rows;
    }
  }
  for (const table of carried) {
    // The rows of deeper tables are found by those of others, which may have changed.
    if (!different.includes(table) && table.depth === 0) continue;
    const there = await count(target.query, `select count(*) from ${table.name} t where ${table.where}`);
    if (there !== found(table).total)
      throw new TenantProblem(
        `${table.name}: there are ${found(table).total} rows, and ${there} arrived: nothing was moved`,
      );
    const read = wholes.get(table.name);
    if (read) requireEqual(table.name, read, await digestOf(target.client, copiedRowsOf(table)));
    arrived.set(table.name, there);
  }
  return rows;
}

/** Of a table without a key. It is compared when all tables are there, because its rows are found by those of others. */
async function carryWhole(source: CellDatabase, target: CellDatabase, table: TenantTable): Promise<Digest> {
  const { name, where, columns } = table;
  await target.query(`delete from ${name} t where ${where}`);
  return copyRows(source.client, rowsOf(table), target.client, name, columns);
}

async function carryChanged(
  source: CellDatabase,
  target: CellDatabase,
  table: TenantTable & { key: string[] },
  { total, changed, isChanged }: Found,
  arrived: number,
): Promise<number> {
  const { name, columns, key, where } = table;
  const isAppendOnly = APPEND_ONLY.includes(name);
  const list = columns.join(', ');
  await target.query(`create temporary table difference on commit drop as select ${list} from ${name} with no data`);
  const read =
    changed === 0
      ? null
      : await copyRows(source.client, rowsOf(table, isChanged), target.client, 'pg_temp.difference', columns);
  await target.query('analyze pg_temp.difference');
  const again = await count(
    target.query,
    `select count(*) from pg_temp.difference d where exists (select from ${name} t where ${same(key, 'd', 't')} and ${where})`,
  );
  const vanished = arrived - again + changed - total;
  if (vanished !== 0) await deleteVanished(source, target, table);
  if (read) {
    if (!isAppendOnly)
      await target.query(`delete from ${name} t using pg_temp.difference d where ${same(key, 'd', 't')}`);
    await target.query(
      `insert into ${name} (${list}) select ${list} from pg_temp.difference${isAppendOnly ? ' on conflict do nothing' : ''}`,
    );
    const these = `exists (select from pg_temp.difference d where ${same(key, 'd', 't')})`;
    requireEqual(name, read, await digestOf(target.client, copiedRowsOf({ ...table, where: these })));
  }
  await target.query('drop table pg_temp.difference');
  return changed + Math.max(vanished, 0);
}

async function deleteVanished(
  source: CellDatabase,
  target: CellDatabase,
  { name, key, where }: TenantTable & { key: string[] },
): Promise<void> {
  const list = key.join(', ');
  await target.query(`create temporary table present on commit drop as select ${list} from ${name} with no data`);
  const keys = `select ${key.map((column) => `t.${column}`).join(', ')} from ${name} t where ${where}`;
  await copyRows(source.client, keys, target.client, 'pg_temp.present', key);
  await target.query(
    `delete from ${name} t where ${where} and not exists (select from pg_temp.present p where ${same(key, 'p', 't')})`,
  );
  await target.query('drop table pg_temp.present');
}
