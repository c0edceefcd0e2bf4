import './environment.ts';
import type { Server } from 'node:http';
import { type Express, type NextFunction, type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/express/v4';
import { GraphQLError } from 'postgraphile/graphql';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { type Identity, toSettings } from '../auth/identity.ts';
import type { TokenVerifier } from '../auth/jwt.ts';
import { bearerToken } from '../auth/request.ts';
import type { Database } from '../database/index.ts';
import { errorExtensions, KnownError, toPublicError } from '../errors.ts';
import type { Perform } from '../operations/execute.ts';
import { editorPlugin } from './editor/plugin.ts';
import { createWithPgClient } from './pg-adaptor.ts';
import { auditPlugin } from './plugins/audit.ts';
import { fromGrafast, limitsPlugin } from './plugins/limits.ts';
import { namesPlugin } from './plugins/names.ts';
import { operationsPlugin } from './plugins/operations.ts';
import { reflectionPlugin } from './plugins/reflection.ts';
import { createRunOperation } from './plugins/run-operation.ts';
import { tagsPlugin } from './plugins/tags.ts';
import { typeCodecsPlugin } from './plugins/type-codecs.ts';
import { viewsPlugin } from './plugins/views.ts';

export interface GraphqlOptions {
  database: Database;
  perform: Perform;
  verifyToken: TokenVerifier;
  logger: Logger;
  /** Ruru, the GraphQL editor, at `/`. */
  graphiql: boolean;
}

// A memory of 1 MiB, escaped.
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

/** The GraphQL schema as the roles of l9_gateway see it, and its HTTP door. */
export function createGraphql({ database, perform, verifyToken, logger, graphiql }: GraphqlOptions) {
  // Operations leave their audit row themselves, also when they are refused.
  const recorded = new WeakMap<Identity, Set<string>>();
  const run = createRunOperation(perform, (identity, { message }) =>
    recorded.set(identity, (recorded.get(identity) ?? new Set()).add(message)),
  );
  const pgService = {
    ...makePgService({ pool: database.pool, schemas: ['public'], pubsub: false }),
    adaptor: { createWithPgClient: () => createWithPgClient(database.pool), makePgService },
  } as unknown as GraphileConfig.PgServiceConfiguration;
  const preset: GraphileConfig.Preset = {
    extends: [PostGraphileAmberPreset],
    plugins: [
      limitsPlugin,
      tagsPlugin,
      namesPlugin,
      typeCodecsPlugin,
      operationsPlugin(run),
      reflectionPlugin(run),
      viewsPlugin,
      auditPlugin({ database, logger, recorded }),
      editorPlugin,
    ],
    // Writes go through the operations: one way to do one thing.
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
        // Without an identity PostGraphile would run as l9_gateway, which may do nothing. Better to say why.
        if (!identity) throw new KnownError('L9AUT', 'this request has no identity');
        return { identity, pgSettings: toSettings(identity, 'graphql') };
      },
    },
  };
  let instance: ReturnType<typeof postgraphile> | undefined;
  // It reads the catalogue and builds the schema at once.
  const open = () => {
    instance ??= postgraphile(preset);
    return instance;
  };
  let serving: Promise<Router> | undefined;
  const serve = async (server: Server) => {
    const router = Router();
    await open()
      .createServ(grafserv)
      .addTo(router as Express, server);
    return router;
  };

  const authenticate = async (request: Request, response: Response, next: NextFunction) => {
    const token = bearerToken(request.headers);
    if (!token) throw new KnownError('L9AUT', 'a token is required: Authorization: Bearer <JWT>');
    response.locals.identity = await verifyToken(token);
    next();
  };

  return {
    schema: () => open().getSchema(),
    /** The schema is built at the first request, where `schema` was not asked for before. */
    mount(app: Express, server: Server) {
      app.use('/graphql', authenticate);
      app.use(async (request, response, next) => {
        serving ??= serve(server);
        (await serving)(request, response, next);
      });
    },
    close: async () => await instance?.release(),
  };
}

export type Graphql = ReturnType<typeof createGraphql>;
