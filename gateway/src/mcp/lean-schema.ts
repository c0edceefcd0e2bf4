// The JSON schemas of tools, without what a model gains nothing from. It reads the list of tools again and again, so each
// byte is paid for on every turn. The operations check every value themselves, by the whole schemas.
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

type Lean = Tool['inputSchema'];
export interface Schema {
  type?: string | string[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
  [keyword: string]: unknown;
}

const isNull = ({ type }: Schema) => type === 'null';

/** A schema within the arguments of a tool. */
export function leanSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io: 'input' }) as Schema;
  return lean(whole);
}

/** The arguments of a tool. That an optional one may also be null goes without saying. */
export function leanInput(schema: z.ZodType): Lean {
  return { ...leanSchema(schema), type: 'object', additionalProperties: false } as Lean;
}

function lean({ anyOf, properties, items, type, ...keywords }: Schema): Schema {
  const options = anyOf?.filter((option) => !isNull(option)).map(lean);
  // Descriptions of the outer schema go before those of the inner one, as in zod.
  if (options?.length === 1) return lean({ ...options[0], ...keywords });
  if (options && keywords.description) for (const option of options) delete option.description;
  const named = Array.isArray(type) ? type.filter((one) => one !== 'null') : type;
  const { propertyNames: _, additionalProperties: __, ...others } = keywords;
  // A regular expression repeats the format, and a safe integer is what any integer of JSON is.
  if (others.format) delete others.pattern;
  if (others.maximum === Number.MAX_SAFE_INTEGER) delete others.maximum;
  if (others.minimum === Number.MIN_SAFE_INTEGER) delete others.minimum;
  return {
    ...(named !== undefined && { type: Array.isArray(named) && named.length === 1 ? named[0] : named }),
    ...(options && { anyOf: options }),
    ...(properties && { properties: mapped(properties) }),
    ...(items && { items: lean(items) }),
    ...others,
  };
}

const mapped = (properties: Record<string, Schema>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, lean(schema)]));

/** The fields of an answer and their types, one level deep: what an answer holds can be read in the answer. */
export function leanOutput(schema: z.ZodType, further: Record<string, Schema>): Lean {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'output' }) as Schema;
  const fields = Object.entries(properties).map(([name, property]) => [name, { type: typesOf(property) }]);
  return { type: 'object', properties: { ...Object.fromEntries(fields), ...further } };
}

/** One type, or a list with null. */
function typesOf({ type, anyOf = [] }: Schema): string | string[] | undefined {
  const types = [type ?? anyOf.map(typesOf)].flat(2).filter((one) => one !== undefined);
  const distinct = [...new Set(types)];
  return distinct.length === 1 ? distinct[0] : distinct;
}
