// Sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<start of the id>.jsonl`, and until spring 2026 `.json` with one
// document. Its source says what is in them: https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingTypes.ts
// A message that changes is written again under its id, `$set` changes the document, and `$rewindTo` takes messages back.
import {
  collectMessages,
  type Fields,
  type Format,
  isFields,
  openCall,
  type ToolCall,
  textOf,
  textOfContent,
} from '../session.ts';

/** What hooks added to a prompt. It is no request, and what they recalled is in memory already. */
const HOOK_CONTEXT = /\s*<hook_context>[\s\S]*?<\/hook_context>/g;

export const geminiCli: Format = {
  name: 'gemini-cli',
  recognises: (record) => typeof record.sessionId === 'string' && typeof record.projectHash === 'string',
  async read(records, times) {
    let document: Fields = {};
    let said = new Map<unknown, Fields>();
    for await (const record of records) {
      const changes = isFields(record.$set) ? record.$set : record;
      if ('$rewindTo' in record) said = before(said, record.$rewindTo);
      else if (changes === record && typeof record.id === 'string') said.set(record.id, record);
      else {
        const { messages, ...others } = changes;
        document = { ...document, ...others };
        if (Array.isArray(messages)) said = new Map(messages.filter(isFields).map((one) => [one.id, one]));
      }
    }
    const collected = collectMessages();
    for (const record of said.values()) {
      collected.at(times.in(record));
      const text = textOfContent(record.content).replace(HOOK_CONTEXT, '').trim();
      const calls = Array.isArray(record.toolCalls) ? record.toolCalls.filter(isFields) : [];
      if (record.type === 'user' && text !== '') collected.add('user', text);
      else if (record.type === 'gemini' && (text !== '' || calls.length > 0)) {
        const message = collected.add('assistant', text);
        for (const call of calls) collected.addCall(null, toolCall(call), message);
      }
    }
    return {
      sessionId: textOf(document.sessionId),
      toolName: 'gemini-cli',
      messages: collected.messages,
      startedAt: times.of(document.startTime),
      endedAt: times.of(document.lastUpdated),
      title: textOf(document.summary),
    };
  },
};

/** All before this one; none where it is not known, as Gemini CLI does. */
function before(said: Map<unknown, Fields>, id: unknown): Map<unknown, Fields> {
  const entries = [...said];
  const at = entries.findIndex(([one]) => one === id);
  return new Map(entries.slice(0, Math.max(0, at)));
}

/** The result is what the model was sent: parts of text, or of a response with `output` or `error`. */
function toolCall({ name, args, result, status }: Fields): ToolCall {
  const parts = [result ?? []].flat().map((part: unknown) => {
    const response = isFields(part) && isFields(part.functionResponse) ? part.functionResponse.response : null;
    if (!isFields(response)) return textOfContent([part]);
    const output = response.output ?? response.error ?? response;
    return typeof output === 'string' ? output : JSON.stringify(output);
  });
  const output = parts.filter(Boolean).join('\n');
  const isDone = status === 'success' || status === 'error' || status === 'cancelled';
  return {
    ...openCall(name, args),
    output: isDone || output !== '' ? output : null,
    success: isDone ? status === 'success' : null,
  };
}
