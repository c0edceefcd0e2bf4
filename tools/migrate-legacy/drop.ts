// Drops the old schema if everything in it is accounted for.

import { SQLSTATE, sqlstateOf } from '../../gateway/src/base/errors.ts';
import type { Move } from './move.ts';
import { moveTable } from './move.ts';
import { findTables, type OldTable, type Query, SCHEMA } from './source.ts';
import type { Tally } from './tally.ts';

/** Outcomes that allow a drop: the memory was moved, and may have been changed by its writer since. */
const ACCOUNTED = ['kept', 'edited'];
/** Outcomes that allow a drop if --skip names them: not moved, for a reason in the report. */
export const SKIPPABLE = [
  'blank',
  'long',
  'large',
  'expired',
  'deleted',
  'scope',
  'project',
  'refused',
  'operation',
  'time',
  'gone',
  'changed',
  'actors',
];

const explanations: Record<string, string> = {
  moved: 'not moved yet',
  merged: 'not moved yet',
  recorded: 'not moved yet',
  changed: 'were changed in the old table after they were moved',
  gone: 'were moved, and have been deleted here since',
  different: 'moved, but its content here differs: check these rows first',
  actors:
    'were moved, but name another caller, creator, source or tool here than in the old table: check these rows first',
  garbled: 'read with a different hash than in the old table: check these rows first',
};

interface OtherObject {
  object: string;
  /** The statement that drops it, if only the old tables use it: types, sequences and trigger functions. */
  drop: string | null;
}

/** Known objects of the old schema besides its tables, and objects that are dropped with them. */
async function otherObjects(query: Query, tables: OldTable[]): Promise<OtherObject[]> {
  return query(
    `with recursive ours (oid) as (
      select unnest($1::pg_catalog.oid[])
      union
      select i.inhrelid from pg_catalog.pg_inherits i join ours on ours.oid = i.inhparent
    ), others as (
      select d.classid, d.objid, d.objsubid
      from pg_catalog.pg_depend d
      where d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
        and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $2)
        and not (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and (
          d.objid in (select oid from ours)
          or exists (
            select from pg_catalog.pg_depend o
            where o.classid = d.classid and o.objid = d.objid and o.refclassid = d.classid
              and o.refobjid in (select oid from ours) and o.deptype in ('a', 'i'))))
    ), users as (
      select o.classid, o.objid,
        coalesce(t.tgrelid, a.adrelid, c.conrelid, case when u.classid = 'pg_catalog.pg_class'::pg_catalog.regclass then u.objid end)
          in (select oid from ours) as is_ours
      from others o
      join pg_catalog.pg_depend u on u.refclassid = o.classid and u.refobjid = o.objid and u.deptype <> 'i'
      left join pg_catalog.pg_trigger t on u.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass and t.oid = u.objid
      left join pg_catalog.pg_attrdef a on u.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and a.oid = u.objid
      left join pg_catalog.pg_constraint c on u.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass and c.oid = u.objid
    )
    select pg_catalog.pg_describe_object(o.classid, o.objid, o.objsubid) as object,
      case when i.type in ('type', 'function', 'sequence')
        and (select pg_catalog.bool_and(u.is_ours is true) from users u where u.classid = o.classid and u.objid = o.objid)
        then pg_catalog.format('drop %s %s', i.type, i.identity) end as drop
    from others o
    cross join lateral pg_catalog.pg_identify_object(o.classid, o.objid, o.objsubid) i
    order by 1`,
    [tables.map(({ oid }) => oid), SCHEMA],
  );
}

/** Unknown objects of the old schema. */
export const unknownObjects = async (query: Query, tables: OldTable[]): Promise<string[]> =>
  (await otherObjects(query, tables)).filter(({ drop }) => drop === null).map(({ object }) => object);

export const unknownProblem = (object: string) =>
  `${object} is also in schema ${SCHEMA}, and this command does not know it: move or drop it yourself`;

/** The reasons why the rows of a table prevent dropping it. */
export function unaccounted(table: OldTable, tally: Tally, skip: readonly string[]): string[] {
  const problems = Object.entries(tally.outcomes)
    .filter(([what]) => !ACCOUNTED.includes(what) && !skip.includes(what))
    .map(([what, { rows, examples }]) => {
      const skipped = SKIPPABLE.includes(what) ? `; --skip ${what} accepts their loss` : '';
      return `${table.name}: ${rows} rows ${explanations[what] ?? `not moved (${what})`}${skipped} (${examples.slice(0, 3).join(', ')}${rows > 3 ? ', …' : ''})`;
    });
  const texts = Object.entries(tally.notes).filter(([what]) => what.startsWith('texts in audit rows'));
  if (texts.length > 0 && !skip.includes('texts')) {
    problems.push(
      `${table.name}: texts in audit rows would be lost; --skip texts accepts that (${texts.map(([what]) => what.replace(/^.*\((.*)\)$/, '$1')).join(', ')})`,
    );
  }
  return problems;
}

/** Compares every row again, and returns everything that prevents dropping the old schema. */
async function obstacles(move: Move, tables: OldTable[], skip: readonly string[]): Promise<string[]> {
  const protect: Move['protect'] = async (work) => {
    await move.source('savepoint batch');
    try {
      return await work();
    } catch (error) {
      await move.source('rollback to savepoint batch');
      throw error;
    } finally {
      await move.source('release savepoint batch');
    }
  };
  const problems = (await unknownObjects(move.source, tables)).map(unknownProblem);
  for (const table of tables) {
    const tally = await moveTable({ ...move, apply: false, comparesAgain: true, protect }, table, new Set());
    problems.push(...unaccounted(table, tally, skip));
    const counted = Object.values(tally.outcomes).reduce((sum, { rows }) => sum + rows, 0);
    const [{ n }] = await move.source(`select count(*) as n from ${table.name}`);
    if (counted !== Number(n)) problems.push(`${table.name}: has ${n} rows, but only ${counted} are accounted for`);
  }
  return problems;
}

/**
 * Locks the old tables, compares every row with the imported one, and drops the tables and their schema, in one transaction
 * of the old database. Returns the reasons against it; [] if they were dropped.
 */
export async function dropOldSchema(given: Move, skip: readonly string[]): Promise<string[]> {
  // From here on a signal no longer stops it.
  const { signal: _, ...move } = given;
  const { source } = move;
  await source('begin read write');
  let isDone = false;
  try {
    await source("set local lock_timeout = '10s'");
    const tables = await findTables(source);
    const rights = await missingRights(source, tables);
    if (rights.length > 0) return rights;
    const names = tables.map(({ name }) => name).join(', ');
    if (tables.length > 0) await source(`lock table ${names} in access exclusive mode`);
    const problems = await obstacles(move, tables, skip);
    if (problems.length > 0) return problems;
    const others = await otherObjects(source, tables);
    if (tables.length > 0) await source(`drop table ${names}`);
    for (const { drop } of others) await source(drop!);
    await source(`drop schema ${SCHEMA}`);
    const record = () =>
      move.target(
        "select audit.write_audit('CLEANUP', $1, details => jsonb_build_object('dropped_tables', $2::text[], 'rows', $3::bigint))",
        [SCHEMA, tables.map(({ name }) => name), tables.reduce((sum, { rows }) => sum + rows, 0)],
      );
    // If the old tables are in this database, this is the same transaction.
    const isHere = source === move.target;
    if (isHere) await record();
    await source('commit');
    isDone = true;
    if (!isHere) await record();
    return [];
  } catch (error) {
    const code = sqlstateOf(error);
    const { message, detail } = error as { message: string; detail?: string };
    if (code === '2BP01') return [`${message}: ${detail ?? ''}`.replaceAll('\n', '; ')];
    if (code === SQLSTATE.lockNotAvailable)
      return ['the old tables are in use: they could not be locked within ten seconds'];
    throw error;
  } finally {
    if (!isDone) await source('rollback').catch(() => {});
  }
}

export async function missingRights(query: Query, tables: OldTable[]): Promise<string[]> {
  const rows = await query(
    `select pg_catalog.format('alter table %s owner to %I;', c.oid::pg_catalog.regclass, current_user) as wanted
    from pg_catalog.pg_class c
    where c.oid = any ($1::pg_catalog.oid[]) and not pg_catalog.pg_has_role(c.relowner, 'usage')
    union all
    select pg_catalog.format('alter schema %I owner to %I;', n.nspname, current_user)
    from pg_catalog.pg_namespace n
    where n.nspname = $2 and not pg_catalog.pg_has_role(n.nspowner, 'usage')`,
    [tables.map(({ oid }) => oid), SCHEMA],
  );
  return rows.map(({ wanted }) => `only the owner may drop it: run as a superuser: ${wanted}`);
}
