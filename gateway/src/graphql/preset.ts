// The PostGraphile preset of a gateway: how requests reach its services and its database, and what is done to their answers.
import './environment.ts';
import type { Logger } from 'pino';
import { GraphQLError, getOperationAST } from 'postgraphile/graphql';
import type { Denials } from '../audit/denials.ts';
import type { Refusals } from '../audit/refusals.ts';
import { type Identity, toSettings } from '../auth/identity.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { errorExtensions, KnownError, toPublicError } from '../base/errors.ts';
import type { Database } from '../database/index.ts';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import type { ProtectedResource } from '../http/protected-resource.ts';
import type { AnsweringGateway } from './context.ts';
import { editorPlugin } from './editor/plugin.ts';
import { createWithPgClient, IS_MUTATION, pgServiceOf, type Reload } from './pg-adaptor.ts';
import { createAnswersPlugin } from './plugins/answers.ts';
import { createAudit } from './plugins/audit.ts';
import { namesArguments } from './plugins/error-fields.ts';
import { createInferred } from './plugins/inferred.ts';
import { fromGrafast } from './plugins/limits.ts';
import { addLsn } from './plugins/lsn.ts';
import { createRateLimits } from './plugins/rate-limits.ts';
import { finishErrors } from './plugins/values.ts';
import { schemaPreset } from './schema.ts';

export interface PresetOptions extends Pick<AnsweringGateway, 'execute' | 'health'> {
  database: Database;
  rateLimits: Pick<RateLimits, 'countCalls'>;
  denials: Denials;
  refusals: Pick<Refusals, 'record'>;
  reload: Reload;
  /** Null where clients are told no issuer. */
  oauth: Pick<ProtectedResource, 'metadataUrl'> | null;
  logger: Logger;
  /** Ruru, the GraphQL editor, at `/`. */
  graphiql: boolean;
}

export function createPreset({
  database,
  execute,
  rateLimits,
  denials,
  refusals,
  health,
  reload,
  oauth,
  logger,
  graphiql,
}: PresetOptions): GraphileConfig.Preset {
  // Operations write their own audit rows, also when they fail.
  const audited = new WeakMap<Identity, Set<string>>();
  const inferred = createInferred();
  const gateway: AnsweringGateway = {
    execute,
    health,
    onRefused: (identity, { message }) => audited.set(identity, (audited.get(identity) ?? new Set()).add(message)),
    onInferred: inferred.onInferred,
  };
  const audit = createAudit({ database, refusals, oauth, logger, audited });
  const limits = createRateLimits({ rateLimits, denials, logger });

  return {
    extends: [schemaPreset],
    plugins: [
      audit.plugin,
      limits.plugin,
      createAnswersPlugin([
        limits.countInvalid,
        // After the rate limits, whose refusals get their HTTP status here, and before errors name the arguments of the
        // request: the audit log names fields as SQL does, whatever the API.
        audit.recordAnswer,
        namesArguments(audit.askedOf),
        inferred.addInferred,
        addLsn,
        finishErrors,
      ]),
      editorPlugin,
    ],
    pgServices: [pgServiceOf(createWithPgClient(database, reload))],
    grafserv: {
      graphqlPath: '/graphql',
      graphiqlPath: '/',
      graphiql,
      graphiqlOnGraphQLGET: false,
      watch: false,
      maxRequestLength: MAX_BODY_BYTES,
      maskError: (error) => {
        const cause = fromGrafast(error.originalError ?? error);
        if (cause instanceof GraphQLError) return error;
        const shown = toPublicError(cause, logger);
        return new GraphQLError(shown.message, {
          nodes: error.nodes ?? null,
          source: error.source ?? null,
          positions: error.positions ?? null,
          path: error.path ?? null,
          extensions: errorExtensions(shown),
        });
      },
    },
    grafast: {
      timeouts: { planning: 1_000, execution: 30_000 },
      context: (requestContext, { document, operationName }) => {
        const identity: Identity | undefined = requestContext.expressv4?.res.locals.identity;
        // Without an identity PostGraphile would run as l9_gateway, which has no rights; this error says why.
        if (!identity) throw new KnownError('L9AUT', 'this request has no identity');
        const isMutation = getOperationAST(document, operationName)?.operation === 'mutation';
        const settings = toSettings(identity, 'graphql');
        return { identity, gateway, pgSettings: isMutation ? { ...settings, [IS_MUTATION]: 'true' } : settings };
      },
    },
  };
}
