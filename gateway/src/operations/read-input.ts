// The input of an operation as its schema means it: one rule for every operation and every API. Hosts fill in what is left out with
// null, an empty list or an empty text, and some encode lists, objects and numbers twice.
import { z } from 'zod';
import { INEXACT_NUMBER, markInexactNumbers } from '../input/exact-json.ts';
import { isBlank } from '../input/text.ts';
import { readTimeField } from './times.ts';

type Fields = Record<string, unknown>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null, an empty list and a blank text stand for what is left out, where it may be. */
export const isLeftOut = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === 'string' && isBlank(value)) ||
  (Array.isArray(value) && value.length === 0);

/** The schema within what makes it optional or gives it a default. */
function unwrapped(schema: z.ZodType): { schema: z.ZodType; isOptional: boolean } {
  const { type, innerType } = schema.def as { type: string; innerType?: z.ZodType };
  if (!innerType) return { schema, isOptional: false };
  const inner = unwrapped(innerType);
  return { ...inner, isOptional: inner.isOptional || ['optional', 'default', 'prefault'].includes(type) };
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The schema of a field, by its name here or in GraphQL. */
export function schemaOfField(schema: z.ZodType, name: string): z.ZodType | undefined {
  const inner = unwrapped(schema).schema;
  if (!(inner instanceof z.ZodObject)) return undefined;
  const key = [name, snakeCase(name)].find((key) => Object.hasOwn(inner.shape, key));
  return key === undefined ? undefined : inner.shape[key];
}

/** The schema of the items of a list. */
export function schemaOfItems(schema: z.ZodType): z.ZodType | undefined {
  const inner = unwrapped(schema).schema;
  return inner instanceof z.ZodArray ? (inner.element as z.ZodType) : undefined;
}

export const isOptionalField = (schema: z.ZodType): boolean => unwrapped(schema).isOptional;

/** The value without the fields that `leavesOut`, and with what was encoded twice as what it is. */
export function readInput(schema: z.ZodType, given: unknown, leavesOut = isLeftOut): unknown {
  const { schema: inner } = unwrapped(schema);
  const value = typeof given === 'string' ? decoded(inner, readTimeField(inner, given)) : given;
  if (inner instanceof z.ZodObject && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, part]) => {
        const field = schemaOfField(inner, name);
        if (!field) return [[name, part]];
        const read = readInput(field, part, leavesOut);
        return isOptionalField(field) && leavesOut(read) ? [] : [[name, read]];
      }),
    );
  }
  const items = schemaOfItems(inner);
  if (!items) return value;
  if (Array.isArray(value)) return value.map((item) => readInput(items, item, leavesOut));
  return isOneOf(items, value) ? [readInput(items, value, leavesOut)] : value;
}

/** Whether a list of one was given without the list. */
function isOneOf(items: z.ZodType, value: unknown): boolean {
  const { schema } = unwrapped(items);
  if (takesObject(schema)) return isObject(value);
  return ['string', 'enum'].includes(schema.def.type) && typeof value === 'string' && !isLeftOut(value);
}

const takesObject = (schema: z.ZodType) => ['object', 'record'].includes(schema.def.type);

/** The value that a text encodes, if the schema wants such a value; else the text. */
function decoded(schema: z.ZodType, text: string): unknown {
  const { type } = schema.def;
  const isWanted = takesObject(schema)
    ? isObject
    : type === 'array'
      ? (value: unknown) => Array.isArray(value) || isOneOf((schema as z.ZodArray).element as z.ZodType, value)
      : type === 'number'
        ? (value: unknown) => typeof value === 'number' || value === INEXACT_NUMBER
        : type === 'boolean'
          ? (value: unknown) => typeof value === 'boolean'
          : null;
  if (!isWanted || !/^\s*(?:[[{\d-]|(?:true|false|null)\s*$)/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(markInexactNumbers(text));
    return value === null || isWanted(value) ? value : text;
  } catch {
    return text;
  }
}
