import './environment.ts';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Express, type NextFunction, type Request, type Response, Router } from 'express';
import { grafserv } from 'postgraphile/grafserv/express/v4';
import type { Authentication } from '../auth/authentication.ts';
import { sqlstateOf } from '../base/errors.ts';
import { jsonBody } from '../http/json-body.ts';
import { camelCase } from '../operations/graphql-types.ts';
import { operations } from '../operations/index.ts';
import { readCatalogue } from './introspection.ts';
import { createPreset, type PresetOptions } from './preset.ts';
import type { BuildSchema } from './schema.ts';

export interface GraphqlOptions extends PresetOptions {
  authentication: Pick<Authentication, 'identify'>;
  buildSchema: BuildSchema;
}

const LARGE_FIELDS = operations
  .filter(({ takesLargeInput }) => takesLargeInput)
  .map(({ name }) => new RegExp(`\\b${camelCase(name)}\\b`));

/** Whether a request calls an operation that takes more than others. */
const takesLargeInput = (body: { query?: unknown }) => {
  const { query } = body;
  return typeof query === 'string' && LARGE_FIELDS.some((field) => field.test(query));
};

// A client that waits for /ready asks again within this time, and an editor makes its first calls.
const BUILD_AFTER_MS = 1_000;

export type SchemaState = 'on demand' | 'building' | 'ok' | 'unavailable';

/** The GraphQL API on HTTP. */
export function createGraphql({ authentication, buildSchema, ...options }: GraphqlOptions) {
  let instance: ReturnType<typeof grafserv> | undefined;
  let serving: Promise<Router> | undefined;
  let state: SchemaState = 'on demand';
  let isClosed = false;
  const serve = async (server: Server) => {
    state = 'building';
    try {
      const schema = await buildSchema(await readCatalogue(options.database));
      instance = grafserv({ schema, preset: createPreset(options) });
      const router = Router();
      // Grafserv only calls use() on it, which a router has, too.
      await instance.addTo(router as Express, server);
      state = 'ok';
      return router;
    } catch (error) {
      state = 'unavailable';
      // The next request tries again: the database may be back then.
      serving = undefined;
      throw error;
    }
  };

  const authenticate = async (request: Request, response: Response, next: NextFunction) => {
    response.locals.identity = await authentication.identify(request, 'token');
    next();
  };

  /** Clients that prefer GET, or hashes of documents, learn that they have to send the document by POST. */
  const onlyDocuments = ({ method, query, body }: Request, response: Response, next: NextFunction) => {
    const { query: document, extensions }: Record<string, unknown> = method === 'POST' ? (body ?? {}) : query;
    const isHash = !document && JSON.stringify(extensions ?? '').includes('persistedQuery');
    if (method !== 'POST') response.set('Allow', 'POST').status(405);
    else if (!isHash) return next();
    const error = isHash
      ? { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }
      : { message: 'method: only POST is answered', extensions: { code: 'INVALID_INPUT', sqlstate: 'L9VAL' } };
    response.json({ errors: [error] });
  };

  return {
    /** How the schema is. A request waits for it while it is being built, and builds another if there is none. */
    state: () => state,
    /** Builds the schema once `others` is settled, unless a request comes first: it occupies the process for seconds. */
    async buildAfter(others: Promise<unknown>, server: Server) {
      state = 'building';
      await others.catch(() => {});
      await sleep(BUILD_AFTER_MS, null, { ref: false });
      if (isClosed) return;
      serving ??= serve(server);
      await serving.catch((error: Error) => {
        if (isClosed) return;
        const { message: reason } = error;
        options.logger.error({ code: sqlstateOf(error), reason }, 'could not build the GraphQL schema');
      });
    },
    /** Builds the schema at the first request, unless `buildAfter` was called before. */
    mount(app: Express, server: Server) {
      app.use('/graphql', authenticate, jsonBody(takesLargeInput), onlyDocuments);
      app.use(async (request, response, next) => {
        serving ??= serve(server);
        (await serving)(request, response, next);
      });
    },
    async close() {
      isClosed = true;
      // It reads the database, which is closed next.
      await serving?.catch(() => {});
      await instance?.release();
    },
  };
}
