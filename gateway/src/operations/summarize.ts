// What many memories say, in short: what is due with its sources, or the text that was made of them.
import { z } from 'zod';
import { fraction, time, uuid, whole } from './fields.ts';
import { call, define, type Operation } from './operation.ts';

const scopeType = z.enum(['thread', 'agent', 'topic', 'time_period', 'project', 'task']);
const texts = z.array(z.string()).max(64, 'at most 64');

export const summarizeInput = z.strictObject({
  scope_type: scopeType.nullish().describe('What to sum up. Left out: whatever is due.'),
  scope_value: z
    .string()
    .nullish()
    .describe(
      'Which one: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id, a correlation_id.',
    ),
  summary_text: z.string().nullish().describe('The summary to save. Left out: you get what is due, and its sources.'),
  source_packet_ids: z
    .array(uuid)
    .max(500, 'at most 500')
    .nullish()
    .describe('With summary_text: the memories that it rests on.'),
  key_facts: texts.nullish().describe('The facts that matter most.'),
  key_entities: texts.nullish().describe('Names of what it is about.'),
  key_decisions: texts.nullish().describe('What was decided.'),
  confidence: fraction.nullish().describe('How far you vouch for it, 0 to 1. Left out: 0.8.'),
  valid_until: time.nullish().describe('From when on it is due again, though nothing was added.'),
  project_id: z.string().nullish().describe('Without summary_text: only this project.'),
  k: whole(1, 20).nullish().describe('How many that are due. Left out: 1.'),
  max_tokens: whole(500, 1_000_000).nullish().describe('Trim the sources to about this many tokens. Left out: 8000.'),
});

const source = z.object({
  packet_id: z.string(),
  content: z.string(),
  is_truncated: z.boolean(),
  kind: z.string(),
  scope: z.string(),
  project_id: z.string().nullable(),
  creator: z.string(),
  timestamp: z.string(),
});
const due = z.object({
  scope_type: z.string(),
  scope_value: z.string(),
  scope: z.string(),
  project_id: z.string().nullable(),
  reason: z
    .string()
    .describe(
      'none: there is no summary yet; packets: enough was added; changed: a source was changed; valid_until: its time is over.',
    ),
  new_packets: z.int(),
  packet_count: z.int(),
  summary_id: z.string().nullable().describe('The one that is there.'),
  coverage_start: z.string().nullable(),
  coverage_end: z.string().nullable(),
  valid_until: z.string().nullable(),
  sources: z.array(source).describe('The oldest first.'),
});
const summary = z.object({
  summary_id: z.string(),
  packet_id: z.string().describe('The memory that it is.'),
  scope_type: z.string(),
  scope_value: z.string(),
  summary_text: z.string(),
  key_facts: z.array(z.string()),
  key_entities: z.array(z.string()),
  key_decisions: z.array(z.string()),
  source_packet_ids: z.array(z.string()),
  packet_count: z.int(),
  confidence: z.number(),
  scope: z.string().describe('For those alone who may read every source.'),
  project_id: z.string().nullable(),
  coverage_start: z.string(),
  coverage_end: z.string(),
  valid_until: z.string().nullable(),
});
export const summarizeOutput = z.object({
  status: z.enum(['due', 'nothing_due', 'saved']),
  due: z.array(due),
  summary: summary.nullable(),
});

const summarize = define({
  name: 'summarize',
  graphqlName: 'summarize',
  title: 'Sum up memories',
  description:
    'Keep long threads, topics and projects readable. Without summary_text: what is due to be summed up, with its sources. ' +
    'Write the summary, then call again with scope_type, scope_value, summary_text and the ids of the sources.',
  input: summarizeInput,
  output: summarizeOutput,
  isReadOnly: false,
  isDestructive: true, // it takes the place of the summary that was there
  isIdempotent: true,
  audit: 'INSERT',
  enqueuesEmbeddings: true,
  run: (client, input) =>
    call<z.output<typeof summarizeOutput>>(
      client,
      "r.status, coalesce(r.due, '[]') as due, summaries.summary_json(r.summary) as summary",
      'summarize',
      input,
    ),
  summarize: ({ status, due: items, summary: saved }) => {
    if (saved) return `Saved as ${saved.summary_id}: ${saved.packet_count} memories, in scope ${saved.scope}.`;
    if (status === 'nothing_due') return 'No summary is due.';
    return items
      .map(
        ({ scope_type, scope_value, packet_count, reason, sources }) =>
          `${scope_type} ${scope_value}: ${packet_count} memories (${reason})\n` +
          sources
            .map(
              ({ packet_id, creator, content, is_truncated }) =>
                `[${packet_id}] ${creator}: ${content.replace(/\s+/g, ' ')}${is_truncated ? ' …' : ''}`,
            )
            .join('\n'),
      )
      .join('\n\n');
  },
});

export const summaryOperations: readonly Operation[] = [summarize];
