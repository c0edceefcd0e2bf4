// Reads a file that `l9-memory export` wrote, and checks that it is whole before anything of it is imported.
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gunzipSync, constants as zlib } from 'node:zlib';
import { chunksOf, openFile } from '../../input/files.ts';
import { Unusable } from '../support/client.ts';
import { beginsExport, createSeal, type End, type Header, kindOf, VERSION } from './format.ts';

const NEWLINE = 10;
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const isCompressed = (start: Buffer) => start[0] === 0x1f && start[1] === 0x8b;

function isStartOfExport(start: Buffer): boolean {
  if (!isCompressed(start)) return beginsExport(start.subarray(0, 64).toString());
  try {
    return beginsExport(gunzipSync(start, { finishFlush: zlib.Z_SYNC_FLUSH }).subarray(0, 64).toString());
  } catch {
    return false;
  }
}

/** What a file, or what comes on stdin (`-`), begins with; null if it is empty. Nothing that is looked at is lost. */
export async function beginningOf(file: string): Promise<Buffer | null> {
  if (file !== '-') {
    for await (const chunk of chunksOf(openFile(file))) return chunk;
    return null;
  }
  const { stdin } = process;
  if (!stdin.readableLength && !stdin.readableEnded)
    await new Promise((resolve) => stdin.once('readable', resolve).once('end', resolve));
  const start = stdin.read() as Buffer | null;
  if (start) stdin.unshift(start);
  return start;
}

export async function isExport(file: string): Promise<boolean> {
  const start = await beginningOf(file);
  return start !== null && isStartOfExport(start);
}

/** Keeps stdin in a file of its own while it is imported, because it is read twice. */
export async function withFile<Result>(file: string, use: (file: string) => Promise<Result>): Promise<Result> {
  if (file !== '-') return use(file);
  const folder = mkdtempSync(join(tmpdir(), 'l9-memory-import-'));
  try {
    const kept = join(folder, 'stdin');
    await pipeline(process.stdin, createWriteStream(kept, { mode: 0o600 }));
    return await use(kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface Line {
  number: number;
  text: string;
  /** How many bytes of the file, compressed or not, have been read. */
  read: number;
}

/** The lines of a file, with their newlines counted as bytes. */
export async function* linesOf(file: string): AsyncGenerator<Line & { bytes: Buffer }> {
  const opened = openFile(file);
  let read = 0;
  async function* counted() {
    for await (const chunk of chunksOf(opened)) {
      read += chunk.length;
      yield chunk;
    }
  }
  const source = Readable.from(counted());
  const chunks = (await startOf(file)) ? source.pipe(createGunzip()) : source;
  if (chunks !== source) source.on('error', (error) => chunks.destroy(error));
  let kept: Buffer[] = [];
  let size = 0;
  let number = 0;
  const line = (last: Buffer) => {
    const bytes = kept.length > 0 ? Buffer.concat([...kept, last]) : last;
    kept = [];
    size = 0;
    number += 1;
    return { number, text: bytes.toString(), bytes, read };
  };
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        yield line(chunk.subarray(from, end));
        from = end + 1;
      }
      if (from < chunk.length) kept.push(chunk.subarray(from));
      size += chunk.length - from;
      if (size > MAX_LINE_BYTES) throw new Unusable(`${file}: line ${number + 1}: is too long`);
    }
  } catch (error) {
    if (/^(Z_|ERR_)/.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new Unusable(`${file}: the compressed file is damaged or cut off`);
    throw error;
  }
  if (kept.length > 0) yield line(Buffer.alloc(0));
}

async function startOf(file: string): Promise<boolean> {
  for await (const chunk of chunksOf(openFile(file))) return isCompressed(chunk);
  return false;
}

/** Reads a file once. Throws unless each line stands where it was written, unchanged. */
export async function checkExport(file: string, onRead: (bytes: number) => void): Promise<Header> {
  const seal = createSeal();
  const refuse = (number: number, problem: string) => new Unusable(`${file}: line ${number}: ${problem}`);
  let header: Header | null = null;
  let end: End | null = null;
  let last = 0;
  for await (const { number, text, bytes, read } of linesOf(file)) {
    if (end) throw refuse(number, 'stands after the end of the export');
    if (number === 1) header = readHeader(text, (problem) => refuse(1, problem));
    else if (kindOf(text) === 'end') {
      end = readEnd(text, (problem) => refuse(number, problem));
      const found = seal.end();
      if (found.lines !== end.lines)
        throw refuse(number, `the export has ${end.lines} lines before this one, and the file ${found.lines}`);
      if (found.sha256 !== end.sha256)
        throw refuse(number, 'the SHA-256 is not that of the lines: the file was changed');
      continue;
    } else if (kindOf(text) === null) throw refuse(number, 'is no line of an export');
    seal.add(bytes, 1);
    seal.add('\n', 0);
    last = number;
    onRead(read);
  }
  if (!header || !end) throw refuse(last + 1, 'the end of the export is missing: the file was cut off');
  return header;
}

function readHeader(text: string, refuse: (problem: string) => Error): Header {
  let header: Partial<Header>;
  try {
    header = JSON.parse(text) as Partial<Header>;
  } catch {
    throw refuse('is no header of an export');
  }
  if (header.version !== VERSION)
    throw refuse(
      `is version ${String(header.version).slice(0, 20)} of the format; this l9-memory reads version ${VERSION}`,
    );
  if (!Array.isArray(header.counts)) throw refuse('counts: is missing');
  return header as Header;
}

function readEnd(text: string, refuse: (problem: string) => Error): End {
  try {
    const { end } = JSON.parse(text) as { end: End };
    if (Number.isInteger(end.lines) && /^[0-9a-f]{64}$/.test(end.sha256)) return end;
  } catch {
    // It is refused below.
  }
  throw refuse('is no end of an export');
}
