import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import type { Logger } from 'pino';
import { createDenials } from './audit/denials.ts';
import { createRefuse } from './audit/refusals.ts';
import { keyVerifier } from './auth/api-keys.ts';
import { openDirectory } from './auth/directory.ts';
import { tokenVerifier } from './auth/jwt.ts';
import type { Config } from './config.ts';
import { type Database, openDatabase } from './database/index.ts';
import { createEmbedder, type Embedder, EmbeddingRejected } from './embeddings/index.ts';
import { openModels } from './embeddings/models.ts';
import { KnownError } from './errors.ts';
import { openaiChat } from './extraction/chat.ts';
import { chatJobs } from './extraction/jobs.ts';
import { createGraphql } from './graphql/serve.ts';
import { loadCredentials } from './home/credentials.ts';
import { mountAttach } from './http/attach.ts';
import { mountErrors } from './http/errors.ts';
import { mountGuard } from './http/guard.ts';
import { mountHealth } from './http/health.ts';
import { startJobs } from './jobs/index.ts';
import { logRequests } from './logger.ts';
import { mountMcp } from './mcp/http.ts';
import { createMetrics } from './metrics/index.ts';
import { createPerform, type Perform } from './operations/execute.ts';
import type { Embedding } from './operations/operation.ts';
import { version } from './version.ts';

// `docker stop` kills after ten seconds.
const CLOSE_WITHIN_MS = 8_000;
// Longer than a proxy or client keeps an idle connection, as a rule a minute: who closes first must not be we, or a
// request that is just on its way is lost.
const KEEP_ALIVE_MS = 65_000;
// Long enough for a provider that is well; longer, and memories are compared by their words.
const EMBED_CONTENT_WITHIN_MS = 1_000;
// Time to store what a chat model found before another job takes the same memory.
const LEASE_BEYOND_A_CALL_MS = 60_000;

export interface Gateway {
  url: string;
  database: Database;
  /** Of the model that serves; where we have no provider for that one, of the one that is configured. */
  readonly embedder: Embedder;
  /** The model that serves. */
  servingModel(): string;
  /** Reads credentials.json again, so that its keys rotate while we run; one that is no good changes nothing. */
  reloadCredentials(): void;
  close(): Promise<void>;
}

export interface GatewayOptions {
  /** Where given, called when nobody has been attached for a while. */
  onIdle?: () => void;
  /** Build the GraphQL schema when it is first asked for, not before the door opens. */
  buildsSchemaOnDemand?: boolean;
  /** Where the configured port is taken, another will do. */
  anyPort?: boolean;
  /** Called with what is being done, while the gateway starts. */
  onProgress?: (step: string) => void;
  /** Gives up starting. */
  signal?: AbortSignal;
  /** Stands in for the embedder of the configuration. */
  embedder?: Embedder;
}

/** Opens the database, starts the jobs and serves all doors. The caller holds the lock of the home folder. */
export async function startGateway(config: Config, logger: Logger, options: GatewayOptions = {}): Promise<Gateway> {
  let credentials = loadCredentials(config);
  const closers: (() => unknown)[] = [];
  const close = async () => {
    const failures: unknown[] = [];
    for (const closer of closers.splice(0).reverse()) {
      // One that fails must not keep the others from closing.
      await Promise.resolve()
        .then(closer)
        .catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  };
  const { signal, onProgress } = options;

  try {
    // The model loads while the database opens.
    onProgress?.('loading the embedding model');
    const configured = options.embedder ?? (await createEmbedder(config.embedding, logger));
    closers.push(() => configured.close());
    onProgress?.('opening the database');
    const database = await openDatabase(config, logger, () => onProgress?.('preparing the database'));
    closers.push(() => database.close());
    signal?.throwIfAborted();
    await database.workerPool.query('select embeddings.adopt_embedding_model($1, $2)', [
      configured.model,
      configured.dimensions,
    ]);
    if (database.engine === 'embedded') {
      // Alone on this database: whatever is claimed was claimed by a process that died.
      await database.workerPool.query(
        'select embeddings.release_embedding_leases(), extraction.release_extraction_leases()',
      );
    }

    const models = await openModels(database, config.embedding, configured, logger);
    closers.push(() => models.close());
    const directory = await openDirectory(database, logger);
    closers.push(() => directory.close());
    const denials = createDenials(database, logger);
    closers.push(() => denials.close());
    const metrics = createMetrics(database);
    const chatOptions = config.chat && {
      chat: openaiChat(config.chat, logger),
      leaseMs: config.chat.timeoutMs + LEASE_BEYOND_A_CALL_MS,
      onTokens: metrics.chatTokens,
      onExtracted: (outcome: string) => metrics.extractedMemories.inc({ outcome }),
    };
    const jobs = await startJobs(database, logger, {
      cleanupIntervalMs: config.cleanupIntervalMs,
      models,
      otherJobs: chatOptions ? chatJobs(chatOptions) : [],
      onEmbedded: (memories, vectors) => {
        metrics.embeddedMemories.inc(memories);
        metrics.embeddedVectors.inc(vectors);
      },
    });
    closers.push(() => jobs.close());
    signal?.throwIfAborted();

    const embedding: Embedding = {
      async query(text) {
        try {
          return await models.embedQuery(text);
        } catch (error) {
          // A provider that is down makes a hybrid search a lexical one, which says so.
          logger.warn({ name: (error as Error).name }, 'a query could not be embedded');
          if (error instanceof EmbeddingRejected)
            throw new KnownError('L9VAL', 'query: the embedder refuses it', 'query');
          return null;
        }
      },
      async content(text) {
        const embedder = models.serving();
        const vectors = embedder?.embed([text]).catch(() => null);
        const inTime = await Promise.race([vectors, sleep(EMBED_CONTENT_WITHIN_MS, null, { ref: false })]);
        return embedder && inTime ? { vector: inTime[0]!, model: embedder.model } : null;
      },
    };
    const performOnce = createPerform({
      database,
      logger,
      embedding,
      refreshModels: models.refresh,
      onEnqueued: jobs.wake,
    });
    const perform: Perform = async (operation, identity, toolName, input) => {
      const done = metrics.operations.startTimer({ operation: operation.name });
      const outcome = await performOnce(operation, identity, toolName, input);
      done({ outcome: outcome.error?.code ?? 'ok' });
      return outcome;
    };

    const app = express();
    app.disable('x-powered-by');
    app.use(logRequests(logger));
    mountGuard(app, config);
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, app);

    mountHealth(app, { database, models, metrics, logger });
    const verifyKey = keyVerifier(() => credentials.mcpApiKeys, directory);
    const detachAll = mountAttach(app, { verifyKey, ...(options.onIdle ? { onIdle: options.onIdle } : {}) });
    closers.push(detachAll);
    mountMcp(app, { perform, refuse: createRefuse(database, logger), verifyKey, version });
    const graphql = createGraphql({
      database,
      perform,
      verifyToken: tokenVerifier(config, () => credentials, directory),
      logger,
      graphiql: !config.isProduction,
    });
    closers.push(() => graphql.close());
    onProgress?.('building the GraphQL schema');
    if (!options.buildsSchemaOnDemand) await graphql.schema();
    graphql.mount(app, server);
    mountErrors(app, logger, denials);

    signal?.throwIfAborted();
    await listen(server, config.port, config.host).catch((error: NodeJS.ErrnoException) => {
      if (options.anyPort && error.code === 'EADDRINUSE') return listen(server, 0, config.host);
      throw error;
    });
    closers.push(() => {
      detachAll();
      return closeServer(server);
    });
    const { port } = server.address() as AddressInfo;
    const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host;
    const reloadCredentials = () => {
      try {
        credentials = loadCredentials(config);
      } catch (error) {
        logger.error({ reason: (error as Error).message }, 'credentials.json is no good: the keys stay as they were');
        return;
      }
      const { jwtSecrets, mcpApiKeys } = credentials;
      logger.info(
        { kids: Object.keys(jwtSecrets), callers: Object.keys(mcpApiKeys) },
        'credentials.json was read again',
      );
    };
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
      database,
      get embedder() {
        return models.serving() ?? configured;
      },
      servingModel: models.servingModel,
      reloadCredentials,
      close,
    };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

const listen = (server: Server, port: number, host: string) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });

/** Lets requests in flight be answered; whoever still holds a connection after that long is cut off. */
const closeServer = (server: Server) =>
  new Promise<void>((resolve) => {
    // A connection that is kept alive becomes idle only when its last answer has gone out.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    const cut = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
  });
