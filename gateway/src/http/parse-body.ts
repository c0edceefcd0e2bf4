import { markInexactNumbers } from '../input/exact-json.ts';

/** Handing a value over to another thread takes time for each of its parts. */
export const MAX_VALUES = 250_000;

/** The object or list of a JSON body, or why there is none. */
export type ParsedBody = { parsed: object } | { problem: 'malformed' | 'no object' | 'too many values' };

/** With marks in place of the numbers that would not be kept exactly. */
export function parseBody(body: Buffer): ParsedBody {
  let parsed: unknown;
  try {
    parsed = JSON.parse(markInexactNumbers(new TextDecoder().decode(body)));
  } catch {
    return { problem: 'malformed' };
  }
  if (typeof parsed !== 'object' || parsed === null) return { problem: 'no object' };
  return hasMoreValues(parsed, MAX_VALUES) ? { problem: 'too many values' } : { parsed };
}

/** In a loop rather than a recursion, which a deep value would bring to an end. */
function hasMoreValues(value: object, most: number): boolean {
  const open: object[] = [value];
  let seen = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    for (const part of Object.values(next)) {
      seen += 1;
      if (seen > most) return true;
      if (typeof part === 'object' && part !== null) open.push(part);
    }
  }
  return false;
}
