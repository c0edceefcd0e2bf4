// Limits for one request: its depth, because relations form cycles, and its number of fields, because aliases repeat them.
import { depthLimit } from '@graphile/depth-limit';
import { isSafeError, SafeError } from 'postgraphile/grafast';
import {
  type ExecutionArgs,
  type FieldNode,
  GraphQLError,
  Lexer,
  type OperationDefinitionNode,
  Source,
  TokenKind,
  type ValidationContext,
  valueFromASTUntyped,
} from 'postgraphile/graphql';
import { KnownError } from '../../base/errors.ts';
import { withoutValues } from '../../input/echo.ts';
import { checking } from './checks.ts';
import { addUp, askedIn, countCalls } from './selections.ts';

// Checking a document takes time that grows with the square of its length.
const MAX_TOKENS = 4_000;
const MAX_NESTING = 100;
const MAX_ROOT_FIELDS = 100;
const MAX_FIELDS = 2_000;
const MAX_FILTER_CONDITIONS = 1_000;
const MAX_FILTER_NESTING = 20;

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

const extensions = { code: 'LIMIT_EXCEEDED', sqlstate: 'L9LIM' };

/** Scans a document up to the limits. Syntax errors are left to the parser. */
function checkTokens(document: string): void {
  const limitError = (reason: string) => new SafeError(reason, { statusCode: 400, ...extensions });
  const lexer = new Lexer(new Source(document));
  let nesting = 0;
  try {
    for (let tokens = 0; lexer.advance().kind !== TokenKind.EOF; tokens++) {
      if (tokens >= MAX_TOKENS) throw limitError(`query: at most ${MAX_TOKENS} tokens`);
      if (OPENING.has(lexer.token.kind)) nesting += 1;
      if (CLOSING.has(lexer.token.kind)) nesting -= 1;
      if (nesting > MAX_NESTING) throw limitError(`query: at most ${MAX_NESTING} brackets deep`);
    }
  } catch (error) {
    if (error instanceof SafeError) throw error;
  }
}

function breadthLimit(context: ValidationContext) {
  const fragmentNamed = (name: string) => context.getFragment(name);
  return {
    OperationDefinition({ selectionSet }: OperationDefinitionNode) {
      const report = (reason: string) => context.reportError(new GraphQLError(reason, { extensions }));
      if (countCalls(selectionSet, fragmentNamed) > MAX_ROOT_FIELDS)
        report(`query: at most ${MAX_ROOT_FIELDS} fields at the top`);
      else if (addUp(selectionSet, () => 1, fragmentNamed) > MAX_FIELDS) report(`query: at most ${MAX_FIELDS} fields`);
    },
  };
}

/** The values that a filter compares with, each of which is a condition of the query. */
function countConditions(value: unknown, depth = 1): number {
  if (typeof value !== 'object' || value === null) return 1;
  if (depth > MAX_FILTER_NESTING)
    throw new GraphQLError(`filter: at most ${MAX_FILTER_NESTING} brackets deep`, { extensions });
  let conditions = 0;
  for (const part of Object.values(value)) conditions += countConditions(part, depth + 1);
  return Math.max(1, conditions);
}

/** Variables count wherever they are used, so this needs their values, which a validation rule does not have. */
function checkFilters(args: ExecutionArgs): void {
  const asked = askedIn(args);
  if (!asked) return;
  const { operation, fragments, variables } = asked;
  const costOf = ({ arguments: given = [] }: FieldNode) =>
    given
      .filter(({ name }) => name.value === 'filter')
      .reduce((sum, { value }) => sum + countConditions(valueFromASTUntyped(value, variables)), 0);
  if (addUp(operation.selectionSet, costOf, (name) => fragments.get(name)) > MAX_FILTER_CONDITIONS)
    throw new GraphQLError(`filter: at most ${MAX_FILTER_CONDITIONS} conditions in a request`, { extensions });
}

export const limitsPlugin: GraphileConfig.Plugin = {
  name: 'LimitsPlugin',
  version: '1.0.0',
  grafast: checking(checkFilters),
  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules = [
          ...event.validationRules,
          breadthLimit,
          depthLimit({
            maxDepth: 12,
            maxListDepth: 4,
            maxSelfReferentialDepth: 2,
            // As deep as the introspection query of graphql-js goes.
            maxIntrospectionDepth: 14,
            maxDepthByFieldCoordinates: { '__Type.ofType': 9 },
            revealDetails: true,
          }),
        ];
        return next();
      },
      processGraphQLRequestBody(next, { body }) {
        if (typeof body.query === 'string') checkTokens(body.query);
        return next();
      },
    },
  },
};

/** Grafast marks errors for the sender of a request, such as a cursor of another list, or a plan that takes too long. */
export function fromGrafast(cause: unknown): unknown {
  if (cause instanceof Error && /forbidden in filter argument input/.test(cause.message))
    return new KnownError('L9VAL', 'a filter may not contain null or an empty object', 'filter', 'Use isNull.');
  // A plan that fails names its reason, which is the sender's if it is safe to show.
  if (cause instanceof Error && cause.cause instanceof Error && isSafeError(cause.cause))
    return fromGrafast(cause.cause);
  if (!(cause instanceof Error) || !isSafeError(cause)) return cause;
  return /took too long|timeout/i.test(cause.message)
    ? new KnownError('L9LIM', 'the request took too long and was cancelled', null, 'Ask for less.')
    : new KnownError('L9VAL', withoutValues(cause.message));
}
