// Objects with the fields of save_memory, as SQL or as GraphQL names them: the format that any other is turned into.
import type { ImportFormat } from './format.ts';
import { readObjects } from './objects.ts';

export const memories: ImportFormat = {
  name: 'memories',
  recognises: () => true,
  read: (chunks) => readObjects(chunks, (fields) => [{ fields }]),
};
