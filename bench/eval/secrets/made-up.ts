// What made-up secrets and harmless texts are put together from. Each run makes the same ones.

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
export const BASE62 = UPPER + LOWER + DIGITS;
const HEX = `${DIGITS}abcdef`;

export const ALPHABETS = {
  LOWER,
  UPPER,
  DIGITS,
  BASE62,
  BASE64: `${BASE62}+/`,
  URL64: `${BASE62}-_`,
  HEX,
  BASE32: `${UPPER}234567`,
  BASE36: LOWER + DIGITS,
};

/** Random numbers that are the same in every run (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export type Maker = ReturnType<typeof makerFrom>;

export function makerFrom(seed: number) {
  const random = randomFrom(seed);
  const of = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  const oneOf = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
  /** What people choose: words with digits and signs. */
  const password = () =>
    oneOf([
      () => `${oneOf(['Winter', 'Sunny', 'Monkey', 'Falcon', 'Berlin'])}${of(DIGITS, 4)}${oneOf(['!', '#', '$', '?'])}`,
      () => of(`${BASE62}!#%*-_`, 14),
      () => `${of(LOWER, 5)}-${of(LOWER, 6)}-${of(DIGITS, 3)}`,
      () => `${of(LOWER, 4)}${of(UPPER, 3)}${of(DIGITS, 3)}${of('!*?', 1)}`,
    ])();
  const uuid = () => `${of(HEX, 8)}-${of(HEX, 4)}-4${of(HEX, 3)}-${of('89ab', 1)}${of(HEX, 3)}-${of(HEX, 12)}`;
  return { random, of, oneOf, bytes, password, uuid };
}
