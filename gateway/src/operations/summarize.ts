import { z } from 'zod';
import { counted, fraction, maxTokens, oneLine, timeText, until, uuid, whole } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { label, writer } from './standing.ts';

const scopeType = z
  .enum(['thread', 'agent', 'topic', 'time_period', 'project', 'task'])
  .register(graphqlTypes, { name: 'String' });
const texts = z.array(z.string()).max(64, 'at most 64');

const source = z
  .object({
    packet_id: uuidText(),
    content: z.string(),
    is_truncated: z.boolean(),
    kind: z.string(),
    scope: z.string(),
    project_id: z.string().nullable(),
    ...writer,
    speaker: z.string().nullable().describe('Who said it.'),
    timestamp: timeText().describe('When it happened.'),
    created_at: timeText().describe('When it was saved.'),
  })
  .register(graphqlTypes, { name: 'SummarySource', description: 'A memory to be summarised.' });

const due = z
  .object({
    scope_type: z.string(),
    scope_value: z.string(),
    scope: z.string(),
    project_id: z.string().nullable(),
    reason: z
      .string()
      .describe(
        'none: no summary yet; packets: enough memories were added; changed: a source changed; valid_until: it expired.',
      ),
    new_packets: z.int(),
    packet_count: z.int(),
    summary_id: uuidText().nullable().describe('The existing summary.'),
    coverage_start: timeText().nullable(),
    coverage_end: timeText().nullable(),
    valid_until: timeText().nullable(),
    sources: z.array(source).describe('Oldest first.'),
  })
  .register(graphqlTypes, { name: 'SummaryDue', description: 'A summary that should be written, with its sources.' });

const summary = z
  .object({
    summary_id: z.string(),
    packet_id: z.string().describe('The memory that holds it.'),
    scope_type: z.string(),
    scope_value: z.string(),
    summary_text: z.string(),
    key_facts: z.array(z.string()),
    key_entities: z.array(z.string()),
    key_decisions: z.array(z.string()),
    source_packet_ids: z.array(z.string()),
    packet_count: z.int(),
    confidence: z.number(),
    scope: z.string().describe('Visible only to callers who can read all sources.'),
    project_id: z.string().nullable(),
    coverage_start: z.string(),
    coverage_end: z.string(),
    valid_until: z.string().nullable(),
  })
  .register(graphqlTypes, { row: { resource: 'memory_summaries', column: 'summary_id' } });

export const summarize = defineOperation({
  name: 'summarize',
  title: 'Summarise memories',
  toolSet: 'knowledge',
  description:
    'Keep long threads, topics and projects readable. Without summary_text: get the summaries that are due, with their sources. ' +
    'Write the summary, then call again with scope_type, scope_value, summary_text and the ids of the sources.',
  input: z.strictObject({
    scope_type: scopeType.nullish().describe('What to summarise. Default: whatever is due.'),
    scope_value: z
      .string()
      .nullish()
      .describe('Which one: a thread_id, creator, tag, ISO week such as 2026-W47, project_id or correlation_id.'),
    summary_text: z.string().nullish().describe('The summary to save. Omit it to get what is due, with its sources.'),
    source_packet_ids: z
      .array(uuid)
      .max(500, 'at most 500')
      .nullish()
      .describe('With summary_text: the memories it summarises.'),
    key_facts: texts.nullish().describe('The most important facts.'),
    key_entities: texts.nullish().describe('Names of what it is about.'),
    key_decisions: texts.nullish().describe('What was decided.'),
    confidence: fraction.nullish().describe('How sure you are of it, 0 to 1. Default: 0.8.'),
    valid_until: until.nullish().describe('When it is due again even if nothing was added.'),
    project_id: z.string().nullish().describe('Without summary_text: only this project; * for all.'),
    k: whole(1, 20).nullish().describe('Maximum number of due summaries. Default: 1.'),
    max_tokens: maxTokens.nullish().describe('Trim the sources to about this many tokens. Default: 8000.'),
  }),
  output: z.object({
    status: z.enum(['due', 'nothing_due', 'saved']),
    due: z.array(due),
    summary: summary.nullable(),
  }),
  isDestructive: true, // it replaces the previous summary
  isIdempotent: true,
  inferredProject: ({ summary_text }) => (summary_text ? null : 'narrows'),
  run: (client, input) =>
    call(
      client,
      "r.status, coalesce(r.due, '[]') as due, summaries.summary_json(r.summary) as summary",
      'summarize',
      input,
    ),
  recalls: ({ status }) => status === 'due',
  summarize: ({ status, due: items, summary: saved }, reader) => {
    if (saved) return `Saved as ${saved.summary_id}: ${saved.packet_count} memories, in scope ${saved.scope}.`;
    if (status === 'nothing_due') return 'No summary is due.';
    return items
      .map(({ scope_type, scope_value, packet_count, reason, sources }) => {
        const lines = sources.map(
          ({ packet_id, content, is_truncated, ...memory }) =>
            `${label(packet_id, memory, reader)} ${recalled(oneLine(content))}${is_truncated ? ' …' : ''}`,
        );
        return `${scope_type} ${recalled(scope_value)}: ${counted(packet_count, 'memory', 'memories')} (${reason})\n${lines.join('\n')}`;
      })
      .join('\n\n');
  },
});
