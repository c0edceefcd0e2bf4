import './environment.ts';
import type { Server } from 'node:http';
import { type Express, type NextFunction, type Request, type Response, Router } from 'express';
import { postgraphile } from 'postgraphile';
import { grafserv } from 'postgraphile/grafserv/express/v4';
import type { TokenVerifier } from '../auth/jwt.ts';
import { bearerToken } from '../auth/request.ts';
import { KnownError } from '../errors.ts';
import { createPreset, type PresetOptions } from './preset.ts';

export interface GraphqlOptions extends PresetOptions {
  verifyToken: TokenVerifier;
}

/** The GraphQL API on HTTP. */
export function createGraphql({ verifyToken, ...options }: GraphqlOptions) {
  let instance: ReturnType<typeof postgraphile> | undefined;
  // Reads the catalogue and builds the schema, once.
  const open = () => {
    instance ??= postgraphile(createPreset(options));
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
    /** Builds the schema at the first request, unless `schema` was called before. */
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
