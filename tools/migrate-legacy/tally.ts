// Counts the outcomes and notes of a run.

const EXAMPLES = 10;

export type WriterHow = 'named' | 'by scope' | 'nobody named';

export interface Tally {
  note(what: string): void;
  scope(old: string, becomes: string | null): void;
  writer(creator: string, how: WriterHow): void;
  vector(what: string): void;
  /** Counts an outcome of a row (moved, merged, or the reason why not). The report shows the first ids. */
  outcome(what: string, id: string): void;
  add(other: Tally): void;
  readonly notes: Record<string, number>;
  readonly scopes: { old: string; becomes: string | null; rows: number }[];
  readonly writers: { creator: string; how: WriterHow; rows: number }[];
  readonly vectors: Record<string, number>;
  readonly outcomes: Record<string, { rows: number; examples: string[] }>;
}

export function createTally(): Tally {
  const notes: Record<string, number> = {};
  const vectors: Record<string, number> = {};
  const outcomes: Tally['outcomes'] = {};
  const scopes = new Map<string, { old: string; becomes: string | null; rows: number }>();
  const writers = new Map<string, { creator: string; how: WriterHow; rows: number }>();
  const count = <T extends { rows: number }>(all: Map<string, T>, key: string, fresh: T) => {
    const found = all.get(key);
    if (found) found.rows += fresh.rows;
    else all.set(key, { ...fresh });
  };
  const note = (what: string, times = 1) => {
    notes[what] = (notes[what] ?? 0) + times;
  };
  const scope = (old: string, becomes: string | null, rows = 1) =>
    count(scopes, JSON.stringify([old, becomes]), { old, becomes, rows });
  const writer = (creator: string, how: WriterHow, rows = 1) =>
    count(writers, JSON.stringify([creator, how]), { creator, how, rows });
  const vector = (what: string, times = 1) => {
    vectors[what] = (vectors[what] ?? 0) + times;
  };
  const outcome = (what: string, ids: string[], rows: number) => {
    outcomes[what] ??= { rows: 0, examples: [] };
    const one = outcomes[what];
    one.rows += rows;
    one.examples.push(...ids.slice(0, EXAMPLES - one.examples.length));
  };
  return {
    note: (what) => note(what),
    scope: (old, becomes) => scope(old, becomes),
    writer: (creator, how) => writer(creator, how),
    vector: (what) => vector(what),
    outcome: (what, id) => outcome(what, [id], 1),
    add(other) {
      for (const [what, times] of Object.entries(other.notes)) note(what, times);
      for (const [what, times] of Object.entries(other.vectors)) vector(what, times);
      for (const { old, becomes, rows } of other.scopes) scope(old, becomes, rows);
      for (const { creator, how, rows } of other.writers) writer(creator, how, rows);
      for (const [what, { examples, rows }] of Object.entries(other.outcomes)) outcome(what, examples, rows);
    },
    notes,
    vectors,
    outcomes,
    get scopes() {
      return [...scopes.values()];
    },
    get writers() {
      return [...writers.values()];
    },
  };
}
