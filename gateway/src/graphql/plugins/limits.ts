// What a request may ask for in one go. Relations lead in circles, so depth has to end somewhere; and the same can be
// asked for again under another name, so breadth has to.
import { depthLimit } from '@graphile/depth-limit';
import { isSafeError, SafeError } from 'postgraphile/grafast';
import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type SelectionSetNode,
  Source,
  TokenKind,
  type ValidationContext,
} from 'postgraphile/graphql';
import { KnownError } from '../../errors.ts';

// Checking a document takes time that grows with the square of its length.
const MAX_TOKENS = 4_000;
const MAX_NESTING = 100;
const MAX_ROOT_FIELDS = 100;
const MAX_FIELDS = 2_000;

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

const extensions = { code: 'LIMIT_EXCEEDED', sqlstate: 'L9LIM' };

/** Reads a document no further than it may go. What is no GraphQL is left to the parser to say. */
function checkLength(document: string): void {
  const tooMuch = (reason: string) => new SafeError(reason, { statusCode: 400, ...extensions });
  const lexer = new Lexer(new Source(document));
  let nesting = 0;
  try {
    for (let tokens = 0; lexer.advance().kind !== TokenKind.EOF; tokens++) {
      if (tokens >= MAX_TOKENS) throw tooMuch(`query: at most ${MAX_TOKENS} tokens`);
      if (OPENING.has(lexer.token.kind)) nesting += 1;
      if (CLOSING.has(lexer.token.kind)) nesting -= 1;
      if (nesting > MAX_NESTING) throw tooMuch(`query: at most ${MAX_NESTING} brackets deep`);
    }
  } catch (error) {
    if (error instanceof SafeError) throw error;
  }
}

/** Fields are counted wherever a fragment brings them in. */
function breadthLimit(context: ValidationContext) {
  const counter = (isDeep: boolean) => {
    const known = new Map<FragmentDefinitionNode, number>();
    const countFragment = (fragment: FragmentDefinitionNode): number => {
      if (!known.has(fragment)) {
        // One that leads to itself is refused by another rule.
        known.set(fragment, 0);
        known.set(fragment, count(fragment.selectionSet));
      }
      return known.get(fragment)!;
    };
    const count = ({ selections }: SelectionSetNode): number => {
      let fields = 0;
      for (const node of selections) {
        if (node.kind === Kind.INLINE_FRAGMENT) fields += count(node.selectionSet);
        else if (node.kind === Kind.FIELD) fields += 1 + (isDeep && node.selectionSet ? count(node.selectionSet) : 0);
        else {
          const fragment = context.getFragment(node.name.value);
          if (fragment) fields += countFragment(fragment);
        }
      }
      return fields;
    };
    return count;
  };
  return {
    OperationDefinition({ selectionSet }: { selectionSet: SelectionSetNode }) {
      const report = (reason: string) => context.reportError(new GraphQLError(reason, { extensions }));
      if (counter(false)(selectionSet) > MAX_ROOT_FIELDS) report(`query: at most ${MAX_ROOT_FIELDS} fields at the top`);
      else if (counter(true)(selectionSet) > MAX_FIELDS) report(`query: at most ${MAX_FIELDS} fields`);
    },
  };
}

export const limitsPlugin: GraphileConfig.Plugin = {
  name: 'LimitsPlugin',
  version: '1.0.0',
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
        if (typeof body.query === 'string') checkLength(body.query);
        return next();
      },
    },
  },
};

/** What Grafast says of a request is meant for whoever sent it: a cursor of another list, too much to plan. */
export function fromGrafast(cause: unknown): unknown {
  if (!(cause instanceof Error) || !isSafeError(cause)) return cause;
  return /took too long|timeout/i.test(cause.message)
    ? new KnownError('L9LIM', 'the request took too long and was cancelled', null, 'Ask for less.')
    : new KnownError('L9VAL', cause.message);
}
