// Months ahead of audit_log, so that no row has to go to the default partition.
import type { PeriodicTask } from './periodic.ts';

const MONTHS_AHEAD = 13;

export const makePartitions: PeriodicTask = {
  name: 'make_partitions',
  everyMs: 24 * 60 * 60_000,
  async run(pool, logger) {
    const { rows } = await pool.query<{ made: string[] }>(
      "select l9_private.create_month_partitions('public.audit_log', now()::date, $1) as made",
      [MONTHS_AHEAD + 1],
    );
    const made = rows[0]?.made ?? [];
    if (made.length > 0) logger.info({ partitions: made }, 'made partitions');
  },
};
