// How this process is, for administrators: what the field `gateway` of `health` tells. It holds numbers and names, never contents.
import type { Logger } from 'pino';
import { version } from '../base/version.ts';
import type { Database } from '../database/index.ts';
import { type Monitored, monitored } from '../database/monitored.ts';
import type { Recent } from './recent.ts';

const SAMPLE_EVERY_MS = 60_000;

export interface GatewayHealthOptions {
  database: Database;
  recent: Recent;
  servingModel(): string;
  isEmbedderReady(): Promise<boolean>;
  /** Null: no call counts as slow. */
  slowQueryMs: number | null;
  /** What the start found that somebody should look at. */
  warnings: readonly string[];
  logger: Logger;
}

interface Replica {
  replica: string;
  lag_seconds: number;
  lag_bytes: string | null;
}

interface QueuedJobs {
  name: string;
  waiting: number;
  running: number;
  failed: number;
  error: string | null;
}

/** `close` ends the samples that are taken once a minute. */
export function openGatewayHealth(options: GatewayHealthOptions) {
  const { database, recent, servingModel, isEmbedderReady, slowQueryMs, warnings, logger } = options;
  const asked = monitored(database, logger);
  const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString();
  const embeddingWaiting = asked.shared(async () => {
    const { rows } = await asked.query<{ pending: string }>('select pending from embeddings.embedding_backlog()');
    return Number(rows[0]?.pending ?? 0);
  });
  const queued = asked.shared(() => askForJobs(asked));
  const ofServer = database.engine === 'server' ? asked.shared(() => askForSessions(asked)) : async () => null;

  const pools = () => Object.entries(database.pools()).map(([pool, state]) => ({ pool, ...state }));
  const sample = async () =>
    recent.sampled({
      embeddingWaiting: await embeddingWaiting(),
      connectionsWaiting: pools().reduce((sum, { waiting }) => sum + waiting, 0),
      residentBytes: process.memoryUsage.rss(),
    });
  const timer = setInterval(() => void sample(), SAMPLE_EVERY_MS).unref();
  void sample();

  return {
    async read() {
      const [isReady, jobs, sessions] = await Promise.all([isEmbedderReady(), queued(), ofServer()]);
      return {
        version,
        engine: database.engine,
        startedAt,
        warnings,
        servingModel: servingModel(),
        isEmbedderReady: isReady,
        residentBytes: process.memoryUsage.rss(),
        diskFreeBytes: database.disk.freeBytes(),
        diskState: database.disk.state(),
        pools: pools(),
        queuedJobs: jobs,
        longestTransactionSeconds: sessions?.longestTransactionSeconds ?? null,
        replicas: sessions?.replicas ?? [],
        slowQueryMs,
        slowCalls: recent.slowCalls(),
        operations: recent.operations(),
        limits: recent.limits(),
        minutes: recent.minutes(),
      };
    },
    close: () => clearInterval(timer),
  };
}

export type GatewayHealth = ReturnType<typeof openGatewayHealth>;

/** What the queue of graphile-worker holds. The text of an error may quote a memory, so that its name is all that is read. */
async function askForJobs({ query }: Monitored) {
  const { rows } = await query<QueuedJobs>(
    `select task_identifier as name, count(*) filter (where locked_at is null and attempts < max_attempts)::int as waiting,
       count(locked_at)::int as running,
       count(*) filter (where locked_at is null and attempts >= max_attempts)::int as failed,
       max(tasks.error_name(last_error)) filter (where last_error is not null) as error
     from graphile_worker.jobs group by 1 order by 1`,
  );
  return rows;
}

/** What only a server has: sessions of others, and replicas. */
async function askForSessions({ query }: Monitored) {
  const { rows } = await query<{ seconds: number }>('select l9_monitor.longest_transaction_seconds() as seconds');
  const replicas = await query<Replica>('select * from l9_monitor.replication_lag()');
  return {
    longestTransactionSeconds: rows[0]?.seconds ?? null,
    replicas: replicas.rows.map(({ replica, lag_seconds, lag_bytes }) => ({
      name: replica,
      lagSeconds: lag_seconds,
      lagBytes: lag_bytes === null ? null : Number(lag_bytes),
    })),
  };
}
