// Errors name the argument that they are about as the request does. The database and the operations know it by its name in SQL:
// project_id instead of projectId.
import type { Request } from 'express';
import { type GraphQLField, type GraphQLSchema, getNamedType, isInputObjectType } from 'postgraphile/graphql';
import { camelCase } from '../../operations/graphql-types.ts';
import type { Edit, ShownError } from './answers.ts';
import { fieldsAlong } from './arguments.ts';
import { type Asked, askedIn } from './selections.ts';

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

export function createErrorFields(): { plugin: GraphileConfig.Plugin; nameArguments: Edit } {
  const executed = new WeakMap<Request, Asked & { schema: GraphQLSchema }>();
  return {
    plugin: {
      name: 'ErrorFieldsPlugin',
      version: '1.0.0',
      grafast: {
        middleware: {
          execute(next, { args }) {
            const request = args.requestContext?.expressv4?.req;
            const asked = askedIn(args);
            if (request && asked) executed.set(request, { schema: args.schema, ...asked });
            return next();
          },
        },
      },
    },
    nameArguments(answer, { request }) {
      const asked = executed.get(request);
      const { errors } = answer.json;
      if (!asked || !errors) return answer;
      return { ...answer, json: { ...answer.json, errors: errors.map((error) => withArgumentName(asked, error)) } };
    },
  };
}
