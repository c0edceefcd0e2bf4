// The JSON schemas of tools, in the form that every host accepts, and without what a model gains nothing from. It reads the list of
// tools again and again, so each byte is paid for on every turn. The operations check every value themselves, by the whole schemas.
//
// One schema that a host refuses breaks the whole chat. Each node therefore has one type or is a union and nothing else, each array
// says what its items are, and there is no constant, no reference and no format but that of a time. Lengths of lists and unknown fields
// are left to the operations, whose errors name them.
import type { Tool } from '@modelcontextprotocol/server';
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

const TEXT: Schema = { type: 'string' };
const isNull = ({ type }: Schema) => type === 'null';

/** A schema within the arguments of a tool. */
export function leanSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io: 'input' }) as Schema;
  return lean(whole);
}

/** The arguments of a tool. That an optional one may also be null goes without saying. */
export function leanInput(schema: z.ZodType): Lean {
  return leanSchema(schema) as Lean;
}

function lean({ anyOf, ...schema }: Schema): Schema {
  const options = anyOf?.filter((option) => !isNull(option)) ?? [];
  return options.length > 0 ? union(options, schema) : node(schema);
}

/** A host that knows unions wants nothing beside them, so what is said of all options stands in the first. */
function union(options: readonly Schema[], { description, ...keywords }: Schema): Schema {
  const outer = description === undefined ? {} : { description };
  if (options.length === 1) return lean({ ...options[0], ...keywords, ...outer });
  if (options.every(({ type }) => type === 'string')) return { ...TEXT, ...outer };
  const [first, ...others] = options.map(lean);
  return { anyOf: [{ ...first, ...outer }, ...others] };
}

function node({ properties, items, type, const: constant, ...keywords }: Schema): Schema {
  const [named] = [type ?? 'string'].flat().filter((one) => one !== 'null');
  const { propertyNames: _, additionalProperties: __, minItems: ___, maxItems: ____, ...others } = keywords;
  // A regular expression repeats the format, and a safe integer is what any integer of JSON is.
  if (others.format) delete others.pattern;
  if (others.format !== 'date-time') delete others.format;
  if (others.default === false) delete others.default;
  if (others.maximum === Number.MAX_SAFE_INTEGER) delete others.maximum;
  if (others.minimum === Number.MIN_SAFE_INTEGER) delete others.minimum;
  return {
    type: named!,
    ...(properties && { properties: mapped(properties) }),
    ...(named === 'array' && { items: items ? lean(items) : TEXT }),
    ...(constant !== undefined && { enum: [constant] }),
    ...others,
  };
}

const mapped = (properties: Record<string, Schema>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, lean(schema)]));

/**
 * The fields of an answer and their types, one level deep: the answer itself shows the rest. Those that may be null are
 * left out, because hosts read no single way to say that.
 */
export function leanOutput(schema: z.ZodType, further: Record<string, Schema>): Lean {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'output' }) as Schema;
  const fields = Object.entries(properties)
    .filter(([, { type, anyOf }]) => !anyOf && typeof type === 'string')
    .map(([name, { type, items }]) => [name, { type, ...(items && { items: { type: items.type } }) }]);
  return { type: 'object', properties: { ...Object.fromEntries(fields), ...further } };
}
