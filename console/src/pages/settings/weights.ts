// The weights of a search, as people read them. The defaults are those of search.default_settings().

export interface Weights {
  lexicalWeight: number;
  semanticWeight: number;
  lexicalContextWeight: number;
  semanticContextWeight: number;
  chunkWeight: number;
  threadWeight: number;
  neighbourWeight: number;
  speakerBoost: number;
  minRelevance: number;
  recencyBoost: number;
  importanceBoost: number;
}

export const DEFAULTS: Weights = {
  lexicalWeight: 0.35,
  semanticWeight: 0.65,
  lexicalContextWeight: 0.75,
  semanticContextWeight: 1,
  chunkWeight: 0.25,
  threadWeight: 0.25,
  neighbourWeight: 0.2,
  speakerBoost: 1,
  minRelevance: 0.2,
  recencyBoost: 0.04,
  importanceBoost: 0.15,
};

export const NAMES = Object.keys(DEFAULTS) as (keyof Weights)[];

const columnOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Those weights that differ, as preview_search names them. */
export const changedWeights = (draft: Weights, kept: Weights): Record<string, number> =>
  Object.fromEntries(NAMES.filter((name) => draft[name] !== kept[name]).map((name) => [columnOf(name), draft[name]]));

export const WEIGHTS: readonly { name: keyof Weights; title: string; about: string; max: number }[] = [
  { name: 'lexicalWeight', title: 'Words', about: 'Beside meaning: how much the words of the query count.', max: 1 },
  { name: 'semanticWeight', title: 'Meaning', about: 'Beside words: how much nearness in meaning counts.', max: 1 },
  {
    name: 'lexicalContextWeight',
    title: 'Words of context',
    about: 'Lifts what has more words with the one before it.',
    max: 1,
  },
  {
    name: 'semanticContextWeight',
    title: 'Meaning in context',
    about: 'Lifts what is nearer with the one before it.',
    max: 1,
  },
  { name: 'chunkWeight', title: 'Part of a long text', about: 'Lifts a long memory by its best part.', max: 1 },
  { name: 'threadWeight', title: 'Thread', about: 'Lets the best of a thread lift the others.', max: 1 },
  {
    name: 'neighbourWeight',
    title: 'Neighbours',
    about: 'Lifts what stands beside the first hits in its thread.',
    max: 1,
  },
  { name: 'speakerBoost', title: 'Speaker', about: 'Lifts what a person said whom the query names.', max: 1 },
  { name: 'recencyBoost', title: 'Recency', about: 'Lifts what is new; with importance at most 0.2.', max: 0.2 },
  { name: 'importanceBoost', title: 'Importance', about: 'Lifts what matters; with recency at most 0.2.', max: 0.2 },
  { name: 'minRelevance', title: 'Least relevance', about: 'Below it a question finds nothing.', max: 1 },
];
