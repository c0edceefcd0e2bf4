// JSON that keeps numbers exact: 12345678901234567890 does not fit in a double.

type RawJson = { rawJSON: (text: string) => unknown };
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const { rawJSON } = JSON as unknown as RawJson;
const parse = JSON.parse as unknown as (text: string, reviver: SourceReviver) => unknown;

/** Like JSON.parse, but a number that does not fit in a double keeps its text when it is stringified again. */
export const parseJson = (text: string): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  );

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value);

/** A number, including one that was kept as text. */
export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' ? value : isRaw(value) ? Number(JSON.stringify(value)) : null;

const isRaw = (value: unknown) => (JSON as unknown as { isRawJSON: (value: unknown) => boolean }).isRawJSON(value);
