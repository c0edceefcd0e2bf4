// The fields of the built-in kinds as a schema of the data of an item of memory_store.
import { z } from 'zod';
import { dataOf, type Kind } from '../operations/kind-fields.ts';
import { leanSchema, type Schema } from './lean-schema.ts';

const alternative = (shape: z.ZodType, kind: string): Schema => ({ ...leanSchema(shape), description: kind });

/**
 * The data of an item: one alternative for each kind, which its description names. Of other kinds it has the text in `content`, or the
 * fields that their tenant registered.
 */
export function dataSchema(kinds: readonly Kind[]): Schema {
  const free = z.object({ content: z.string().optional() });
  return {
    anyOf: [...kinds.map((kind) => alternative(dataOf(kind), kind.kind)), alternative(free, 'note, any other')],
  };
}
