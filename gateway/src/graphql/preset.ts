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
import type { Database } from '../database/index.ts';
import { errorExtensions, KnownError, toPublicError } from '../errors.ts';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { editorPlugin } from './editor/plugin.ts';
import { createWithPgClient, IS_MUTATION, type Reload } from './pg-adaptor.ts';
import { adminPreset } from './plugins/admin.ts';
import { auditPlugin } from './plugins/audit.ts';
import { createErrorFieldsPlugin } from './plugins/error-fields.ts';
import { filtersPreset } from './plugins/filters.ts';
import { hiddenFunctionsPlugin } from './plugins/hidden-functions.ts';
import { createInferredPlugin } from './plugins/inferred.ts';
import { inputsPlugin } from './plugins/inputs.ts';
import { kindViewsPlugin } from './plugins/kind-views.ts';
import { fromGrafast, limitsPlugin } from './plugins/limits.ts';
import { namesPlugin } from './plugins/names.ts';
import { nullOrderPlugin } from './plugins/null-order.ts';
import { operationRowsPlugin } from './plugins/operation-rows.ts';
import { operationsPlugin } from './plugins/operations.ts';
import { pagesPlugin } from './plugins/pages.ts';
import { rateLimitsPlugin } from './plugins/rate-limits.ts';
import { surfacePreset } from './plugins/surface.ts';
import { tagsPlugin } from './plugins/tags.ts';
import { typeCodecsPlugin } from './plugins/type-codecs.ts';
import { valuesPlugin } from './plugins/values.ts';
import { viewsPlugin } from './plugins/views.ts';
import { wherePlugin } from './plugins/where.ts';

export interface PresetOptions {
  database: Database;
  execute: ExecuteOperation;
  rateLimits: Pick<RateLimits, 'countCalls'>;
  denials: Denials;
  refusals: Pick<Refusals, 'record'>;
  reload: Reload;
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
  reload,
  logger,
  graphiql,
}: PresetOptions): GraphileConfig.Preset {
  // Operations write their own audit rows, also when they fail.
  const audited = new WeakMap<Identity, Set<string>>();
  const onRefused = (identity: Identity, { message }: GraphQLError) =>
    audited.set(identity, (audited.get(identity) ?? new Set()).add(message));
  const inferred = createInferredPlugin();
  const pgService = {
    ...makePgService({ pool: database.pool, schemas: ['public'], pubsub: false }),
    adaptor: { createWithPgClient: () => createWithPgClient(database.pool, reload), makePgService },
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
      ...adminPreset.plugins!,
      inferred.plugin,
      // Outside the audit plugin: the audit log names fields as SQL does, whatever the API.
      createErrorFieldsPlugin(),
      auditPlugin({ database, refusals, logger, audited }),
      // Inside the audit plugin, which gives its refusals their HTTP status.
      rateLimitsPlugin({ rateLimits, denials, logger }),
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
        const identity = requestContext.expressv4?.res.locals.identity as Identity | undefined;
        // Without an identity PostGraphile would run as l9_gateway, which has no rights; this error says why.
        if (!identity) throw new KnownError('L9AUT', 'this request has no identity');
        const isMutation = getOperationAST(document, operationName)?.operation === 'mutation';
        const settings = toSettings(identity, 'graphql');
        return { identity, pgSettings: isMutation ? { ...settings, [IS_MUTATION]: 'true' } : settings };
      },
    },
  };
}
