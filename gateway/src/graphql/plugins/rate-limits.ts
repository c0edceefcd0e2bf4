// Counts the fields at the top of a request, and those in `admin`: each is a call of its own.
import type { Request } from 'express';
import type { Logger } from 'pino';
import { type ExecutionArgs, GraphQLError, OperationTypeNode } from 'postgraphile/graphql';
import type { Denials } from '../../audit/denials.ts';
import type { Identity } from '../../auth/identity.ts';
import type { CallKind, RateLimits } from '../../auth/rate-limits.ts';
import { addressOf } from '../../auth/request.ts';
import { errorExtensions, KnownError, SQLSTATE, toPublicError } from '../../base/errors.ts';
import type { Edit } from './answers.ts';
import { askedIn, countCalls } from './selections.ts';

export interface RateLimitsPluginOptions {
  rateLimits: Pick<RateLimits, 'countCalls'>;
  denials: Denials;
  logger: Logger;
}

export function createRateLimits({ rateLimits, denials, logger }: RateLimitsPluginOptions): {
  plugin: GraphileConfig.Plugin;
  countInvalid: Edit;
} {
  const counted = new WeakSet<Request>();

  /** The error of a request beyond its limit, or null. */
  async function count(request: Request, identity: Identity, kind: CallKind, calls: number) {
    counted.add(request);
    try {
      await rateLimits.countCalls(identity, kind, calls);
      return null;
    } catch (cause) {
      const error = toPublicError(cause, logger);
      if (cause instanceof KnownError && cause.sqlstate === SQLSTATE.rateLimited) {
        const { sqlstate, message, claimed } = cause;
        denials.record({ sqlstate, api: 'graphql', reason: message, address: addressOf(request), claimed });
      }
      return new GraphQLError(error.message, { extensions: errorExtensions(error) });
    }
  }

  const callsOf = (args: ExecutionArgs): { kind: CallKind; calls: number } => {
    const asked = askedIn(args);
    if (!asked) return { kind: 'reads', calls: 1 };
    const { operation, fragments } = asked;
    return {
      kind: operation.operation === OperationTypeNode.MUTATION ? 'writes' : 'reads',
      calls: countCalls(operation.selectionSet, (name) => fragments.get(name)),
    };
  };

  return {
    plugin: {
      name: 'RateLimitsPlugin',
      version: '1.0.0',
      grafast: {
        middleware: {
          async execute(next, { args }) {
            const { req: request, res: response } = args.requestContext?.expressv4 ?? {};
            if (!request || !response) return next();
            const { kind, calls } = callsOf(args);
            const error = await count(request, response.locals.identity, kind, calls);
            return error ? { errors: [error] } : next();
          },
        },
      },
    },
    /** A document that is not valid, or exceeds the limits of one request, counts too. */
    async countInvalid(answer, { request, identity }) {
      const error = counted.has(request) ? null : await count(request, identity, 'reads', 1);
      return error ? { ...answer, json: { errors: [error.toJSON()] } } : answer;
    },
  };
}
