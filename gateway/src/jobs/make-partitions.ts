// Creates monthly partitions in advance, so that no row has to go to the default partition.
import type { PeriodicJob } from './periodic.ts';

const MONTHS_AHEAD = 13;
const TABLES = ['public.audit_log', 'importance.memory_access_log'];

export const makePartitions: PeriodicJob = {
  name: 'make_partitions',
  everyMs: 24 * 60 * 60_000,
  async run(pool, logger) {
    for (const table of TABLES) {
      const { rows } = await pool.query<{ made: string[] }>(
        'select audit.create_month_partitions($1::regclass, now()::date, $2) as made',
        [table, MONTHS_AHEAD + 1],
      );
      const made = rows[0]?.made ?? [];
      if (made.length > 0) logger.info({ partitions: made }, 'partitions were created');
    }
  },
};
