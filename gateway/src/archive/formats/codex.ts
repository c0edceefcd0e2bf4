// Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session id>.jsonl`. A file holds the same talk twice, as what
// the model was sent (response_item) and as what the screen showed (event_msg); the first is complete, so only it is read.
import { collectMessages, type Fields, type Format, isFields, openCall, textOf, textOfContent } from '../session.ts';

const TYPES = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']);
const ITEMS = new Set(['message', 'reasoning', 'function_call', 'function_call_output', 'local_shell_call']);
/** Codex sends instructions and its environment in the name of the user. */
const NOT_A_REQUEST =
  /^\s*(<(environment_context|user_instructions|permissions instructions|INSTRUCTIONS|turn_aborted)|# AGENTS\.md instructions)/;

const isMeta = (record: Fields) =>
  typeof record.id === 'string' && typeof record.timestamp === 'string' && 'instructions' in record;

export const codex: Format = {
  name: 'codex',
  recognises: (record) =>
    (TYPES.has(String(record.type)) && isFields(record.payload)) ||
    // Until autumn 2025 the items stood bare, after a first line of their own form.
    (record.type === undefined && isMeta(record)) ||
    record.record_type === 'state' ||
    (ITEMS.has(String(record.type)) && ('role' in record || 'call_id' in record)),
  async read(records, times) {
    const collected = collectMessages();
    let sessionId: string | null = null;
    let startedAt: string | null = null;
    let endedAt: string | null = null;
    let isAborted = false;

    for await (const record of records) {
      const time = times.in(record);
      startedAt ??= time;
      endedAt = time ?? endedAt;
      collected.at(time);
      const payload = isFields(record.payload) ? record.payload : record;
      if (record.type === 'session_meta' || isMeta(record)) {
        // A fork repeats the meta records of the sessions that it comes from, after its own.
        if (sessionId === null) startedAt = times.in(payload) ?? startedAt;
        sessionId ??= textOf(payload.id);
      } else if (record.type === 'event_msg') {
        if (payload.type === 'turn_aborted') isAborted = true;
        if (payload.type === 'user_message') isAborted = false;
      } else if (payload === record || record.type === 'response_item') {
        addItem(collected, payload);
      }
    }
    const { messages } = collected;
    return { sessionId, toolName: 'codex', messages, startedAt, endedAt, ...(isAborted && { success: false }) };
  },
};

function addItem(collected: ReturnType<typeof collectMessages>, item: Fields): void {
  switch (item.type) {
    case 'message': {
      const text = textOfContent(item.content);
      if (text.trim() === '') return;
      if (item.role === 'assistant') collected.add('assistant', text);
      else if (item.role === 'user' && !NOT_A_REQUEST.test(text)) collected.add('user', text);
      return;
    }
    case 'function_call':
      collected.addCall(item.call_id, openCall(item.name, parsed(item.arguments)));
      return;
    case 'custom_tool_call':
      collected.addCall(item.call_id, openCall(item.name, item.input));
      return;
    case 'local_shell_call':
      collected.addCall(item.call_id, openCall('shell', isFields(item.action) ? item.action.command : null));
      return;
    case 'web_search_call':
      collected.addCall(null, openCall('web_search', isFields(item.action) ? item.action.query : null));
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { text, success } = outputOf(item.output);
      collected.addResult(item.call_id, text, success);
    }
  }
}

/** The output of a command is JSON with its exit code; that of other tools is text, or an object that says how it went. */
function outputOf(output: unknown): { text: string; success: boolean | null } {
  const value = parsed(output);
  if (!isFields(value)) return { text: textOfContent(output), success: null };
  const code = isFields(value.metadata) ? value.metadata.exit_code : undefined;
  const success = typeof value.success === 'boolean' ? value.success : typeof code === 'number' ? code === 0 : null;
  const text = value.output ?? value.content;
  return { text: text === undefined ? JSON.stringify(value) : textOfContent(text), success };
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
