// The queries of monitors. They get an answer even while the database gives none.

import type pg from 'pg';
import type { Logger } from 'pino';
import { KnownError, SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { Database } from './database.ts';

/** How long a monitor waits for the database. */
const PATIENCE_MS = 2_000;

/** Rejects if an answer takes longer than a monitor waits. */
async function inTime<Answer>(asked: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new KnownError(SQLSTATE.busy, 'the database does not answer');
    timer = setTimeout(() => reject(error), PATIENCE_MS);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

export type Monitored = ReturnType<typeof monitored>;

export function monitored(
  { engine, workerPool, isResting }: Pick<Database, 'engine' | 'workerPool' | 'isResting'>,
  logger: Logger,
) {
  // A connection whose server hangs is given up, so that no others wait behind it. The embedded engine has no other.
  const timeout = engine === 'server' ? { query_timeout: PATIENCE_MS } : {};
  // The log gets the first failure, not one for each gauge.
  let isSilent = false;
  return {
    /** As l9_worker. */
    query: <Row extends pg.QueryResultRow>(text: string) => workerPool.query<Row>({ text, ...timeout }),
    /**
     * Asks once for all that want the answer at the same time, such as the gauges of one scrape; null if the database fails or takes
     * longer than monitors wait. While the database rests the last answer stands: nobody changes anything then, and scrapes would keep
     * the engine awake.
     */
    shared<Answer>(ask: () => Promise<Answer>): () => Promise<Answer | null> {
      let pending: Promise<Answer> | null = null;
      let last: { answer: Answer } | null = null;
      return async () => {
        if (last && isResting()) return last.answer;
        pending ??= ask().finally(() => {
          pending = null;
        });
        try {
          last = { answer: await inTime(pending) };
          isSilent = false;
          return last.answer;
        } catch (error) {
          const code = sqlstateOf(error) ?? (error as Error).message;
          if (!isSilent) logger.warn({ code }, 'the database does not answer a monitor');
          isSilent = true;
          return null;
        }
      };
    },
  };
}
