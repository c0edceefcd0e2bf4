// The scale of the slider and of the lanes below it: from the first change to now, in days or, where all happened lately, in minutes.
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Below this span, days would be too coarse to tell changes apart. */
const SHORT = 3 * DAY;

export interface Scale {
  /** Milliseconds. */
  start: number;
  end: number;
  step: number;
  /** When something began or ended to hold, earliest first. */
  changes: number[];
}

interface Span {
  validFrom: string;
  validTo: string | null;
}

export function scaleOf(spans: readonly Span[], now: number): Scale {
  const ends = spans.flatMap(({ validFrom, validTo }) => (validTo === null ? [validFrom] : [validFrom, validTo]));
  const changes = [...new Set(ends.map((time) => new Date(time).getTime()))].sort((a, b) => a - b);
  const first = changes[0] ?? now;
  const end = Math.max(now, changes.at(-1) ?? now);
  const margin = Math.max((end - first) * 0.03, MINUTE);
  return { start: first - margin, end, step: end - first < SHORT ? MINUTE : DAY, changes };
}

/** From 0 to 1. */
export const placeOf = (time: number, { start, end }: Scale): number =>
  Math.min(1, Math.max(0, (time - start) / Math.max(end - start, 1)));

/** The moment of a place of the slider. A day counts until its end, so that what began on it holds. */
export function momentAt(time: number, { step, end }: Scale): number {
  if (step !== DAY) return Math.min(time, end);
  const day = new Date(time);
  day.setHours(23, 59, 59, 999);
  return Math.min(day.getTime(), end);
}

export const changeBefore = (time: number, { changes, step }: Scale): number | undefined =>
  changes.filter((change) => change < time - step).at(-1);

export const changeAfter = (time: number, { changes }: Scale): number | undefined =>
  changes.find((change) => change > time);
