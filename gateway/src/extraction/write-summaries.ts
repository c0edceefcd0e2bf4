// Lets a chat model write the due summaries. The database decides which are due; one that was not stored remains due.

import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import { backoffSeconds } from '../jobs/backoff.ts';
import { withJobRun } from '../jobs/job-runs.ts';
import { askReserved, BudgetSpent, reserve, type Spending } from './budget.ts';
import { ChatAnswerInvalid, ChatRejected, ChatUnavailable } from './chat.ts';
import { storable } from './extract-pending.ts';
import { readSummary, summaryRequest } from './summary.ts';

const AT_MOST = 20;
const RETRY_FIRST_MINUTES = 10;
const BUSY_WAIT = '1 second';

interface Due {
  summary_key: Buffer;
  tenant_id: string;
  org_id: string | null;
  user_id: string | null;
  scope: string;
  project_id: string | null;
  scope_type: string;
  scope_value: string;
  packet_ids: string[];
  content_hashes: Buffer[];
  contents: string[];
  happened_at: Date[];
}

export interface SummaryOptions extends Spending {
  leaseMs: number;
  /** The id of this job in the queue. */
  jobId?: string | undefined;
}

/** Writes up to 20 summaries, one at a time. Rejects with ChatUnavailable if the provider cannot be reached. */
export async function writeSummaries(options: SummaryOptions, signal: AbortSignal): Promise<void> {
  for (let written = 0; written < AT_MOST && !signal.aborted; written++) {
    const { rows } = await options.pool.query<Due>('select * from extraction.lease_summaries(1, $1)', [
      `${options.leaseMs} milliseconds`,
    ]);
    if (!rows[0]) return;
    await writeOne(rows[0], options, signal);
  }
}

async function writeOne(due: Due, options: SummaryOptions, signal: AbortSignal): Promise<void> {
  const { pool, chat, logger, jobId } = options;
  const postpone = async (delay: string, countsAsAttempt: boolean) => {
    const { rows } = await pool.query('select extraction.postpone_summary($1, $2, $3) as has_given_up', [
      due.summary_key,
      delay,
      countsAsAttempt,
    ]);
    return rows[0].has_given_up as boolean;
  };
  try {
    const request = summaryRequest(due.contents, due.happened_at);
    const reservation = await reserve(options, due.tenant_id, request);
    await withJobRun(
      pool,
      {
        type: 'summarize',
        tenantId: due.tenant_id,
        orgId: due.org_id ?? undefined,
        userId: due.user_id ?? undefined,
        projectId: due.project_id ?? undefined,
        scope: due.scope,
        payload: { scope_type: due.scope_type, memories: due.packet_ids.length },
        jobKey: `summarize ${due.summary_key.toString('hex')}`,
        jobId,
      },
      logger,
      async () => {
        const summary = await askReserved(options, reservation, request, readSummary, signal);
        const { rows } = await pool.query<{ is_stored: boolean }>(
          'select extraction.store_model_summary($1, $2, $3, $4, $5, $6, $7) as is_stored',
          [
            due.summary_key,
            due.scope_type,
            due.scope_value,
            JSON.stringify(summary, storable),
            due.packet_ids,
            due.content_hashes,
            chat.model,
          ],
        );
        return rows[0]!.is_stored;
      },
      (isStored) => ({ is_stored: isStored }),
    );
  } catch (error) {
    const { name } = error as Error;
    const code = sqlstateOf(error);
    if (error instanceof BudgetSpent) {
      await postpone(`${RETRY_FIRST_MINUTES} minutes`, false);
    } else if (code === SQLSTATE.lockNotAvailable || code === SQLSTATE.deadlock || signal.aborted) {
      await postpone(BUSY_WAIT, false);
    } else if (error instanceof ChatUnavailable) {
      await postpone(`${backoffSeconds(1, 60)} seconds`, false);
      throw error;
    } else {
      const hasGivenUp = await postpone(`${RETRY_FIRST_MINUTES} minutes`, true);
      logger.warn({ model: chat.model, name, code, hasGivenUp }, 'a summary could not be written');
      if (!(error instanceof ChatAnswerInvalid || error instanceof ChatRejected || code?.startsWith('L9'))) throw error;
    }
  }
}
