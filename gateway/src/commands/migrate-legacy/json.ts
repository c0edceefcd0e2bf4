// JSON whose numbers come out as they went in: 12345678901234567890 is no double, and no reason to lose its last digits.

type RawJson = { rawJSON: (text: string) => unknown };
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const { rawJSON } = JSON as unknown as RawJson;
const parse = JSON.parse as unknown as (text: string, reviver: SourceReviver) => unknown;

/** As JSON.parse, but a number that a double can't hold stays as it is written when it is stringified again. */
export const parseJson = (text: string): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  );

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value);

/** A number, also one that was kept as it is written. */
export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' ? value : isRaw(value) ? Number(JSON.stringify(value)) : null;

const isRaw = (value: unknown) => (JSON as unknown as { isRawJSON: (value: unknown) => boolean }).isRawJSON(value);
