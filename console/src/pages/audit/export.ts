import type { Client } from '@urql/core';
import { download } from '../../lib/download.ts';
import type { Report } from '../../lib/works.ts';
import { exportAudit } from './query.ts';

const PAGE_SIZE = 2_000;

interface ExportArguments {
  client: Client;
  /** Null: from the beginning. */
  from: string | null;
  to: string | null;
  report: Report;
  signal: AbortSignal;
}

/** Downloads the rows as JSON lines, page by page. */
export async function exportRows({ client, from, to, report, signal }: ExportArguments): Promise<string> {
  // The browser keeps large blobs on disk.
  let lines = new Blob([], { type: 'application/jsonl' });
  let [until, after, count] = [to, null as string | null, 0];
  do {
    const { data, error } = await client.mutation(exportAudit, { from, to: until, after, pageSize: PAGE_SIZE });
    signal.throwIfAborted();
    const page = data?.admin?.exportAudit;
    if (error || !page) throw new Error(error?.graphQLErrors[0]?.message ?? 'The server does not answer.');
    const rows: unknown[] = typeof page.rows === 'string' ? JSON.parse(page.rows) : page.rows;
    lines = new Blob([lines, rows.map((row) => `${JSON.stringify(row)}\n`).join('')], { type: lines.type });
    count += rows.length;
    after = page.cursor;
    // Rows that are written meanwhile, such as those about this export, belong to the next one.
    until = page.to;
    report(count, null);
  } while (after);
  download(`audit-${new Date().toISOString().slice(0, 10)}.jsonl`, lines, lines.type);
  return `${count} rows were exported.`;
}
