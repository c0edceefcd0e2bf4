import { readTime } from '../../gateway/src/input/times.ts';
import type { Column } from './columns.ts';
import { numberOf } from './json.ts';

/** A time as text for PostgreSQL, or null. Times without a zone are in UTC; numbers are seconds or smaller units since 1970. */
export function instantOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  return readTime(numberOf(value) ?? value)?.time ?? null;
}

/** The expiry: 'infinity' for never, null if it is missing or not understood. */
export function lifetimeOf(value: unknown, column: Column | undefined, created: string | null): string | null {
  if (value === null || value === undefined || value === '' || !column) return null;
  if (value === 'infinity') return 'infinity';
  if (value === '-infinity') return new Date(0).toISOString();
  const isSpan = /ttl/i.test(column.name) || column.family === 'interval';
  if (!isSpan || column.family === 'instant' || column.family === 'local time') return instantOf(value);
  // `interval` is read as seconds. A number that is too small for a date is a duration too.
  const seconds = numberOf(value) ?? (typeof value === 'string' ? Number(value) : Number.NaN);
  if (!Number.isFinite(seconds)) return instantOf(value);
  if (Math.abs(seconds) >= 1e9 && column.family !== 'interval') return instantOf(seconds);
  return created === null ? null : (readTime(new Date(Date.parse(created) + seconds * 1_000))?.time ?? null);
}
