// Transcripts of Claude Code: `~/.claude/projects/<folder>/<session id>.jsonl`, one record a line, in order of time.
import {
  collectMessages,
  type Fields,
  type Format,
  isFields,
  type Message,
  openCall,
  textOf,
  textOfContent,
} from '../session.ts';

/** Slash commands and their output stand among the requests, as do reminders that no person wrote. */
const NOT_A_REQUEST = /^\s*<(command-|local-command-|system-reminder)/;
const INTERRUPTED = /^\[Request interrupted by user/;

export const claudeCode: Format = {
  name: 'claude-code',
  // Each version has new types of records, for notes of its own that stand anywhere, also before the first message.
  recognises: (record) =>
    typeof record.type === 'string' &&
    (typeof record.sessionId === 'string' ||
      'leafUuid' in record ||
      (record.type === 'file-history-snapshot' && 'snapshot' in record)),
  async read(records, times) {
    const collected = collectMessages();
    const seen = new Set<string>();
    let sessionId: string | null = null;
    let startedAt: string | null = null;
    let endedAt: string | null = null;
    const titles = collectTitles();
    let isFailed = false;
    // An answer is written in several records, one for each block, that share the id of the message.
    let open: { id: string; message: Message } | null = null;

    for await (const record of records) {
      titles.add(record);
      // A resumed session repeats records. The answer of a subagent stands in the result of its call.
      if (typeof record.uuid === 'string' && seen.has(record.uuid)) continue;
      if (typeof record.uuid === 'string') seen.add(record.uuid);
      if (record.isSidechain === true) continue;
      sessionId ??= textOf(record.sessionId);
      const time = times.in(record);
      startedAt ??= time;
      endedAt = time ?? endedAt;
      collected.at(time);

      const said = isFields(record.message) ? record.message : null;
      if (!said || record.isMeta === true) continue;
      if (record.type === 'assistant') {
        const id = textOf(said.id);
        const text = textOfContent(said.content);
        let message: Message;
        if (open && open.id === id) {
          message = open.message;
          message.text = [message.text, text].filter(Boolean).join('\n');
        } else {
          message = collected.add('assistant', text);
        }
        open = id === null ? null : { id, message };
        for (const { id, name, input } of blocksOf(said.content, 'tool_use'))
          collected.addCall(id, openCall(name, input), message);
        isFailed = record.isApiErrorMessage === true;
      } else if (record.type === 'user') {
        for (const block of blocksOf(said.content, 'tool_result'))
          collected.addResult(block.tool_use_id, textOfContent(block.content), block.is_error !== true);
        const text = textOfContent(said.content);
        if (INTERRUPTED.test(text)) isFailed = true;
        else if (text.trim() !== '' && !NOT_A_REQUEST.test(text)) {
          collected.add(record.isCompactSummary === true ? 'system' : 'user', text);
          open = null;
        }
      }
    }
    const { messages } = collected;
    return {
      sessionId,
      toolName: 'claude-code',
      messages,
      startedAt,
      endedAt,
      title: titles.chosen(seen),
      ...(isFailed && { success: false }),
    };
  },
};

/** The last title that a person gave, or else a model, or else the last summary of a talk that is in this file. */
function collectTitles() {
  let given: string | null = null;
  let generated: string | null = null;
  const summaries: { text: string; leaf: unknown }[] = [];
  return {
    add(record: Fields) {
      given = textOf(record.customTitle) ?? given;
      if (record.type === 'ai-title') generated = textOf(record.aiTitle) ?? textOf(record.title) ?? generated;
      const text = record.type === 'summary' ? textOf(record.summary) : null;
      if (text !== null) summaries.push({ text, leaf: record.leafUuid });
    },
    // Summaries of other sessions of the same folder are written to this file, too. The message that ends the talk may stand below.
    chosen: (uuids: ReadonlySet<string>) =>
      given ?? generated ?? summaries.findLast(({ leaf }) => typeof leaf === 'string' && uuids.has(leaf))?.text ?? null,
  };
}

const blocksOf = (content: unknown, type: string): Fields[] =>
  Array.isArray(content) ? content.filter((block): block is Fields => isFields(block) && block.type === type) : [];
