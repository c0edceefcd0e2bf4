// The texts of memories and queries: drawn from few words, as common and as rare as words are, by a seeded generator.

/** Numbers from 0 to below 1, always the same ones. */
export type Random = () => number;

/** The mulberry32 generator. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The word whose hidden occurrences an attacker wants to count, one that only readable memories hold, and one that none holds. */
export const CANARY = 'merger';
export const DECOY = 'zxq81k';
export const UNSEEN = 'quokka';

/** Words that also have a meaning: each is a dimension of the model's vectors. */
export const TOPICS = [
  ...[
    'kitten',
    'boat',
    'tuple',
    'wombat',
    'budget',
    'lantern',
    'harbour',
    'velvet',
    'copper',
    'meadow',
    'pigeon',
    'anchor',
  ],
  CANARY,
  UNSEEN,
];
const COMMON = [
  'release',
  'server',
  'meeting',
  'plan',
  'test',
  'index',
  'table',
  'memory',
  'review',
  'branch',
  'ticket',
  'deploy',
];
const RARE = Array.from({ length: 40 }, (_, n) => `term${String.fromCharCode(97 + (n % 26))}${n}`);
/** Common words come first: the n-th is drawn about n times as seldom as the first. */
const WORDS = [...COMMON, ...TOPICS.slice(0, 12), ...RARE];
export const ENTITIES = ['Apollo', 'Borealis', 'Cygnus', 'Draco', 'Eridanus'];

export const word = (random: Random): string => WORDS[Math.floor(WORDS.length ** random()) - 1]!;

export const sentence = (random: Random, length = 4 + Math.floor(random() * 14)): string =>
  Array.from({ length }, () => (random() < 0.05 ? ENTITIES[Math.floor(random() * 5)]! : word(random))).join(' ');

/** Marks that are no words: texts that differ in them have the same words, and as many. */
const marks = (n: number) => n.toString(2).padStart(12, '0').replaceAll('0', '!').replaceAll('1', '?');

/**
 * Memories that an attacker saves to push others out of the candidates: all of one length, of which hundreds have the same score
 * unless the statistics tell the canary from the decoy.
 */
export const plateaus = (count: number): { content: string }[] =>
  Array.from({ length: count }, (_, n) => {
    const attacked = n % 2 ? CANARY : DECOY;
    const text = n % 6 < 4 ? `pad ${attacked} pad filler` : `${attacked} pad ${attacked} filler`;
    return { content: `${text} ${marks(n)}` };
  });
