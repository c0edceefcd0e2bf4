import { z } from 'zod';
import {
  content,
  envelope,
  importance,
  kind,
  memory,
  metadata,
  parentIds,
  projectId,
  savedColumns,
  saveStatus,
  scope,
  tags,
  threadId,
  ttl,
  uuid,
} from './fields.ts';
import { call, defineOperation } from './operation.ts';

export const updateMemory = defineOperation({
  name: 'update_memory',
  title: 'Update a memory',
  description:
    'Change the given fields of a memory and keep the rest. You can change only memories you wrote, unless you are an admin.',
  input: z.strictObject({
    packet_id: uuid.describe('The memory to change.'),
    content: content.nullish(),
    scope: scope.nullish(),
    project_id: projectId.nullish(),
    kind: kind.nullish(),
    tags: tags.nullish(),
    thread_id: threadId.nullish(),
    parent_ids: parentIds.nullish(),
    ttl: ttl.describe('When it expires; infinity removes the expiry.').nullish(),
    importance: importance.nullish(),
    metadata: metadata.nullish(),
    envelope: envelope.nullish(),
  }),
  output: z.object({ status: saveStatus, memory }),
  isDestructive: true,
  isIdempotent: true,
  audit: 'UPDATE',
  run: (client, input) => call(client, savedColumns, 'update_memory', input),
  summarize: ({ memory }) => `Updated ${memory.packet_id}.`,
});
