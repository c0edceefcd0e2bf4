import { z } from 'zod';
import { counted, object, oneLine, onlyProject, whole } from './fields.ts';
import { graphqlTypes, memoryRelation, timeText, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { label, type Reader, writer } from './standing.ts';

const duplicate = z
  .object({
    packet_id: uuidText(),
    similarity: z.number().describe('From 0.75 to 1; 1 means the same words.'),
    content: z.string().describe('Its text, at most 2000 characters of it.'),
    ...writer,
    created_at: timeText(),
  })
  .register(graphqlTypes, {
    name: 'ReviewDuplicate',
    description: 'A memory that counts and says nearly the same as one that waits.',
    relations: { memory: memoryRelation },
  });

const contradiction = z
  .object({
    fact_id: uuidText(),
    subject: z.string(),
    predicate: z.string(),
    present_object: z.unknown().describe('The value that holds now.'),
    new_object: z.unknown().describe('The value that the memory states.'),
    confidence: z.number().describe('How sure the present value is.'),
    source_packet: uuidText().describe('The memory that states the present value.'),
    creator: z.string().describe('Who states it.'),
    is_from_admin: z.boolean().describe('An administrator states it, so it stays in spite of the approval.'),
  })
  .register(graphqlTypes, {
    name: 'ReviewContradiction',
    description: 'A fact that holds, and that the approval of a memory would contradict.',
  });

const rejection = z
  .object({
    packet_id: uuidText(),
    reviewed_by: z.string().nullable(),
    reviewed_at: timeText().nullable(),
    review_reason: z.string().nullable(),
  })
  .register(graphqlTypes, { name: 'ReviewRejection', description: 'A memory of the same text that was rejected.' });

const item = z
  .object({
    packet_id: uuidText(),
    kind: z.string(),
    title: z.string().nullable(),
    content: z.string().describe('Its text, at most 8000 characters of it.'),
    is_truncated: z.boolean().describe('get_memory returns all of it.'),
    fields: object.nullable().describe('The fields of its kind; null if they are larger than 16 KiB.'),
    scope: z.string().describe('Who can see it once it is approved.'),
    project_id: z.string().nullable(),
    branch: z.string().nullable(),
    tags: z.array(z.string()),
    creator: z.string().describe('The agent that wrote it.'),
    source: z.string().nullable(),
    agent: z.string().nullable(),
    tool_name: z.string().nullable().describe('The tool or mutation that saved it.'),
    speaker: z.string().nullable(),
    timestamp: timeText().describe('When it happened.'),
    created_at: timeText().describe('When it was saved.'),
    updated_at: timeText().describe('Its version. Pass it as expected_version.'),
    duplicates: z.array(duplicate).describe('Memories that say nearly the same, most similar first.'),
    contradictions: z.array(contradiction).describe('Facts that its approval would contradict.'),
    rejected_before: z.array(rejection).describe('Rejected memories of the same text.'),
  })
  .register(graphqlTypes, {
    name: 'ReviewItem',
    description: 'A memory that waits for a review.',
    relations: { memory: memoryRelation },
  });

const page = z.object({
  items: z.array(item).describe('Oldest first.'),
  waiting: z.int().describe('How many wait; 1000 stands for 1000 or more.'),
  next_cursor: z.string().nullable().describe('Give it as cursor to read on.'),
});

const quoted = (value: unknown) => recalled(typeof value === 'string' ? value : JSON.stringify(value));

function linesOf(one: z.output<typeof item>, place: number, reader: Reader): string[] {
  const where = [one.scope, one.project_id].filter((name) => name !== null).join(', ');
  return [
    `${place}. ${label(one.packet_id, one, reader)} ${one.kind} in ${where}: ${recalled(oneLine(one.title ?? one.content).slice(0, 300))}`,
    ...one.duplicates.map(
      (it) =>
        `   nearly the same (${it.similarity.toFixed(2)}): ${label(it.packet_id, it, reader)} ${recalled(oneLine(it.content).slice(0, 200))}`,
    ),
    ...one.contradictions.map(
      (it) =>
        `   contradicts ${it.creator}: ${recalled(`${it.subject} ${it.predicate}`)} is ${quoted(it.present_object)}, not ${quoted(it.new_object)}`,
    ),
    ...one.rejected_before.map(
      (it) => `   rejected before by ${it.reviewed_by}: ${recalled(oneLine(it.review_reason ?? ''))}`,
    ),
  ];
}

export const reviewQueue = defineOperation({
  name: 'review_queue',
  title: 'List what waits for a review',
  toolSet: 'review',
  description:
    'Reviewers: list the memories that wait for a review, oldest first, with who wrote them, near-duplicates, present facts that they contradict, and earlier rejections. Ask the user before you decide.',
  input: z.strictObject({
    k: whole(1, 100).default(20).describe('Maximum number of memories, 1 to 100.'),
    cursor: z.string().nullish().describe('next_cursor of the answer before.'),
    scope: z.string().nullish().describe('Only this scope.'),
    project_id: onlyProject.describe('Only this project; * for all.').nullish(),
    creator: z.string().nullish().describe('Only what this creator wrote, such as Cursor-IDE.'),
    kinds: z.array(z.string()).nullish().describe('Only these kinds.'),
  }),
  output: page,
  isReadOnly: true,
  run: async (client, input) => {
    const row = await call<{ page: z.output<typeof page> }>(client, 'to_jsonb(r) as page', 'review_queue', input);
    return row.page;
  },
  recalls: ({ items }) => items.length > 0,
  summarize: ({ items, waiting, next_cursor }, reader) => {
    if (items.length === 0) return waiting === 0 ? 'Nothing waits for a review.' : 'Nothing more waits for a review.';
    const many =
      waiting >= 1000 ? '1000 or more memories wait' : `${counted(waiting, 'memory waits', 'memories wait')}`;
    const more = next_cursor ? [`Further ones: cursor ${next_cursor}`] : [];
    return [`${many} for a review.`, ...items.flatMap((one, index) => linesOf(one, index + 1, reader)), ...more].join(
      '\n',
    );
  },
});
