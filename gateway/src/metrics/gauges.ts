// Gauges whose values come from the database.
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../database/index.ts';

/** What a gauge is called, what it says, and its value in a row. */
export type Described<Row> = Record<string, [help: string, read: (row: Row) => number]>;

/** Asks once for all that want the answer at the same time, such as the gauges of one scrape. */
export function shared<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let pending: Promise<Answer> | null = null;
  return () => {
    pending ??= ask().finally(() => {
      pending = null;
    });
    return pending;
  };
}

/** Gauges of the columns of a query that returns one row. */
export const gaugesOf =
  ({ workerPool }: Pick<Database, 'workerPool'>, registers: Registry[]) =>
  <Row extends pg.QueryResultRow | undefined>(query: string, described: Described<Row>): void => {
    const row = shared(async () => (await workerPool.query(query)).rows[0] as Row);
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
