import type { Column, Family } from './columns.ts';
import { numberOf } from './json.ts';

/** A time as text for PostgreSQL, or null. Times without a zone are in UTC; numbers are seconds or smaller units since 1970. */
export function instantOf(value: unknown, family: Family | undefined): string | null {
  if (value === null || value === undefined || value === '') return null;
  const number = numberOf(value);
  if (number !== null) return fromEpoch(number);
  if (typeof value !== 'string') return null;
  const given = value.trim();
  if (/^\d+(\.\d+)?$/.test(given)) return fromEpoch(Number(given));
  const zoned =
    family !== 'instant' && !/(z|[+-]\d\d(:?\d\d)?)$/i.test(given.slice(10))
      ? `${given.length <= 10 ? `${given}T00:00:00` : given}Z`
      : given;
  return isTime(zoned) ? zoned.replace(' ', 'T') : null;
}

/** The expiry: 'infinity' for never, null if it is missing or not understood. */
export function lifetimeOf(value: unknown, column: Column | undefined, created: string | null): string | null {
  if (value === null || value === undefined || value === '' || !column) return null;
  if (value === 'infinity') return 'infinity';
  if (value === '-infinity') return new Date(0).toISOString();
  const isSpan = /ttl/i.test(column.name) || column.family === 'interval';
  if (!isSpan || column.family === 'instant' || column.family === 'local time') return instantOf(value, column.family);
  // `interval` is read as seconds. A number that is too small for a date is a duration too.
  const seconds = numberOf(value) ?? (typeof value === 'string' ? Number(value) : Number.NaN);
  if (!Number.isFinite(seconds)) return instantOf(value, column.family);
  if (Math.abs(seconds) >= 1e9 && column.family !== 'interval') return fromEpoch(seconds);
  return created === null ? null : toIso(Date.parse(created) + seconds * 1_000);
}

function fromEpoch(number: number): string | null {
  const size = Math.abs(number);
  return toIso(size < 1e11 ? number * 1e3 : size < 1e14 ? number : number / 1e3);
}

function toIso(milliseconds: number): string | null {
  const date = new Date(milliseconds);
  return Number.isFinite(date.getTime()) && isTime(date.toISOString()) ? date.toISOString() : null;
}

// JavaScript accepts impossible dates such as February 31st; PostgreSQL accepts only these forms.
function isTime(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d/.exec(text) ?? [];
  if (year === undefined || !Number.isFinite(Date.parse(text))) return false;
  return new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
}
