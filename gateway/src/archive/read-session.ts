// Reads a session out of a file or a document, whatever recorded it. Errors name the place and never quote what stands there.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { KnownError } from '../errors.ts';
import { formatNamed, formatOf } from './formats/index.ts';
import { type Fields, isFields, type Recording, type Session, type Source } from './session.ts';
import { endedWell, summaryOf } from './summary.ts';

export const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** So many records are looked at to tell the format: the first ones may be snapshots and notes. */
const LOOK_AT = 20;

export interface ReadOptions {
  /** Default: what the records look like. */
  from?: Source | undefined;
  /** Default: the id in the file, or else the name of the file. */
  sessionId?: string | undefined;
  tags?: readonly string[] | undefined;
}

const invalid = (reason: string) => new KnownError('L9VAL', `session: ${reason}`, 'session');

/** Reads a file of this machine. */
export async function readSessionFile(path: string, options: ReadOptions = {}): Promise<Session> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw invalid(`the file cannot be read (${error.code})`);
  });
  if (!found.isFile()) throw invalid('not a file');
  if (found.size > MAX_FILE_BYTES)
    throw new KnownError('L9LIM', `session: at most ${MAX_FILE_BYTES} bytes, got ${found.size}`, 'session');
  return readSession(chunksOf(path), { ...options, sessionId: options.sessionId ?? idOfFile(path) }, options.sessionId);
}

/** Reads a document that a caller gave, or what a command printed. */
export async function readSessionText(text: string, options: ReadOptions = {}): Promise<Session> {
  return readSession([text], options, options.sessionId);
}

export async function readSessionDocument(document: Fields, options: ReadOptions = {}): Promise<Session> {
  return toSession(await readAs([document], each([document]), options.from), options, options.sessionId);
}

/** The name of a file without its end; of a session of Codex only the uuid in it. */
function idOfFile(path: string): string {
  const name = basename(path).replace(/\.[^.]*$/, '');
  return /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(name)?.[1] ?? name;
}

async function* chunksOf(path: string): AsyncGenerator<string> {
  yield* createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>;
}

async function readSession(
  chunks: AsyncIterable<string> | Iterable<string>,
  options: ReadOptions,
  wantedId: string | undefined,
): Promise<Session> {
  const records = recordsOf(chunks);
  const first: Fields[] = [];
  for (let next = await records.next(); !next.done; next = await records.next()) {
    first.push(next.value);
    if (first.length === LOOK_AT) break;
  }
  if (first.length === 0) throw invalid('the file is empty');
  return toSession(await readAs(first, chain(first, records), options.from), options, wantedId);
}

function readAs(
  first: readonly Fields[],
  records: AsyncIterable<Fields>,
  from: Source | undefined,
): Promise<Recording> {
  const format = from ? formatNamed(from) : formatOf(first);
  if (!format) throw invalid('in no known format: claude-code, codex, cm, json or jsonl');
  if (!first.some((record) => format.recognises(record))) throw invalid(`not in the format ${format.name}`);
  return format.read(records);
}

function toSession(recording: Recording, options: ReadOptions, wantedId: string | undefined): Session {
  const { messages, summary } = recording;
  if (messages.length === 0 && !summary) throw invalid('it holds no message and no summary');
  const session_id = wantedId ?? recording.sessionId ?? options.sessionId;
  if (!session_id) throw invalid('session_id is missing');
  return {
    session_id,
    timestamp: recording.startedAt ?? null,
    ended_at: recording.endedAt ?? null,
    tool_name: recording.toolName,
    success: recording.success === undefined ? endedWell(messages) : recording.success,
    summary: summaryOf(recording),
    ...(summary && !recording.isSummaryDerived ? {} : { summary_is_derived: true }),
    tags: [...new Set([...(recording.tags ?? []), ...(options.tags ?? [])])],
    messages,
  };
}

async function* each(records: Iterable<Fields>): AsyncGenerator<Fields> {
  yield* records;
}

async function* chain(first: readonly Fields[], rest: AsyncIterable<Fields>): AsyncGenerator<Fields> {
  yield* first;
  yield* rest;
}

/** The objects of JSON lines, of a JSON array, or the one object of a document that stands on several lines. */
async function* recordsOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Fields> {
  let number = 0;
  let broken: { line: number; text: string } | null = null;
  let read = 0;
  // A document that stands on several lines is put together again; a broken file of JSON lines is not.
  const document: string[] = [];
  for await (const text of linesOf(chunks)) {
    number += 1;
    const line = number === 1 ? text.replace(/^\uFEFF/, '') : text;
    if (document.length > 0) {
      document.push(line);
      continue;
    }
    if (!/\S/.test(line)) continue;
    // Only the last line may be cut short: the tool is still writing, or was killed.
    if (broken) throw invalid(`line ${broken.line} is not valid JSON`);
    const value = parse(line);
    if (isFields(value)) {
      read += 1;
      yield value;
    } else if (read === 0) document.push(line);
    else broken = { line: number, text: line };
  }
  if (document.length === 0) return;
  const value = parse(document.join('\n'));
  if (value === undefined) throw invalid('not valid JSON');
  for (const record of Array.isArray(value) ? value : [value]) {
    if (!isFields(record)) throw invalid('not an object, nor a list of objects');
    yield record;
  }
}

async function* linesOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  // A document of one long line comes in many chunks, which are joined once.
  let open: string[] = [];
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.split('\n');
    open.push(first);
    for (const next of others) {
      yield open.join('');
      open = [next];
    }
  }
  if (open.some((part) => part !== '')) yield open.join('');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
