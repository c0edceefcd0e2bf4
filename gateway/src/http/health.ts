import type { Express } from 'express';
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { pendingMigrations } from '../database/migrations.ts';
import type { Models } from '../embeddings/models.ts';
import { sqlstateOf } from '../errors.ts';
import type { Metrics } from '../metrics/index.ts';
import { version } from '../version.ts';

const EMBEDDER_ASKED_EVERY_MS = 15_000;

interface HealthOptions {
  database: Database;
  models: Models;
  metrics: Metrics;
  logger: Logger;
}

/** GET /health (the process), GET /ready (database, migrations, embedder), GET /metrics. They contain no data of memories. */
export function mountHealth(app: Express, { database, models, metrics, logger }: HealthOptions): void {
  let embedderAsked = { at: 0, isReady: false, model: '' };

  const isEmbedderReady = async () => {
    const model = models.servingModel();
    if (
      Date.now() - embedderAsked.at > EMBEDDER_ASKED_EVERY_MS ||
      !embedderAsked.isReady ||
      embedderAsked.model !== model
    ) {
      // The check bypasses the cache, so that it reaches the provider.
      const isReady = await models.isReady();
      embedderAsked = { at: Date.now(), isReady, model };
    }
    return embedderAsked.isReady;
  };

  app.get('/health', (_request, response) => {
    response.json({ status: 'ok', version, pid: process.pid, uptime_seconds: Math.round(process.uptime()) });
  });

  app.get('/ready', async (_request, response) => {
    const [pending, isEmbedding] = await Promise.all([
      pendingMigrations(database.workerPool).catch((error: unknown) => {
        logger.warn({ code: sqlstateOf(error) }, 'the database does not answer');
        return null;
      }),
      isEmbedderReady(),
    ]);
    const checks = {
      database: pending !== null ? 'ok' : 'unavailable',
      migrations: pending === null ? 'unknown' : pending.length === 0 ? 'ok' : 'pending',
      // Without an embedder saves still work and searches use words, so the gateway is ready.
      embedder: isEmbedding ? 'ok' : 'unavailable',
    };
    const isReady = checks.database === 'ok' && checks.migrations === 'ok';
    response.status(isReady ? 200 : 503).json({
      status: isReady ? (isEmbedding ? 'ready' : 'degraded') : 'unavailable',
      engine: database.engine,
      embedding_model: models.servingModel(),
      ...checks,
    });
  });

  app.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.render());
  });
}
