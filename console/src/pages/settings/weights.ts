// The settings of a ranking, as people read them. The defaults are those of search.default_settings() and find.default_settings().

export interface Weight {
  name: string;
  title: string;
  about: string;
  max: number;
  byDefault: number;
}

/** What is kept, or being tried. */
export interface Settings {
  weights: Readonly<Record<string, number>>;
  /** Days by kind; default is that of all other kinds. */
  halfLifeDays: Readonly<Record<string, number>>;
  /** Only searches have them. */
  languages?: readonly string[];
}

export const SEARCH: readonly Weight[] = [
  weight('lexicalWeight', 'Words', 'Beside meaning: how much the words of the query count.', 0.35),
  weight('semanticWeight', 'Meaning', 'Beside words: how much nearness in meaning counts.', 0.65),
  weight('lexicalContextWeight', 'Words of context', 'Lifts what has more words with the one before it.', 0.75),
  weight('semanticContextWeight', 'Meaning in context', 'Lifts what is nearer with the one before it.', 1),
  weight('chunkWeight', 'Part of a long text', 'Lifts a long memory by its best part.', 0.25),
  weight('threadWeight', 'Thread', 'Lets the best of a thread lift the others.', 0.25),
  weight('neighbourWeight', 'Neighbours', 'Lifts what stands beside the first hits in its thread.', 0.2),
  weight('speakerBoost', 'Speaker', 'Lifts what a person said whom the query names.', 1),
  weight('recencyBoost', 'Recency', 'Lifts what is new; with importance at most 0.2.', 0.04, 0.2),
  weight('importanceBoost', 'Importance', 'Lifts what matters; with recency at most 0.2.', 0.15, 0.2),
  weight('minRelevance', 'Least relevance', 'Below it a question finds nothing.', 0.2),
];
export const SEARCH_DEFAULTS: Settings = {
  weights: defaultsOf(SEARCH),
  halfLifeDays: { default: 180 },
  languages: ['english'],
};

export const FIND: readonly Weight[] = [
  weight('matchWeight', 'Match', 'How well words and meaning fit the query.', 0.4),
  weight('recencyWeight', 'Newness', 'How new a memory is, by the half-life of its kind.', 0.3),
  weight('proximityWeight', 'Nearness', 'How near its project and branch are to those asked for.', 0.2),
  weight('citationWeight', 'Citations', 'How many agents rest memories and facts on it.', 0.1),
];
export const FIND_DEFAULTS: Settings = {
  weights: defaultsOf(FIND),
  halfLifeDays: {
    default: 90,
    decision: 365,
    runbook: 365,
    document: 365,
    section: 365,
    ddl: 365,
    release_note: 180,
    todo: 30,
    pr_context: 14,
    event: 14,
  },
};

function weight(name: string, title: string, about: string, byDefault: number, max = 1): Weight {
  return { name, title, about, max, byDefault };
}

function defaultsOf(weights: readonly Weight[]): Record<string, number> {
  return Object.fromEntries(weights.map(({ name, byDefault }) => [name, byDefault]));
}

/** A row of settings; a tenant that changed nothing has none. */
export type Row = { halfLifeDays: Record<string, number>; languages?: readonly (string | null)[] } | undefined;

export const settingsOf = (row: Row, defaults: Settings): Settings =>
  row
    ? {
        weights: Object.fromEntries(
          Object.keys(defaults.weights).map((name) => [name, (row as unknown as Record<string, number>)[name]!]),
        ),
        halfLifeDays: row.halfLifeDays,
        ...(row.languages ? { languages: row.languages.filter((one) => one !== null) } : {}),
      }
    : defaults;

/** The settings that differ, by the names of their arguments. */
export function changesOf(draft: Settings, kept: Settings): Record<string, unknown> {
  const differing = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(a).filter(([name, value]) => value !== b[name]));
  const days = differing(draft.halfLifeDays, kept.halfLifeDays);
  return {
    ...differing(draft.weights, kept.weights),
    ...(Object.keys(days).length > 0 ? { halfLifeDays: days } : {}),
    ...(draft.languages?.join() !== kept.languages?.join() ? { languages: draft.languages } : {}),
  };
}

/** Changes as the previews take them: weights and half-lives by the names of the database, without languages. */
export const tried = ({ languages: _, ...changes }: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
