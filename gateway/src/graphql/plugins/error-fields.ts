// Errors name the argument that they are about as the request does. The database and the operations know it by its name in SQL:
// project_id instead of projectId.
import type { Request } from 'express';
import { type GraphQLField, type GraphQLSchema, getNamedType, isInputObjectType } from 'postgraphile/graphql';
import { camelCase } from '../../operations/graphql-types.ts';
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

/** The same error, with the name of the argument if the request has one of that name: other fields are keys within JSON. */
function withArgumentName(asked: Asked & { schema: GraphQLSchema }, error: ShownError): ShownError {
  const { path, extensions } = error;
  if (!path || typeof extensions?.field !== 'string') return error;
  const [first, ...within] = extensions.field.split('.');
  const name = camelCase(first!);
  if (!fieldsAlong(asked, path).some(({ field }) => argumentNames(field).has(name))) return error;
  return { ...error, extensions: { ...extensions, field: [name, ...within].join('.') } };
}

/** `askedOf` knows what each request asked for, once it was understood. */
export const namesArguments =
  (askedOf: (request: Request) => (Asked & { schema: GraphQLSchema }) | undefined): Edit =>
  (answer, { request }) => {
    const asked = askedOf(request);
    const { errors } = answer.json;
    if (!asked || !errors) return answer;
    return { ...answer, json: { ...answer.json, errors: errors.map((error) => withArgumentName(asked, error)) } };
  };
