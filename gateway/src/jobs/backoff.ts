import { EmbedderUnavailable } from '../embeddings/index.ts';

const FIRST_SECONDS = 2;

/** The delay after this many consecutive failures: it doubles each time, up to `last` seconds. */
export const backoffSeconds = (failures: number, last: number): number =>
  Math.min(FIRST_SECONDS * 2 ** Math.max(failures - 1, 0), last);

/** Pauses calls to a provider that can't be reached. Failures during a pause belong to the same outage and count once. */
export function outagePause(
  lastSeconds: number,
  now: () => number = Date.now,
  isOutage: (error: unknown) => boolean = (error) => error instanceof EmbedderUnavailable,
) {
  let outages = 0;
  let until = 0;
  return {
    isPausing: () => now() < until,
    /** Counts failures of the provider only; other errors, such as a lost database connection, are ignored. */
    recordFailure(error: unknown) {
      if (!isOutage(error) || now() < until) return;
      outages += 1;
      until = now() + backoffSeconds(outages, lastSeconds) * 1_000;
    },
    recordSuccess() {
      outages = 0;
      until = 0;
    },
  };
}
