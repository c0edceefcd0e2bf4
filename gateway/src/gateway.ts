// Puts the server together: services, then the HTTP routes that use them.
import express from 'express';
import type { Logger } from 'pino';
import { createRefuse } from './audit/refusals.ts';
import { keyVerifier } from './auth/api-keys.ts';
import { tokenVerifier } from './auth/jwt.ts';
import type { Config } from './config.ts';
import type { Database } from './database/index.ts';
import type { Embedder } from './embeddings/index.ts';
import { createGraphql } from './graphql/serve.ts';
import { mountAttach } from './http/attach.ts';
import { liveCredentials } from './http/credentials.ts';
import { mountErrors } from './http/errors.ts';
import { mountGuard } from './http/guard.ts';
import { mountHealth } from './http/health.ts';
import { logRequests } from './logger.ts';
import { mountMcp } from './mcp/http.ts';
import { closeStack } from './server/close-stack.ts';
import { httpServer, type ListenOptions } from './server/http-server.ts';
import { openServices, type ServicesOptions } from './server/services.ts';
import { version } from './version.ts';

export interface Gateway {
  url: string;
  database: Database;
  /** The embedder of the serving model, or the configured one if no provider has the serving model. */
  readonly embedder: Embedder;
  servingModel(): string;
  /** Reads credentials.json again, to rotate keys without a restart. */
  reloadCredentials(): void;
  close(): Promise<void>;
}

export interface GatewayOptions extends ServicesOptions, Pick<ListenOptions, 'anyPort'> {
  /** Called when no client has been attached for a while. */
  onIdle?: () => void;
  /** Build the GraphQL schema at the first request, not at the start. */
  buildsSchemaOnDemand?: boolean;
}

/** The caller holds the lock of the home folder. */
export async function startGateway(config: Config, logger: Logger, options: GatewayOptions = {}): Promise<Gateway> {
  const closing = closeStack();
  const { onIdle, anyPort, buildsSchemaOnDemand, signal, onProgress } = options;
  try {
    const credentials = liveCredentials(config, logger);
    const services = await openServices(config, logger, closing, options);
    const { database, models, directory, denials, metrics, execute, configured } = services;
    const verifyKey = keyVerifier(() => credentials.current().mcpApiKeys, directory);
    const verifyToken = tokenVerifier(config, credentials.current, directory);

    const app = express().disable('x-powered-by').use(logRequests(logger));
    const http = httpServer(app);
    mountGuard(app, config);
    mountHealth(app, { database, models, metrics, logger });
    const attachments = closing.add(mountAttach(app, { verifyKey, ...(onIdle ? { onIdle } : {}) }));
    mountMcp(app, { execute, refuse: createRefuse(database, logger), verifyKey, version });
    const graphql = closing.add(
      createGraphql({ database, execute, verifyToken, logger, graphiql: !config.isProduction }),
    );
    onProgress?.('building the GraphQL schema');
    if (!buildsSchemaOnDemand) await graphql.schema();
    graphql.mount(app, http.server);
    mountErrors(app, logger, denials);

    signal?.throwIfAborted();
    const url = await http.listen({ ...config, anyPort });
    closing.add(http);
    // Attached clients hold a request open, so they are released before the server waits for its requests.
    closing.add(attachments);
    const { servingModel } = models;
    return {
      url,
      database,
      get embedder() {
        return models.serving() ?? configured;
      },
      servingModel,
      reloadCredentials: credentials.reload,
      close: closing.close,
    };
  } catch (error) {
    await closing.close().catch(() => {});
    throw error;
  }
}
