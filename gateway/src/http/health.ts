import type { Express, Request } from 'express';
import type { Logger } from 'pino';
import type { Authentication } from '../auth/authentication.ts';
import { version } from '../base/version.ts';
import { type Database, inOneTrip } from '../database/index.ts';
import { pendingMigrations } from '../database/migrations.ts';
import { monitored } from '../database/monitored.ts';
import type { Models } from '../embeddings/models.ts';
import type { Metrics } from '../metrics/index.ts';

const CANARY_EVERY_MS = 2_000;
// An agent without a tenant sees nothing, but goes the way of all agents. The queue counts it as a client of its own.
const CANARY = { role: 'l9_agent', 'jwt.claims.caller': 'ready', statement_timeout: '2s', synchronous_commit: 'off' };

interface HealthOptions {
  authentication: Pick<Authentication, 'asMonitor'>;
  /** Tells this server apart from another on the same port. */
  instance: string;
  database: Database;
  models: Pick<Models, 'servingModel' | 'servingRuntime'>;
  isEmbedderReady(): Promise<boolean>;
  /** How the schema of GraphQL is. */
  graphqlState(): string;
  logger: Logger;
  /** Whether the gateway is about to close, so that it should get no new requests. */
  isStopping: () => boolean;
  /** What the start found that somebody should look at. */
  warnings: readonly string[];
}

/**
 * GET /health (the process) and GET /ready (database, migrations, disk, embedder). Anyone may ask whether it is well; versions, the
 * pid and the model are for METRICS_KEY and the keys of admins.
 */
export function mountHealth(
  app: Express,
  {
    authentication,
    instance,
    database,
    models,
    isEmbedderReady,
    graphqlState,
    logger,
    isStopping,
    warnings,
  }: HealthOptions,
): void {
  const isMonitor = (request: Request) =>
    authentication.asMonitor(request).then(
      () => true,
      () => false,
    );

  const asked = monitored(database, logger);
  const pendingNow = asked.shared(() => pendingMigrations(asked));
  // As callers read: in their queue, with a role and claims. It costs one short transaction, however often it is polled.
  let read: { at: number; answer: Promise<boolean | null> } | null = null;
  const callersRead = asked.shared(async () => {
    await inOneTrip(database.pool, CANARY, 'read', (client) => client.query('select from public.packet_store limit 1'));
    return true;
  });
  const canCallersRead = () => {
    if (!read || Date.now() - read.at > CANARY_EVERY_MS) read = { at: Date.now(), answer: callersRead() };
    return read.answer;
  };

  const details = () => {
    const runtime = models.servingRuntime();
    const running = runtime ? { embedding_runtime: runtime } : {};
    return { engine: database.engine, embedding_model: models.servingModel(), ...running };
  };

  app.get('/health', async (request, response) => {
    const processDetails = { version, pid: process.pid, uptime_seconds: Math.round(process.uptime()) };
    response.json({ status: 'ok', instance, ...((await isMonitor(request)) ? processDetails : {}) });
  });

  app.get('/ready', async (request, response) => {
    if (isStopping()) {
      response.status(503).json({ status: 'stopping' });
      return;
    }
    const [pending, isReadable, isEmbedding] = await Promise.all([
      // An engine that was well when it was ended starts again with the next call, for which this must not count.
      database.isResting() ? [] : pendingNow(),
      database.isResting() ? true : canCallersRead(),
      isEmbedderReady(),
    ]);
    const checks = {
      database: pending !== null ? 'ok' : 'unavailable',
      migrations: pending === null ? 'unknown' : pending.length === 0 ? 'ok' : 'pending',
      // Callers wait for connections that jobs and migrations do not need.
      reads: isReadable ? 'ok' : 'unavailable',
      // On a full disk saves are refused, so the gateway is not ready.
      disk: database.disk.state() === 'ok' ? 'ok' : 'full',
      // Without an embedder saves still work and searches use words, so the gateway is ready.
      embedder: isEmbedding ? 'ok' : 'unavailable',
    };
    const isReady =
      checks.database === 'ok' && checks.migrations === 'ok' && checks.reads === 'ok' && checks.disk === 'ok';
    const isWhole = isEmbedding && graphqlState() !== 'unavailable';
    response.status(isReady ? 200 : 503).json({
      status: isReady ? (isWhole ? 'ready' : 'degraded') : 'unavailable',
      ...checks,
      // Named only while requests to GraphQL have to wait for its schema, or get an error: MCP does without it.
      ...(['building', 'unavailable'].includes(graphqlState()) ? { graphql: graphqlState() } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
      ...((await isMonitor(request)) ? details() : {}),
    });
  });
}

/** GET /metrics, on a port of its own for everyone who can reach it. */
export function mountMetrics(app: Express, metrics: Metrics, authentication?: Pick<Authentication, 'asMonitor'>): void {
  app.get('/metrics', async (request, response) => {
    await authentication?.asMonitor(request);
    response.type(metrics.contentType).send(await metrics.render());
  });
}
