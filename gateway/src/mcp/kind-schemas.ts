// The fields of the built-in kinds as a schema of the items of memory_store, from the rows of memory_kinds.
import { z } from 'zod';
import type { Database } from '../database/index.ts';
import { leanSchema, type Schema } from './lean-schema.ts';

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

/** The formats of JSON Schema that tell a text of this type apart. */
const FORMATS: Readonly<Record<string, string>> = { date: 'date', timestamp: 'date-time', uuid: 'uuid' };

const typeOf = ({ type, choices, parts }: FieldRule): z.ZodType => {
  if (choices) return z.enum(choices);
  if (type === 'number') return z.number();
  if (type === 'boolean') return z.boolean();
  if (type === 'text[]') return z.array(z.string());
  if (type === 'object') return objectOf(parts);
  if (type === 'object[]') return z.array(objectOf(parts));
  return FORMATS[type] ? z.string().meta({ format: FORMATS[type] }) : z.string();
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

/** One alternative for each kind, told apart by `kind`; other kinds have their text in `content`, or the fields that their tenant registered. */
export function itemSchema(kinds: readonly Kind[]): Schema {
  const typed = kinds.map((kind) => z.object({ kind: z.literal(kind.kind).optional(), data: dataOf(kind).optional() }));
  const free = z.object({ data: z.object({ content: z.string().optional() }).optional() });
  return withoutPlainTypes(leanSchema(z.union([...typed, free])));
}

/** Most fields are texts, so a text needs no type, nor does an item of a list that is one; that data is an object stands above the alternatives. */
function withoutPlainTypes({ type, properties, anyOf, required, items, ...schema }: Schema): Schema {
  const isPlain = type === 'string' || type === 'object';
  return {
    ...schema,
    ...(!isPlain && type !== undefined && { type }),
    ...(anyOf && { anyOf: anyOf.map(withoutPlainTypes) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, it]) => [name, withoutPlainTypes(it)])),
    }),
    ...(items?.properties && { items: withoutPlainTypes(items) }),
    ...(required && { required }),
  };
}

export async function readKinds({ workerPool }: Pick<Database, 'workerPool'>): Promise<Kind[]> {
  const { rows } = await workerPool.query<Kind>('select kind, rules from kinds.built_in()');
  return rows;
}
