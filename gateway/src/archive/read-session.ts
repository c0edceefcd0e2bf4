// Reads a session out of a file or a document, whatever recorded it. Errors name the place and never quote what stands there.
import { closeSync } from 'node:fs';
import { basename } from 'node:path';
import { KnownError } from '../base/errors.ts';
import { chunksOf, type OpenFile, openFile, UnreadableFile } from '../input/files.ts';
import { decodeByMark } from '../input/text.ts';
import { createTimeReader } from '../input/times.ts';
import { makeStorable } from '../operations/storable.ts';
import { formatNamed, formatOf } from './formats/index.ts';
import { createRecordReader, type RecordReader } from './records.ts';
import type { Fields, Format, Recording, Session, Source } from './session.ts';
import { endedWell, summaryOf } from './summary.ts';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** So many records are compared with every format, the most particular first; after them the first record that one recognises decides. */
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
export const readSessionFile = async (path: string, options: ReadOptions = {}): Promise<Session> =>
  readSession(decodeByMark(chunksOf(open(path))), options, idOfFile(path));

/** Reads a document that a caller gave, or what a command printed. */
export const readSessionText = async (text: string, options: ReadOptions = {}): Promise<Session> =>
  readSession([text], options, null);

function open(path: string): OpenFile {
  let file: OpenFile;
  try {
    file = openFile(path);
  } catch (error) {
    throw error instanceof UnreadableFile ? invalid(`the file cannot be read: ${error.reason}`) : error;
  }
  if (file.size > MAX_FILE_BYTES) {
    closeSync(file.descriptor);
    throw new KnownError('L9LIM', `session: at most ${MAX_FILE_BYTES} bytes, got ${file.size}`, 'session');
  }
  return file;
}

/** The name of a file without its end; of a session of Codex only the uuid in it. */
function idOfFile(path: string): string {
  const name = basename(path).replace(/\.[^.]*$/, '');
  return /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(name)?.[1] ?? name;
}

/** What was said in a session, for those who save it message by message. */
export async function readConversation(
  chunks: AsyncIterable<string>,
): Promise<Pick<Recording, 'sessionId' | 'messages'>> {
  const reader = createRecordReader(chunks);
  const { format, records } = await recognise(reader);
  return format.read(records, createTimeReader());
}

async function readSession(
  chunks: AsyncIterable<string> | Iterable<string>,
  options: ReadOptions,
  fallbackId: string | null,
): Promise<Session> {
  const reader = createRecordReader(chunks);
  const times = createTimeReader();
  const { format, records } = options.from
    ? { format: formatNamed(options.from), records: reader.records() }
    : await recognise(reader);
  const recording = await format.read(records, times);
  requireRecord(reader);
  const skipped = reader.skipped();
  const notices = [
    ...(skipped > 0 ? [`${skipped === 1 ? '1 line was' : `${skipped} lines were`} skipped: no JSON object`] : []),
    ...times.notices(),
  ];
  return makeStorable({ ...toSession(recording, options, fallbackId), ...(notices.length > 0 && { notices }) });
}

function requireRecord(reader: RecordReader): void {
  if (reader.count() === 0) throw invalid(reader.skipped() > 0 ? 'it holds no JSON object' : 'the file is empty');
}

/** The format of these records, and all of them again. Any number of notes may stand before the first one that tells. */
async function recognise(reader: RecordReader): Promise<{ format: Format; records: AsyncIterable<Fields> }> {
  const records = reader.records();
  const read: Fields[] = [];
  for (;;) {
    const next = await records.next();
    if (!next.done) read.push(next.value);
    if (!next.done && read.length < LOOK_AT) continue;
    const format = formatOf(read.length > LOOK_AT ? read.slice(-1) : read);
    if (format) return { format, records: chain(read, records) };
    if (!next.done) continue;
    requireRecord(reader);
    throw invalid('in no known format: claude-code, codex, gemini-cli, cm, json or jsonl');
  }
}

function toSession(recording: Recording, options: ReadOptions, fallbackId: string | null): Session {
  const { messages, summary } = recording;
  if (messages.length === 0 && !summary)
    throw invalid(`${options.from ? `read as ${options.from}, ` : ''}it holds no message and no summary`);
  const session_id = options.sessionId ?? recording.sessionId ?? fallbackId;
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
    messages: messages.map(({ timestamp: _, ...message }) => message),
  };
}

async function* chain(first: readonly Fields[], rest: AsyncIterable<Fields>): AsyncGenerator<Fields> {
  yield* first;
  yield* rest;
}
