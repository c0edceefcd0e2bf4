// The interface of a bench file: its export, its context and its results.

import type { BenchDatabase } from './database.ts';
import type { Gateway } from './gateway.ts';
import type { TenantName } from './tenants.ts';

export interface Context {
  /** The URL of a superuser on the server, for benches that need a separate database. */
  serverUrl: string;
  rows: number;
  /** How many relations the entity graph has. */
  edges: number;
  /** The duration of a step with load. Other steps are scaled accordingly. */
  seconds: number;
  database: BenchDatabase;
  /** True: install and measure the systems in bench/peers. */
  peers: boolean;
  report: (line: string) => void;
  /** The gateway in a separate process, which the first bench that needs it starts. */
  gateway(): Promise<Gateway>;
  /** Stops the gateway before a measurement that its background jobs would disturb. */
  stopGateway(): Promise<void>;
  tenant(name: TenantName): { id: string; visible: number };
  /** The queries with their vectors. */
  queries(kind: 'usual' | 'common'): Promise<readonly Query[]>;
}

export interface Query {
  query: string;
  vector: string;
}

export interface Bench {
  name: string;
  /** A description in one line, for --help. */
  about: string;
  run(context: Context): Promise<Row[]>;
}

export interface Goal {
  atMost?: number;
  atLeast?: number;
}

/** One line of the table. */
export interface Row {
  bench?: string;
  what: string;
  against: string | null;
  /** In `unit`, as `theirs` is. */
  ours: number;
  theirs: number | null;
  unit: string;
  /** The value that the goal applies to: the ratio, or ours. */
  figure: number;
  figureUnit: string;
  goal: Goal | null;
  isReached: boolean | null;
  note?: string;
}

interface Shown {
  what: string;
  unit: string;
  goal?: Goal;
  note?: string;
}

const judged = (figure: number, goal: Goal | undefined) => ({
  goal: goal ?? null,
  isReached: goal ? figure <= (goal.atMost ?? Infinity) && figure >= (goal.atLeast ?? -Infinity) : null,
});

/** Ours against theirs. Use `figure` if the ratio is not the quotient of the two. */
export function ratio(row: Shown & { against: string; ours: number; theirs: number; figure?: number }): Row {
  const { goal, figure = row.ours / row.theirs, ...rest } = row;
  return { ...rest, figure, figureUnit: '×', ...judged(figure, goal) };
}

/** A figure without a ratio, optionally next to one from another source. */
export function figure(row: Shown & { ours: number; against?: string; theirs?: number }): Row {
  const { goal, against = null, theirs = null, ...rest } = row;
  return { ...rest, against, theirs, figure: row.ours, figureUnit: row.unit, ...judged(row.ours, goal) };
}
