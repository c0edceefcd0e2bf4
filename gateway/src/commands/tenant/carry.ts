// Carries the rows of a tenant into another database, whose transaction stays open meanwhile: first all of them, while the tenant is
// served; then, as often as needed, what has changed since. Whatever was carried is read again there, and compared.

import { copyRows, count, type Digest, digestOf } from './copy.ts';
import type { CellDatabase } from './database.ts';
import { TenantProblem } from './problem.ts';
import { ACCESS_LOG, APPEND_ONLY, copiedRowsOf, rowsOf, type TenantTable } from './tables.ts';

export interface Snapshot {
  /** The oldest transaction that the snapshot may not see. */
  xmin: string;
  /** How far the roll-up of accesses was. */
  countedTo: string;
}

/** Runs work that reads the source as it was at one moment. */
export async function inSnapshot<Result>(
  { query }: CellDatabase,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  await query('begin isolation level repeatable read read only');
  try {
    const { rows } = await query<Snapshot>(
      `select pg_snapshot_xmin(pg_current_snapshot())::xid::text as xmin, r.to_xid::text as "countedTo"
       from importance.access_roll_up r`,
    );
    return await work(rows[0]!);
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

/** Carries all rows; returns how many. */
export async function carryAll(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  signal: AbortSignal,
): Promise<number> {
  let rows = 0;
  for (const table of tables) {
    signal.throwIfAborted();
    if (table.name === ACCESS_LOG) continue;
    const read = await copyRows(source.client, rowsOf(table), target.client, table.name, table.columns);
    requireEqual(table.name, read, await digestOf(target.client, copiedRowsOf(table)));
    rows += read.rows;
  }
  return rows;
}

const same = (key: string[], one: string, other: string) =>
  key.map((column) => `${one}.${column} = ${other}.${column}`).join(' and ');

/** Carries what was written, changed or deleted since a snapshot; returns how many rows differed. */
export async function carryDifference(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  since: string,
  signal: AbortSignal,
): Promise<number> {
  const totals = new Map<string, number>();
  const wholes = new Map<string, Digest>();
  let rows = 0;
  // Rows that others refer to are found by those, so they go last.
  for (const table of [...tables].reverse()) {
    signal.throwIfAborted();
    if (table.name === ACCESS_LOG) continue;
    const changed = ` and age(t.xmin) <= age('${since}'::xid)`;
    const { rows: counted } = await source.query<{ total: string; changed: string }>(
      `select count(*) as total, count(*) filter (where true${changed}) as changed from ${table.name} t where ${table.where}`,
    );
    const found = { total: Number(counted[0]!.total), changed: Number(counted[0]!.changed) };
    totals.set(table.name, found.total);
    if (table.key) rows += await carryChanged(source, target, { ...table, key: table.key }, found, changed);
    else {
      const read = await carryWhole(source, target, table, found);
      if (read) wholes.set(table.name, read);
      rows += read?.rows ?? 0;
    }
  }
  for (const table of tables) {
    if (table.name === ACCESS_LOG) continue;
    const arrived = await count(target.query, `select count(*) from ${table.name} t where ${table.where}`);
    if (arrived !== totals.get(table.name))
      throw new TenantProblem(
        `${table.name}: there are ${totals.get(table.name)} rows, and ${arrived} arrived: nothing was moved`,
      );
    const read = wholes.get(table.name);
    if (read) requireEqual(table.name, read, await digestOf(target.client, copiedRowsOf(table)));
  }
  return rows;
}

interface Found {
  total: number;
  changed: number;
}

/** Of a table without a key. It is compared when all tables are there, because its rows are found by those of others. */
async function carryWhole(
  source: CellDatabase,
  target: CellDatabase,
  table: TenantTable,
  found: Found,
): Promise<Digest | null> {
  const { name, where, columns } = table;
  const arrived = await count(target.query, `select count(*) from ${name} t where ${where}`);
  if (found.changed === 0 && found.total === arrived) return null;
  await target.query(`delete from ${name} t where ${where}`);
  return copyRows(source.client, rowsOf(table), target.client, name, columns);
}

async function carryChanged(
  source: CellDatabase,
  target: CellDatabase,
  table: TenantTable & { key: string[] },
  found: Found,
  changed: string,
): Promise<number> {
  const { name, columns, key, where } = table;
  const isAppendOnly = APPEND_ONLY.includes(name);
  const elsewhere = ` and not exists (select from pg_temp.difference d where ${same(key, 'd', 't')})`;
  await target.query(
    `create temporary table difference on commit drop as select ${columns.join(', ')} from ${name} with no data`,
  );
  const read =
    found.changed === 0
      ? null
      : await copyRows(source.client, rowsOf(table, changed), target.client, 'pg_temp.difference', columns);
  const kept = await count(target.query, `select count(*) from ${name} t where ${where}${elsewhere}`);
  const vanished = kept + found.changed - found.total;
  if (vanished !== 0) await deleteVanished(source, target, table, elsewhere);
  if (read) {
    const list = columns.join(', ');
    if (!isAppendOnly)
      await target.query(`delete from ${name} t using pg_temp.difference d where ${same(key, 'd', 't')}`);
    await target.query(
      `insert into ${name} (${list}) select ${list} from pg_temp.difference${isAppendOnly ? ' on conflict do nothing' : ''}`,
    );
    const these = `exists (select from pg_temp.difference d where ${same(key, 'd', 't')})`;
    requireEqual(name, read, await digestOf(target.client, copiedRowsOf({ ...table, where: these })));
  }
  await target.query('drop table pg_temp.difference');
  return found.changed + Math.max(vanished, 0);
}

async function deleteVanished(
  source: CellDatabase,
  target: CellDatabase,
  { name, key, where }: TenantTable & { key: string[] },
  elsewhere: string,
): Promise<void> {
  const list = key.join(', ');
  await target.query(`create temporary table present on commit drop as select ${list} from ${name} with no data`);
  const keys = `select ${key.map((column) => `t.${column}`).join(', ')} from ${name} t where ${where}`;
  await copyRows(source.client, keys, target.client, 'pg_temp.present', key);
  await target.query(
    `delete from ${name} t where ${where}${elsewhere} and not exists (select from pg_temp.present p where ${same(key, 'p', 't')})`,
  );
  await target.query('drop table pg_temp.present');
}
