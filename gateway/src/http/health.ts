import type { Express, Request } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import { version } from '../base/version.ts';
import type { Database } from '../database/index.ts';
import type { Models } from '../embeddings/models.ts';
import type { Metrics } from '../metrics/index.ts';
import { type Checks, isReady } from './readiness.ts';

interface HealthOptions {
  authentication: Pick<Authentication, 'asMonitor'>;
  /** Tells this server apart from another on the same port. */
  instance: string;
  database: Database;
  models: Pick<Models, 'servingModel' | 'servingRuntime'>;
  checkReadiness(): Promise<Checks>;
  /** How the schema of GraphQL is. */
  graphqlState(): string;
  /** Whether the gateway is about to close, so that it should get no new requests. */
  isStopping: () => boolean;
  /** What the start found that somebody should look at. */
  warnings: readonly string[];
}

/**
 * GET /health (the process) and GET /ready (database, migrations, disk, embedder, replicas). Anyone may ask whether it is well; versions, the
 * pid and the model are for METRICS_KEY and the keys of admins.
 */
export function mountHealth(
  app: Express,
  { authentication, instance, database, models, checkReadiness, graphqlState, isStopping, warnings }: HealthOptions,
): void {
  const isMonitor = (request: Request) =>
    authentication.asMonitor(request).then(
      () => true,
      () => false,
    );

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
    const checks = await checkReadiness();
    const isWhole = checks.embedder === 'ok' && (checks.replicas ?? 'ok') === 'ok' && graphqlState() !== 'unavailable';
    response.status(isReady(checks) ? 200 : 503).json({
      status: isReady(checks) ? (isWhole ? 'ready' : 'degraded') : 'unavailable',
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
