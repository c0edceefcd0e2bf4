// Deletes expired memories, and tasks that ended long ago, in batches.
import { recordingRuns } from './job-runs.ts';
import { type PeriodicJob, untilDone } from './periodic.ts';

const BATCH = 1_000;

export const deleteExpired = (everyMs: number): PeriodicJob => ({
  name: 'delete_expired',
  everyMs,
  async run(pool, logger, signal) {
    const deleted = await recordingRuns<{ memories: number }, number>(
      pool,
      'delete_expired',
      logger,
      async (results) => {
        let total = 0;
        while (!signal.aborted) {
          const { rows } = await pool.query<{ tenant_id: string; deleted: string }>(
            'select tenant_id, deleted from memories.delete_expired_batch($1)',
            [BATCH],
          );
          let count = 0;
          for (const { tenant_id, deleted } of rows) {
            count += Number(deleted);
            results.set(tenant_id, { memories: (results.get(tenant_id)?.memories ?? 0) + Number(deleted) });
          }
          total += count;
          if (count < BATCH) break;
        }
        return total;
      },
    );
    await untilDone(`tasks.sweep_tasks(${BATCH})`, BATCH)(pool, logger, signal);
    if (deleted > 0) logger.info({ memories: deleted }, 'expired memories were deleted');
  },
});
