// A session of an agent in one form, whatever tool recorded it. Formats are read into it, and it is what the archive stores.
import type { TimeReader } from '../input/times.ts';
import { withoutRecalled } from './recalled-block.ts';

export const SOURCES = ['claude-code', 'codex', 'gemini-cli', 'cm', 'json', 'jsonl'] as const;
export type Source = (typeof SOURCES)[number];

export type Role = 'user' | 'assistant' | 'system';

export interface ToolCall {
  name: string;
  input: unknown;
  /** What the tool answered; null where the session ended before it did. */
  output: string | null;
  /** Null where the format does not say. */
  success: boolean | null;
}

export interface Message {
  role: Role;
  text: string;
  /** When it was said, if the file says so. The archive does not keep it. */
  timestamp?: string | null;
  tool_calls?: ToolCall[];
}

export interface Session {
  session_id: string;
  /** When it began, if the file says. */
  timestamp: string | null;
  /** When its last record was written. */
  ended_at: string | null;
  /** The tool that recorded it. */
  tool_name: string;
  /** Whether it ended with an answer; null where that is unknown. */
  success: boolean | null;
  summary: string;
  /** Present if nobody wrote the summary: a chat model may write a better one. */
  summary_is_derived?: true;
  tags: string[];
  messages: Message[];
  /** What of the file was skipped or could not be read as it stands. It is answered, not stored. */
  notices?: string[];
}

/** What a format finds in a file. The rest of a session is worked out from it, the same way for all formats. */
export interface Recording {
  sessionId: string | null;
  toolName: string;
  messages: Message[];
  startedAt?: string | null;
  endedAt?: string | null;
  /** What the recording tool calls the session. */
  title?: string | null;
  summary?: string | null;
  /** Whether nobody wrote that summary. */
  isSummaryDerived?: boolean;
  tags?: string[];
  /** Whether it failed or was interrupted. Default: whether the last message is an answer decides. */
  success?: boolean | null;
}

export interface Format {
  name: Source;
  /** Whether this is a record of a file in this format. */
  recognises(record: Fields): boolean;
  read(records: AsyncIterable<Fields>, times: TimeReader): Promise<Recording>;
}

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** The text of a message whose content is a string or a list of parts, as the APIs of Anthropic and OpenAI have it. */
export function textOfContent(content: unknown): string {
  return withoutRecalled(wholeTextOf(content));
}

function wholeTextOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content.map((part: unknown) => {
    if (typeof part === 'string') return part;
    if (!isFields(part)) return '';
    if (typeof part.text === 'string') return part.text;
    // The bytes of a picture are not worth keeping, but that there was one may explain the answer.
    return String(part.type).includes('image') ? '[image]' : '';
  });
  return parts.filter(Boolean).join('\n');
}

/** A call of a tool whose answer is not known yet. */
export const openCall = (name: unknown, input: unknown): ToolCall => ({
  name: textOf(name) ?? 'unknown',
  input: input ?? null,
  output: null,
  success: null,
});

/** Collects messages and joins each result of a tool to its call, however far apart they stand. */
export function collectMessages() {
  const messages: Message[] = [];
  const open = new Map<string, ToolCall>();
  let now: string | null = null;
  return {
    messages,
    /** The time of the messages that are added next. */
    at(time: string | null): void {
      now = time;
    },
    add(role: Role, text: string): Message {
      const message: Message = { role, text, timestamp: now };
      messages.push(message);
      return message;
    },
    /** A call belongs to the answer before it; one without gets an answer of no text. */
    addCall(id: unknown, call: ToolCall, to?: Message): void {
      const last = messages.at(-1);
      const message = to ?? (last?.role === 'assistant' ? last : this.add('assistant', ''));
      message.tool_calls ??= [];
      message.tool_calls.push(call);
      if (typeof id === 'string') open.set(id, call);
    },
    addResult(id: unknown, output: string, success: boolean | null): void {
      const call = typeof id === 'string' ? open.get(id) : undefined;
      if (!call) return;
      call.output = output;
      call.success = success;
      open.delete(id as string);
    },
  };
}
