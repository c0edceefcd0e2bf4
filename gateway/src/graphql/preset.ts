// The PostGraphile preset: the schema that the roles of l9_gateway see, and how requests reach the database.
import './environment.ts';
import type { Logger } from 'pino';
import { makePgService } from 'postgraphile/adaptors/pg';
import { GraphQLError, getOperationAST } from 'postgraphile/graphql';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import type { Denials } from '../audit/denials.ts';
import type { Refusals } from '../audit/refusals.ts';
import { type Identity, toSettings } from '../auth/identity.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { errorExtensions, KnownError, toPublicError } from '../base/errors.ts';
import type { Database } from '../database/index.ts';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import type { ProtectedResource } from '../http/protected-resource.ts';
import type { GatewayHealth } from '../metrics/gateway-health.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { editorPlugin } from './editor/plugin.ts';
import { createWithPgClient, IS_MUTATION, type Reload } from './pg-adaptor.ts';
import { adminPreset } from './plugins/admin.ts';
import { createAnswersPlugin } from './plugins/answers.ts';
import { createAudit } from './plugins/audit.ts';
import { namesArguments } from './plugins/error-fields.ts';
import { filtersPreset } from './plugins/filters.ts';
import { healthPlugin } from './plugins/health.ts';
import { hiddenFunctionsPlugin } from './plugins/hidden-functions.ts';
import { createInferred } from './plugins/inferred.ts';
import { inputsPlugin } from './plugins/inputs.ts';
import { kindViewsPlugin } from './plugins/kind-views.ts';
import { fromGrafast, limitsPlugin } from './plugins/limits.ts';
import { addLsn } from './plugins/lsn.ts';
import { namesPlugin } from './plugins/names.ts';
import { nullOrderPlugin } from './plugins/null-order.ts';
import { operationRowsPlugin } from './plugins/operation-rows.ts';
import { operationsPlugin } from './plugins/operations.ts';
import { pagesPlugin } from './plugins/pages.ts';
import { createRateLimits } from './plugins/rate-limits.ts';
import { surfacePreset } from './plugins/surface.ts';
import { tagsPlugin } from './plugins/tags.ts';
import { typeCodecsPlugin } from './plugins/type-codecs.ts';
import { finishErrors, valuesPlugin } from './plugins/values.ts';
import { viewsPlugin } from './plugins/views.ts';
import { wherePlugin } from './plugins/where.ts';

export interface PresetOptions {
  database: Database;
  execute: ExecuteOperation;
  rateLimits: Pick<RateLimits, 'countCalls'>;
  denials: Denials;
  refusals: Pick<Refusals, 'record'>;
  health: Pick<GatewayHealth, 'read'>;
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
  const onRefused = (identity: Identity, { message }: GraphQLError) =>
    audited.set(identity, (audited.get(identity) ?? new Set()).add(message));
  const inferred = createInferred();
  const audit = createAudit({ database, refusals, oauth, logger, audited });
  const limits = createRateLimits({ rateLimits, denials, logger });
  const pgService = {
    ...makePgService({ pool: database.pool, schemas: ['public'], pubsub: false }),
    adaptor: { createWithPgClient: () => createWithPgClient(database, reload), makePgService },
    // Only the adaptor that is replaced here has clients with the rawClient of its type.
  } as unknown as GraphileConfig.PgServiceConfiguration;

  return {
    extends: [PostGraphileAmberPreset, filtersPreset, surfacePreset],
    plugins: [
      limitsPlugin,
      inputsPlugin,
      valuesPlugin,
      pagesPlugin,
      tagsPlugin,
      kindViewsPlugin,
      hiddenFunctionsPlugin,
      namesPlugin,
      typeCodecsPlugin,
      nullOrderPlugin,
      wherePlugin,
      operationsPlugin(execute, { onRefused, onInferred: inferred.onInferred }),
      operationRowsPlugin,
      viewsPlugin,
      healthPlugin(health),
      ...adminPreset.plugins!,
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
    // Callers write through operations and SQL functions only.
    disablePlugins: ['PgMutationCreatePlugin', 'PgMutationUpdateDeletePlugin', 'SwallowErrorsPlugin'],
    pgServices: [pgService],
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
        return { identity, pgSettings: isMutation ? { ...settings, [IS_MUTATION]: 'true' } : settings };
      },
    },
  };
}
