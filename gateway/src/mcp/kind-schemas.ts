// The fields of the built-in kinds as a schema of the items of memory_store, from the rows of memory_kinds.
import { z } from 'zod';
import type { Database } from '../database/index.ts';
import { leanSchema, type Schema } from './lean-schema.ts';

interface FieldRule {
  type: string;
  is_required: boolean;
  choices?: string[];
}

export interface Kind {
  kind: string;
  rules: { fields: Record<string, FieldRule>; order: string[] };
}

const typeOf = ({ type, choices }: FieldRule): z.ZodType => {
  if (choices) return z.enum(choices);
  if (type === 'number') return z.number();
  if (type === 'boolean') return z.boolean();
  if (type === 'text[]') return z.array(z.string());
  if (type === 'object') return z.record(z.string(), z.unknown());
  if (type === 'object[]') return z.array(z.record(z.string(), z.unknown()));
  return z.string();
};

const dataOf = ({ kind, rules }: Kind) => {
  const fields = rules.order.map((name) => {
    const rule = rules.fields[name]!;
    const type = typeOf(rule);
    return [name, rule.is_required ? type : type.optional()] as const;
  });
  // Its text, which is cut into sections, is no field of the memory itself.
  const body = kind === 'document' ? [['body_md', z.string().optional()] as const] : [];
  return z.object(Object.fromEntries([...fields, ...body]));
};

/** One alternative for each kind, told apart by `kind`; other kinds have their text in `content`, or the fields that their tenant registered. */
export function itemSchema(kinds: readonly Kind[]): Schema {
  const typed = kinds.map((kind) => z.object({ kind: z.literal(kind.kind).optional(), data: dataOf(kind).optional() }));
  const free = z.object({ data: z.object({ content: z.string().optional() }).optional() });
  return withoutPlainTypes(leanSchema(z.union([...typed, free])));
}

/** Most fields are texts, so a text needs no type, nor does an item of a list; that data is an object stands above the alternatives. */
function withoutPlainTypes({ type, properties, anyOf, required, items: _, ...schema }: Schema): Schema {
  const isPlain = type === 'string' || type === 'object';
  return {
    ...schema,
    ...(!isPlain && type !== undefined && { type }),
    ...(anyOf && { anyOf: anyOf.map(withoutPlainTypes) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, it]) => [name, withoutPlainTypes(it)])),
    }),
    ...(required && { required }),
  };
}

export async function readKinds({ workerPool }: Pick<Database, 'workerPool'>): Promise<Kind[]> {
  const { rows } = await workerPool.query<Kind>('select kind, rules from kinds.built_in()');
  return rows;
}
