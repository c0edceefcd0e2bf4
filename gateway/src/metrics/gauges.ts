// Gauges whose values come from the database.
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../database/index.ts';

/** What a gauge is called, what it says, and its value in a row. */
export type Described<Row> = Record<string, [help: string, read: (row: Row) => number]>;

/**
 * Asks once for all that want the answer at the same time, such as the gauges of one scrape. While the database rests the last
 * answer stands: nobody changes anything then, and scrapes would keep the engine awake.
 */
export function shared<Answer>(
  { isResting }: Pick<Database, 'isResting'>,
  ask: () => Promise<Answer>,
): () => Promise<Answer> {
  let pending: Promise<Answer> | null = null;
  let last: { answer: Answer } | null = null;
  return async () => {
    if (last && isResting()) return last.answer;
    pending ??= ask().finally(() => {
      pending = null;
    });
    last = { answer: await pending };
    return last.answer;
  };
}

/** Gauges of the columns of a query that returns one row. */
export const gaugesOf =
  (database: Pick<Database, 'workerPool' | 'isResting'>, registers: Registry[]) =>
  <Row extends pg.QueryResultRow | undefined>(query: string, described: Described<Row>): void => {
    const row = shared(database, async () => (await database.workerPool.query(query)).rows[0] as Row);
    for (const [name, [help, read]] of Object.entries(described)) {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(read(await row()));
        },
      });
    }
  };
