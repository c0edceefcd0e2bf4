import type pg from 'pg';
import { z } from 'zod';
import { isBlank } from '../input/text.ts';
import {
  counted,
  estimatedImportance,
  hits,
  learnedImportance,
  maxTokens,
  minRelevance,
  object,
  oneLine,
  onlyBranch,
  onlyProject,
  onlyTags,
  scopes,
  searched,
  tagsMatch,
  time,
  timeText,
  until,
  uuid,
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
    content: z
      .string()
      .describe(
        'Truncated after 8000 characters, or a preview to stay within max_tokens; get_memory returns all of it.',
      ),
    is_truncated: z.boolean(),
    snippet: z.string().describe('The best matching part.'),
    score: z.number().describe('From 0 to 1; 1 where nothing was ranked.'),
    lexical_score: z.number().nullable().describe('Share of the words in the score; null when not found by words.'),
    semantic_score: z.number().nullable().describe('Cosine similarity; null when not compared.'),
    relevance: z
      .number()
      .nullable()
      .describe('How likely it has to do with the query, 0 to 1; null when nothing was ranked.'),
    chunk_index: z.int().nullable().describe('The nearest chunk; 0 is the whole text.'),
    kind: z.string(),
    scope: z.string(),
    project_id: z.string().nullable(),
    branch: z.string().nullable(),
    tags: z.array(z.string()),
    thread_id: z.string().nullable(),
    ...standing,
    speaker: z.string().nullable().describe('Who said it.'),
    importance: learnedImportance,
    estimated_importance: estimatedImportance,
    timestamp: timeText().describe('When it happened.'),
    created_at: timeText().describe('When it was saved.'),
    updated_at: timeText().describe('When it was last changed.'),
    explanation: object
      .nullable()
      .describe('With explain: the retrievers that found it, their scores, graph path, chunk, weights and boosts.'),
  })
  .register(graphqlTypes, {
    name: 'MemoryHit',
    description: 'A memory that a search found, and why.',
    relations: { memory: memoryRelation },
  });

interface Found {
  hits: AsStored<z.output<typeof hit>>[];
  searched: z.output<typeof searched>;
  nearest: StoredNearest;
}

/** Calls one of the SQL functions that answer as search_memory does. */
export async function callForHits(client: pg.ClientBase, name: string, input: Record<string, unknown>) {
  const { hits, ...others } = withNearest(
    await call<Found>(client, 'to_jsonb(r.hits) as hits, r.searched, to_jsonb(r.nearest) as nearest', name, input),
  );
  return { hits: hits.map(withStanding), ...others };
}

export const searchMemory = defineOperation({
  name: 'search_memory',
  title: 'Search memories',
  toolSet: 'core',
  description:
    'Search the memories you can read by words, meaning, both, or the entity graph, best first. With packet_id: similar memories. Without either: the newest. ' +
    'The result lists the scopes searched.',
  input: z.strictObject({
    query: z.string().nullish().describe('What to search for, in plain words.'),
    packet_id: uuid.nullish().describe('Find memories similar to this one, instead of a query.'),
    k: hits,
    mode: z
      .enum(['hybrid', 'lexical', 'semantic', 'graph'])
      .register(graphqlTypes, {
        name: 'SearchMode',
        values: {
          hybrid: 'By words and by meaning.',
          lexical: 'By words only.',
          semantic: 'By meaning only.',
          graph: 'By the relations of the entities named in the query.',
        },
      })
      .default('hybrid')
      .describe('hybrid: words and meaning; graph: relations of the entities named in the query.'),
    scopes: scopes.nullish(),
    project_id: onlyProject.nullish(),
    branch: onlyBranch.nullish(),
    include_archived: z.boolean().nullish(),
    include_pending: z.boolean().nullish(),
    kinds: z.array(z.string()).nullish().describe('Only these kinds.'),
    tags: onlyTags.nullish(),
    tags_match: tagsMatch,
    since: time.nullish().describe('Happened then or later.'),
    until: until.nullish().describe('Happened before then.'),
    thread_id: z.string().nullish().describe('Only this thread.'),
    creator: z.string().nullish().describe('Only of this creator, such as Cursor-IDE.'),
    speaker: z.string().nullish().describe('Only what this person said.'),
    where: where.nullish(),
    language: z.string().nullish().describe('Language of the query. Default: all of the tenant.'),
    threshold: z
      .number()
      .min(0, 'from 0 to 2')
      .max(2, 'from 0 to 2')
      .nullish()
      .describe('Drop results with a larger cosine distance, 0 to 2, such as 0.3.'),
    min_relevance: minRelevance.nullish(),
    as_of: time.nullish().describe('Search memories as they were then.'),
    explain: z.boolean().default(false).describe('Explain each score.'),
    max_tokens: maxTokens.nullish().describe('Trim results to about this many tokens.'),
  }),
  output: z.object({ hits: z.array(hit), nearest, searched }).register(graphqlTypes, { name: 'MemorySearchResult' }),
  isReadOnly: true,
  inferredProject: () => 'narrows',
  audit: 'SEARCH',
  prepare: async ({ mode, query, packet_id, project_id }, embedding) => {
    if (mode === 'lexical' || mode === 'graph') return null;
    if (!isBlank(query)) return embedding.query(query!, project_id);
    if (packet_id) await embedding.ownSaves();
    return null;
  },
  retry: retryOf,
  run: (client, input, embedded: EmbeddedText | null, retries) =>
    callForHits(client, 'search_memory', {
      ...input,
      ...vectorParameters('query_vector', embedded),
      retry_for: retries,
    }),
  recalls: ({ hits, nearest }) => hits.length + nearest.length > 0,
  summarize: ({ hits, nearest, searched }, reader) => {
    const where = `searched ${searched.scopes.join(', ') || 'no scope'} by ${searched.mode}`;
    const { previews = 0, left_out = 0 } = (searched.cut ?? {}) as { previews?: number; left_out?: number };
    const notices = [
      searched.notice,
      searched.left_out > 0 && nearest.length === 0
        ? `${counted(searched.left_out, 'result')} left out as hardly relevant (min_relevance ${searched.min_relevance}).`
        : null,
      previews + left_out > 0
        ? `Cut to fit: ${previews} as previews (get_memory gives the whole), ${left_out} left out.`
        : null,
    ];
    const notice = notices.map((one) => (one ? ` ${one}` : '')).join('');
    if (hits.length === 0) return `Nothing found: ${where}.${notice}${linesOf(nearest, reader)}`;
    const lines = hits.map(
      (hit, index) => `${index + 1}. ${label(hit.packet_id, hit, reader)} ${recalled(oneLine(hit.snippet))}`,
    );
    return `${counted(hits.length, 'memory', 'memories')}, ${where}.${notice}\n${lines.join('\n')}`;
  },
});
