// What a chat model does in the background, where a tenant wants it.
import type { Logger } from 'pino';
import type { Spending } from '../extraction/budget.ts';
import { ChatUnavailable } from '../extraction/chat.ts';
import { type ExtractOptions, extractPending } from '../extraction/extract-pending.ts';
import { writeSummaries } from '../extraction/write-summaries.ts';
import { outagePause } from './backoff.ts';
import type { PeriodicTask } from './periodic.ts';

const OUTAGE_LAST_SECONDS = 600;
// Finding out what is due looks at many memories.
const SUMMARIES_EVERY_MS = 60_000;

export type ChatWork = Omit<Spending, 'pool' | 'logger'> & Pick<ExtractOptions, 'leaseMs' | 'onExtracted'>;

/** The jobs of a chat model. A provider that is down is asked less and less often, by all of them together. */
export function useChatModel(work: ChatWork): PeriodicTask[] {
  const outage = outagePause(OUTAGE_LAST_SECONDS, Date.now, (error) => error instanceof ChatUnavailable);
  const whileItIsThere = async (logger: Logger, job: () => Promise<void>) => {
    if (outage.isPausing()) return;
    try {
      await job();
      outage.isOver();
    } catch (error) {
      if (!(error instanceof ChatUnavailable)) throw error;
      logger.warn(
        { model: work.chat.model, name: error.name, reason: error.message },
        'the chat model is not to be had for now',
      );
      outage.met(error);
    }
  };
  return [
    {
      name: 'extract_pending',
      everyMs: 2_000,
      async isDue(pool) {
        if (outage.isPausing()) return false;
        const { rows } = await pool.query<{ due: boolean }>('select extraction.has_due_extractions() as due');
        return rows[0]?.due === true;
      },
      run: (pool, logger, signal, jobId) =>
        whileItIsThere(logger, () => extractPending({ ...work, pool, logger, jobId }, signal)),
    },
    {
      name: 'write_summaries',
      everyMs: SUMMARIES_EVERY_MS,
      async isDue(pool) {
        if (outage.isPausing()) return false;
        const { rows } = await pool.query<{ due: boolean }>('select extraction.may_write_summaries() as due');
        return rows[0]?.due === true;
      },
      run: (pool, logger, signal, jobId) =>
        whileItIsThere(logger, () => writeSummaries({ ...work, pool, logger, jobId }, signal)),
    },
  ];
}
