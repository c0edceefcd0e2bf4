// Plain JSON lines of `{role, content}`, as the chat APIs of OpenAI and Anthropic have them.
import type { TimeReader } from '../../input/times.ts';
import {
  collectMessages,
  type Fields,
  type Format,
  isFields,
  openCall,
  type Recording,
  type Role,
  textOf,
  textOfContent,
} from '../session.ts';

const ROLES: Record<string, Role> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  model: 'assistant',
  system: 'system',
  developer: 'system',
};

export const jsonl: Format = {
  name: 'jsonl',
  recognises: (record) =>
    typeof record.role === 'string' && ('content' in record || 'text' in record || 'tool_calls' in record),
  read: async (records, times) => ({ ...(await readChat(records, times)), toolName: 'jsonl' }),
};

export async function readChat(
  records: AsyncIterable<Fields> | Iterable<Fields>,
  times: TimeReader,
): Promise<Omit<Recording, 'toolName'>> {
  const collected = collectMessages();
  let sessionId: string | null = null;
  let startedAt: string | null = null;
  let endedAt: string | null = null;
  for await (const record of records) {
    sessionId ??= textOf(record.session_id);
    const time = times.in(record);
    startedAt ??= time;
    endedAt = time ?? endedAt;
    collected.at(time);
    const text = textOfContent(record.content ?? record.text);
    if (record.role === 'tool') {
      collected.addResult(record.tool_call_id, text, null);
      continue;
    }
    const calls = Array.isArray(record.tool_calls) ? record.tool_calls.filter(isFields) : [];
    const blocks = Array.isArray(record.content) ? record.content.filter(isFields) : [];
    for (const { tool_use_id, content, is_error } of blocks.filter(({ type }) => type === 'tool_result'))
      collected.addResult(tool_use_id, textOfContent(content), is_error !== true);
    const uses = blocks.filter(({ type }) => type === 'tool_use');
    if (text.trim() === '' && calls.length + uses.length === 0) continue;
    const message = collected.add(ROLES[String(record.role)] ?? 'system', text);
    for (const { id, name, input } of uses) collected.addCall(id, openCall(name, input), message);
    for (const call of calls) {
      // The form of OpenAI, or the one that this archive gives back.
      const called = isFields(call.function) ? call.function : call;
      collected.addCall(
        call.id,
        {
          ...openCall(called.name, called.arguments ?? called.input),
          output: typeof call.output === 'string' ? call.output : null,
          success: typeof call.success === 'boolean' ? call.success : null,
        },
        message,
      );
    }
  }
  return { sessionId, messages: collected.messages, startedAt, endedAt };
}
