// Values that have broken parsers, converters and databases before, as the JSON text in which they are sent: an object of
// JavaScript could not hold all of them.

/** Draws from lists; each case has its own, so that a case can be repeated alone. */
export interface Dice {
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

export function diceOf(numbers: readonly number[]): Dice {
  let at = 0;
  const below = (limit: number) => numbers[at++ % numbers.length]! % limit;
  return { below, pick: (list) => list[below(list.length)]! };
}

const nested = (open: string, close: string, levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;

const texts = [
  '',
  ' ',
  '\t\n',
  '\0',
  'a\0b',
  '\ud83d',
  '\udc00x',
  '\u202e\ufeff\u0085\u001b[31m',
  '🦊'.repeat(300),
  'x'.repeat(70_000),
  'x '.repeat(2_000),
  "'; drop table public.packet_store; --",
  '$$; reset role; $$',
  '%s %I %1$s %% %_\\%',
  '\\',
  '{a,b,"c}',
  '[1,2,3]',
  '{*}',
  "& | ! ('<->' :*A",
  '(a+)+$[',
  '#{x} {{7*7}} $' + '{x}',
  '__proto__',
  'constructor',
  'null',
  'true',
  '*',
  'l9',
  'developer',
  'l-private',
  'ß İ ı ﬁ',
].map((text) => JSON.stringify(text));

const numbers = [
  '0',
  '-0',
  '-1',
  '1',
  '2',
  '0.5',
  '1.5',
  '-0.0000001',
  '2147483647',
  '2147483648',
  '-2147483649',
  '9007199254740993',
  '9223372036854775808',
  '12345678901234567890123456789012345678901234567890',
  '0.12345678901234567890123456789',
  '1e308',
  '1e400',
  '-1e400',
  '1e-400',
];
const numberTexts = [
  ...numbers.map((number) => JSON.stringify(number)),
  '"1234.5"',
  '"NaN"',
  '"Infinity"',
  '"-Infinity"',
  '"0x10"',
  '"1e3"',
  '" 1"',
  '"1_000"',
  '"١٢"',
];

const times = [
  '2026-12-31T23:59:59Z',
  '2020-01-01T00:00:00Z',
  '2026-13-45T99:99:99Z',
  '2026-02-30',
  '0001-01-01T00:00:00Z',
  '0000-00-00T00:00:00Z',
  '4713-01-01 BC',
  '294277-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '99999-12-31T23:59:59Z',
  '2026-12-31T23:59:60Z',
  '2026-12-31T23:59:59+99:99',
  '2026-12-31T23:59:59 Nowhere/Else',
  'infinity',
  '-infinity',
  'now',
  'yesterday',
  'epoch',
  '1700000000',
].map((text) => JSON.stringify(text));

const ids = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '01900000-0000-7000-8000-000000000000',
  '{01900000-0000-7000-8000-000000000000}',
  '01900000000070008000000000000000',
  '01900000-0000-7000-8000-00000000000g',
].map((text) => JSON.stringify(text));

const structures = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[null]',
  '[[]]',
  '[[["a"]]]',
  '{"a":null}',
  '{"":""}',
  '{"a":{"b":[1,{"c":"d"}]}}',
  '{"toString":1,"valueOf":{},"length":-1}',
  '{"__proto__":{"a":1}}',
  '{"a\\u0000b":"c"}',
  '{"\\ud83d":1}',
  `[${'1,'.repeat(3_000)}1]`,
  `[${'"a",'.repeat(100)}"b"]`,
  `{${Array.from({ length: 300 }, (_, n) => `"k${n}":${n}`).join()}}`,
  nested('[', ']', 70),
  nested('{"a":', '}', 70),
  nested('[', ']', 10_000),
  nested('{"a":', '}', 10_000),
];

const cursors = [
  '"nonsense"',
  ...[
    '["natural",1]',
    '["natural",-1]',
    '["natural",null]',
    '["natural","x"]',
    '["natural",1e400]',
    '[]',
    'null',
    '{"a":',
    '[1,2,3]',
    '["0000000000",null,null]',
  ].map((text) => JSON.stringify(Buffer.from(text).toString('base64'))),
];

const anything = [...structures, ...texts, ...numbers, ...numberTexts, ...times, ...ids, ...cursors];

/** Values that a GraphQL scalar, or a type of JSON schema, takes or nearly takes. */
const near: Record<string, readonly string[]> = {
  String: [...texts, ...times, ...ids, ...numberTexts],
  ID: [...texts, ...ids],
  UUID: ids,
  Datetime: times,
  Date: times,
  Cursor: cursors,
  Int: numbers,
  Float: numbers,
  BigInt: [...numberTexts, ...numbers],
  Boolean: ['true', 'false', '"true"', '0', '1'],
  JSON: [...structures, ...numbers, ...texts],
  Base64EncodedBinary: ['"AA=="', '"not base64 !"', '""'],
};

/** The JSON text of a hostile value: two of three times one that this type takes or nearly takes. */
export function hostile(dice: Dice, type: string): string {
  const those = near[type];
  return those && dice.below(3) > 0 ? dice.pick(those) : dice.pick(anything);
}

/** A value that gets far in most cases. */
const plausible: Record<string, string> = {
  String: '"developer"',
  ID: '"l9"',
  Datetime: '"2026-01-01T00:00:00Z"',
  Date: '"2026-01-01"',
  Int: '3',
  Float: '0.5',
  BigInt: '"3"',
  Boolean: 'true',
  JSON: '{"a":1}',
  Cursor: '"WyJuYXR1cmFsIiwxXQ=="',
  Base64EncodedBinary: '"AA=="',
};

/** A value that a field of this name and type takes; ids are those of rows that are there. */
export function expected(dice: Dice, name: string, type: string, known: Known): string {
  if (type === 'UUID') return JSON.stringify(dice.pick(known.ids));
  return known.byName[name] ?? plausible[type] ?? '"x"';
}

export interface Known {
  ids: readonly string[];
  /** By the name of a field in camel case. */
  byName: Readonly<Record<string, string>>;
}
