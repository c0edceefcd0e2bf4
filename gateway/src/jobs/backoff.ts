import { EmbedderUnavailable } from '../embeddings/index.ts';

const FIRST_SECONDS = 2;

/** How long to wait after so many failures in a row: twice as long each time, up to `last` seconds. */
export const backoffSeconds = (failures: number, last: number): number =>
  Math.min(FIRST_SECONDS * 2 ** Math.max(failures - 1, 0), last);

/** How long a provider that can't be reached is left alone. Jobs that meet the same outage side by side count once. */
export function outagePause(
  lastSeconds: number,
  now: () => number = Date.now,
  isOutage: (error: unknown) => boolean = (error) => error instanceof EmbedderUnavailable,
) {
  let outages = 0;
  let until = 0;
  return {
    isPausing: () => now() < until,
    /** Only the provider's own failures count: a database that went away is back at once, and asks nobody. */
    met(error: unknown) {
      if (!isOutage(error) || now() < until) return;
      outages += 1;
      until = now() + backoffSeconds(outages, lastSeconds) * 1_000;
    },
    isOver() {
      outages = 0;
      until = 0;
    },
  };
}
