// What a bench file exports, what it is given, and what it gives back.

import type { BenchDatabase } from './database.ts';
import type { Gateway } from './gateway.ts';
import type { TenantName } from './tenants.ts';

export interface Context {
  /** A superuser's URL of the server: for benches that need a database of their own. */
  serverUrl: string;
  rows: number;
  /** How many relations the entity graph has. */
  edges: number;
  /** How long a step with load lasts; everything else is cut down alike. */
  seconds: number;
  database: BenchDatabase;
  /** Whether to install and measure what lives in bench/peers. */
  peers: boolean;
  report: (line: string) => void;
  /** The gateway, in a process of its own, started by the first bench that asks for it. */
  gateway(): Promise<Gateway>;
  /** Before what a gateway's background jobs would disturb. */
  stopGateway(): Promise<void>;
  tenant(name: TenantName): { id: string; visible: number };
  /** The questions that are asked, with their vectors. */
  queries(kind: 'usual' | 'common'): Promise<readonly Query[]>;
}

export interface Query {
  query: string;
  vector: string;
}

export interface Bench {
  name: string;
  /** In one line, for --help. */
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
  /** What the goal is about: the ratio, or ours. */
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

/** Ours against theirs; `figure` where the ratio is not simply that of the two. */
export function ratio(row: Shown & { against: string; ours: number; theirs: number; figure?: number }): Row {
  const { goal, figure = row.ours / row.theirs, ...rest } = row;
  return { ...rest, figure, figureUnit: '×', ...judged(figure, goal) };
}

/** A figure that stands for itself, perhaps beside one from elsewhere. */
export function figure(row: Shown & { ours: number; against?: string; theirs?: number }): Row {
  const { goal, against = null, theirs = null, ...rest } = row;
  return { ...rest, against, theirs, figure: row.ours, figureUnit: row.unit, ...judged(row.ours, goal) };
}
