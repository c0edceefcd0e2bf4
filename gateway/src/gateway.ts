// Puts the server together: services, then the HTTP routes that use them.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import type { Logger } from 'pino';
import type { Denials } from './audit/denials.ts';
import { createRefuse } from './audit/refusals.ts';
import { keyVerifier } from './auth/api-keys.ts';
import { createAuthentication } from './auth/authentication.ts';
import { clientNamer } from './auth/clients.ts';
import { tokenVerifier } from './auth/jwt.ts';
import { logRequests } from './base/logger.ts';
import type { Config } from './config/config.ts';
import { signInLink } from './console/link.ts';
import { hasConsole, mountConsole } from './console/mount.ts';
import type { Database } from './database/index.ts';
import type { Embedder } from './embeddings/index.ts';
import { embedderReadiness } from './embeddings/readiness.ts';
import { type BuildSchema, buildSchema } from './graphql/schema.ts';
import { createGraphql } from './graphql/serve.ts';
import { examineHome } from './home/examine.ts';
import { mountArchives } from './http/archives.ts';
import { mountAttach } from './http/attach.ts';
import { liveCredentials } from './http/credentials.ts';
import { mountErrors } from './http/errors.ts';
import { mountGuard } from './http/guard.ts';
import { mountHealth, mountMetrics } from './http/health.ts';
import { countInFlight } from './http/in-flight.ts';
import { endJsonWithLineFeed } from './http/line-feed.ts';
import { logRefusals } from './http/log-refusals.ts';
import { protectedResource } from './http/protected-resource.ts';
import { createReadiness, isWell } from './http/readiness.ts';
import { readYourWrites } from './http/replicas.ts';
import { traceRequests } from './http/trace-requests.ts';
import { mountMcp } from './mcp/http.ts';
import { openGatewayHealth } from './metrics/gateway-health.ts';
import type { Metrics } from './metrics/index.ts';
import { closeStack } from './server/close-stack.ts';
import { type HttpServer, httpServer, type ListenOptions } from './server/http-server.ts';
import { mountIdle } from './server/idle.ts';
import { openServices, type ServicesOptions } from './server/services.ts';
import { requireRoomToStart } from './server/template.ts';

const LOOPBACK = '127.0.0.1';
// Anyone may read this on /ready, so it names no path.
const DATA_GONE =
  'the folder data was empty, beside credentials of an earlier start, so a new and empty database was made: if there was another one, stop the server and put it back';

export interface Gateway {
  url: string;
  /** A random id, by which a client knows that the server of a port is this one. */
  id: string;
  database: Database;
  /** The embedder of the serving model, or the configured one if no provider has the serving model. */
  readonly embedder: Embedder;
  servingModel(): string;
  /** Reads credentials.json again, to rotate keys without a restart. */
  reloadCredentials(): void;
  /** The address of the console; null where there is none. */
  consoleUrl: string | null;
  /** A new link that signs in the person at this machine; null where there is no console, or tokens come from elsewhere. */
  consoleLink(): string | null;
  close(): Promise<void>;
}

export interface Listening {
  http: HttpServer;
  url: string;
}

export interface GatewayOptions extends ServicesOptions, Pick<ListenOptions, 'anyPort'> {
  /** Called when no client has been attached for a while. */
  onIdle?: () => void;
  /** A server that listens already, and its URL. Without it, another one is made that listens from the start on. */
  listening?: Listening;
  /** Build the GraphQL schema at the first request, not as soon as the gateway listens. */
  buildsSchemaOnDemand?: boolean;
  /** Builds the GraphQL schema, or returns one that other gateways of this process share. */
  buildSchema?: BuildSchema;
}

async function listen(options: ListenOptions): Promise<Listening> {
  const http = httpServer();
  return { http, url: await http.listen(options) };
}

/** The caller holds the lock of the home folder. */
export async function startGateway(config: Config, logger: Logger, options: GatewayOptions = {}): Promise<Gateway> {
  const closing = closeStack();
  let isStopping = false;
  const { onIdle, anyPort, buildsSchemaOnDemand, signal } = options;
  let listening = options.listening ?? null;
  try {
    const home = examineHome(config);
    if (!config.databaseUrl) requireRoomToStart(config);
    listening ??= await listen({ ...config, anyPort });
    const { http, url } = listening;
    const services = await openServices(config, home, logger, closing, options);
    const warnings = home.isDataGone ? [DATA_GONE] : [];
    for (const warning of warnings) logger.warn({ home: config.home }, warning);
    const credentials = liveCredentials(config, logger);
    const { database, jobs, models, directory, denials, refusals, refusalLog, metrics, rateLimits, execute } = services;
    const { configured, reload, rest, tracer } = services;
    const authentication = createAuthentication({
      verifyKey: keyVerifier(() => credentials.current().mcpApiKeys, directory),
      verifyToken: tokenVerifier(config, credentials.current, directory),
      rateLimits,
      metricsKey: config.metrics.key,
      nameClient: clientNamer(database, directory),
    });
    const id = randomUUID();

    const app = express().disable('x-powered-by').set('trust proxy', config.trustedProxies);
    app.use(logRequests(logger), logRefusals(refusalLog), endJsonWithLineFeed);
    mountGuard(app, config);
    if (database.replicas) app.use(readYourWrites);
    app.use(countInFlight(metrics.startRequest), traceRequests(tracer));
    closing.add(mountIdle(app, { idleMs: config.idleMs, rest, wake: () => database.wake?.() }));
    const isStopped = () => isStopping;
    const isEmbedderReady = embedderReadiness(models);
    const checkReadiness = createReadiness(database, isEmbedderReady, logger);
    metrics.watchReadiness(checkReadiness, isWell);
    mountHealth(app, {
      ...{ authentication, instance: id, database, models, checkReadiness, isStopping: isStopped, warnings },
      graphqlState: () => graphql.state(),
    });
    mountMetrics(app, metrics, authentication);
    const attachments = closing.add(
      mountAttach(app, {
        ...{ authentication, rateLimits, graceMs: config.lingerMs },
        onDirectoryRead: directory.onRead,
        ...(onIdle ? { onIdle } : {}),
      }),
    );
    const refuse = createRefuse(refusals, logger, refusalLog);
    mountMcp(app, { execute, refuse, authentication, rateLimits });
    mountArchives(app, { execute, authentication, rateLimits });
    const health = closing.add(
      openGatewayHealth({
        ...{ database, recent: metrics.recent, servingModel: models.servingModel, isEmbedderReady },
        ...{ slowQueryMs: config.slowQueryMs, warnings, logger },
      }),
    );
    const oauth = protectedResource(config.jwt);
    const graphql = closing.add(
      createGraphql({
        database,
        execute,
        authentication,
        rateLimits,
        denials,
        refusals,
        health,
        reload,
        oauth,
        logger,
        buildSchema: options.buildSchema ?? buildSchema,
        graphiql: !config.isProduction,
      }),
    );
    if (hasConsole(config)) mountConsole(app, { config, instance: id, keys: credentials.current, rateLimits });
    graphql.mount(app, http.server);
    oauth?.mount(app);
    mountErrors(app, logger, denials, oauth);

    signal?.throwIfAborted();
    http.serve(app);
    closing.add(http);
    listening = null;
    // It takes a third of the start, and MCP does without it, so /ready, which waits for the model, is answered first.
    if (!buildsSchemaOnDemand) void graphql.buildAfter(isEmbedderReady(), http.server);
    if (config.metrics.port !== null) closing.add(await serveMetrics(config.metrics.port, metrics, logger, denials));
    // Attached clients hold a request open, so they are released before the server waits for its requests.
    closing.add(attachments);
    const { servingModel } = models;
    return {
      url,
      id,
      database,
      get embedder() {
        return models.serving() ?? configured;
      },
      servingModel,
      reloadCredentials: credentials.reload,
      consoleUrl: hasConsole(config) ? `${url}/console` : null,
      consoleLink: () =>
        hasConsole(config) && !config.jwt.jwksUrl ? signInLink(url, id, credentials.current()) : null,
      async close() {
        isStopping = true;
        // Its errors come with those of all that is closed.
        void jobs.close().catch(() => {});
        // A load balancer learns from /ready that it should send no more.
        if (config.drainMs > 0) await sleep(config.drainMs);
        await closing.close();
      },
    };
  } catch (error) {
    // Nothing can be under way yet.
    await listening?.http.close().catch(() => {});
    await closing.close().catch(() => {});
    throw error;
  }
}

/** GET /metrics without a key, on a port that only this machine reaches. */
async function serveMetrics(port: number, metrics: Metrics, logger: Logger, denials: Denials) {
  const app = express().disable('x-powered-by').use(logRequests(logger));
  mountGuard(app, { host: LOOPBACK, allowedHosts: [] });
  mountMetrics(app, metrics);
  mountErrors(app, logger, denials, null);
  const http = httpServer();
  http.serve(app);
  await http.listen({ host: LOOPBACK, port });
  return http;
}
