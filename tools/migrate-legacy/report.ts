// The report of a run, for people and (--json) for programs.
import { isDerived } from './columns.ts';
import type { OldTable } from './source.ts';
import type { Tally } from './tally.ts';

export interface TableReport {
  name: string;
  holds: OldTable['holds'];
  rows: number;
  key: string;
  columns: { name: string; type: string; values: number; becomes: string }[];
  outcomes: Tally['outcomes'];
  scopes: Tally['scopes'];
  writers: Tally['writers'];
  vectors: Tally['vectors'];
  notes: Tally['notes'];
}

export interface Report {
  applied: boolean;
  source: string;
  importance: { highest: number | null; scale: number | null };
  vectors: { model: string | null; dimensions: number | null; found: { dimensions: number; rows: number }[] };
  tables: TableReport[];
  unknownObjects: string[];
  seconds: number;
  rowsPerSecond: number;
  drop: { done: boolean; obstacles: string[] } | null;
}

export function reportTable(table: OldTable, tally: Tally, hasModel: boolean): TableReport {
  const fields = { ...table.fields, ...table.auditFields };
  const fieldOf = new Map(Object.entries(fields).map(([field, column]) => [column.name, field]));
  const { outcomes, scopes, writers, vectors, notes } = tally;
  return {
    name: table.name,
    holds: table.holds,
    rows: table.rows,
    key: table.key.name,
    columns: table.columns.map((column) => {
      const field = fieldOf.get(column.name);
      let becomes =
        field ?? (table.holds === 'audit' ? 'details, unless it is text' : 'unmapped: provenance.legacy.columns');
      if (column.name === table.key.name) becomes = 'id';
      else if (field === 'embedding' && !hasModel) becomes = 'not imported: embedded again (no --embedding-model)';
      else if (!field && isDerived(column)) becomes = 'not imported: computed from other columns';
      return { name: column.name, type: column.type, values: table.values[column.name] ?? 0, becomes };
    }),
    outcomes,
    scopes,
    writers,
    vectors,
    notes,
  };
}

const outcomeTexts: Record<string, string> = {
  moved: 'moved',
  merged: 'merged into a memory with the same content',
  recorded: 'recorded in audit_log',
  kept: 'moved before',
  edited: 'moved before, changed here since',
  gone: 'moved before, deleted here since',
  changed: 'NOT moved again: changed in the old table after it was moved',
  different: 'moved before, BUT the content here differs',
  actors: 'moved before, BUT the writer here differs',
  garbled: 'NOT moved: the hash changed on the way',
  blank: 'NOT moved: no content',
  long: 'NOT moved: content over 1 MiB',
  large: 'NOT moved: over 256 KiB besides the content',
  expired: 'NOT moved: expired',
  deleted: 'NOT moved: marked as deleted',
  scope: 'NOT moved: scope unknown (map it with --scope old=new)',
  project: 'NOT moved: no project or an invalid one (--project sets it for rows without one)',
  operation: 'NOT moved: operation unknown',
  time: 'NOT moved: no time',
  refused: 'NOT moved: refused by the database',
};

const MISSING = /^NOT/;

/** The report as text. */
export function reportText(report: Report): string {
  const lines: string[] = [];
  const say = (text = '') => lines.push(text);
  const n = (value: number) => value.toLocaleString('en-US');
  const would = report.applied ? '' : 'would be ';
  say(`${report.applied ? 'Moved' : 'Dry run, nothing was changed:'} the old memories of ${report.source}`);
  if (report.tables.length === 0) say('There are none: no memory.short_term, memory.medium_term or memory.long_term.');
  for (const table of report.tables) {
    say();
    say(`${table.name}: ${n(table.rows)} rows`);
    const width = Math.max(...table.columns.map(({ name }) => name.length));
    for (const { name, values, becomes } of table.columns) {
      say(`  ${name.padEnd(width)}  → ${becomes}${values === table.rows ? '' : ` (${n(values)} values)`}`);
    }
    for (const [what, { rows, examples }] of Object.entries(table.outcomes)) {
      const text = outcomeTexts[what] ?? what;
      const isNew = ['moved', 'merged', 'recorded'].includes(what);
      say(
        `  ${n(rows)} ${isNew ? would : ''}${text}${MISSING.test(text) || what === 'gone' || what === 'different' ? `: ${examples.join(', ')}${rows > examples.length ? ', …' : ''}` : ''}`,
      );
    }
    for (const { old, becomes, rows } of table.scopes)
      say(`  scope ${old || '(none)'} → ${becomes ?? 'unknown'}: ${n(rows)}`);
    for (const { creator, how, rows } of table.writers) say(`  creator ${creator}, ${how}: ${n(rows)}`);
    for (const [what, rows] of Object.entries(table.vectors)) say(`  vectors ${what}: ${n(rows)}`);
    for (const [what, rows] of Object.entries(table.notes)) say(`  ${what}: ${n(rows)}`);
  }
  say();
  const { highest, scale } = report.importance;
  if (highest !== null)
    say(
      scale === null
        ? `The highest importance is ${highest}, an unknown scale: 0.5 for all memories (set --importance-scale)`
        : `The highest importance is ${highest}: the scale is assumed to be 0 to ${scale}`,
    );
  const { model, dimensions, found } = report.vectors;
  const dims = found.map((one) => `${n(one.rows)} of ${one.dimensions} dimensions`).join(', ');
  if (found.length > 0)
    say(
      model === null
        ? `Vectors: ${dims}. They are not imported, and the memories are embedded again; --embedding-model imports them`
        : dimensions === null
          ? `Vectors: ${dims}. None fits ${model}: the memories are embedded again`
          : `Vectors: ${dims}. Those of ${dimensions} are imported as vectors of ${model}`,
    );
  for (const object of report.unknownObjects) say(`Schema memory also has ${object}, which is left unchanged`);
  if (report.tables.length > 0)
    say(`${n(Math.round(report.seconds * 10) / 10)} s, ${n(Math.round(report.rowsPerSecond))} rows/s`);
  if (report.drop?.done) say('The old schema was dropped.');
  else if (report.drop && report.drop.obstacles.length > 0) {
    say(`The old schema ${report.applied ? 'was not' : 'could not be'} dropped:`);
    for (const obstacle of report.drop.obstacles) say(`  ${obstacle}`);
  } else if (report.drop) say('Nothing prevents the drop of the old schema.');
  if (!report.applied && report.tables.length > 0) say('To move them, run it again with --apply.');
  return `${lines.join('\n')}\n`;
}
