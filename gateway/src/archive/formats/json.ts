// A JSON document with the fields of a session: session_id, timestamp, tool_name, success, summary, tags, messages.
import { type Fields, type Format, isFields, textOf } from '../session.ts';
import { readChat } from './jsonl.ts';

export const json: Format = {
  name: 'json',
  recognises: (record) => 'session_id' in record || Array.isArray(record.messages),
  async read(records, times) {
    let document: Fields = {};
    for await (const record of records) document = record;
    const messages = Array.isArray(document.messages) ? document.messages.filter(isFields) : [];
    const chat = await readChat(messages, times);
    return {
      ...chat,
      sessionId: textOf(document.session_id) ?? chat.sessionId,
      toolName: textOf(document.tool_name) ?? 'json',
      startedAt:
        times.in({ ...document, timestamp: document.timestamp ?? document.started_at }) ?? chat.startedAt ?? null,
      endedAt: times.of(document.ended_at ?? document.updated_at ?? document.update_time) ?? chat.endedAt ?? null,
      title: textOf(document.title),
      summary: textOf(document.summary),
      isSummaryDerived: document.summary_is_derived === true,
      tags: Array.isArray(document.tags) ? document.tags.filter((tag): tag is string => typeof tag === 'string') : [],
      ...(typeof document.success === 'boolean' && { success: document.success }),
    };
  },
};
