// Copies rows from one session to another with COPY, and says what they were, so that both sides can be compared.
import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from, to } from 'pg-copy-streams';
import type { Query } from '../backup/facts.ts';

/** Of rows in the order in which they were read. */
export interface Digest {
  rows: number;
  sha256: string;
}

/** What a query selects, as the text of COPY. */
export const readRows = (client: pg.Client, select: string) => client.query(to(`copy (${select}) to stdout`));

/** What takes the text of COPY. */
export const writeRows = (client: pg.Client, table: string, columns: readonly string[]) =>
  client.query(from(`copy ${table} (${columns.join(', ')}) from stdin`));

export async function copyRows(
  source: pg.Client,
  select: string,
  target: pg.Client,
  table: string,
  columns: readonly string[],
): Promise<Digest> {
  const sum = createHash('sha256');
  const rows = readRows(source, select);
  await pipeline(
    rows,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        sum.update(chunk);
        yield chunk;
      }
    },
    writeRows(target, table, columns),
  );
  return { rows: rows.rowCount, sha256: sum.digest('hex') };
}

export async function digestOf(client: pg.Client, select: string): Promise<Digest> {
  const sum = createHash('sha256');
  const rows = readRows(client, select);
  await pipeline(
    rows,
    new Writable({
      write(chunk, _, done) {
        sum.update(chunk);
        done();
      },
    }),
  );
  return { rows: rows.rowCount, sha256: sum.digest('hex') };
}

export const count = async (query: Query, text: string): Promise<number> =>
  Number((await query<{ count: string }>(text)).rows[0]!.count);
