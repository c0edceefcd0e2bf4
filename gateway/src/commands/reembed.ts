// `l9-memory reembed`: changes the embedding model while the old one serves. All state is in the database, so this can be
// stopped or killed at any point and run again.
import { setTimeout as sleep } from 'node:timers/promises';
import { sqlstateOf } from '../base/errors.ts';
import { createLogger } from '../base/logger.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import type { WorkerPool } from '../database/index.ts';
import {
  createEmbedder,
  type Embedder,
  EmbedderUnavailable,
  EmbeddingRejected,
  embeddingConfig,
  LOCAL_MODEL,
  providerOf,
  providerVariables,
  STORED_DIMENSIONS,
} from '../embeddings/index.ts';
import { HomeLocked } from '../home/lock.ts';
import { backoffSeconds } from '../jobs/backoff.ts';
import { dropModel } from '../jobs/drop-leaving-models.ts';
import { embedPending, ModelUnavailable } from '../jobs/embed-pending.ts';
import { withJobRun } from '../jobs/job-runs.ts';
import { startProgress } from './support/progress.ts';
import { stopSignal } from './support/stop-signal.ts';
import { openWorker } from './worker.ts';

const LOOK_EVERY_MS = 1_000;
const OUTAGES_AT_MOST = 8;
const OUTAGE_LAST_SECONDS = 60;
const STOPPED = 'stopped. Vectors that were stored are kept: run this again to continue.';

export interface ReembedOptions {
  model?: string;
  dimensions?: string;
  allowMissing?: string;
  abandon?: boolean;
}

interface Change {
  model: string;
  to_embed: string;
  remaining: string;
  refused: string;
}

/** The reason why the change cannot be finished now. Work that is done is kept. */
class Unfinished extends Error {}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Returns the exit code: 0 if the model serves and the previous one is removed. */
export async function reembed(env: NodeJS.ProcessEnv, options: ReembedOptions): Promise<number> {
  const { signal, forget } = stopSignal({ exitCode: 1, onLimit: () => process.stderr.write(`${STOPPED}\n`) });
  try {
    const config = loadConfig(env);
    const worker = await openWorker(config, createLogger(config.logLevel));
    try {
      if (options.abandon) await abandon(worker.pool);
      else if (options.model) await change(config, worker.pool, options.model, options, signal);
      else await tell(worker.pool);
    } finally {
      await worker.close();
    }
    return 0;
  } catch (error) {
    const { message } = error as Error;
    const code = sqlstateOf(error);
    const isPlain =
      error instanceof ConfigError ||
      error instanceof HomeLocked ||
      error instanceof Unfinished ||
      error instanceof EmbedderUnavailable ||
      error instanceof EmbeddingRejected ||
      code?.startsWith('L9');
    process.stderr.write(`${isPlain ? message : `reembed failed: ${message}`}\n`);
    return 1;
  } finally {
    forget();
  }
}

const servingModel = async (pool: WorkerPool) =>
  (await pool.query<{ model: string | null }>('select embeddings.serving_model() as model')).rows[0]!.model;

const changeUnderWay = async (pool: WorkerPool) =>
  (await pool.query<Change>('select * from embeddings.embedding_change()')).rows[0];

async function tell(pool: WorkerPool) {
  say(`${(await servingModel(pool)) ?? 'no model'} serves`);
  const now = await changeUnderWay(pool);
  if (now)
    say(
      `${now.model} arrives: ${now.remaining} of ${now.to_embed} memories wait for its vectors, ${now.refused} refused`,
    );
}

async function abandon(pool: WorkerPool) {
  const { rows } = await pool.query<{ model: string | null }>('select embeddings.abandon_embedding_change() as model');
  const model = rows[0]!.model;
  if (model) await dropWith(pool, model);
  say(model ? `the change to ${model} was cancelled` : 'no change is in progress');
}

const wholeNumber = (name: string, value: string | undefined, fallback: number) => {
  if (value === undefined) return fallback;
  if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`${name}: must be a whole number`);
  return Number(value);
};

async function change(
  config: Config,
  pool: WorkerPool,
  model: string,
  options: ReembedOptions,
  signal: AbortSignal,
): Promise<void> {
  const allowMissing = wholeNumber('--allow-missing', options.allowMissing, 0);
  if ((await servingModel(pool)) !== model) {
    const embedder = await embedderFor(config, model, options);
    try {
      // This checks that the model answers, and with these dimensions, before the change begins.
      await embedder.embed(['ready?']);
      // Each tenant sees the change, because its memories are embedded again. The total number is not shown to tenants.
      const task = { type: 'reembed', payload: { model }, jobKey: `reembed ${model}` };
      await withJobRun(pool, task, createLogger(config.logLevel), async () => {
        await pool.query('select embeddings.begin_embedding_change($1, $2)', [model, embedder.dimensions]);
        await embedAll(config, pool, embedder, allowMissing, signal);
      });
    } finally {
      await embedder.close();
    }
  }
  say(`${model} serves`);
  await dropFormer(pool);
}

function embedderFor(config: Config, model: string, options: ReembedOptions): Promise<Embedder> {
  const embedding = embeddingConfig(config.embedding);
  const provider = providerOf(embedding, model);
  if (!provider)
    throw new ConfigError(
      `--model ${model}: needs ${providerVariables}, here and where the gateways run; ${LOCAL_MODEL} needs no variable`,
    );
  const fallback = embedding.provider === provider.name ? embedding.dimensions : STORED_DIMENSIONS;
  const dimensions = provider.dimensionsOf(model) ?? wholeNumber('--dimensions', options.dimensions, fallback);
  return createEmbedder({ ...embedding, provider: provider.name, model, dimensions }, createLogger(config.logLevel));
}

/** Embeds memories without a vector of this model, then switches. Gateways that can reach the model help. */
async function embedAll(
  config: Config,
  pool: WorkerPool,
  embedder: Embedder,
  allowMissing: number,
  signal: AbortSignal,
): Promise<void> {
  const logger = createLogger(config.logLevel);
  const { model } = embedder;
  const concurrency = providerOf(config.embedding, model)?.capacity.backlogCalls ?? 1;
  const first = await changeUnderWay(pool);
  const total = Number(first?.to_embed ?? 0);
  const progress = startProgress(`embedding with ${model}`, total);
  let outages = 0;
  try {
    for (;;) {
      const done = new AbortController();
      const show = (async () => {
        while (!done.signal.aborted) {
          const now = await changeUnderWay(pool);
          if (now) progress.update(total - Number(now.remaining), `${now.remaining} to go`);
          await sleep(LOOK_EVERY_MS, null, { signal: done.signal }).catch(() => {});
        }
      })();
      try {
        const embedders = () => [embedder];
        const one = () => embedPending(pool, { embedders, logger }, signal);
        await Promise.all(Array.from({ length: concurrency }, one));
        outages = 0;
      } catch (error) {
        if (!(error instanceof ModelUnavailable)) throw error;
        if (++outages >= OUTAGES_AT_MOST)
          throw new Unfinished(`${error.message}. The vectors so far are kept: run this again to go on.`);
        progress.update(0, `${error.message}: trying again`);
        await sleep(backoffSeconds(outages, OUTAGE_LAST_SECONDS) * 1_000, null, { signal }).catch(() => {});
      } finally {
        done.abort();
        await show;
      }
      if (signal.aborted) throw new Unfinished(STOPPED);
      if (await isSwitched(pool, model, allowMissing)) return;
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    progress.stop();
  }
}

/** True once the model serves. False while others are still embedding; throws if the model refused all remaining memories. */
async function isSwitched(pool: WorkerPool, model: string, allowMissing: number): Promise<boolean> {
  const now = await changeUnderWay(pool);
  if (!now) {
    if ((await servingModel(pool)) === model) return true;
    throw new Unfinished(`the change to ${model} was cancelled meanwhile`);
  }
  const [remaining, refused] = [Number(now.remaining), Number(now.refused)];
  if (remaining > refused) return false;
  const { rows } = await pool.query<{ missing: string }>(
    'select embeddings.switch_embedding_model($1, $2) as missing',
    [model, allowMissing],
  );
  const missing = Number(rows[0]!.missing);
  if (missing === 0) return true;
  if (refused === 0) return false;
  throw new Unfinished(
    `${missing} memories would be lost to search by meaning, for ${model} refuses ${refused}. The old model goes on serving. ` +
      `Shorten or delete them, or switch without them: --allow-missing ${missing}`,
  );
}

async function dropFormer(pool: WorkerPool) {
  const { rows } = await pool.query<{ model: string }>(
    "select model from public.embedding_models where state = 'leaving'",
  );
  for (const { model } of rows) await dropWith(pool, model);
}

async function dropWith(pool: WorkerPool, model: string) {
  const progress = startProgress(`deleting vectors of ${model}`, null);
  const isGone = await dropModel(pool, model, createLogger('silent'), {
    onDropped: (vectors) => progress.update(vectors, `${vectors} dropped`),
  });
  progress.stop();
  say(
    isGone
      ? `${model} is gone`
      : `the vectors of ${model} are deleted; the server drops its indexes when they are not in use`,
  );
}
