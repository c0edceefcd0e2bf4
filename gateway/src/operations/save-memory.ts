import { z } from 'zod';
import { toVectorParameter } from '../embeddings/index.ts';
import {
  branch,
  content,
  envelope,
  eventTime,
  importance,
  kind,
  language,
  memory,
  metadata,
  object,
  parentIds,
  projectId,
  redacted,
  redactedNote,
  savedColumns,
  saveNotice,
  saveStatus,
  scope,
  speaker,
  tags,
  threadId,
  ttl,
  vectorParameters,
} from './fields.ts';
import { graphqlTypes, memoryRelation, uuidText } from './graphql-types.ts';
import { call, defineOperation, type EmbeddedText } from './operation.ts';
import { signature, standing, standingOf } from './standing.ts';

export const saveInput = z.strictObject({
  content: content
    .nullish()
    .describe('The text to remember, at most 1 MiB. Only a kind that makes it from its fields goes without.'),
  scope: scope.default('developer'),
  project_id: projectId.nullish(),
  branch: branch.nullish(),
  kind: kind.default('note'),
  tags: tags.nullish(),
  thread_id: threadId.nullish(),
  speaker: speaker.nullish(),
  language: language.nullish(),
  timestamp: eventTime.nullish(),
  parent_ids: parentIds.nullish(),
  ttl: ttl.nullish(),
  importance: importance.nullish(),
  metadata: metadata.nullish(),
  envelope: envelope.nullish(),
  routing: object.nullish().describe('Where the packet was sent.'),
  provenance: object.nullish().describe('What it was made from.'),
  correlation_id: z.string().nullish().describe('Your own reference, at most 200 bytes.'),
  session_id: z.string().nullish().describe('The session it was written in.'),
  trace_id: z.string().nullish().describe('The trace it was written in.'),
  idempotency_key: z
    .string()
    .nullish()
    .describe('A repeat with the same key returns the first answer. 1 to 200 bytes.'),
  on_similar: z
    .enum(['keep', 'skip', 'merge'])
    .register(graphqlTypes, {
      name: 'OnSimilar',
      values: {
        keep: 'Save it as a memory of its own.',
        skip: 'Save nothing; the existing memory is returned.',
        merge:
          'Merge it into the existing memory: the longer text, all tags and parents. Needs the right to change it.',
      },
    })
    .default('keep')
    .describe(
      'If a memory of this scope, project, branch and kind says nearly the same: keep both, skip this one, or merge it into the other.',
    ),
});

const similarMemory = z
  .object({
    packet_id: uuidText(),
    similarity: z.number().describe('From 0.75 to 1; 1 means the same words.'),
    ...standing,
  })
  .register(graphqlTypes, {
    name: 'SimilarMemory',
    description: 'A memory that says nearly the same.',
    relations: { memory: memoryRelation },
  });

export const saveMemory = defineOperation({
  name: 'save_memory',
  title: 'Save a memory',
  toolSet: 'core',
  description:
    'Save something worth remembering for everyone who can read its scope: a decision, a fact, how something works, what went wrong. ' +
    'An exact duplicate is not saved again (skipped_dedupe); near-duplicates are listed under similar.',
  input: saveInput,
  output: z.object({
    status: saveStatus,
    memory,
    redacted,
    notice: saveNotice,
    similar: z
      .array(similarMemory)
      .nullable()
      .describe('Memories that say nearly the same, most similar first, at most 10; null: not found out in time.'),
  }),
  isIdempotent: true,
  inferredProject: () => 'owns',
  // Without a time, each message is another turn of its conversation.
  isRepeatable: ({ kind, timestamp, idempotency_key }) =>
    kind !== 'message' || Boolean(timestamp) || Boolean(idempotency_key),
  prepare: async ({ content, on_similar }, embedding) =>
    on_similar === 'keep' || !content ? null : embedding.content(content),
  run: (client, { on_similar, ...input }, embedded: EmbeddedText | null) =>
    call(client, `${savedColumns}, r.notice, standing.similar_json(r."similar") as similar`, 'save_memory', {
      ...input,
      // With keep the similar memories are looked up after the save, so that the save does not wait for a vector.
      ...(on_similar !== 'keep' && { on_similar, ...vectorParameters('content_vector', embedded) }),
    }),
  completion: {
    keys: ['similar'],
    isNeeded: ({ similar }) => similar === null,
    prepare: ({ memory }, embedding) => embedding.content(memory.content),
    run: async (client, output, embedded) => {
      const { rows } = await client.query(
        'select standing.similar_json(duplicates.similar_to_memory($1, $2, $3)) as similar',
        [output.memory.packet_id, embedded?.vector && toVectorParameter(embedded.vector), embedded?.model],
      );
      return { ...output, similar: rows[0].similar };
    },
  },
  recalls: ({ status }) => status !== 'inserted',
  summarize: ({ status, memory, redacted, notice, similar }, reader) => {
    const others = (similar ?? []).filter(({ packet_id }) => packet_id !== memory.packet_id);
    const also = others.length
      ? ` Nearly the same: ${others.map((it) => `${it.packet_id}${signature(it, reader)} (${it.similarity.toFixed(2)})`).join(', ')}.`
      : '';
    const where = `in scope ${memory.scope}${memory.project_id ? `, project ${memory.project_id}` : ''}${memory.branch ? `, branch ${memory.branch}` : ''}`;
    const what = {
      skipped_dedupe: `Already known: ${memory.packet_id}${signature(standingOf(memory), reader)} says it ${where}. Nothing was saved.`,
      updated: `Merged into ${memory.packet_id}${signature(standingOf(memory), reader)} ${where}.`,
      inserted: `Saved as ${memory.packet_id} ${where}.${memory.review_state ? ' It waits for a review, and does not count before.' : ''}`,
    };
    return `${what[status]}${redactedNote(redacted)}${also}${notice ? ` ${notice}` : ''}`;
  },
});
