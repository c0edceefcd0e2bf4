// Refreshes the materialized views one day after the last refresh by any process.
import { withJobRun } from './job-runs.ts';
import type { PeriodicJob } from './periodic.ts';

const EVERY_SECONDS = 24 * 60 * 60;

export const refreshViews: PeriodicJob = {
  name: 'refresh_memory_views',
  everyMs: 10 * 60_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>(
      'select bool_or(coalesce(age_seconds >= $1, true)) as due from public.memory_views_status()',
      [EVERY_SECONDS],
    );
    return rows[0]?.due === true;
  },
  async run(pool, logger) {
    await withJobRun(pool, { type: 'refresh_memory_views' }, logger, () =>
      pool.query('call public.refresh_memory_views()'),
    );
    logger.info('materialized views were refreshed');
  },
};
