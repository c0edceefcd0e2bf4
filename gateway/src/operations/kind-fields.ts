// The fields of kinds as schemas. `npm run generate` writes those of the built-in kinds into a file, from the rows of memory_kinds, so
// that tools can be listed without a database.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { packageRoot } from '../base/paths.ts';
import { isObject, readInput } from './read-input.ts';

const GENERATED = join(packageRoot, 'db', 'generated', 'kinds.json');

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

/** The fields of a kind. */
export const dataOf = ({ kind, rules }: Kind): z.ZodObject => {
  const fields = shapeOf(rules.order.map((name) => [name, rules.fields[name]!]));
  // Its text, which is cut into sections, is no field of the memory itself.
  return z.object(kind === 'document' ? { ...fields, body_md: z.string().optional() } : fields);
};

export const builtInKinds: readonly Kind[] = JSON.parse(readFileSync(GENERATED, 'utf8'));

const builtIn = new Map(builtInKinds.map((kind) => [kind.kind, dataOf(kind)]));

/** Whether data are more than the text of a memory of a free kind. */
const hasFields = (data: unknown): boolean => isObject(data) && Object.keys(data).some((name) => name !== 'content');

/**
 * Items of memory_store, whose data are as their kinds mean them. `rulesOf` finds the rules of a kind of the caller's tenant. A value that is
 * null or empty stays, because it says that a field is to be removed.
 */
export async function withKindFields(
  items: readonly unknown[],
  rulesOf: (kind: string) => Promise<Kind['rules'] | null>,
): Promise<unknown[]> {
  const own = new Map<string, z.ZodObject | null>();
  const schemaOf = async (kind: string) => {
    if (!own.has(kind)) {
      const rules = await rulesOf(kind);
      own.set(kind, rules && dataOf({ kind, rules }));
    }
    return own.get(kind);
  };
  const read: unknown[] = [];
  for (const item of items) {
    const { kind, data } = Object(item) as { kind?: unknown; data?: unknown };
    const schema =
      typeof kind === 'string' && hasFields(data) ? (builtIn.get(kind) ?? (await schemaOf(kind))) : undefined;
    read.push(schema ? { ...(item as object), data: readInput(schema, data, () => false) } : item);
  }
  return read;
}
