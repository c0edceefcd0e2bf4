// Deletes expired memories, and tasks that ended long ago, in batches.
import type { PeriodicJob } from './periodic.ts';

const BATCH = 1_000;

export const deleteExpired = (everyMs: number): PeriodicJob => ({
  name: 'delete_expired',
  everyMs,
  async run(pool, logger, signal) {
    let deleted = 0;
    while (!signal.aborted) {
      const { rows } = await pool.query<{ deleted: string }>('select memories.delete_expired_batch($1) as deleted', [
        BATCH,
      ]);
      const count = Number(rows[0]?.deleted ?? 0);
      deleted += count;
      if (count < BATCH) break;
    }
    while (!signal.aborted) {
      const { rows } = await pool.query<{ swept: string }>('select tasks.sweep_tasks($1) as swept', [BATCH]);
      if (Number(rows[0]?.swept ?? 0) < BATCH) break;
    }
    if (deleted > 0) logger.info({ memories: deleted }, 'expired memories were deleted');
  },
});
