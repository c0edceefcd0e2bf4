// The PostGraphile preset: the schema that the roles of l9_gateway see, and how requests reach the database.
import './environment.ts';
import type { Logger } from 'pino';
import { makePgService } from 'postgraphile/adaptors/pg';
import { GraphQLError } from 'postgraphile/graphql';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { type Identity, toSettings } from '../auth/identity.ts';
import type { Database } from '../database/index.ts';
import { errorExtensions, KnownError, toPublicError } from '../errors.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { editorPlugin } from './editor/plugin.ts';
import { createWithPgClient } from './pg-adaptor.ts';
import { auditPlugin } from './plugins/audit.ts';
import { filtersPreset } from './plugins/filters.ts';
import { hiddenFunctionsPlugin } from './plugins/hidden-functions.ts';
import { fromGrafast, limitsPlugin } from './plugins/limits.ts';
import { namesPlugin } from './plugins/names.ts';
import { operationsPlugin } from './plugins/operations.ts';
import { tagsPlugin } from './plugins/tags.ts';
import { typeCodecsPlugin } from './plugins/type-codecs.ts';
import { viewsPlugin } from './plugins/views.ts';

export interface PresetOptions {
  database: Database;
  execute: ExecuteOperation;
  logger: Logger;
  /** Ruru, the GraphQL editor, at `/`. */
  graphiql: boolean;
}

// A memory of 1 MiB, escaped.
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

export function createPreset({ database, execute, logger, graphiql }: PresetOptions): GraphileConfig.Preset {
  // Operations write their own audit rows, also when they fail.
  const audited = new WeakMap<Identity, Set<string>>();
  const onRefused = (identity: Identity, { message }: GraphQLError) =>
    audited.set(identity, (audited.get(identity) ?? new Set()).add(message));
  const pgService = {
    ...makePgService({ pool: database.pool, schemas: ['public'], pubsub: false }),
    adaptor: { createWithPgClient: () => createWithPgClient(database.pool), makePgService },
  } as unknown as GraphileConfig.PgServiceConfiguration;

  return {
    extends: [PostGraphileAmberPreset, filtersPreset],
    plugins: [
      limitsPlugin,
      tagsPlugin,
      hiddenFunctionsPlugin,
      namesPlugin,
      typeCodecsPlugin,
      operationsPlugin(execute, onRefused),
      viewsPlugin,
      auditPlugin({ database, logger, audited }),
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
      maxRequestLength: MAX_REQUEST_BYTES,
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
      context: (requestContext) => {
        const identity = requestContext.expressv4?.res.locals.identity as Identity | undefined;
        // Without an identity PostGraphile would run as l9_gateway, which has no rights; this error says why.
        if (!identity) throw new KnownError('L9AUT', 'this request has no identity');
        return { identity, pgSettings: toSettings(identity, 'graphql') };
      },
    },
  };
}
