// The log of accesses, which is append-only, and which the roll-up counts in the order of the transactions of its server. What was counted
// arrives without a number; what was not gets the number of the transaction in which it arrives, and comes last for that reason.
import { requireEqual } from './carry.ts';
import { copyRows, count, digestOf } from './copy.ts';
import type { CellDatabase } from './database.ts';
import { TenantProblem } from './problem.ts';
import { ACCESS_LOG, type TenantTable } from './tables.ts';

const COUNTED = `exists (select from importance.access_roll_up r where t.xid < r.to_xid or t.accessed_at <= r.era_after)`;
const ORDER = 'order by t.access_id, t.accessed_at';

const logIn = (tables: TenantTable[]) => tables.find(({ name }) => name === ACCESS_LOG)!;

/** What was counted since a transaction (null: ever), and, if these are the last, what was not. */
export function accessParts(tables: TenantTable[], since: string | null, isLast: boolean) {
  const { columns, where } = logIn(tables);
  const part = (name: string, isCounted: boolean) => {
    const copied = isCounted ? columns : columns.filter((column) => column !== 'xid');
    const list = copied.map((column) => (column === 'xid' ? "'0'::xid8 as xid" : `t.${column}`)).join(', ');
    const later =
      since === null
        ? ''
        : ` and t.xid >= '${since}'::xid8 and t.accessed_at > (select r.era_after from importance.access_roll_up r)`;
    return {
      name,
      table: ACCESS_LOG,
      columns: copied,
      select: `select ${list} from ${ACCESS_LOG} t where ${where} and ${isCounted ? `${COUNTED}${later}` : `not ${COUNTED}`} ${ORDER}`,
      /** The same, if nothing else has arrived. */
      arrived: `select ${list} from ${ACCESS_LOG} t where ${where} and t.xid ${isCounted ? '=' : '>'} '0'::xid8 ${ORDER}`,
    };
  };
  return [part(ACCESS_LOG, true), ...(isLast ? [part(`${ACCESS_LOG}, not counted`, false)] : [])];
}

/** Carries such parts; returns the number of rows. After the last, all are there. */
export async function carryAccesses(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  since: string | null,
  isLast: boolean,
): Promise<number> {
  let carried = 0;
  for (const { columns, select } of accessParts(tables, since, isLast)) {
    const list = columns.join(', ');
    await target.query(
      `create temporary table accesses on commit drop as select ${list} from ${ACCESS_LOG} with no data`,
    );
    const read = await copyRows(source.client, select, target.client, 'pg_temp.accesses', columns);
    await target.query(`insert into ${ACCESS_LOG} (${list}) select ${list} from pg_temp.accesses`);
    const these = `select ${columns.map((column) => `t.${column}`).join(', ')} from ${ACCESS_LOG} t
      join pg_temp.accesses a on a.access_id = t.access_id and a.accessed_at = t.accessed_at ${ORDER}`;
    requireEqual(ACCESS_LOG, read, await digestOf(target.client, these));
    await target.query('drop table pg_temp.accesses');
    carried += read.rows;
  }
  if (isLast) {
    const total = `select count(*) from ${ACCESS_LOG} t where ${logIn(tables).where}`;
    const [there, arrived] = [await count(source.query, total), await count(target.query, total)];
    if (there !== arrived)
      throw new TenantProblem(`${ACCESS_LOG}: there are ${there} rows, and ${arrived} arrived: nothing was moved`);
  }
  return carried;
}
