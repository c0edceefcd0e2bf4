// What goes in and out of the operations. Names are those of the SQL parameters; the ranges are checked by the
// database too, here they are for good messages and for the schemas that clients see.
import { z } from 'zod';

export const object = z.record(z.string(), z.unknown());
export const uuid = z.guid('must be a uuid');
export const time = z.iso.datetime({ offset: true, message: 'must be a time as in 2026-12-31T23:59:59Z' });
export const fraction = z.number().min(0, 'from 0 to 1').max(1, 'from 0 to 1');
export const whole = (least: number, most: number) =>
  z.int().min(least, `from ${least} to ${most}`).max(most, `from ${least} to ${most}`);
export const tags = z.array(z.string()).max(64, 'at most 64').describe('Labels, 64 at most.');
export const scope = z
  .string()
  .describe(
    'Who may see it: developer (shared, within a project), global (everyone, no project), or another scope of yours.',
  );
export const projectId = z
  .string()
  .describe(
    'The repository or product it belongs to, such as l9. Required in scope developer; left out in scope global.',
  );
const kind = z.string().describe('What sort of memory: note, decision, todo, section, … A lower-case word.');
const importance = fraction.describe('How much it matters, from 0 to 1.');
export const threadId = z.string().describe('The conversation or task it belongs to.');
const parentIds = z.array(uuid).max(64, 'at most 64').describe('Ids of older memories that it was derived from.');
const metadata = object.describe(
  'agent, tool_name, notes (an object) and whatever else describes the writer. creator and source are stamped by the server.',
);
const content = z.string().describe('The text to remember, 1 MiB at most.');
const ttl = z
  .union([time, z.literal('infinity')])
  .describe('When it expires, such as 2026-12-31T00:00:00Z. Left out: never.');

export const saveInput = z.strictObject({
  content,
  scope: scope.default('developer'),
  project_id: projectId.nullish(),
  kind: kind.default('note'),
  tags: tags.nullish(),
  thread_id: threadId.nullish(),
  parent_ids: parentIds.nullish(),
  ttl: ttl.nullish(),
  importance: importance.nullish(),
  metadata: metadata.nullish(),
  envelope: object.nullish().describe('Further structured fields, stored beside the content.'),
  routing: object.nullish().describe('Where the packet was sent.'),
  provenance: object.nullish().describe('What it was made from.'),
  correlation_id: z.string().nullish().describe('Your own reference, 200 bytes at most.'),
  session_id: z.string().nullish().describe('The session it is written in.'),
  trace_id: z.string().nullish().describe('The trace it is written in.'),
  idempotency_key: z
    .string()
    .nullish()
    .describe('Saving again with the same key gives the first answer again. 1 to 200 bytes.'),
  on_similar: z
    .enum(['keep', 'skip', 'merge'])
    .default('keep')
    .describe(
      'What to do where a memory of this scope, project and kind says nearly the same: keep both, skip this one, or merge it into the other (the longer text, all tags and parents).',
    ),
});

export const updateInput = z.strictObject({
  packet_id: uuid.describe('The memory to change.'),
  content: content.nullish(),
  scope: scope.nullish(),
  project_id: projectId.nullish(),
  kind: kind.nullish(),
  tags: tags.nullish(),
  thread_id: threadId.nullish(),
  parent_ids: parentIds.nullish(),
  ttl: ttl.describe('When it expires; infinity takes the expiry away.').nullish(),
  importance: importance.nullish(),
  metadata: metadata.nullish(),
  envelope: object.nullish().describe('Structured fields to set beside the content.'),
});

export const searchInput = z.strictObject({
  query: z
    .string()
    .nullish()
    .describe(
      'What to look for, in plain words. Without it (and without packet_id): the newest memories that match the filters.',
    ),
  packet_id: uuid.nullish().describe('Instead of a query: find others like this memory.'),
  k: whole(1, 100).default(10).describe('How many hits at most, 1 to 100.'),
  mode: z
    .enum(['hybrid', 'lexical', 'semantic', 'graph'])
    .default('hybrid')
    .describe(
      'hybrid: words and meaning; lexical: words only; semantic: meaning only; graph: by relations of the entities that the query names.',
    ),
  scopes: z.array(z.string()).nullish().describe('Only these of your scopes.'),
  project_id: z.string().nullish().describe('Only this project, and what belongs to no project.'),
  kinds: z.array(z.string()).nullish().describe('Only these kinds.'),
  tags: z.array(z.string()).nullish().describe('Only memories with these tags.'),
  tags_match: z.enum(['any', 'all']).default('any').describe('Whether one of the tags is enough.'),
  since: time.nullish().describe('Saved at or after.'),
  until: time.nullish().describe('Saved before.'),
  thread_id: z.string().nullish().describe('Only this thread.'),
  creator: z.string().nullish().describe('Only what this creator wrote, such as Cursor-IDE.'),
  threshold: z
    .number()
    .min(0, 'from 0 to 2')
    .max(2, 'from 0 to 2')
    .nullish()
    .describe('Leave out hits further in meaning than this cosine distance, from 0 to 2, such as 0.3.'),
  as_of: time.nullish().describe('Search memories as they were at this time.'),
  explain: z.boolean().default(false).describe('Say of each hit how it scored.'),
  max_tokens: whole(500, 1_000_000)
    .nullish()
    .describe('Trim the hits to about this many tokens: previews, of which get_memory gives the whole.'),
});

export const packetIdInput = z.strictObject({ packet_id: uuid.describe('Id of the memory.') });
export const statsInput = z.strictObject({ project_id: z.string().nullish().describe('Only this project.') });
export const cleanupInput = z.strictObject({
  max_rows: whole(1, 100_000).default(10_000).describe('How many at most, 1 to 100000.'),
});

export const feedbackInput = z.strictObject({
  access_id: uuid.describe('access_id of the hit that it is about.'),
  was_useful: z.boolean().describe('Whether the memory helped you.'),
  reason: z.string().nullish().describe('Why, in a few words: 1000 bytes at most.'),
});

export const memory = z.object({
  packet_id: z.string().describe('Id, ordered by time.'),
  content: z.string(),
  kind: z.string(),
  scope: z.string(),
  project_id: z.string().nullable(),
  tags: z.array(z.string()),
  metadata: object.describe('creator and source say who wrote it; agent, tool_name, notes as given.'),
  envelope: object,
  routing: object,
  provenance: object,
  thread_id: z.string().nullable(),
  parent_ids: z.array(z.string()),
  importance: z.number(),
  ttl: z.string().nullable(),
  timestamp: z.string(),
  updated_at: z.string(),
  correlation_id: z.string().nullable(),
  session_id: z.string().nullable(),
  trace_id: z.string().nullable(),
});

export const updateOutput = z.object({
  status: z
    .enum(['inserted', 'updated', 'skipped_dedupe'])
    .describe(
      'skipped_dedupe: this was already known; memory is the one that says it. updated, of a save: merged into it.',
    ),
  memory,
});

export const similarMemory = z.object({
  packet_id: z.string(),
  similarity: z.number().describe('From 0.75 to 1; 1: the same words.'),
});

export const saveOutput = updateOutput.extend({
  similar: z
    .array(similarMemory)
    .nullable()
    .describe('Memories that say nearly the same, most similar first, 10 at most; null: not found out in time.'),
});

export const hit = z.object({
  packet_id: z.string(),
  access_id: z.string().describe('For record_feedback: this hit of this search.'),
  content: z
    .string()
    .describe(
      'Cut after 8000 characters, or a preview where max_tokens left no more room; get_memory gives the whole.',
    ),
  is_truncated: z.boolean(),
  snippet: z.string().describe('The part that matched best.'),
  score: z.number().describe('From 0 to 1; 1 where nothing was ranked.'),
  lexical_score: z.number().nullable().describe('The part that the words have; null when not found by words.'),
  semantic_score: z.number().nullable().describe('Cosine similarity; null when not compared.'),
  chunk_index: z.int().nullable().describe('The chunk that was nearest; 0: the whole.'),
  kind: z.string(),
  scope: z.string(),
  project_id: z.string().nullable(),
  tags: z.array(z.string()),
  thread_id: z.string().nullable(),
  creator: z.string(),
  importance: z.number().describe('How much it matters, from 0 to 1, as learned from its use.'),
  timestamp: z.string(),
  explanation: object
    .nullable()
    .describe(
      'With explain: the legs that found it, what it scored in each, the path in the graph, its chunk, weights and boosts.',
    ),
});

export const searched = z.object({
  mode: z.string().describe('The mode that was run.'),
  requested_mode: z.string(),
  scopes: z.array(z.string()).describe('The scopes searched.'),
  projects: z.array(z.string()).describe('The projects searched; * is every one.'),
  filters: object,
  like: z.string().nullable().describe('The memory that others like it were searched for.'),
  as_of: z.string().nullable(),
  k: z.int(),
  threshold: z.number().nullable(),
  cut: object.nullable().describe('What max_tokens took away: tokens, previews, left_out.'),
  candidates: z.int().describe('How many memories were considered.'),
  entities: z.array(z.string()).nullable().describe('In mode graph: the entities that the query names.'),
  vectors: z.string().describe('used, unavailable, or not asked for.'),
  notice: z.string().nullable(),
});

export const searchOutput = z.object({ hits: z.array(hit), searched });
export const getOutput = z.object({ memory });
export const feedbackOutput = z.object({
  access_id: z.string(),
  packet_id: z.string().describe('The memory that it is about.'),
  was_useful: z.boolean(),
  reason: z.string().nullable(),
  given_at: z.string(),
});
export const deleteOutput = z.object({ status: z.literal('deleted'), packet_id: z.string() });
export const cleanupOutput = z.object({ deleted: z.int() });

const counts = z.record(z.string(), z.int());
export const statsOutput = z.object({
  total: z.int(),
  by_kind: counts,
  by_scope: counts,
  by_project: counts,
  by_creator: counts,
  embedded: z.int().describe('How many can be found by meaning.'),
  awaiting_embedding: z.int().describe('How many can be found by words only, until their vectors land.'),
  oldest: z.string().nullable(),
  newest: z.string().nullable(),
});
