// What mem0 exports: a list of objects with `memory`, alone or as `results` of one object.
import { isObject } from '../../operations/read-input.ts';
import type { ImportFormat } from './format.ts';
import { readObjects } from './objects.ts';

/** Whose memory it was, which is no user of this tenant. */
const OWNERS = ['user_id', 'agent_id', 'app_id', 'run_id', 'actor_id', 'role'];

export const mem0: ImportFormat = {
  name: 'mem0',
  recognises: ({ first }) => first !== null && typeof first.memory === 'string' && !('content' in first),
  read: (chunks) =>
    readObjects(chunks, (object) => {
      const { memory, id, metadata, categories, created_at, updated_at } = object;
      const owners = OWNERS.filter((name) => object[name] != null).map((name) => [name, object[name]]);
      const fields = {
        content: memory,
        timestamp: updated_at ?? created_at,
        ...(Array.isArray(categories) && { tags: categories }),
        envelope: {
          ...(isObject(metadata) ? metadata : {}),
          mem0: { ...(id != null && { id }), ...Object.fromEntries(owners) },
        },
      };
      return [{ fields }];
    }),
};
