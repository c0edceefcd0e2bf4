// Counts the access log and feedback into memory_signals, off the path of searches.
import type { PeriodicJob } from './periodic.ts';

export const rollUpAccesses: PeriodicJob = {
  name: 'roll_up_accesses',
  everyMs: 15_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select importance.are_accesses_waiting() as due');
    return rows[0]?.due === true;
  },
  async run(pool, _logger, signal) {
    // A batch at a time, each a transaction of its own.
    while (!signal.aborted) {
      const { rows } = await pool.query<{ counted: string }>('select facts.roll_up_accesses() as counted');
      if (Number(rows[0]?.counted ?? 0) === 0) return;
    }
  },
};
