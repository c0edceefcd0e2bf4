// Writes the results to the terminal, as JSON, and to bench/results/README.md.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import type { Goal, Row } from './bench.ts';

export interface Results {
  rows: number;
  at: string;
  machine: {
    cpu: string;
    cores: number;
    memoryGb: number;
    node: string;
    postgres: string;
    settings: Record<string, string>;
  };
  results: Row[];
  /** Benches that failed, with their errors. */
  failures: { bench: string; error: string }[];
}

const root = join(import.meta.dirname, '..', '..');
export const resultsFolder = join(root, 'bench', 'results');
const page = join(resultsFolder, 'README.md');

export const machine = (postgres: string, settings: Record<string, string>): Results['machine'] => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  postgres,
  settings,
});

/** Keeps the figures of benches that were not run this time. */
export function writeResults(file: string, results: Results) {
  const before = readResults(file);
  const ran = new Set(results.results.map(({ bench }) => bench));
  const kept = before?.results.filter(({ bench }) => !ran.has(bench)) ?? [];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...results, results: [...kept, ...results.results] }, null, 2)}\n`);
}

function readResults(file: string): Results | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Results;
  } catch {
    return null;
  }
}

const digits = (value: number) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
const number = (value: number) =>
  value.toLocaleString('en', { minimumFractionDigits: digits(value), maximumFractionDigits: digits(value) });
const withUnit = (value: number, unit: string) => `${number(value)}${unit === '×' || unit === '' ? unit : ` ${unit}`}`;
const goalText = (goal: Goal | null, unit: string) =>
  [
    goal?.atMost !== undefined ? `≤ ${goal.atMost}${unit === '×' || unit === '' ? unit : ` ${unit}`}` : '',
    goal?.atLeast !== undefined ? `≥ ${goal.atLeast}${unit === '×' || unit === '' ? unit : ` ${unit}`}` : '',
  ].join('');

/** One table of ratios. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cells = [
      row.what,
      row.against ?? '',
      withUnit(row.ours, row.unit),
      row.theirs === null ? '' : withUnit(row.theirs, row.unit),
      row.figureUnit === '×' ? withUnit(row.figure, '×') : '',
      goalText(row.goal, row.figureUnit),
      row.isReached === null ? '' : row.isReached ? 'yes' : '**no**',
      row.note ?? '',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| what | against | ours | theirs | ratio | to reach | reached | |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** Shows how each figure grows with the number of memories, if it was measured at several sizes. */
function growth(all: readonly Results[]): string {
  // Rows that differ only in the number of memories, or a share of it, are the same row at every size.
  const key = ({ bench, what }: Row, rows: number) => {
    const share = (_: string, visible: string) => `${(100 * Number(visible.replaceAll(',', ''))) / rows} % visible`;
    return `${bench}: ${what.replaceAll(rows.toLocaleString('en'), 'all').replace(/(?:of )?([\d,]+)(?: memories| of all)? visible/, share)}`;
  };
  const sizes = all.map(({ rows }) => rows);
  const values = new Map<string, (string | undefined)[]>();
  for (const [index, { rows, results }] of all.entries()) {
    for (const row of results) {
      const name = key(row, rows);
      const cells = values.get(name) ?? sizes.map(() => undefined);
      cells[index] = withUnit(row.ours, row.unit) + (row.figureUnit === '×' ? ` (${withUnit(row.figure, '×')})` : '');
      values.set(name, cells);
    }
  }
  const lines = [...values]
    .filter(([, cells]) => cells.filter(Boolean).length > 1)
    .map(([name, cells]) => `| ${name} | ${cells.map((cell) => cell ?? '').join(' | ')} |`);
  return [
    `| | ${sizes.map((rows) => rows.toLocaleString('en')).join(' | ')} |`,
    `|---${'|---'.repeat(sizes.length)}|`,
    ...lines,
  ].join('\n');
}

function describeMachine({ at, machine: { cpu, cores, memoryGb, node, postgres, settings } }: Results): string {
  const set = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return `${at.slice(0, 10)}, ${cores} cores (${cpu}), ${memoryGb} GB of memory, Node ${node.slice(1)}, PostgreSQL ${postgres}, ${set.join(', ')}.`;
}

/** Updates the tables in docs/explanation/performance.md between their markers, from the JSON of the last runs. */
export function refreshPage() {
  const all = readdirSync(resultsFolder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => readResults(join(resultsFolder, file))!)
    .sort((a, b) => a.rows - b.rows);
  const sections: Record<string, string> = { growth: growth(all) };
  for (const results of all) {
    sections[`results ${results.rows}`] = `${describeMachine(results)}\n\n${table(results.results)}`;
  }
  let text = readFileSync(page, 'utf8');
  for (const [name, section] of Object.entries(sections)) {
    const [from, to] = [`<!-- bench: ${name} -->`, `<!-- end -->`];
    const start = text.indexOf(from);
    if (start < 0) continue;
    const end = text.indexOf(to, start);
    text = `${text.slice(0, start + from.length)}\n${section}\n${text.slice(end)}`;
  }
  writeFileSync(page, text);
}
