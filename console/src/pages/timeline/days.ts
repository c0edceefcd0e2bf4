// Days in the time zone of the person, as '2026-11-26'.
const DAY = 86_400_000;

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const two = (value: number) => String(value).padStart(2, '0');
export const dayOf = (time: Date): string => `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Midnight at the beginning of a day, some days later. */
export function startOf(day: string, later = 0): Date {
  const [year, month, date] = day.split('-').map(Number);
  return new Date(year!, month! - 1, date! + later);
}

export const dayAfter = (day: string, later: number): string => dayOf(startOf(day, later));

/** The days of some weeks that end with `last`. */
export const daysUntil = (last: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => dayAfter(last, index - count + 1));

export const isSameOrBefore = (day: string, other: string): boolean => startOf(day) <= startOf(other);
export const daysBetween = (from: string, to: string): number =>
  Math.round((startOf(to).getTime() - startOf(from).getTime()) / DAY);

const long = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
export const longDay = (day: string): string => long.format(startOf(day));
export const shortDay = (day: string): string => short.format(startOf(day));
export const clockTime = (time: string): string => clock.format(new Date(time));
