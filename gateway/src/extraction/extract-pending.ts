// Extracts facts from the memories in the queue of the chat model. The queue is in the database, so this can stop at any
// point: a memory whose result was not stored is leased again when its lease ends.

import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { WorkerPool } from '../database/index.ts';
import { backoffSeconds } from '../jobs/backoff.ts';
import { withJobRun } from '../jobs/job-runs.ts';
import { askReserved, BudgetSpent, reserve, type Spending } from './budget.ts';
import { ChatAnswerInvalid, ChatRejected, ChatUnavailable } from './chat.ts';
import { type Extraction, extractionRequest, readExtraction } from './extraction.ts';

const AT_ONCE = 4;
const RETRY_LAST_SECONDS = 3600;
const BUSY_WAIT = '1 second';
const RUN_FOR_MS = 60_000;

interface Pending {
  packet_id: string;
  content: string;
  content_hash: Buffer;
  happened_at: Date;
  attempts: number;
  tenant_id: string;
  org_id: string | null;
  user_id: string | null;
  project_id: string | null;
  scope: string;
}

interface Stored {
  is_stored: boolean;
  facts: number;
  relations: number;
  dropped: number;
}

export interface ExtractOptions extends Spending {
  /** How long a lease lasts: longer than a call takes. */
  leaseMs: number;
  /** The id of this job in the queue. */
  jobId?: string | undefined;
  onExtracted?: ((outcome: 'stored' | 'outdated' | 'failed') => void) | undefined;
}

/** Extracts for a minute, or until nothing is due. Rejects with ChatUnavailable if the provider cannot be reached. */
export async function extractPending(options: ExtractOptions, signal: AbortSignal, now = Date.now): Promise<void> {
  const { pool, leaseMs } = options;
  const until = now() + RUN_FOR_MS;
  while (!signal.aborted && now() < until) {
    const { rows } = await pool.query<Pending>('select * from extraction.lease_extractions($1, $2)', [
      AT_ONCE,
      `${leaseMs} milliseconds`,
    ]);
    if (rows.length === 0) return;
    const outcomes = await Promise.allSettled(rows.map((memory) => extractOne(memory, options, signal)));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) throw failure.reason;
  }
}

async function extractOne(memory: Pending, options: ExtractOptions, signal: AbortSignal): Promise<void> {
  const { pool, chat, logger, jobId, onExtracted } = options;
  const { packet_id: packetId } = memory;
  try {
    const request = extractionRequest(memory.content, memory.happened_at);
    const reservation = await reserve(options, memory.tenant_id, request);
    const stored = await withJobRun(
      pool,
      {
        type: 'extract',
        tenantId: memory.tenant_id,
        orgId: memory.org_id ?? undefined,
        userId: memory.user_id ?? undefined,
        projectId: memory.project_id ?? undefined,
        scope: memory.scope,
        payload: { packet_id: packetId, attempt: memory.attempts + 1 },
        jobKey: `extract ${packetId}`,
        jobId,
      },
      logger,
      async () => {
        const extraction = await askReserved(options, reservation, request, readExtraction, signal);
        return store(pool, memory, extraction, chat.model);
      },
      ({ is_stored, facts, relations, dropped }) => ({ is_stored, facts, relations, dropped }),
    );
    onExtracted?.(stored.is_stored ? 'stored' : 'outdated');
  } catch (error) {
    const { name } = error as Error;
    const code = sqlstateOf(error);
    if (error instanceof BudgetSpent) {
      await postpone(pool, packetId, '0 seconds', 'budget', false);
      await pool.query('select extraction.postpone_extractions_of($1)', [memory.tenant_id]);
    } else if (code === SQLSTATE.lockNotAvailable || code === SQLSTATE.deadlock) {
      await postpone(pool, packetId, BUSY_WAIT, 'busy', false);
    } else if (signal.aborted) {
      await postpone(pool, packetId, '0 seconds', 'stopped', false);
    } else if (error instanceof ChatUnavailable) {
      await postpone(pool, packetId, `${backoffSeconds(1, RETRY_LAST_SECONDS)} seconds`, name, false);
      throw error;
    } else {
      // The error is due to the text or its answer, so it counts as an attempt.
      const delay = `${backoffSeconds(memory.attempts + 1, RETRY_LAST_SECONDS)} seconds`;
      const hasGivenUp = await postpone(pool, packetId, delay, code ?? name, true);
      logger.warn(
        { packetId, model: chat.model, attempts: memory.attempts + 1, name, code, hasGivenUp },
        'extraction from a memory failed',
      );
      onExtracted?.('failed');
      if (!(error instanceof ChatAnswerInvalid || error instanceof ChatRejected)) throw error;
    }
  }
}

async function store(pool: WorkerPool, memory: Pending, extraction: Extraction, model: string): Promise<Stored> {
  const { rows } = await pool.query<Stored>('select * from extraction.store_extraction($1, $2, $3, $4)', [
    memory.packet_id,
    memory.content_hash,
    JSON.stringify(extraction, storable),
    model,
  ]);
  return rows[0]!;
}

/** PostgreSQL texts cannot contain a zero byte or half a surrogate pair. */
export const storable = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value;

async function postpone(pool: WorkerPool, packetId: string, wait: string, error: string, countsAsAttempt: boolean) {
  const { rows } = await pool.query<{ has_given_up: boolean }>(
    'select extraction.postpone_extraction($1, $2, $3, $4) as has_given_up',
    [packetId, wait, error, countsAsAttempt],
  );
  return rows[0]!.has_given_up;
}
