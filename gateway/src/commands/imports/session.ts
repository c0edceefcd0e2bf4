// What was said to an agent, or between people: transcripts of Claude Code and Codex, lines of `{role, content}`, and documents
// with a list of `messages`. Each message is a memory of its own, with its speaker, time and thread.
import { basename } from 'node:path';
import { formatNamed, formatOf } from '../../archive/formats/index.ts';
import { readConversation } from '../../archive/read-session.ts';
import type { Message } from '../../archive/session.ts';
import { KnownError } from '../../base/errors.ts';
import { createTimeReader } from '../../input/times.ts';
import { readItems } from '../support/json-items.ts';
import type { ImportFormat, ImportItem } from './format.ts';
import { type Fields, parseObject } from './objects.ts';

/** Fields of save_memory that no record of a session has: a line with one of them is a memory. */
const OF_MEMORIES = ['kind', 'thread_id', 'threadId', 'project_id', 'projectId', 'scope', 'tags', 'envelope'];

export const session: ImportFormat = {
  name: 'session',
  recognises: ({ first, head }) =>
    first === null
      ? DOCUMENT.test(head)
      : !OF_MEMORIES.some((field) => field in first) && (isDocument(first) || isRecord(first)),
  async *read(chunks, name) {
    const [head, whole] = await peek(chunks);
    yield* DOCUMENT.test(head) ? ofDocuments(whole, name) : ofRecords(whole, name);
  },
};

/** A document may be longer than what is looked at. */
const DOCUMENT = /^\s*\[?\s*\{(?:[^{}]{0,2000}),?\s*"messages"\s*:\s*\[\s*\{/;
const isDocument = ({ messages }: Fields) => Array.isArray(messages);
const isRecord = (record: Fields) =>
  ['claude-code', 'codex', 'gemini-cli', 'jsonl'].includes(formatOf([record])?.name ?? '');

async function peek(chunks: AsyncIterable<string>): Promise<[string, AsyncIterable<string>]> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  const head = first.done ? '' : first.value;
  async function* whole() {
    yield head;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  return [head, whole()];
}

/** A file of records is one session, which is named like the file if no record names it. */
async function* ofRecords(chunks: AsyncIterable<string>, name: string): AsyncGenerator<ImportItem> {
  try {
    const { sessionId, messages } = await readConversation(chunks);
    yield* said(messages, sessionId ?? basename(name), (at) => at + 1);
  } catch (error) {
    if (!(error instanceof KnownError)) throw error;
    yield { line: 1, problem: error.message };
  }
}

/** Each document is a conversation. */
async function* ofDocuments(chunks: AsyncIterable<string>, name: string): AsyncGenerator<ImportItem> {
  let count = 0;
  for await (const { line, text } of readItems(chunks)) {
    const read = parseObject(text);
    count += 1;
    if ('problem' in read) yield { line, ...read };
    else if (!isDocument(read.object)) yield { line, problem: 'messages: must be a list' };
    else {
      const { object } = read;
      const { sessionId, messages } = await formatNamed('json').read(one(object), createTimeReader());
      const thread =
        sessionId ?? object.conversation_id ?? object.thread_id ?? object.id ?? `${basename(name)} ${count}`;
      yield* said(messages, String(thread), () => line);
    }
  }
}

async function* one(object: Fields) {
  yield object;
}

function* said(messages: Message[], thread: string, lineOf: (at: number) => number): Generator<ImportItem> {
  for (const [at, { role, text, timestamp }] of messages.entries()) {
    // Instructions to the model are nobody's words, and an answer may be calls of tools only.
    if (role === 'system' || text.trim() === '') continue;
    const fields = { content: text, kind: 'message', thread_id: thread, speaker: role, timestamp };
    yield { line: lineOf(at), part: (at + 1) / messages.length, fields };
  }
}
