// Goes through the old tables in batches, and moves rows that are not moved yet, or only reports what would happen.
import { setImmediate } from 'node:timers/promises';
import { sqlstateOf } from '../../gateway/src/base/errors.ts';
import { auditMapper } from './audit.ts';
import { withLock } from './install.ts';
import { MAX_CONTENT, type MemoryRecord, type MemoryRules, memoryMapper, type OldRow } from './memory.ts';
import { type OldId, type OldTable, type Query, readIds, readRows } from './source.ts';
import { createTally, type Tally } from './tally.ts';

const IDS = 1_000;
const ROWS = 500;
const BYTES = 4 * 1024 * 1024;

export interface Move {
  source: Query;
  target: Query;
  tenantId: string;
  rules: MemoryRules;
  /** The serving embedding model. */
  presentModel: string;
  memoryTables: string[];
  /** False for a dry run, which changes nothing. */
  apply: boolean;
  /** Checks again what already moved rows say of their writers, and which parts of audit rows were left out. */
  comparesAgain?: boolean;
  /** Wraps work that may fail and be retried; within a transaction it uses a savepoint. */
  protect?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Stops the move between two batches. */
  signal?: AbortSignal;
  onProgress?: (rows: number) => void;
}

/** Returns the outcome, real or expected, of every row of a table. */
export async function moveTable(move: Move, table: OldTable, seen: Set<string>): Promise<Tally> {
  const tally = createTally();
  const judge = table.holds === 'memories' ? memoryBatch(move, table, tally, seen) : auditBatch(move, table, tally);
  for await (const ids of readIds(move.source, table, IDS)) {
    const states: { source_id: string; state: string }[] = await move.target(
      'select * from legacy_import.compare_legacy($1, $2, $3, $4)',
      [move.rules.source, table.name, ids.map(({ key }) => key), ids.map(({ hash }) => hash)],
    );
    const unmoved: OldId[] = [];
    const gone: OldId[] = [];
    const moved: { id: OldId; state: string }[] = [];
    for (const [index, { source_id, state }] of states.entries()) {
      if (state === 'new') unmoved.push(ids[index]!);
      else if (state === 'gone') gone.push(ids[index]!);
      else if (move.comparesAgain && (state === 'kept' || state === 'edited')) moved.push({ id: ids[index]!, state });
      else tally.outcome(state, source_id);
    }
    const others = await otherActors(
      move,
      table,
      tally,
      moved.map(({ id }) => id),
    );
    for (const { id, state } of moved) tally.outcome(others.has(id.key) ? 'actors' : state, id.key);
    for (const batch of sized(unmoved)) {
      // The embedded engine answers without waiting, so signals are handled only here.
      await setImmediate();
      move.signal?.throwIfAborted();
      await judge(batch);
    }
    // A memory that expired after the move and was deleted is not a loss.
    if (gone.length > 0) {
      const map = memoryMapper(table.name, table.fields, move.rules, createTally());
      for (const batch of sized(gone)) {
        for (const row of await readRows(move.source, table, batch, { withVectors: false, maxContent: 0 })) {
          const judged = map(row);
          tally.outcome('reason' in judged && judged.reason === 'expired' ? 'expired' : 'gone', row.key);
        }
      }
    }
    move.onProgress?.(ids.length);
  }
  return tally;
}

/** The rows that were moved with other writers than the old table names. */
async function otherActors(move: Move, table: OldTable, tally: Tally, ids: OldId[]): Promise<Set<string>> {
  const others = new Set<string>();
  const ofAudit = auditMapper(table.name, table.auditFields, move.rules, move.memoryTables, tally);
  const ofMemory = memoryMapper(table.name, table.fields, move.rules, createTally());
  for (const batch of sized(ids)) {
    const writers: Record<string, unknown>[] = [];
    for (const row of await readRows(move.source, table, batch, { withVectors: false, maxContent: 0 })) {
      if (table.holds === 'audit') {
        const judged = ofAudit(row);
        if ('record' in judged) {
          const { source_id, occurred_at, caller, creator, source, tool_name } = judged.record;
          writers.push({ source_id, occurred_at, caller, creator, source, tool_name });
        }
      } else {
        const judged = ofMemory(row);
        if ('record' in judged) {
          const { creator, source } = judged.record.metadata;
          writers.push({ source_id: row.key, creator, source });
        }
      }
    }
    const rows: { source_id: string }[] = await move.target(
      'select * from legacy_import.compare_legacy_actors($1, $2, $3)',
      [move.rules.source, table.name, JSON.stringify(writers)],
    );
    for (const { source_id } of rows) others.add(source_id);
  }
  return others;
}

/** Divides rows into batches of limited size in memory. */
function* sized(ids: OldId[]): Generator<OldId[]> {
  let batch: OldId[] = [];
  let bytes = 0;
  for (const id of ids) {
    if (batch.length === ROWS || (batch.length > 0 && bytes + id.bytes > BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(id);
    bytes += id.bytes;
  }
  if (batch.length > 0) yield batch;
}

const ATTEMPTS = 5;

/** Retries a batch that fails on its values in halves, down to the invalid row. `work` returns the rows to retry. */
function inHalves({ protect }: Move, tally: Tally, work: (ids: OldId[]) => Promise<OldId[]>) {
  return async function attempt(ids: OldId[], attempts = 1): Promise<void> {
    let again: OldId[] = [];
    try {
      again = await (protect ? protect(() => work(ids)) : work(ids));
    } catch (error) {
      const code = sqlstateOf(error) ?? '';
      if (!/^(22|23|54|L9)/.test(code)) throw error;
      if (ids.length > 1) {
        const half = ids.length >> 1;
        await attempt(ids.slice(0, half));
        await attempt(ids.slice(half));
      } else {
        tally.note(`refused by the database with ${code}`);
        tally.outcome('refused', ids[0]!.key);
      }
    }
    if (again.length === 0) return;
    if (attempts === ATTEMPTS) throw new Error(`${again.length} rows remained locked by others: run it again`);
    await attempt(again, attempts + 1);
  };
}

interface Outcome {
  source_id: string;
  outcome: string;
  duplicate_key: string;
  has_vector: boolean;
}

function memoryBatch(move: Move, table: OldTable, tally: Tally, seen: Set<string>) {
  const { rules, apply } = move;
  return inHalves(move, tally, async (ids) => {
    const rows = await readRows(move.source, table, ids, {
      withVectors: apply && rules.model !== null,
      maxContent: MAX_CONTENT,
    });
    const judge = (some: OldRow[]) => {
      const counted = createTally();
      const map = memoryMapper(table.name, table.fields, rules, counted);
      const records: MemoryRecord[] = [];
      for (const row of some) {
        const judged = map(row);
        if ('record' in judged) records.push(judged.record);
        else counted.outcome(judged.reason, row.key);
      }
      return { records, counted };
    };
    let { records, counted } = judge(rows);
    const place = [rules.source, table.name, move.tenantId, JSON.stringify(records)];
    let outcomes: Outcome[] = [];
    if (records.length > 0 && apply) {
      const values = [...place, rules.model?.name ?? null, rules.model?.dimensions ?? null];
      outcomes = await withLock(() =>
        move.target('select * from legacy_import.import_legacy($1, $2, $3, $4, $5, $6, $7)', [
          ...values,
          rules.model?.name === move.presentModel,
        ]),
      );
    } else if (records.length > 0) {
      outcomes = await move.target('select * from legacy_import.preview_legacy($1, $2, $3, $4)', place);
    }
    // A concurrent save of the same content, or a duplicate id in the batch: the row is retried and not counted yet.
    const again = new Set(outcomes.filter(({ outcome }) => outcome === 'again').map(({ source_id }) => source_id));
    if (again.size > 0) ({ counted } = judge(rows.filter(({ key }) => !again.has(key))));
    for (const { source_id, outcome, duplicate_key, has_vector } of outcomes) {
      if (again.has(source_id)) continue;
      counted.outcome(!apply && outcome === 'moved' && seen.has(duplicate_key) ? 'merged' : outcome, source_id);
      if (!apply && outcome === 'moved') seen.add(duplicate_key);
      if (has_vector) counted.vector('moved');
    }
    tally.add(counted);
    return ids.filter(({ key }) => again.has(key));
  });
}

function auditBatch(move: Move, table: OldTable, tally: Tally) {
  return inHalves(move, tally, async (ids) => {
    const batch = createTally();
    const map = auditMapper(table.name, table.auditFields, move.rules, move.memoryTables, batch);
    const records = [];
    for (const row of await readRows(move.source, table, ids, { withVectors: false, maxContent: 0 })) {
      const judged = map(row);
      if ('record' in judged) records.push(judged.record);
      else batch.outcome(judged.reason, row.key);
    }
    if (move.apply && records.length > 0) {
      await move.target('select legacy_import.import_legacy_audit($1, $2, $3, $4)', [
        move.rules.source,
        table.name,
        move.tenantId,
        JSON.stringify(records),
      ]);
    }
    for (const { source_id } of records) batch.outcome('recorded', source_id);
    tally.add(batch);
    return [];
  });
}
