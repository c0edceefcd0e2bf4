// The fields of the built-in kinds as a schema of the data of an item of memory_store. `npm run generate` writes them into a file, from
// the rows of memory_kinds, so that tools can be listed without a database.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { leanSchema, type Schema } from './lean-schema.ts';

const GENERATED = join(import.meta.dirname, '..', '..', '..', 'db', 'generated', 'kinds.json');

interface FieldRule {
  type: string;
  is_required?: boolean;
  choices?: string[];
  /** What an object has, in order. */
  parts?: (Partial<FieldRule> & { field: string })[];
}

export interface Kind {
  kind: string;
  rules: { fields: Record<string, FieldRule>; order: string[] };
}

const typeOf = ({ type, choices, parts }: FieldRule): z.ZodType => {
  if (choices) return z.enum(choices);
  if (type === 'number') return z.number();
  if (type === 'boolean') return z.boolean();
  if (type === 'text[]') return z.array(z.string());
  if (type === 'object') return objectOf(parts);
  if (type === 'object[]') return z.array(objectOf(parts));
  return type === 'timestamp' ? z.string().meta({ format: 'date-time' }) : z.string();
};

const shapeOf = (rules: readonly (readonly [name: string, rule: FieldRule])[]) =>
  Object.fromEntries(
    rules.map(([name, rule]) => [name, rule.is_required ? typeOf(rule) : typeOf(rule).optional()] as const),
  );

const objectOf = (parts: FieldRule['parts']): z.ZodType =>
  parts
    ? z.object(shapeOf(parts.map(({ field, ...rule }) => [field, { type: 'text', ...rule }])))
    : z.record(z.string(), z.unknown());

const dataOf = ({ kind, rules }: Kind) => {
  const fields = shapeOf(rules.order.map((name) => [name, rules.fields[name]!]));
  // Its text, which is cut into sections, is no field of the memory itself.
  return z.object(kind === 'document' ? { ...fields, body_md: z.string().optional() } : fields);
};

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

export const builtInKinds = (): Kind[] => JSON.parse(readFileSync(GENERATED, 'utf8'));
