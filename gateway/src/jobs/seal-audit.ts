// Adds committed rows of audit_log to the hash chain, outside the transactions that write them.
import type { PeriodicJob } from './periodic.ts';

export const sealAudit: PeriodicJob = {
  name: 'seal_audit',
  everyMs: 10_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select audit.is_audit_unsealed() as due');
    return rows[0]?.due === true;
  },
  async run(pool, _logger, signal) {
    // Each seal is a separate transaction.
    while (!signal.aborted) {
      const { rows } = await pool.query<{ sealed: string }>('select audit.seal_audit() as sealed');
      if (Number(rows[0]?.sealed ?? 0) === 0) return;
    }
  },
};
