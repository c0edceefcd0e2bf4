// What PostgreSQL can't keep exactly as it was given is refused before it is tried, with the name of the field.
import { shownName } from '../echo.ts';
import { KnownError } from '../errors.ts';
import { INEXACT_NUMBER, INEXACT_REASON } from '../exact-json.ts';

/** As deep as the database lets objects nest. */
const MAX_LEVELS = 64;

const refused = (field: string, reason: string) => {
  throw new KnownError('L9VAL', `${field || 'input'}: ${reason}`, field || null);
};

function checkText(text: string, field: string): void {
  if (text === INEXACT_NUMBER) refused(field, INEXACT_REASON);
  if (text.includes('\0')) refused(field, 'must not hold the character NUL');
  if (!text.isWellFormed()) refused(field, 'must not hold half of a surrogate pair');
}

/** Of a JSON value without end: a loop rather than a recursion, which would have one. */
export function checkStorable(input: unknown): void {
  const open: { value: unknown; field: string; level: number }[] = [{ value: input, field: '', level: -1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, field, level } = next;
    if (level >= MAX_LEVELS) throw new KnownError('L9LIM', `${field}: at most ${MAX_LEVELS} levels deep`, field);
    if (typeof value === 'string') checkText(value, field);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      checkText(key, field);
      // JavaScript code that copies the object would lose the key, or set its prototype.
      if (key === '__proto__') refused(field, '__proto__ is no name for a field');
      open.push({ value: inner, field: field || shownName(key, '*'), level: level + 1 });
    }
  }
}
