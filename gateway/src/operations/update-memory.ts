import { z } from 'zod';
import {
  branch,
  content,
  envelope,
  eventTime,
  expectedVersion,
  importance,
  kind,
  language,
  memory,
  metadata,
  parentIds,
  projectId,
  redacted,
  redactedNote,
  savedColumns,
  saveStatus,
  scope,
  speaker,
  tags,
  threadId,
  ttl,
  uuid,
} from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';

export const updateMemory = defineOperation({
  name: 'update_memory',
  title: 'Update a memory',
  toolSet: 'core',
  description:
    'Change the given fields of a memory and keep the rest. Only memories you wrote, unless you are an admin.',
  input: z.strictObject({
    packet_id: uuid.describe('The memory to change.'),
    content: content.nullish(),
    scope: scope.nullish(),
    project_id: projectId.nullish(),
    branch: branch.describe('Branch of the project it holds for; * for every branch.').nullish(),
    kind: kind.nullish(),
    tags: tags.nullish(),
    thread_id: threadId.nullish(),
    speaker: speaker.describe('Who said it.').nullish(),
    language: language.describe('Language of the text, such as german, or none.').nullish(),
    timestamp: eventTime.describe('When it happened.').nullish(),
    parent_ids: parentIds.nullish(),
    ttl: ttl.describe('When it expires; infinity removes the expiry.').nullish(),
    importance: importance.nullish(),
    metadata: metadata.nullish(),
    envelope: envelope.nullish(),
    clear: z
      .array(z.enum(['tags', 'parent_ids', 'thread_id']).register(graphqlTypes, { name: 'String' }))
      .nullish()
      .describe('Fields to empty, since an empty value is left out: tags, parent_ids, thread_id.'),
    expected_version: expectedVersion.nullish(),
  }),
  output: z.object({ status: saveStatus, memory, redacted }),
  isDestructive: true,
  isIdempotent: true,
  audit: 'UPDATE',
  run: (client, input) => call(client, savedColumns, 'update_memory', input),
  recalls: () => true,
  summarize: ({ memory, redacted }) => `Updated ${memory.packet_id}.${redactedNote(redacted)}`,
});
