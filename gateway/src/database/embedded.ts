import { mkdirSync, realpathSync } from 'node:fs';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { makeHome } from '../home/folder.ts';
import { HomeProblem } from '../home/problem.ts';
import { watchConnecting } from './away.ts';
import { dataFolderOf, draftOf, inspectData, installDraft, WAY_OUT } from './data-folder.ts';
import type { Database } from './database.ts';
import { freeBytesOf, noSpace, ROOM_FOR_SAVES, watchFolder, withRoom } from './disk.ts';
import { type Engine, type EngineOptions, FolderRefused, resetSession, startEngine } from './engine.ts';
import { enginePool } from './engine-stream.ts';
import { fairQueueOf, withFairQueue } from './fair-pool.ts';
import { markClosed, markOpened } from './marker.ts';
import { servePsql } from './psql-socket.ts';
import { traceQueries } from './trace-queries.ts';

// The statements of callers end before others who wait for the session give up.
const LIMIT_MS = { least: 5_000, most: 30_000 };
const SHARE_OF_WAIT = 0.8;
const statementLimit = ({ queue }: Config) =>
  Math.min(LIMIT_MS.most, Math.max(LIMIT_MS.least, SHARE_OF_WAIT * queue.timeoutMs));

/**
 * PostgreSQL in WebAssembly, in a thread of this process, with its data in the home folder. The caller holds the lock of
 * that folder. The engine has one session, so there is one pool with one client, which runs one transaction at a time.
 */
export async function openEmbedded(config: Config, logger: Logger, onPrepare?: () => void): Promise<Database> {
  const start = () => openEngine(config, 'l9_gateway', logger, onPrepare);
  let engine = await start();
  const listeners = new Map<string, Set<() => void>>();
  const relisten = async (to = engine) => {
    for (const [channel, callbacks] of listeners) {
      await to.exec(`listen ${pg.escapeIdentifier(channel)}`);
      for (const callback of callbacks) callback();
    }
  };

  /** True from the moment that the engine is ended to save memory until it runs again. */
  let isResting = false;
  // Several users that find the engine ended share one restart.
  let restarting: Promise<void> | null = null;
  const revive = async () => {
    if (!engine.hasEnded()) return;
    restarting ??= start()
      .then(async (next) => {
        if (isResting) logger.debug('the database engine was started again');
        else logger.warn('the database engine ended and was started again');
        // Before anyone else can use the session.
        await relisten(next).catch(async (error) => {
          await next.close();
          throw error;
        });
        engine = next;
        isResting = false;
      })
      .finally(() => {
        restarting = null;
      });
    await restarting;
  };

  let limitMs: number | null = null;
  const onlyPool = enginePool(
    () => engine,
    () => limitMs,
  );
  const onError = (error: Error) => logger.warn({ name: error.name }, 'the connection to the engine broke');
  onlyPool.on('error', onError);
  onlyPool.on('connect', (client) => {
    client.on('error', onError);
    if (config.tracing) traceQueries(client);
    client.on('notification', ({ channel }) => {
      for (const callback of listeners.get(channel) ?? []) callback();
    });
  });
  // The session outlives a client that is given up, so it is reset for the next one.
  const onBroken = async () => {
    if (engine.hasEnded()) return;
    await resetSession(engine);
    await relisten();
  };
  const queue = fairQueueOf(config, 1, logger);
  const connecting = watchConnecting(logger);
  const disk = watchFolder(config.home, logger);
  const callers = tidyPool(onlyPool, {
    revive,
    onBroken,
    limit: (isOn) => {
      limitMs = isOn ? statementLimit(config) : null;
    },
  });
  const pool = withRoom(withFairQueue(callers, queue, 'gateway', connecting), disk);
  const psqlPool = withFairQueue(tidyPool(onlyPool, { revive, onBroken }), queue, 'psql', connecting);
  const workerPool = tidyPool(onlyPool, { revive, onBroken }, 'l9_worker');

  // Memory of WebAssembly can grow but not shrink, so the engine is ended, and the next user starts it again.
  const rest = async () => {
    if (engine.hasEnded() || queue.taken() > 0 || queue.waiting() > 0) return;
    // A request that comes now waits until the engine has closed its files.
    const endTurn = await queue.takeUnlimited('rest');
    try {
      const client = await onlyPool.connect();
      // The session ends, so pg must forget what it knows of it.
      client.release(true);
      isResting = true;
      await engine.close();
      logger.debug('the database engine was idle, and was ended');
    } finally {
      endTurn();
    }
  };
  const close = async () => {
    await restarting?.catch(() => {});
    await onlyPool.end();
    await engine.close();
  };

  try {
    const psql = await servePsql(() => engine, psqlPool, config.home, logger, {
      // Otherwise psql would receive notifications that it did not listen to.
      onTurnStart: async () => {
        if (listeners.size > 0) await engine.exec('unlisten *');
      },
      onTurnEnd: async (client) => {
        // Clears the list in which pg keeps the statements it has prepared in the session.
        const { connection } = client as unknown as { connection: { parsedStatements: object } };
        connection.parsedStatements = {};
        await relisten();
      },
    });
    return {
      engine: 'embedded',
      pool,
      workerPool: withFairQueue(workerPool, queue, 'worker', connecting),
      jobPool: (name) => withFairQueue(workerPool, queue, `job ${name}`, connecting),
      // Callers, jobs and psql share the one session.
      pools: () => ({ session: { inUse: queue.taken(), idle: 1 - queue.taken(), waiting: queue.waiting() } }),
      disk,
      psqlUrl: psql.url,
      listen: async (channel, onNotify) => {
        const callbacks = listeners.get(channel) ?? new Set();
        listeners.set(channel, callbacks.add(onNotify));
        await pool.query(`listen ${pg.escapeIdentifier(channel)}`);
        return async () => {
          callbacks.delete(onNotify);
          if (callbacks.size > 0) return;
          listeners.delete(channel);
          if (!engine.hasEnded()) await pool.query(`unlisten ${pg.escapeIdentifier(channel)}`);
        };
      },
      isResting: () => isResting,
      rest,
      wake() {
        // The next request that needs the engine gets the error.
        if (isResting) revive().catch(() => {});
      },
      close: async () => {
        await psql.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs one statement as l9_owner on an engine that no server uses. The caller holds the lock of the folder. */
export async function queryEmbeddedAsOwner(
  config: Config,
  logger: Logger,
  query: string,
  values: unknown[],
): Promise<Record<string, unknown>[]> {
  const engine = await openEngine(config, 'l9_owner', logger);
  const pool = enginePool(() => engine);
  try {
    return (await pool.query<Record<string, unknown>>(query, values)).rows;
  } finally {
    await pool.end();
    await engine.close();
  }
}

async function openEngine(
  config: Config,
  role: EngineOptions['role'],
  logger: Logger,
  onPrepare?: () => void,
): Promise<Engine> {
  const dataDir = dataFolderOf(config.home);
  // The engine does not follow a link to its folder.
  const start = (folder: string) =>
    startEngine({ dataDir: realpathSync(folder), role, migrates: true }, logger, onPrepare).catch((error) => {
      // The engine itself says only that it was aborted.
      if (freeBytesOf(config.home) < ROOM_FOR_SAVES) throw noSpace(config.home, ROOM_FOR_SAVES);
      throw error instanceof FolderRefused ? refusalOf(error, dataDir) : error;
    });
  if (inspectData(dataDir).state !== 'whole') {
    onPrepare?.();
    makeHome(config.home);
    const draft = draftOf(dataDir);
    mkdirSync(draft, { mode: 0o700 });
    await (await start(draft)).close();
    installDraft(draft, dataDir);
  }
  const engine = await start(dataDir);
  markOpened(dataDir);
  return {
    ...engine,
    async close() {
      await engine.close();
      try {
        markClosed(dataDir);
      } catch (error) {
        // The next start can't tell then whether a file is gone.
        logger.warn({ reason: (error as Error).message }, 'what the data folder holds could not be noted');
      }
    },
  };
}

const refusalOf = ({ message, wayOut }: FolderRefused, dataDir: string) =>
  wayOut
    ? new HomeProblem(dataDir, message, wayOut)
    : new HomeProblem(dataDir, `cannot be opened, ${message}`, WAY_OUT(dataDir));

/**
 * The same pool, but a released client is reset: a transaction left open is rolled back and the role is reset. With
 * `role`, a client has that role until it is released.
 */
function tidyPool(
  pool: pg.Pool,
  {
    revive,
    onBroken,
    limit,
  }: {
    revive(): Promise<void>;
    onBroken(): Promise<void>;
    /** Is told when statements are limited in time. */
    limit?: (isOn: boolean) => void;
  },
  role?: string,
): pg.Pool {
  const tidyUp = async (client: pg.PoolClient) => {
    if (client.getTransactionStatus() !== 'I') await client.query('rollback');
    if (role) await client.query('reset role');
  };
  const checkOut = async () => {
    await revive();
    const client = await pool.connect();
    const release = client.release.bind(client);
    client.release = (failure?: Error | boolean) => {
      client.release = release;
      limit?.(false);
      (failure ? Promise.reject(failure) : tidyUp(client)).then(
        () => release(),
        (error: Error) =>
          onBroken()
            .finally(() => release(error))
            .catch(() => {}),
      );
    };
    try {
      limit?.(true);
      if (role) await client.query(`set role ${role}`);
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
    return client;
  };
  return new Proxy(pool, {
    get: (target, name, receiver) => (name === 'connect' ? checkOut : Reflect.get(target, name, receiver)),
  });
}
