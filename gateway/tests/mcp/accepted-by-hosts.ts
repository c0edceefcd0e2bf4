// What keeps a tool from being refused by a host of MCP or by the model behind it. One tool that is refused breaks the whole chat.
import type { Tool } from '@modelcontextprotocol/sdk/types.js';

export interface Node {
  type?: unknown;
  anyOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  enum?: unknown[];
  format?: unknown;
  description?: unknown;
  [keyword: string]: unknown;
}

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean'];
/** Gemini knows no other keywords; hosts take `additionalProperties` and `$schema` out themselves. */
const KEYWORDS = new Set([
  ...['type', 'anyOf', 'items', 'properties', 'required', 'enum', 'format', 'description', 'default'],
  ...['minimum', 'maximum', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern'],
]);
const FORMATS: readonly unknown[] = ['date-time', 'enum'];
/** Of a field, as Anthropic and Amazon have it. */
const FIELD_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
/** Of a tool: Cursor counts the name of the server with it. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,60}$/;
const SERVER_NAME = 'l9-memory';
const MAX_DESCRIPTION = 1024;

/** Everything in a schema that some host refuses. */
export function faultsOfSchema(schema: Node, path: string): string[] {
  const faults: string[] = [];
  const fault = (what: string) => faults.push(`${path}: ${what}`);
  const { type, anyOf, items, properties, required = [], description } = schema;
  for (const keyword of Object.keys(schema)) if (!KEYWORDS.has(keyword)) fault(`the keyword ${keyword}`);
  if (anyOf) {
    if (Object.keys(schema).length > 1) fault('something beside anyOf');
    if (anyOf.length < 2) fault('a union of one');
    return [...faults, ...anyOf.flatMap((option, index) => faultsOfSchema(option, `${path}|${index}`))];
  }
  if (!TYPES.includes(type)) fault(`the type ${JSON.stringify(type)}`);
  if ((type === 'array') !== (items !== undefined)) fault('an array without items, or items without an array');
  if (properties && type !== 'object') fault('properties without an object');
  for (const name of required) if (!properties || !(name in properties)) fault(`${name} is required and not there`);
  if (schema.format !== undefined && !FORMATS.includes(schema.format)) fault(`the format ${String(schema.format)}`);
  if (schema.enum && (type !== 'string' || schema.enum.some((one) => typeof one !== 'string' || one === '')))
    fault('an enum of something else than texts');
  if (description !== undefined && (typeof description !== 'string' || description === ''))
    fault('a description that is no text');
  if (items) faults.push(...faultsOfSchema(items, `${path}[]`));
  for (const [name, inner] of Object.entries(properties ?? {})) {
    if (!FIELD_NAME.test(name)) fault(`the name ${name}`);
    faults.push(...faultsOfSchema(inner, `${path}.${name}`));
  }
  return faults;
}

export function faultsOfTool({ name, description = '', inputSchema, outputSchema }: Tool): string[] {
  const faults: string[] = [];
  if (!TOOL_NAME.test(name) || `${SERVER_NAME}:${name}`.length > 60) faults.push(`${name}: the name of the tool`);
  if (description === '' || description.length > MAX_DESCRIPTION) faults.push(`${name}: the length of the description`);
  for (const [which, schema] of Object.entries({ '': inputSchema, ' answers': outputSchema })) {
    if (schema?.type !== 'object' || !schema.properties) faults.push(`${name}${which}: no object with properties`);
    faults.push(...faultsOfSchema(schema as Node, `${name}${which}`));
  }
  return faults;
}
