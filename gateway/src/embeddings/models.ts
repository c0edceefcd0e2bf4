// The embedders of the models in use. The database decides which these are, and that can change at run time.
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { cachedEmbedder, cachedQueryEmbedder } from './cache.ts';
import { type Embedder, type EmbeddingConfig, isKnown, type TextVector } from './embedder.ts';
import { configFor, createEmbedder, providerOf, providerVariables } from './index.ts';
import { DEFAULT_CAPACITY, type ScheduledEmbedder, scheduled } from './scheduler.ts';

interface ModelInUse {
  model: string;
  dimensions: number;
  state: 'serving' | 'arriving';
}

export type Models = Awaited<ReturnType<typeof openModels>>;

/** `configured` is the embedder of the configuration, or a replacement of it in tests. */
export async function openModels(database: Database, config: EmbeddingConfig, configured: Embedder, logger: Logger) {
  const embedders = new Map<
    string,
    {
      original: Embedder;
      embedder: ScheduledEmbedder;
      embedQuery: (text: string, client?: string) => Promise<number[]>;
    } | null
  >();
  const callbacks: (() => void)[] = [];
  let models: ModelInUse[] = [];

  const add = (original: Embedder) => {
    const provider = providerOf(config, original.model);
    const inOrder = scheduled(original, provider?.capacity ?? DEFAULT_CAPACITY);
    embedders.set(original.model, {
      original,
      embedder: cachedEmbedder(inOrder),
      embedQuery: cachedQueryEmbedder(inOrder),
    });
  };
  add(configured);

  async function reach({ model, dimensions, state }: ModelInUse) {
    if (embedders.has(model)) return;
    const reachable = configFor(config, model, dimensions);
    if (reachable) add(await createEmbedder(reachable, logger));
    else {
      embedders.set(model, null);
      logger.warn(
        { model, state },
        `no provider for this model is configured: set ${providerVariables}, or change the model with \`l9-memory reembed --model\``,
      );
    }
  }

  async function read() {
    const { rows } = await database.workerPool.query<ModelInUse>(
      "select model, dimensions, state from public.embedding_models where state in ('serving', 'arriving') order by state desc",
    );
    for (const row of rows) await reach(row);
    const key = (list: ModelInUse[]) => list.map(({ model, state }) => `${state} ${model}`).join();
    if (key(rows) === key(models)) return;
    models = rows;
    logger.info({ models: rows.map(({ model, state }) => ({ model, state })) }, 'embedding models in use');
    for (const callback of callbacks) callback();
  }

  // Each read waits for the one before, so that the last one requested also ends last.
  let reading: Promise<void> = Promise.resolve();
  const refresh = () => {
    reading = reading.catch(() => {}).then(read);
    return reading;
  };
  const servingModel = () => models.find(({ state }) => state === 'serving')?.model ?? configured.model;

  await database.workerPool.query('select embeddings.adopt_embedding_model($1, $2)', [
    configured.model,
    configured.dimensions,
  ]);
  await refresh();
  const stopListening = await database.listen('l9_embedding_models', () => {
    refresh().catch((error: Error) => logger.warn({ name: error.name }, 'could not read the models in use'));
  });
  return {
    servingModel,
    /** The embedder of the serving model; null if this gateway has no provider for it. */
    serving: () => embedders.get(servingModel())?.embedder ?? null,
    /** The vector of a query by the serving model. The queries of several clients take turns. */
    async embedQuery(text: string, client?: string): Promise<{ vector: TextVector; model: string } | null> {
      const model = servingModel();
      const entry = embedders.get(model);
      if (!entry) return null;
      return { vector: (await isKnown(entry.embedder, text)) ? await entry.embedQuery(text, client) : null, model };
    },
    /** The embedders of the models in use, the serving one first. Models without a configured provider are left out. */
    inUse: (): ScheduledEmbedder[] => models.flatMap(({ model }) => embedders.get(model)?.embedder ?? []),
    /** True if the provider of the serving model answers. */
    isReady: async () => {
      const embedder = embedders.get(servingModel())?.original;
      if (!embedder) return false;
      return (embedder.isReady?.() ?? embedder.embed(['ready?'])).then(
        () => true,
        () => false,
      );
    },
    /** Loads the serving model, if it was let go, while the caller does something else. */
    warmUp: () => embedders.get(servingModel())?.original.warmUp?.(),
    /** What runs the serving model in a process of this machine; null while none does. */
    servingRuntime: () => embedders.get(servingModel())?.original.runtime?.() ?? null,
    /** Reads again which models are in use. */
    refresh,
    /** Calls back when the models in use have changed. */
    onChange: (callback: () => void): void => void callbacks.push(callback),
    async close() {
      await stopListening();
      await reading.catch(() => {});
      for (const entry of embedders.values()) entry?.embedder.stop();
      // The caller that opened the configured embedder closes it.
      for (const entry of embedders.values()) if (entry && entry.original !== configured) await entry.original.close();
    },
  };
}
