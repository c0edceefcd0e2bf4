const FIRST_SECONDS = 2;

/** How long to wait after so many failures in a row: twice as long each time, up to `last` seconds. */
export const backoffSeconds = (failures: number, last: number): number =>
  Math.min(FIRST_SECONDS * 2 ** Math.max(failures - 1, 0), last);
