// GraphQL types derived from the zod schemas of the operations, so that MCP and GraphQL accept and return the same.
import { z } from 'zod';
import { camelCase, type GraphqlType, graphqlTypes, upperCamelCase } from '../operations/graphql-types.ts';

export interface JsonSchema {
  type?: string | string[];
  format?: string;
  enum?: string[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
  default?: unknown;
  /** What `graphqlTypes` says about this schema. */
  graphql?: GraphqlType;
}

export interface Field {
  /** The name in GraphQL. */
  field: string;
  /** The name in SQL, MCP and JSON. */
  key: string;
  /** The GraphQL type without the `!` at its end. */
  type: string;
  isRequired: boolean;
  /** The default value as SDL, of an argument that has one. */
  fallback?: string;
  description?: string | undefined;
  schema: JsonSchema;
}

/** The named types that fields refer to, by name. */
export interface NamedTypes {
  enums: Map<string, JsonSchema>;
  objects: Map<string, JsonSchema>;
  inputs: Map<string, JsonSchema>;
}

// The type of zod allows for schemas that operations do not have, such as enums of numbers.
export const jsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      const graphql = graphqlTypes.get(zodSchema);
      if (graphql) jsonSchema.graphql = graphql;
    },
  }) as JsonSchema;

/** The options of a union, which zod spells in two ways: as anyOf, or as a list of types. */
const optionsOf = ({ anyOf, ...schema }: JsonSchema): JsonSchema[] =>
  anyOf ?? (Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema]);

/** The schema without its null option. A union of several other options stays a union. */
export function nonNull(schema: JsonSchema): JsonSchema {
  const options = optionsOf(schema).filter(({ type }) => type !== 'null');
  return options.length === 1 ? options[0]! : schema;
}

const isNullable = (schema: JsonSchema) => optionsOf(schema).some(({ type }) => type === 'null');

/** The type that stands for the rows of this table. */
type TypeOfResource = (resource: string) => string;

export function sdlOf(typeOfResource: TypeOfResource) {
  const types: NamedTypes = { enums: new Map(), objects: new Map(), inputs: new Map() };

  /** `owner` names an enum without a name of its own: SaveMemory and on_similar make SaveMemoryOnSimilar. */
  function typeOf(schema: JsonSchema, owner: string): string {
    const inner = nonNull(schema);
    const { type, format, graphql = {} } = inner;
    if (graphql.row) return typeOfResource(graphql.row.resource);
    if (inner.enum && graphql.name !== 'String') {
      const name = graphql.name ?? owner;
      types.enums.set(name, inner);
      return name;
    }
    if (type === 'object' && graphql.name) {
      (graphql.isInput ? types.inputs : types.objects).set(graphql.name, inner);
      return graphql.name;
    }
    if (graphql.name) return graphql.name;
    const options = optionsOf(inner).filter((option) => option.type !== 'null');
    if (options.length > 1) return options.every((option) => option.type === 'string') ? 'String' : 'JSON';
    if (format === 'guid' || format === 'uuid') return 'UUID';
    if (format === 'date-time') return 'Datetime';
    if (type === 'array') {
      const items = inner.items ?? {};
      // Rows may be null: one could have been deleted between the operation and the query for it.
      return `[${typeOf(items, owner)}${nonNull(items).graphql?.row ? '' : '!'}]`;
    }
    const scalars: Record<string, string> = { integer: 'Int', number: 'Float', boolean: 'Boolean', string: 'String' };
    return scalars[String(type)] ?? 'JSON';
  }

  function fieldsOf(schema: JsonSchema, owner: string): Field[] {
    return Object.entries(schema.properties ?? {}).map(([key, property]) => {
      const inner = nonNull(property);
      const fallback =
        property.default === undefined
          ? {}
          : { fallback: inner.enum ? String(property.default) : JSON.stringify(property.default) };
      const isRow = inner.graphql?.row ?? inner.items?.graphql?.row;
      return {
        field: camelCase(key),
        key,
        type: typeOf(property, `${owner}${upperCamelCase(key)}`),
        isRequired: !isRow && !isNullable(property) && schema.required?.includes(key) === true,
        description: property.description,
        schema: inner,
        ...fallback,
      };
    });
  }

  return { types, typeOf, fieldsOf };
}

const quoted = (text: string) => `"""${text.replaceAll('"""', '\\"""')}"""`;
const described = (text: string | undefined) => (text ? `${quoted(text)} ` : '');

/** Arguments, or the fields of an input type. */
export const inputFields = (fields: readonly Field[]) =>
  fields.map(
    ({ field, type, isRequired, fallback, description }) =>
      `${described(description)}${field}: ${type}${fallback ? ` = ${fallback}` : isRequired ? '!' : ''}`,
  );

export const outputFields = (fields: readonly Field[]) =>
  fields.map(
    ({ field, type, isRequired, description }) => `${described(description)}${field}: ${type}${isRequired ? '!' : ''}`,
  );

export const relationFields = (schema: JsonSchema, typeOfResource: TypeOfResource) =>
  Object.entries(schema.graphql?.relations ?? {}).map(
    ([field, { resource, description }]) => `${described(description)}${field}: ${typeOfResource(resource)}`,
  );

export const block = (keyword: string, name: string, lines: readonly string[], description?: string) =>
  `${description ? `${quoted(description)}\n` : ''}${keyword} ${name} {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;

export const enumType = (name: string, { enum: values = [], graphql }: JsonSchema) =>
  block(
    'enum',
    name,
    values.map((value) => `${described(graphql?.values?.[value])}${value}`),
    graphql?.description,
  );

export const operationField = (description: string, name: string, args: readonly string[], type: string) =>
  `${quoted(description)}\n${name}${args.length > 0 ? `(\n${args.join('\n')}\n)` : ''}: ${type}`;

/** `{ packetId: … }` from GraphQL → `{ packet_id: … }` for the operation. Absent arguments stay absent. */
export function toOperationInput(fields: readonly Field[], input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    fields
      .filter(({ field }) => input[field] !== undefined)
      .map(({ field, key, schema }) => [key, toOperationValue(schema, input[field])]),
  );
}

/** Objects with an input type of their own have its field names. */
function toOperationValue(schema: JsonSchema, value: unknown): unknown {
  const { items, graphql, properties = {} } = nonNull(schema);
  if (Array.isArray(value) && items) return value.map((item) => toOperationValue(items, item));
  if (!graphql?.isInput || typeof value !== 'object' || value === null) return value;
  const keys = Object.fromEntries(Object.keys(properties).map((key) => [camelCase(key), key]));
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [keys[field] ?? field, inner]));
}
