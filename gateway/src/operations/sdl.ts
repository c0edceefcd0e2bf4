// GraphQL types from the schemas of the operations, so that both doors take and say the same.
import { z } from 'zod';

interface JsonSchema {
  type?: string | string[];
  format?: string;
  enum?: string[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
  default?: unknown;
}

export interface Field {
  /** The name in GraphQL. */
  field: string;
  /** The name in SQL, MCP and JSON. */
  key: string;
  sdl: string;
}

type Types = Readonly<Record<string, string>>;

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The fields of an object schema. `types` names the GraphQL type of a key where the schema alone does not. */
export function fieldsOf(schema: z.ZodType, direction: 'input' | 'output', types: Types = {}): Field[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: direction }) as JsonSchema;
  return Object.entries(properties).map(([key, property]) => {
    const field = camelCase(key);
    const isNullable = !required.includes(key) || optionsOf(property).some(({ type }) => type === 'null');
    const fallback =
      property.default === undefined ? '' : ` = ${property.enum ? property.default : JSON.stringify(property.default)}`;
    const description = property.description ? `"""${property.description}""" ` : '';
    const type = types[key] ?? typeOf(property);
    return {
      field,
      key,
      sdl: `${description}${field}: ${type}${isNullable || fallback ? '' : '!'}${direction === 'input' ? fallback : ''}`,
    };
  });
}

/** A union as its members, whichever of its two spellings the schema has. */
const optionsOf = ({ anyOf, ...schema }: JsonSchema): JsonSchema[] =>
  anyOf ?? (Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : []);

function typeOf(schema: JsonSchema): string {
  const options = optionsOf(schema).filter(({ type }) => type !== 'null');
  if (options.length === 1) return typeOf(options[0]!);
  if (schema.format === 'guid' || schema.format === 'uuid') return 'UUID';
  if (schema.format === 'date-time') return 'Datetime';
  switch (schema.type) {
    case 'array':
      return `[${typeOf(schema.items ?? {})}!]`;
    case 'integer':
      return 'Int';
    case 'number':
      return 'Float';
    case 'boolean':
      return 'Boolean';
    case 'object':
      return 'JSON';
    default:
      return 'String';
  }
}

/** `{ packetId: … }` as GraphQL sends it → `{ packet_id: … }` as the operations take it; what was not given stays out. */
export function toOperationInput(fields: readonly Field[], input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter(({ field }) => input[field] !== undefined).map(({ field, key }) => [key, input[field]]),
  );
}
