// `l9-memory export`: what a caller may read as JSON lines, page by page through the running server.
import { once } from 'node:events';
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createSeal, endLine, FORMAT, type Header, headerLine, type KindCount, VERSION } from './exports/format.ts';
import { type Client, type ClientOptions, connect, told, Unusable } from './support/client.ts';
import { startProgress } from './support/progress.ts';

const QUERY = `query ($kind: String, $asOf: Datetime, $after: JSON) {
  exportMemories(kind: $kind, asOf: $asOf, after: $after)
}`;

export interface ExportOptions extends ClientOptions {
  withVectors?: boolean;
}

interface Page {
  lines: string;
  count: number;
  cursor: unknown[] | null;
}

/** Writes what the caller may read to a file, or to stdout for `-`. */
export async function exportFile(env: NodeJS.ProcessEnv, file: string, options: ExportOptions): Promise<number> {
  return told(async () => {
    const client = await connect(env, { caller: 'L', ...options });
    const count = file === '-' ? await write(client, process.stdout, options) : await writeFile(client, file, options);
    process.stderr.write(`${count} lines\n`);
    return 0;
  });
}

/** The file has its name only once it is whole. Only its owner may read what the database shows only to this caller. */
async function writeFile(client: Client, file: string, options: ExportOptions): Promise<number> {
  const unfinished = `${file}.part`;
  const out = createWriteStream(unfinished, { mode: 0o600 });
  try {
    await once(out, 'open');
    let count: number;
    if (file.endsWith('.gz')) {
      const gzip = createGzip();
      const written = pipeline(gzip, out);
      // An error of the file is thrown below; it must not end the process before.
      written.catch(() => {});
      count = await write(client, gzip, options);
      gzip.end();
      await written;
    } else {
      count = await write(client, out, options);
      out.end();
      await finished(out);
    }
    renameSync(unfinished, file);
    return count;
  } catch (error) {
    out.destroy();
    rmSync(unfinished, { force: true });
    throw error;
  }
}

async function write(client: Client, out: Writable, options: ExportOptions): Promise<number> {
  const ask = async <Answer>(variables: object) =>
    (await client.request<{ exportMemories: Answer }>(QUERY, { ...variables })).exportMemories;
  const { header, as_of } = await ask<{ header: Header<KindCount & { option?: string }>; as_of: string }>({});
  const counts = header.counts
    .filter(({ option }) => option === undefined || (option === 'vectors' && options.withVectors))
    .map(({ kind, lines }) => ({ kind, lines }));
  if (header.format !== FORMAT || header.version !== VERSION)
    throw new Unusable(`the server writes version ${header.version} of the format: use its own l9-memory`);
  const total = counts.reduce((sum, { lines }) => sum + lines, 0);
  const progress = startProgress('exporting', total);
  const seal = createSeal();
  let done = 0;
  const put = async (text: string, count: number) => {
    seal.add(text, count);
    if (!out.write(text)) await once(out, 'drain');
  };
  try {
    await put(`${headerLine({ ...header, counts })}\n`, 1);
    for (const { kind } of counts) {
      let after: unknown[] | null = null;
      do {
        const page: Page = await ask<Page>({ kind, asOf: as_of, after });
        if (page.count > 0) await put(`${page.lines}\n`, page.count);
        after = page.cursor;
        done += page.count;
        progress.update(done, `${done} of ${total}`);
      } while (after);
    }
    out.write(`${endLine(seal.end())}\n`);
  } finally {
    progress.stop();
  }
  return done;
}
