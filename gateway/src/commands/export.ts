// `l9-memory export`: what a caller may read as JSON lines, page by page through the running server.
import { once } from 'node:events';
import { createWriteStream, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  ARCHIVE_BYTES,
  createSeal,
  endLine,
  FORMAT,
  type Header,
  headerLine,
  headOf,
  type KindCount,
  sealHashOf,
  VERSION,
} from './exports/format.ts';
import { type Client, type ClientOptions, connect, told, Unusable } from './support/client.ts';
import { startProgress } from './support/progress.ts';

const QUERY = `query ($kind: String, $asOf: Datetime, $after: JSON) {
  exportMemories(kind: $kind, asOf: $asOf, after: $after)
}`;

export interface ExportOptions extends ClientOptions {
  withAudit?: boolean;
  withVectors?: boolean;
  withKeys?: boolean;
}

const KEYS_WARNING =
  'This export holds the keys of archived sessions: whoever has it can read them. Keep it where you would keep the sessions.';

interface Carried {
  bytes: string | null;
  key: string | null;
}

interface Page {
  lines: string;
  count: number;
  cursor: unknown[] | null;
}

/** Writes what the caller may read to a file, or to stdout for `-`. */
export async function exportFile(env: NodeJS.ProcessEnv, file: string, options: ExportOptions): Promise<number> {
  return told(async () => {
    if (options.withKeys) process.stderr.write(`${KEYS_WARNING}\n`);
    // A page holds what those before it refer to.
    const client = await connect(env, { ...options, isConsistent: true });
    const written =
      file === '-' ? await write(client, process.stdout, options) : await writeFile(client, file, options);
    process.stderr.write(`${written.lines} lines\n`);
    if (written.auditHead) process.stderr.write(`${headOf(written.auditHead)}\n`);
    for (const problem of written.problems) process.stderr.write(`${problem}\n`);
    return written.problems.length > 0 ? 1 : 0;
  });
}

/** The file has its name only once it is whole. Only its owner may read what the database shows only to this caller. */
async function writeFile(client: Client, file: string, options: ExportOptions): Promise<Written> {
  const unfinished = `${file}.part`;
  const out = createWriteStream(unfinished, { mode: 0o600 });
  try {
    await once(out, 'open');
    let written: Written;
    if (file.endsWith('.gz')) {
      const gzip = createGzip();
      const flowing = pipeline(gzip, out);
      // An error of the file is thrown below; it must not end the process before.
      flowing.catch(() => {});
      written = await write(client, gzip, options);
      gzip.end();
      await flowing;
    } else {
      written = await write(client, out, options);
      out.end();
      await finished(out);
    }
    renameSync(unfinished, file);
    return written;
  } catch (error) {
    out.destroy();
    rmSync(unfinished, { force: true });
    throw error;
  }
}

interface Written {
  lines: number;
  /** What the file does not hold, although it should. */
  problems: string[];
  /** The hash of the last line about a seal. */
  auditHead: string | null;
}

async function write(client: Client, out: Writable, options: ExportOptions): Promise<Written> {
  const ask = async <Answer>(variables: object) =>
    (await client.request<{ exportMemories: Answer }>(QUERY, { ...variables })).exportMemories;
  const { header, as_of } = await ask<{ header: Header<KindCount & { option?: string }>; as_of: string }>({});
  const counts = header.counts
    .filter(
      ({ option }) =>
        option === undefined ||
        (option === 'vectors' && options.withVectors) ||
        (option === 'audit' && options.withAudit),
    )
    .flatMap(({ kind, lines }) =>
      kind === 'archive'
        ? [
            { kind, lines },
            { kind: ARCHIVE_BYTES, lines },
          ]
        : { kind, lines },
    );
  if (header.format !== FORMAT || header.version !== VERSION)
    throw new Unusable(`the server writes version ${header.version} of the format: use its own l9-memory`);
  if (options.withAudit && !counts.some(({ kind }) => kind === 'audit_row'))
    throw new Unusable('--with-audit: only administrators read the audit log');
  const total = counts.reduce((sum, { lines }) => sum + lines, 0);
  const progress = startProgress('exporting', total);
  const seal = createSeal();
  const written: Written = { lines: 0, problems: [], auditHead: null };
  const put = async (text: string, count: number) => {
    seal.add(text, count);
    if (!out.write(text)) await once(out, 'drain');
  };
  const putRows = async (text: string, count: number) => {
    await put(text, count);
    written.lines += count;
    progress.update(written.lines, `${written.lines} of ${total}`);
  };
  try {
    await put(`${headerLine({ ...header, counts })}\n`, 1);
    for (const { kind } of counts) {
      if (kind === ARCHIVE_BYTES) continue;
      let after: unknown[] | null = null;
      do {
        const page: Page = await ask<Page>({ kind, asOf: as_of, after });
        if (page.count > 0) await putRows(`${page.lines}\n`, page.count);
        if (kind === 'archive')
          for (const line of page.lines.split('\n').filter(Boolean)) {
            const { text, problem } = await bytesLine(client, line, options.withKeys ?? false);
            if (text !== null) await putRows(text, 1);
            if (problem !== null) written.problems.push(problem);
          }
        if (kind === 'audit_seal' && page.count > 0) written.auditHead = sealHashOf(page.lines);
        after = page.cursor;
      } while (after);
    }
    out.write(`${endLine(seal.end())}\n`);
  } finally {
    progress.stop();
  }
  return written;
}

/** The line of the bytes of an archive, with its key if it is asked for. */
async function bytesLine(client: Client, line: string, withKey: boolean) {
  const { archive } = JSON.parse(line) as { archive: { archive_id: string } };
  const { archive_id } = archive;
  const carried = await client.post<Carried>('/archives/export', { archive_id, with_key: withKey });
  const { bytes, key } = carried;
  const text = bytes && `${JSON.stringify({ [ARCHIVE_BYTES]: { archive_id, bytes, ...(key ? { key } : {}) } })}\n`;
  if (text === null) return { text, problem: `archive ${archive_id}: no store has its bytes as they were archived` };
  const lacksKey = withKey && key === null;
  return { text, problem: lacksKey ? `archive ${archive_id}: its key is missing here, so the export lacks it` : null };
}
