// The background jobs of the chat model: they extract facts and write summaries for tenants that enabled this.
import type { Logger } from 'pino';
import { outagePause } from '../jobs/backoff.ts';
import { isTrue, type PeriodicJob } from '../jobs/periodic.ts';
import type { Spending } from './budget.ts';
import { ChatUnavailable } from './chat.ts';
import { type ExtractOptions, extractPending } from './extract-pending.ts';
import { writeSummaries } from './write-summaries.ts';

const OUTAGE_LAST_SECONDS = 600;
const EXTRACT_EVERY_MS = 2_000;
// The check for due summaries reads many memories, so it runs rarely.
const SUMMARIES_EVERY_MS = 60_000;

export type ChatJobOptions = Omit<Spending, 'pool' | 'logger'> & Pick<ExtractOptions, 'leaseMs' | 'onExtracted'>;

/** The two jobs share one pause: a provider that is down for one of them is down for both. */
export function chatJobs(options: ChatJobOptions): PeriodicJob[] {
  const outage = outagePause(OUTAGE_LAST_SECONDS, Date.now, (error) => error instanceof ChatUnavailable);
  const unlessDown = async (logger: Logger, run: () => Promise<void>) => {
    if (outage.isPausing()) return;
    try {
      await run();
      outage.recordSuccess();
    } catch (error) {
      if (!(error instanceof ChatUnavailable)) throw error;
      logger.warn({ model: options.chat.model, name: error.name, reason: error.message }, 'chat model unavailable');
      outage.recordFailure(error);
    }
  };
  const unlessPausing =
    (sql: string): Required<PeriodicJob>['isDue'] =>
    async (pool) =>
      !outage.isPausing() && isTrue(sql)(pool);
  return [
    {
      name: 'extract_pending',
      everyMs: EXTRACT_EVERY_MS,
      isDue: unlessPausing('extraction.has_due_extractions()'),
      run: (pool, logger, signal, jobId) =>
        unlessDown(logger, () => extractPending({ ...options, pool, logger, jobId }, signal)),
    },
    {
      name: 'write_summaries',
      everyMs: SUMMARIES_EVERY_MS,
      isDue: unlessPausing('extraction.may_write_summaries()'),
      run: (pool, logger, signal, jobId) =>
        unlessDown(logger, () => writeSummaries({ ...options, pool, logger, jobId }, signal)),
    },
  ];
}
