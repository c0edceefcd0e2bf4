// What mem0 exports: a list of objects with `memory`, alone or as `results` of one object.
import type { ImportFormat } from './format.ts';
import { isFields, readObjects } from './objects.ts';

/** Whose memory it was, which is no user of this tenant. */
const OWNERS = ['user_id', 'agent_id', 'app_id', 'run_id', 'actor_id', 'role'];

export const mem0: ImportFormat = {
  name: 'mem0',
  recognises: ({ first }) => first !== null && typeof first.memory === 'string' && !('content' in first),
  async *read(chunks) {
    for await (const { line, ...read } of readObjects(chunks)) {
      if ('problem' in read) {
        yield { line, ...read };
        continue;
      }
      const { memory, id, metadata, categories, created_at, updated_at } = read.object;
      const owners = OWNERS.filter((name) => read.object[name] != null).map((name) => [name, read.object[name]]);
      yield {
        line,
        fields: {
          content: memory,
          timestamp: updated_at ?? created_at,
          ...(Array.isArray(categories) && { tags: categories }),
          envelope: {
            ...(isFields(metadata) ? metadata : {}),
            mem0: { ...(id != null && { id }), ...Object.fromEntries(owners) },
          },
        },
      };
    }
  },
};
