// Adds up the access log and feedback in memory_signals, so that searches need not.
import type { PeriodicJob } from './periodic.ts';

export const rollUpAccesses: PeriodicJob = {
  name: 'roll_up_accesses',
  everyMs: 15_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select importance.are_accesses_waiting() as due');
    return rows[0]?.due === true;
  },
  async run(pool, _logger, signal) {
    // Each batch is a separate transaction.
    while (!signal.aborted) {
      const { rows } = await pool.query<{ counted: string }>('select facts.roll_up_accesses() as counted');
      if (Number(rows[0]?.counted ?? 0) === 0) return;
    }
  },
};
