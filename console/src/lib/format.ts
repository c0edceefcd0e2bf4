const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const number = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 2 });

export const formatTime = (time: string): string => absolute.format(new Date(time));
export const formatDay = (time: string): string => day.format(new Date(time));
export const formatNumber = (value: number): string => number.format(value);

/** '3 hr ago'; a day for what is long past. */
export function formatAge(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1_000;
  if (Math.abs(seconds) < 45) return 'just now';
  if (Math.abs(seconds) > 60 * 86_400) return formatDay(time);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['minute', 60];
  return relative.format(Math.round(seconds / size), unit);
}

/** The value of an <input type="datetime-local">, and back. */
export function toLocalInput(time: string): string {
  if (!time) return '';
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
export const fromLocalInput = (value: string): string => (value ? new Date(value).toISOString() : '');

export function formatBytes(bytes: number): string {
  const index = Math.min(4, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${number.format(bytes / 1024 ** index)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][index]}`;
}

/** The last characters of an id: the first ones are the time, which rows of one page share. */
export const shortId = (id: string): string => id.slice(-8);
