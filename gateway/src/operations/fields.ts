// Fields that several operations share. Names are those of the SQL parameters. The database checks all ranges itself;
// they are repeated here for clear messages and for the schemas that clients see.
import { z } from 'zod';
import { toVectorParameter } from '../embeddings/index.ts';
import { graphqlTypes, timeText } from './graphql-types.ts';
import type { EmbeddedText } from './operation.ts';
import { review, superseded, textCreator } from './standing.ts';
import { time, until } from './times.ts';

export const object = z.record(z.string(), z.unknown());
export const uuid = z.guid('must be a uuid');
export const fraction = z.number().min(0, 'from 0 to 1').max(1, 'from 0 to 1');
/** The largest integer of PostgreSQL. */
export const MAX_INTEGER = 2_147_483_647;
export const whole = (least: number, most: number) =>
  z.int().min(least, `from ${least} to ${most}`).max(most, `from ${least} to ${most}`);

/** Where something that looks like a secret stands. */
export const finding = z
  .object({
    pattern: z.string().describe('What it looks like.'),
    path: z.string().describe('The field, and the path in it, as in data.body_md or $.messages[3].text.'),
    line: z.int().describe('The line of the text, from 1.'),
    column: z.int().describe('The character of the line, from 1.'),
  })
  .register(graphqlTypes, {
    name: 'FoundSecret',
    description: 'Something that looks like a secret, without its text.',
  });

export const scope = z
  .string()
  .describe('Who can see it: developer (a project’s), global (everyone’s, without project) or one of your own scopes.');
export const projectId = z
  .string()
  .describe('Repository or product, such as l9. Default: that of your key or working copy. None in scope global.');
export const branch = z
  .string()
  .describe('Branch of the project it holds for. Default: that of your working copy; * for every branch.');
export const scopes = z.array(z.string()).describe('Only these of your scopes.');
export const onlyProject = z.string().describe('This project, and memories without a project; * for all.');
export const onlyBranch = z.string().describe('This branch, and memories that hold for every branch; * for all.');
export const tags = z.array(z.string()).max(64, 'at most 64').describe('Labels, at most 64.');
export const onlyTags = z.array(z.string()).describe('Only memories with these tags.');
export const where = object.describe(
  'Conditions on fields stored in envelope: {"status": "open"}, a list for any of several, or eq, in, exists, gt, gte, lt, lte (numbers, dates), as in {"due": {"lt": "2026-12-01"}}.',
);
export const tagsMatch = z
  .enum(['any', 'all'])
  .register(graphqlTypes, { name: 'TagsMatch' })
  .default('any')
  .describe('Whether a memory needs any or all of the tags.');
export const threadId = z.string().describe('The conversation or task it belongs to.');
export const hits = whole(1, 100).default(10).describe('How many results, 1 to 100; more for a list.');
export const minRelevance = fraction.describe(
  'Least relevance, 0 to 1. Default: off-topic results are left out; 0 keeps all.',
);
export const maxTokens = whole(500, 1_000_000);
export const packetId = uuid.describe('Id of the memory.');

// The writable fields of a memory.
export const content = z.string().describe('The text to remember, at most 1 MiB.');
export const kind = z.string().describe('Kind of memory, a lower-case word: note, decision, todo, section, …');
export const importance = fraction.describe('Your estimate of how much it matters, 0 to 1.');
export const learnedImportance = z.number().describe('How much it matters, 0 to 1, learned from its use.');
export const estimatedImportance = z.number().describe('The writer’s own estimate of it.');
export const parentIds = z.array(uuid).max(64, 'at most 64').describe('Ids of older memories it was derived from.');
export const metadata = object.describe(
  'notes (an object) and other facts. The server sets creator, source, agent, tool_name and updated_by.',
);
export const speaker = z
  .string()
  .describe('Who said it. Default: the name that begins the text of a message, as in "Ann: good morning".');
export const eventTime = time.describe(
  'When it happened, such as 2026-05-12T09:30:00Z, at most five minutes ahead. Default: now.',
);
export const ttl = z
  .union([time, z.literal('infinity')])
  .describe('When it expires, such as 2026-12-31T00:00:00Z. Default: never.');
export const expectedVersion = time.describe(
  'updated_at of the memory as you read it. If it has changed since, nothing is written and the error says what is there.',
);
export const envelope = object.describe('Structured data stored with the content.');

export const language = z
  .string()
  .describe('Language of the text, such as german, or none for unstemmed words. Default: one of the tenant.');

export const memory = z
  .object({
    packet_id: z.string().describe('Id, ordered by time.'),
    content: z.string(),
    kind: z.string(),
    title: z.string().nullable(),
    scope: z.string(),
    project_id: z.string().nullable(),
    branch: z.string().nullable().describe('Null: every branch.'),
    tags: z.array(z.string()),
    metadata: object.describe('creator, source, agent, tool_name: who saved it; updated_by: who changed it last.'),
    envelope: object,
    routing: object,
    provenance: object,
    thread_id: z.string().nullable(),
    speaker: z.string().nullable(),
    language: z.string(),
    parent_ids: z.array(z.string()),
    importance: learnedImportance,
    estimated_importance: estimatedImportance,
    ttl: z.string().nullable(),
    archived_at: z.string().nullable(),
    ...textCreator,
    ...superseded,
    ...review,
    review_reason: z.string().nullish().describe('Why it was approved or rejected.'),
    timestamp: z.string().describe('When it happened.'),
    created_at: z.string().describe('When it was saved.'),
    updated_at: z.string().describe('When it was last changed: its version. Pass it as expected_version.'),
    correlation_id: z.string().nullable(),
    session_id: z.string().nullable(),
    trace_id: z.string().nullable(),
  })
  .register(graphqlTypes, {
    row: {
      resource: 'memory',
      column: 'packet_id',
      columns: { kind: 'packet_type', envelope: null, importance: null, estimated_importance: 'importance_score' },
    },
  });

export const saveStatus = z
  .enum(['inserted', 'updated', 'skipped_dedupe'])
  .register(graphqlTypes, {
    name: 'SaveStatus',
    values: {
      updated: 'A save was merged into the returned memory, or an update was applied.',
      skipped_dedupe: 'Nothing was saved: the returned memory already says it.',
    },
  })
  .describe('skipped_dedupe: already known, memory is the existing one. updated (by a save): merged into memory.');

export const searched = z
  .object({
    mode: z.string().describe('The mode that was used.'),
    requested_mode: z.string(),
    scopes: z.array(z.string()).describe('The scopes searched.'),
    projects: z.array(z.string()).describe('The projects searched; * means all.'),
    filters: object,
    like: z.string().nullable().describe('The memory to which similar ones were searched.'),
    as_of: z.string().nullable(),
    k: z.int(),
    threshold: z.number().nullable(),
    min_relevance: z.number(),
    left_out: z.int().describe('How many of the k best were less relevant than min_relevance.'),
    cut: object.nullable().describe('What max_tokens removed: tokens, previews, left_out.'),
    candidates: z.int().describe('How many memories were considered.'),
    entities: z.array(z.string()).nullable().describe('In mode graph: the entities named in the query.'),
    vectors: z.string().describe('used, unavailable, or not asked for.'),
    notice: z.string().nullable(),
  })
  .register(graphqlTypes, {
    name: 'MemorySearched',
    description: 'What a search covered, so that an empty result is not mistaken for a missing permission.',
  });

/** The parameters of a SQL function that takes a vector and its model. */
export const vectorParameters = (parameter: string, embedded: EmbeddedText | null) =>
  embedded ? { [parameter]: embedded.vector && toVectorParameter(embedded.vector), model: embedded.model } : {};

export const oneLine = (text: string) => text.replace(/\s+/g, ' ');
export const counted = (count: number, one: string, several = `${one}s`) =>
  count === 1 ? `1 ${one}` : `${count} ${several}`;

/** The columns of the answer of a SQL function that returns a status and a memory as `r.status` and `r.memory`. */
export const savedColumns =
  'r.status, memories.saved_json(r.status, r.memory) as memory, secrets.redacted_count() as redacted';

export const redacted = z
  .int()
  .nullable()
  .describe('How many secrets were replaced by [redacted: …], where the tenant has that done; null: none.');

export const saveNotice = z.string().nullable().describe('How to save this better another time, or null.');

/** Tells in words what `redacted` counts. */
export const redactedNote = (count: number | null) =>
  count ? ` ${count === 1 ? 'A secret was' : `${count} secrets were`} replaced by [redacted: …].` : '';

export { time, timeText, until };
