// Keeps the indexes of words free of deleted memories, so that searches need not skip them, and of the words of erased ones.
import type pg from 'pg';
import { withJobRun } from './job-runs.ts';
import { isTrue, type PeriodicJob, untilDone } from './periodic.ts';

const EVERY_MS = 10 * 60_000;
// A rebuild of a million memories takes two minutes.
const LEASE = '1 hour';

const isUntidy = isTrue('forgetting.are_words_untidy()');
// The embedded engine has no autovacuum, and only VACUUM tells an index what was deleted.
const needsVacuum = isTrue('forgetting.needs_vacuum()');

export const tidyWords = (isEmbedded: boolean): PeriodicJob => ({
  name: 'tidy_words',
  everyMs: EVERY_MS,
  isDue: async (pool) => (await isUntidy(pool)) || (isEmbedded && (await needsVacuum(pool))),
  async run(pool, logger, signal, jobId) {
    const work = async () => {
      if (isEmbedded && (await needsVacuum(pool))) await pool.query('vacuum public.packet_store');
      await untilDone('forgetting.compact_words()')(pool, logger, signal, jobId);
      let rebuilt = 0;
      while (!signal.aborted && (await rebuildNext(pool))) rebuilt += 1;
      return { rebuilt };
    };
    const { rebuilt } = await withJobRun(pool, { type: 'tidy_words', jobId }, logger, work, (result) => result);
    logger.info({ rebuilt }, 'the indexes of words were tidied');
  },
});

/** Rebuilds one index that holds words of erased memories. False if there is none. */
async function rebuildNext(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ bucket: number; index_name: string; erasures: string }>(
    'select * from forgetting.lease_rebuild($1)',
    [LEASE],
  );
  const [due] = rows;
  if (!due) return false;
  const release = (erasures: string | null) =>
    pool.query('select forgetting.release_rebuild($1, $2)', [due.bucket, erasures]);
  try {
    await pool.query(`reindex index concurrently ${due.index_name}`);
  } catch (error) {
    await release(null);
    throw error;
  }
  await release(due.erasures);
  return true;
}
