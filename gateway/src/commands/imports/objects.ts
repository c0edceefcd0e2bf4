// The objects of a file of JSON lines, of a JSON array, or of the list in the object that a whole file is.
import { markInexactNumbers } from '../../input/exact-json.ts';
import { UNDECODED } from '../../input/text.ts';
import { readItems } from '../support/json-items.ts';

export type Fields = Record<string, unknown>;
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export type FoundObject = { line: number } & ({ object: Fields } | { problem: string });

/** Problems name no value, which may be private. */
export function parseObject(text: string | null): { object: Fields } | { problem: string } {
  if (text === null) return { problem: 'too long' };
  if (text.includes(UNDECODED)) return { problem: 'not UTF-8; --encoding latin1 or utf-16 says what else it is' };
  try {
    const value: unknown = JSON.parse(markInexactNumbers(text));
    return isFields(value) ? { object: value } : { problem: 'not a JSON object' };
  } catch {
    return { problem: 'not valid JSON' };
  }
}

export async function* readObjects(chunks: AsyncIterable<string>): AsyncGenerator<FoundObject> {
  for await (const { line, text } of readItems(chunks)) yield { line, ...parseObject(text) };
}
