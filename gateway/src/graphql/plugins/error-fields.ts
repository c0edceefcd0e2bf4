// Errors name the argument that they are about as the request does. The database and the operations know it by its name in SQL:
// project_id instead of projectId.
import type { Request } from 'express';
import { type GraphQLField, type GraphQLSchema, getNamedType, isInputObjectType } from 'postgraphile/graphql';
import { camelCase } from '../../operations/graphql-types.ts';
import { isObject } from '../../operations/read-input.ts';
import type { Edit, ShownError } from './answers.ts';
import { fieldsAlong } from './arguments.ts';
import type { Asked } from './selections.ts';

/** The names of the arguments of a field, and of what its input holds. */
function argumentNames({ args }: GraphQLField<unknown, unknown>): Set<string> {
  const names = new Set(args.map(({ name }) => name));
  const input = args.find(({ name }) => name === 'input');
  const type = input && getNamedType(input.type);
  if (isInputObjectType(type)) for (const name of Object.keys(type.getFields())) names.add(name);
  return names;
}

// A name of SQL in a message; neither a value, which stands in quotes, nor a key within JSON, which follows the name of its field.
const SQL_NAME = /(?<![\w."])[a-z]+(?:_[a-z]+)+(?![\w"]|\.\w)/g;

/**
 * A field and the message about it, as the request spells them; null if it is no name of the request but a key within JSON. A decision
 * about several memories takes the ids of all of them, and is refused for one.
 */
function respelled(field: string, message: string, isName: (name: string) => boolean) {
  const [first, ...within] = field.split('.');
  const name = [camelCase(first!), `${camelCase(first!)}s`].find(isName);
  if (name === undefined) return null;
  const begins = message.startsWith(first!) && !/^\w/.test(message.slice(first!.length));
  const rest = (begins ? message.slice(first!.length) : message).replace(SQL_NAME, (one) =>
    isName(camelCase(one)) ? camelCase(one) : one,
  );
  return { field: [name, ...within].join('.'), message: begins ? name + rest : rest };
}

/** The same error, with the name of the argument if the request has one of that name. */
function withArgumentName(asked: Asked & { schema: GraphQLSchema }, error: ShownError): ShownError {
  const { path, extensions } = error;
  if (!path || typeof extensions?.field !== 'string') return error;
  const along = fieldsAlong(asked, path);
  const spelt = respelled(extensions.field, error.message, (name) =>
    along.some(({ field }) => argumentNames(field).has(name)),
  );
  return spelt ? { ...error, message: spelt.message, extensions: { ...extensions, field: spelt.field } } : error;
}

/** The answer of memoryStore with the errors of its items, which are fields of MemoryStoreItem in the request. */
function withItemNames(schema: GraphQLSchema, answered: unknown): unknown {
  const item = schema.getType('MemoryStoreItem');
  if (!isObject(answered) || !Array.isArray(answered.errors) || !isInputObjectType(item)) return answered;
  const names = item.getFields();
  const errors = answered.errors.map((error: unknown) => {
    if (!isObject(error) || typeof error.message !== 'string') return error;
    const field = typeof error.field === 'string' ? error.field : /^\w+/.exec(error.message)?.[0];
    const spelt = field ? respelled(field, error.message, (name) => name in names) : null;
    return spelt ? { ...error, message: spelt.message, ...('field' in error && { field: spelt.field }) } : error;
  });
  return { ...answered, errors };
}

function withNamesOfItems(asked: Asked & { schema: GraphQLSchema }, data: unknown): unknown {
  if (!isObject(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      const [called] = fieldsAlong(asked, [key]);
      return [key, called?.field.name === 'memoryStore' ? withItemNames(asked.schema, value) : value];
    }),
  );
}

/** `askedOf` knows what each request asked for, once it was understood. */
export const namesArguments =
  (askedOf: (request: Request) => (Asked & { schema: GraphQLSchema }) | undefined): Edit =>
  (answer, { request }) => {
    const asked = askedOf(request);
    if (!asked) return answer;
    const { data, errors } = answer.json;
    const json = {
      ...answer.json,
      ...(data !== undefined && { data: withNamesOfItems(asked, data) }),
      ...(errors && { errors: errors.map((error) => withArgumentName(asked, error)) }),
    };
    return { ...answer, json };
  };
