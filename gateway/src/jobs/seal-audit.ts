// Chains what has committed to audit_log, off the write path.
import type { PeriodicJob } from './periodic.ts';

export const sealAudit: PeriodicJob = {
  name: 'seal_audit',
  everyMs: 10_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select audit.is_audit_unsealed() as due');
    return rows[0]?.due === true;
  },
  async run(pool, _logger, signal) {
    // A seal at a time, each a transaction of its own.
    while (!signal.aborted) {
      const { rows } = await pool.query<{ sealed: string }>('select audit.seal_audit() as sealed');
      if (Number(rows[0]?.sealed ?? 0) === 0) return;
    }
  },
};
