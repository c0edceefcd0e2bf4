// Messages over stdin and stdout, one a line. Each that has an id is answered, also where it is no valid request, and no line ends the
// connection. The transport of the SDK drops what it can't read.
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { INVALID_REQUEST, type JSONRPCMessage, PARSE_ERROR } from '@modelcontextprotocol/server';
import { markInexactNumbers } from '../input/exact-json.ts';
import { errorMessage, NO_ID, readMessages } from './messages.ts';

// A message may hold a memory of 1 MiB, escaped.
const MAX_MESSAGE_LENGTH = 32 * 1024 * 1024;
// So much of both ends of a longer line is kept, for the id in it.
const KEPT_LENGTH = 1024;

const NAMED = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;
const ID = String.raw`"id"\s*:\s*("[^"\\]*"|-?\d{1,15})`;
const ID_AT_START = new RegExp(String.raw`^\s*\{\s*(?:${NAMED}\s*,\s*)*${ID}\s*,`);
const ID_AT_END = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${NAMED}\s*)*\}\s*$`);

export interface StdioMessages {
  send(message: JSONRPCMessage): void;
  /** Resolves when the client has gone. */
  ended: Promise<void>;
}

export function openStdio(
  input: Readable,
  output: Writable,
  onMessage: (message: JSONRPCMessage) => void,
): StdioMessages {
  const send = (message: JSONRPCMessage) => void output.write(`${JSON.stringify(message)}\n`);
  const refuse = (code: number, reason: string, id = NO_ID) => send(errorMessage(id, code, reason));

  const read = (line: string) => {
    // Some programs write a byte order mark first.
    const text = line.replace(/^\uFEFF/, '');
    if (!text.trim()) return;
    let given: unknown;
    try {
      // Numbers that would not be kept exactly are marked.
      given = JSON.parse(markInexactNumbers(text));
    } catch {
      return refuse(PARSE_ERROR, 'a line is not valid JSON');
    }
    for (const { message, refusal } of readMessages(given)) {
      if (refusal) send(refusal);
      else onMessage(message);
    }
  };

  const lines = lineReader(read, (start, end) => {
    const [, id] = ID_AT_START.exec(start) ?? ID_AT_END.exec(end) ?? [];
    const reason = `a message is at most ${MAX_MESSAGE_LENGTH / 1024 / 1024} MiB`;
    refuse(INVALID_REQUEST, reason, id === undefined ? NO_ID : JSON.parse(id));
  });
  input.on('data', lines.add);
  const ended = new Promise<void>((resolve) => {
    const end = () => resolve();
    input.once('end', end).once('close', end).once('error', end);
    // Each further write fails, too.
    output.on('error', end);
  }).then(lines.end);
  return { send, ended };
}

/** Calls back for each line, or with both ends of one that is too long. */
function lineReader(onLine: (line: string) => void, onTooLong: (start: string, end: string) => void) {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  let start = '';
  let end = '';
  const add = (part: string) => {
    length += part.length;
    start = (start + part.slice(0, KEPT_LENGTH)).slice(0, KEPT_LENGTH);
    end = (end + part.slice(-KEPT_LENGTH)).slice(-KEPT_LENGTH);
    if (length <= MAX_MESSAGE_LENGTH) parts.push(part);
    else parts = [];
  };
  const finish = () => {
    const [line, isTooLong, ends] = [parts.join(''), length > MAX_MESSAGE_LENGTH, [start, end] as const];
    [parts, length, start, end] = [[], 0, '', ''];
    if (isTooLong) onTooLong(...ends);
    else onLine(line);
  };
  return {
    add(chunk: Buffer) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      add(first);
      for (const next of others) {
        finish();
        add(next);
      }
    },
    /** The last line may have no line feed. */
    end() {
      add(decoder.end());
      finish();
    },
  };
}
