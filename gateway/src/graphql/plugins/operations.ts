// One GraphQL field for each operation: a query if it only reads, else a mutation. All types come from its schemas.
import { access, constant, each, type FieldArgs, lambda, list, type Step, sideEffect } from 'postgraphile/grafast';
import { GraphQLError, parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import type { Identity } from '../../auth/identity.ts';
import { errorExtensions } from '../../base/errors.ts';
import type { Outcome } from '../../operations/execute.ts';
import { camelCase, type Relation, upperCamelCase } from '../../operations/graphql-types.ts';
import { operations } from '../../operations/index.ts';
import { type AnyOperation, requireToolSet, type Wanted } from '../../operations/operation.ts';
import { type AnsweringGateway, gatewayOf, identityOf } from '../context.ts';
import {
  block,
  enumType,
  type Field,
  inputFields,
  type JsonSchema,
  jsonSchemaOf,
  nonNull,
  operationField,
  outputFields,
  relationFields,
  sdlOf,
  toOperationInput,
} from '../sdl.ts';
import { toObject } from './arguments.ts';
import { planRow } from './operation-rows.ts';

type Plan = ($parent: Step, args: FieldArgs) => Step;
type Plans = Record<string, Plan>;
type Input = Record<string, unknown>;
type Succeeded = Outcome & { error: null };

/** Who calls, and the gateway that answers. */
const callOf = () => list([gatewayOf(), identityOf()]);
type Call = readonly [AnsweringGateway, Identity];

async function run(
  operation: AnyOperation,
  inputs: readonly Field[],
  [gateway, identity]: Call,
  args: Input,
  wanted: Wanted = 'all',
) {
  requireToolSet(identity.toolSets, operation);
  const input = toOperationInput(inputs, args);
  const field = camelCase(operation.name);
  const outcome = await gateway.execute(operation, identity, field, input, wanted);
  if (outcome.error) {
    const refused = new GraphQLError(outcome.error.message, { extensions: errorExtensions(outcome.error) });
    gateway.onRefused(identity, refused);
    throw refused;
  }
  if (outcome.inferred) gateway.onInferred(identity, field, outcome.inferred);
  return outcome;
}

export const operationsPlugin = extendSchema((build) => {
  const resourceOf = (name: string) => {
    const resource = build.pgResources[name];
    if (!resource) throw new Error(`operations: there is no resource ${name}`);
    return resource;
  };
  const typeOfResource = (name: string) => build.inflection.tableType(build.pgResources[name]!.codec);
  const sdl = sdlOf(typeOfResource);
  const typeDefs: string[] = [];
  const objects: Record<string, { plans: Plans }> = { Query: { plans: {} }, Mutation: { plans: {} } };
  /** The query that answers with an object type, by the name of the type. */
  const queryOf = new Map<string, string>();

  const relationPlan =
    ({ resource, column, key = column }: Relation) =>
    ($parent: Step) =>
      resourceOf(resource).get({ [column]: access($parent, key) });
  const relationPlans = (schema: JsonSchema): Plans =>
    Object.fromEntries(
      Object.entries(schema.graphql?.relations ?? {}).map(([field, relation]) => [field, relationPlan(relation)]),
    );

  /** The step for a value of an answer: rows are planned as rows of their table, all else is in the answer. */
  const planValue = ($value: Step, schema: JsonSchema, path: readonly string[]): Step => {
    const inner = nonNull(schema);
    const row = inner.graphql?.row;
    if (row) {
      const { codec } = build.pgResources[row.resource]!;
      const fieldOf = (attributeName: string) => build.inflection.attribute({ attributeName, codec: codec });
      return planRow($value, { schema: inner, resource: resourceOf(row.resource), path, fieldOf });
    }
    return inner.items?.graphql?.row ? each($value, ($item) => planValue($item, inner.items!, path)) : $value;
  };

  const addPayload = (operation: AnyOperation, output: JsonSchema, owner: string, rootField: string) => {
    const { wrap } = operation.graphql;
    const outputOf = ($payload: Step) => access($payload, 'output');
    const lines = ['clientMutationId: String'];
    const plans: Plans = {
      clientMutationId: ($payload: Step) => access($payload, 'clientMutationId'),
      query: () => constant(true),
    };
    if (wrap) {
      lines.push(`${wrap}: ${sdl.typeOf(output, owner)}!`);
      plans[wrap] = outputOf;
    } else {
      const fields = sdl.fieldsOf(output, owner);
      lines.push(...outputFields(fields), ...relationFields(output, typeOfResource));
      for (const { field, key, schema } of fields) {
        plans[field] = operation.completion?.keys.includes(key)
          ? ($payload: Step) => lambda($payload, async (outcome: Succeeded) => completed(outcome, key), false)
          : ($payload: Step) => planValue(access($payload, ['output', key]), schema, [rootField, field]);
      }
      for (const [field, plan] of Object.entries(relationPlans(output)))
        plans[field] = ($payload, args) => plan(outputOf($payload), args);
    }
    lines.push('"""All queries, to read what changed in the same request.""" query: Query');
    typeDefs.push(block('type', `${owner}Payload`, lines));
    objects[`${owner}Payload`] = { plans };
  };

  const addMutation = (operation: AnyOperation) => {
    const field = camelCase(operation.name);
    const owner = upperCamelCase(operation.name);
    const inputs = sdl.fieldsOf(jsonSchemaOf(operation.input, 'input'), owner);
    typeDefs.push(block('input', `${owner}Input`, ['clientMutationId: String', ...inputFields(inputs)]));
    addPayload(operation, jsonSchemaOf(operation.output, 'output'), owner, field);
    objects.Mutation!.plans[field] = (_root, args) =>
      sideEffect([callOf(), args.getRaw('input')], async ([call, input]: readonly [Call, Input]) => ({
        clientMutationId: input.clientMutationId ?? null,
        ...(await run(operation, inputs, call, input)),
      }));
    return operationField(operation.description, field, [`input: ${owner}Input!`], `${owner}Payload`);
  };

  const addQuery = (operation: AnyOperation) => {
    const field = camelCase(operation.name);
    const owner = upperCamelCase(operation.name);
    const inputs = sdl.fieldsOf(jsonSchemaOf(operation.input, 'input'), owner);
    const output = jsonSchemaOf(operation.output, 'output');
    const { unwrap } = operation.graphql;
    const answer = unwrap ? output.properties![unwrap]! : output;
    const isList = nonNull(answer).type === 'array';
    const wanted = nonNull(answer).graphql?.row ? 'columns' : 'all';
    if (!unwrap && !output.graphql?.name) output.graphql = { ...output.graphql, name: `${owner}Result` };
    if (answer.graphql?.name) queryOf.set(answer.graphql.name, field);
    const paging = isList
      ? ['"""Return only the first `n` values.""" first: Int', '"""Skip the first `n` values.""" offset: Int']
      : [];
    objects.Query!.plans[field] = (_root, args) => {
      const $answer = lambda(
        list([callOf(), args.getRaw()]),
        async ([call, given]: readonly [Call, Input & Page]) => {
          const outcome = await run(operation, inputs, call, given, wanted);
          const value = unwrap ? toObject(outcome.output)[unwrap] : outcome.output;
          return Array.isArray(value) ? page(value, given) : value;
        },
        false,
      );
      return planValue($answer, answer, [field]);
    };
    return operationField(operation.description, field, [...inputFields(inputs), ...paging], sdl.typeOf(answer, owner));
  };

  const queries = operations.filter(({ isReadOnly }) => isReadOnly).map(addQuery);
  const mutations = operations.filter(({ isReadOnly }) => !isReadOnly).map(addMutation);
  // An object may bring in others, which are added to the map while it is walked.
  for (const [name, schema] of sdl.types.objects) {
    const fields = sdl.fieldsOf(schema, name);
    typeDefs.push(
      block(
        'type',
        name,
        [...outputFields(fields), ...relationFields(schema, typeOfResource)],
        schema.graphql?.description,
      ),
    );
    objects[name] = {
      plans: {
        ...Object.fromEntries(
          fields.map(({ field, key, schema: inner }) => [
            field,
            ($parent: Step) => planValue(access($parent, key), inner, [queryOf.get(name) ?? name, field]),
          ]),
        ),
        ...relationPlans(schema),
      },
    };
  }
  for (const [name, schema] of sdl.types.inputs)
    typeDefs.push(block('input', name, inputFields(sdl.fieldsOf(schema, name)), schema.graphql?.description));
  for (const [name, schema] of sdl.types.enums) typeDefs.push(enumType(name, schema));
  typeDefs.push(block('extend type', 'Query', queries), block('extend type', 'Mutation', mutations));
  return { typeDefs: parse(typeDefs.join('\n')), objects };
});

const completed = async (outcome: Succeeded, key: string) =>
  toObject((await outcome.complete({ byMeaning: true })).output)[key];

interface Page {
  first?: number | null;
  offset?: number | null;
}

const page = (values: unknown[], { first, offset }: Page) => {
  const start = Math.max(offset ?? 0, 0);
  return first === null || first === undefined ? values.slice(start) : values.slice(start, start + Math.max(first, 0));
};
