// Verifies the chain step by step. This browser remembers how far it came, so that a check can go on later, and the hash of the newest
// seal: kept outside the database, it proves that no earlier row was removed.
import type { Client } from '@urql/core';
import type { Report } from '../../lib/works.ts';
import { verifyAudit } from './query.ts';

const ROWS_A_STEP = 5_000;

export interface Verified {
  ok: boolean;
  isComplete: boolean;
  /** When it was checked. */
  at: string;
  seals: number;
  rows: number;
  lastSeal: string | null;
  head: string | null;
  reason: string | null;
  brokenSeal: string | null;
  brokenRow: string | null;
}

/** An operator, who has no tenant, verifies the log of all. */
const slotOf = (tenantId: string | null) => `l9-memory.audit.${tenantId ?? 'all'}`;

export function readVerified(tenantId: string | null): Verified | null {
  try {
    return JSON.parse(localStorage.getItem(slotOf(tenantId)) ?? 'null');
  } catch {
    return null;
  }
}

interface VerifyArguments {
  client: Client;
  tenantId: string | null;
  /** A check that was stopped; null begins at the first seal. */
  from: Verified | null;
  report: Report;
  signal: AbortSignal;
}

export async function verify({ client, tenantId, from, report, signal }: VerifyArguments): Promise<string> {
  // A check that is not finished leaves the hash of the last one that is.
  const { head = null } = readVerified(tenantId) ?? {};
  let [seals, rows, lastSeal] = [from?.seals ?? 0, from?.rows ?? 0, from?.lastSeal ?? null];
  for (;;) {
    const variables = { head, afterSeal: lastSeal, maxRows: String(ROWS_A_STEP) };
    const { data, error } = await client.query(verifyAudit, variables, { requestPolicy: 'network-only' });
    signal.throwIfAborted();
    const step = data?.admin?.verifyAudit;
    if (error || !step)
      throw new Error(
        error?.graphQLErrors[0]?.message ?? 'The server does not answer. Try again: the check continues where it was.',
      );
    seals += Number(step.seals);
    rows += Number(step.rows);
    lastSeal = step.lastSeal ?? lastSeal;
    const state: Verified = {
      ok: step.ok === true,
      isComplete: step.isComplete === true,
      at: new Date().toISOString(),
      seals,
      rows,
      lastSeal,
      head: step.ok && step.isComplete ? step.head : head,
      reason: step.reason,
      brokenSeal: step.brokenSeal,
      brokenRow: step.brokenRow,
    };
    localStorage.setItem(slotOf(tenantId), JSON.stringify(state));
    report(Number(lastSeal ?? 0), Number(data.admin?.auditHead?.sealId ?? 0));
    if (!state.ok) throw new Error(`The log was changed: ${step.reason}.`);
    if (state.isComplete) {
      const unsealed = Number(step.unsealed ?? 0);
      return `The log is whole${unsealed > 0 ? `; ${unsealed} rows are too new to be sealed` : ''}.`;
    }
  }
}
