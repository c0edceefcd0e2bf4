// What `cm context SESSION --json` prints: the rules, pitfalls and history that cass-memory has for a session. It is checked by a
// schema, because it is the output of a program of which this one knows only what is documented.
import { z } from 'zod';
import { KnownError } from '../../base/errors.ts';
import { type Format, isFields, type Message } from '../session.ts';

const rule = z.object({ id: z.string(), content: z.string() });
const snippet = z.object({ source_path: z.string(), agent: z.string(), snippet: z.string() });
const context = z.object({
  task: z.string().regex(/\S/),
  relevantBullets: z.array(rule),
  antiPatterns: z.array(rule),
  historySnippets: z.array(snippet),
  deprecatedWarnings: z.array(z.string()).default([]),
});
/** Newer versions wrap it. */
const output = z.union([context, z.object({ success: z.literal(true), data: context }).transform(({ data }) => data)]);

export const cm: Format = {
  name: 'cm',
  recognises: (record) => 'relevantBullets' in record || (isFields(record.data) && 'relevantBullets' in record.data),
  async read(records) {
    let found: unknown = null;
    for await (const record of records) found = record;
    const parsed = output.safeParse(found);
    if (!parsed.success) {
      const at = parsed.error.issues[0]?.path.join('.');
      throw new KnownError(
        'L9VAL',
        `session: cm did not print a context as documented${at ? ` (at ${at})` : ''}`,
        'session',
      );
    }
    const { task, relevantBullets, antiPatterns, historySnippets, deprecatedWarnings } = parsed.data;
    const say = (text: string): Message => ({ role: 'assistant', text });
    const messages: Message[] = [
      { role: 'user', text: task },
      ...historySnippets.map(({ agent, source_path, snippet }) => say(`${agent}, ${source_path}: ${snippet}`)),
      ...relevantBullets.map(({ id, content }) => say(`Rule ${id}: ${content}`)),
      ...antiPatterns.map(({ id, content }) => say(`Pitfall ${id}: ${content}`)),
      ...deprecatedWarnings.map((warning) => say(`Deprecated: ${warning}`)),
    ];
    return { sessionId: null, toolName: 'cm', messages, title: task, success: null };
  },
};
