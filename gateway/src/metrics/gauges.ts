// Gauges whose values come from the database. While it does not answer, they have no value: an old one would look like a current one.
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { Monitored } from '../database/monitored.ts';

/** The name of a gauge, its help text, and its value in a row. */
export type Described<Row> = Record<string, [help: string, read: (row: Row) => number]>;

/** Gauges of the columns of a query that returns one row. */
export const gaugesOf =
  ({ query: ask, shared }: Monitored, registers: Registry[]) =>
  <Row extends pg.QueryResultRow | undefined>(query: string, described: Described<Row>): void => {
    const answer = shared(async () => ({ row: (await ask(query)).rows[0] as Row }));
    for (const [name, [help, read]] of Object.entries(described)) {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          const answered = await answer();
          if (answered) this.set(read(answered.row));
          else this.remove();
        },
      });
    }
  };
