// What PostgreSQL can't keep exactly as it was given is refused before it is tried, with the name of the field.

import { KnownError } from '../base/errors.ts';
import { shownName } from '../input/echo.ts';
import { INEXACT_NUMBER, INEXACT_REASON } from '../input/exact-json.ts';

/** As deep as the database lets objects nest. */
const MAX_LEVELS = 64;

interface Named {
  /** The name of the whole in an error that names no field of it. */
  whole: string;
  /** A field whose own fields are named instead of it. */
  inner: string | null;
  /** At which level of the call it stands: the call itself has -1. */
  level: number;
}

const CALL: Named = { whole: 'input', inner: null, level: -1 };

/** Of a JSON value without end: a loop rather than a recursion, which would have one. */
export function checkStorable(input: unknown, { whole, inner, level: top }: Named = CALL): void {
  const refuse = (field: string, reason: string, sqlstate = 'L9VAL') => {
    throw new KnownError(sqlstate, `${field || whole}: ${reason}`, field || null);
  };
  const checkText = (text: string, field: string) => {
    if (text === INEXACT_NUMBER) refuse(field, INEXACT_REASON);
    if (text.includes('\0')) refuse(field, 'must not hold the character NUL');
    if (!text.isWellFormed()) refuse(field, 'must not hold half of a surrogate pair');
  };
  const open: { value: unknown; field: string; level: number }[] = [{ value: input, field: '', level: top }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, field, level } = next;
    if (level >= MAX_LEVELS) refuse(field, `at most ${MAX_LEVELS} levels deep`, 'L9LIM');
    if (typeof value === 'string') checkText(value, field);
    if (typeof value !== 'object' || value === null) continue;
    const isInner = level === top + 1 && field === inner;
    for (const [key, part] of Object.entries(value)) {
      checkText(key, field);
      // JavaScript code that copies the object would lose the key, or set its prototype.
      if (key === '__proto__') refuse(field, '__proto__ is no name for a field');
      open.push({ value: part, field: isInner || !field ? shownName(key, '*') : field, level: level + 1 });
    }
  }
}

// The mark of a number is refused later, with the name of its field.
const isUnstorable = (text: string) => text !== INEXACT_NUMBER && (text.includes('\0') || !text.isWellFormed());
const replaced = (text: string) => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** Half of what a call may have, because the value becomes a part of one. */
const MAX_LEVELS_READ = MAX_LEVELS / 2;

/** Replaces what can't be kept in a value that was read from elsewhere, in place: binary output holds NUL, and a tool may nest without end. */
export function makeStorable<Value extends object>(value: Value): Value {
  const open: { value: Record<string, unknown>; level: number }[] = [
    { value: value as Record<string, unknown>, level: 0 },
  ];
  for (let opened = open.pop(); opened; opened = open.pop()) {
    const { value: next, level } = opened;
    for (const [key, part] of Object.entries(next)) {
      let name = key;
      if (isUnstorable(key) || key === '__proto__') {
        name = key === '__proto__' ? '[__proto__]' : replaced(key);
        delete next[key];
        next[name] = part;
      }
      if (typeof part === 'string' && isUnstorable(part)) next[name] = replaced(part);
      else if (typeof part === 'object' && part !== null) {
        if (level < MAX_LEVELS_READ) open.push({ value: part as Record<string, unknown>, level: level + 1 });
        else next[name] = '[nested too deep]';
      }
    }
  }
  return value;
}
