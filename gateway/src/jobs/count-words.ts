// Counts how often words occur in the memories of each audience, by which a search weighs the words of its query.
import type { PeriodicJob } from './periodic.ts';

/** Audiences that one transaction counts: each takes up to a second, in which nobody else gets the embedded engine. */
const BATCH = 1;

export const countWords: PeriodicJob = {
  name: 'count_words',
  everyMs: 5 * 60_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select exists (select from ranking.stale_audiences()) as due');
    return rows[0]?.due === true;
  },
  async run(pool, _logger, signal) {
    while (!signal.aborted) {
      const { rows } = await pool.query<{ counted: number }>('select ranking.count_stale_audiences($1) as counted', [
        BATCH,
      ]);
      if (Number(rows[0]?.counted ?? 0) < BATCH) return;
    }
  },
};
