import { z } from 'zod';
import { isBlank } from '../input/text.ts';
import {
  counted,
  hits,
  maxTokens,
  object,
  oneLine,
  onlyBranch,
  onlyProject,
  scopes,
  time,
  timeText,
  until,
  vectorParameters,
  where,
} from './fields.ts';
import { graphqlTypes, memoryRelation } from './graphql-types.ts';
import { linesOf, nearest, type StoredNearest, withNearest } from './nearest.ts';
import { call, defineOperation, type EmbeddedText, retryOf } from './operation.ts';
import { recalled } from './recalled.ts';
import { type AsStored, label, standing, withStanding } from './standing.ts';

const hit = z
  .object({
    packet_id: z.string(),
    access_id: z.string().describe('Pass it to record_feedback.'),
    kind: z.string(),
    title: z.string().nullable(),
    snippet: z.string(),
    score: z.number().describe('Orders the hits of this call.'),
    confidence: z.number().nullable().describe('How likely it is relevant, 0 to 1; null without a query.'),
    fields: object,
    is_cut: z.boolean().describe('Fields are shortened; get_memory returns them.'),
    scope: z.string(),
    project_id: z.string().nullable(),
    branch: z.string().nullable(),
    ...standing,
    updated_at: timeText(),
    route_used: z.string(),
    explanation: object.nullable(),
  })
  .register(graphqlTypes, {
    name: 'FoundMemory',
    description: 'A memory that memory_find found.',
    relations: { memory: memoryRelation },
  });

const suggestion = z
  .object({
    reason: z
      .string()
      .describe('spelling: value is another query; kind, branch: another one; archived: try include_archived.'),
    value: z.string(),
    hits: z.int().describe('How many it finds, at most 100.'),
  })
  .register(graphqlTypes, { name: 'FindSuggestion', description: 'What to try instead, where little was found.' });

function suggest({ reason, value, hits }: z.infer<typeof suggestion>): string {
  const change =
    reason === 'archived' ? 'include_archived' : `${reason === 'spelling' ? 'the query' : reason} ${recalled(value)}`;
  return `Try ${change}: it finds ${hits}.`;
}

const searched = z
  .object({
    mode: z.string(),
    route_used: z.string(),
    scopes: z.array(z.string()).describe('The scopes searched.'),
    projects: z.array(z.string()).describe('The projects searched; * means all.'),
    filters: object,
    k: z.int(),
    candidates: z.int(),
    left_out: z.int().describe('How many were hardly relevant.'),
    vectors: z.string().describe('used, unavailable, or not asked for.'),
    entities: z.array(z.string()).nullable(),
    cut: object.nullable(),
    notice: z.string().nullable(),
  })
  .register(graphqlTypes, {
    name: 'FindSearched',
    description: 'What was searched and how, so that an empty result is not mistaken for a missing permission.',
  });

/** The vector of the query, once it was asked for; null if the embedder is not available. */
interface Prepared {
  embedded: EmbeddedText | null;
}

interface Found {
  hits: AsStored<z.output<typeof hit>>[];
  suggestions: z.output<typeof suggestion>[];
  searched: z.output<typeof searched>;
  nearest: StoredNearest;
}

export const memoryFind = defineOperation({
  name: 'memory_find',
  title: 'Find memories',
  toolSet: 'core',
  description:
    'Find memories by kind, fields or identifier, ranked by match, recency, proximity and citations. Low confidence: nothing fits. For notes and conversations: search_memory.',
  input: z.strictObject({
    query: z.string().nullish().describe('Words, a question or an identifier. None: the newest.'),
    kinds: z.array(z.string()).nullish().describe('Only these kinds.'),
    project_id: onlyProject.nullish(),
    branch: onlyBranch.nullish(),
    scopes: scopes.nullish(),
    k: hits,
    mode: z
      .enum(['auto', 'fast', 'deep'])
      .register(graphqlTypes, {
        name: 'FindMode',
        values: {
          auto: 'By the form of the query; deep where too little is found.',
          fast: 'By words only.',
          deep: 'By words, meaning, contexts, chunks and relations.',
        },
      })
      .default('auto')
      .describe('fast: words only; deep: all.'),
    where: where.nullish(),
    include_archived: z.boolean().nullish(),
    include_pending: z.boolean().nullish(),
    since: time.nullish().describe('Happened then or later.'),
    until: until.nullish().describe('Happened before then.'),
    max_tokens: maxTokens.nullish().describe('Trim results to about this many tokens.'),
    explain: z.boolean().default(false),
  }),
  output: z
    .object({ hits: z.array(hit), nearest, suggestions: z.array(suggestion), searched })
    .register(graphqlTypes, { name: 'MemoryFindResult' }),
  isReadOnly: true,
  inferredProject: () => 'narrows',
  audit: 'SEARCH',
  prepare: async ({ mode, query, project_id }, embedding, retry): Promise<Prepared | null> => {
    // Whether auto compares meaning is decided in the database, and most identifiers need no vector.
    if (isBlank(query) || mode === 'fast' || (mode === 'auto' && !retry)) return null;
    return { embedded: await embedding.query(query!, project_id) };
  },
  retry: retryOf,
  run: async (client, input, prepared, retries) => {
    const { hits, ...others } = await call<Found>(
      client,
      'to_jsonb(r.hits) as hits, to_jsonb(r.suggestions) as suggestions, r.searched, to_jsonb(r.nearest) as nearest',
      'memory_find',
      {
        ...input,
        ...vectorParameters('query_vector', prepared?.embedded ?? null),
        // The embedder was asked already where there is no vector.
        retry_for: prepared ? retries.filter((reason) => reason !== 'vector') : retries,
      },
    );
    return { hits: hits.map(withStanding), ...withNearest(others) };
  },
  recalls: ({ hits, nearest, suggestions }) => hits.length + nearest.length + suggestions.length > 0,
  summarize: ({ hits, nearest, suggestions, searched }, reader) => {
    const where = `searched ${searched.scopes.join(', ') || 'no scope'} (${searched.route_used})`;
    const notices = [
      searched.notice,
      searched.left_out > 0 && nearest.length === 0
        ? `${counted(searched.left_out, 'result')} left out as hardly relevant.`
        : null,
      searched.cut ? 'Cut to fit max_tokens.' : null,
      ...suggestions.map(suggest),
    ];
    const notice = notices.map((one) => (one ? ` ${one}` : '')).join('');
    if (hits.length === 0) return `Nothing found: ${where}.${notice}${linesOf(nearest, reader)}`;
    const lines = hits.map(
      ({ packet_id, kind, title, confidence, snippet, ...hit }, index) =>
        `${index + 1}. ${label(packet_id, hit, reader)} ${kind}${confidence === null ? '' : ` ${confidence.toFixed(2)}`}: ${recalled(oneLine(title ?? snippet))}`,
    );
    return `${counted(hits.length, 'memory', 'memories')}, ${where}.${notice}\n${lines.join('\n')}`;
  },
});
