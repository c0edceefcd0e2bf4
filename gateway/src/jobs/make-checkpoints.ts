// The embedded engine has no process that makes checkpoints, and without them its write-ahead log would grow forever.
import type { PeriodicJob } from './periodic.ts';

const AFTER_BYTES = 32 * 1024 * 1024;

export const makeCheckpoints: PeriodicJob = {
  name: 'make_checkpoints',
  everyMs: 10_000,
  makesRoom: true,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>(
      'select pg_current_wal_insert_lsn() - redo_lsn > $1 as due from pg_control_checkpoint()',
      [AFTER_BYTES],
    );
    return rows[0]?.due === true;
  },
  run: async (pool) => {
    await pool.query('checkpoint');
  },
};
