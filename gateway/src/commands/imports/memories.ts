// Objects with the fields of save_memory, as SQL or as GraphQL names them: the format that any other is turned into.
import type { ImportFormat } from './format.ts';
import { readObjects } from './objects.ts';

export const memories: ImportFormat = {
  name: 'memories',
  recognises: () => true,
  async *read(chunks) {
    for await (const { line, ...read } of readObjects(chunks))
      yield { line, ...('object' in read ? { fields: read.object } : read) };
  },
};
