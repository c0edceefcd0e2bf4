// Fields of GraphQL that are operations: their arguments, and the steps that run them.
import { access, context, lambda, list, type Step, sideEffect } from 'postgraphile/grafast';
import { GraphQLError } from 'postgraphile/graphql';
import type { Identity } from '../../auth/identity.ts';
import { errorExtensions } from '../../errors.ts';
import type { Outcome, Perform } from '../../operations/execute.ts';
import { operations } from '../../operations/index.ts';
import { type Field, fieldsOf, toOperationInput } from '../../operations/sdl.ts';

const byName = new Map(operations.map((operation) => [operation.name, operation]));
export const operationOf = (name: string) => byName.get(name)!;

const enums = { mode: 'SearchMode', tags_match: 'TagsMatch', status: 'SaveStatus', on_similar: 'OnSimilar' };
export const inputs = new Map(operations.map(({ name, input }) => [name, fieldsOf(input, 'input', enums)]));

export const block = (fields: readonly Field[]) => fields.map(({ sdl }) => `  ${sdl}`).join('\n');
export const args = (name: string) =>
  inputs
    .get(name)!
    .map(({ sdl }) => sdl)
    .join('\n    ');
export const described = (name: string) => `"""${operationOf(name).description}"""`;

export type RunOperation = (
  name: string,
  identity: Identity,
  given: Record<string, unknown>,
) => Promise<Outcome & { error: null }>;

/** `onRefused` is told the errors of operations that were refused: they are on the record. */
export const createRunOperation =
  (perform: Perform, onRefused: (identity: Identity, error: GraphQLError) => void): RunOperation =>
  async (name, identity, given) => {
    const operation = operationOf(name);
    const input = toOperationInput(inputs.get(name)!, given);
    const outcome = await perform(operation, identity, operation.graphqlName, input);
    if (outcome.error) {
      const refused = new GraphQLError(outcome.error.message, { extensions: errorExtensions(outcome.error) });
      onRefused(identity, refused);
      throw refused;
    }
    return outcome as Outcome & { error: null };
  };

/** Plans of the fields that run an operation. */
export function fieldsThat(run: RunOperation) {
  const identityOf = () => access(context(), 'identity');
  return {
    query: (name: string) => (_root: Step, fieldArgs: { getRaw(): Step }) =>
      lambda(
        list([identityOf(), fieldArgs.getRaw()]),
        async ([identity, given]) => (await run(name, identity as Identity, given as Record<string, unknown>)).output,
        false,
      ),
    mutation: (name: string) => (_root: Step, fieldArgs: { getRaw(path: string): Step }) =>
      sideEffect([identityOf(), fieldArgs.getRaw('input')], async ([identity, given]) => ({
        clientMutationId: (given as { clientMutationId?: string }).clientMutationId ?? null,
        ...(await run(name, identity as Identity, given as Record<string, unknown>)),
      })),
  };
}

/** Plans of the fields of an object that is at hand. */
export const plansOf = (fields: readonly Field[]) =>
  Object.fromEntries(fields.map(({ field, key }) => [field, ($parent: Step) => access($parent, key)]));

/** Plans of a mutation's payload. */
export const payload = (plans: Record<string, ($output: Step) => Step>) => ({
  plans: {
    clientMutationId: ($payload: Step) => access($payload, 'clientMutationId'),
    ...Object.fromEntries(
      Object.entries(plans).map(([field, plan]) => [field, ($payload: Step) => plan(access($payload, 'output'))]),
    ),
  },
});
