// The runtimes of the bundled models: which one runs, and that vectors of two never mix.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import collectionOfCjk from '../../../bench/eval/collections/cjk.json' with { type: 'json' };
import collectionOfCode from '../../../bench/eval/collections/code.json' with { type: 'json' };
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config/config.ts';
import { FLOAT_MODEL, isNativeInstalled } from '../../src/embeddings/bundled.ts';
import { embeddingConfig, LOCAL_MODEL } from '../../src/embeddings/index.ts';
import { difference, KNOWN_TEXT, knownVector } from '../../src/embeddings/known-text.ts';
import { type LocalEmbedder, localEmbedder } from '../../src/embeddings/providers/local.ts';
import { MODEL_DIR } from '../../src/embeddings/text-worker.ts';
import { startTestGateway } from '../support/gateway.ts';

const silent = pino({ level: 'silent' });
const itNative = isNativeInstalled() ? it : it.skip;

async function using<T>(embedder: LocalEmbedder, work: (embedder: LocalEmbedder) => Promise<T>): Promise<T> {
  try {
    return await work(embedder);
  } finally {
    await embedder.close();
  }
}

const texts = [...collectionOfCode.documents, ...collectionOfCjk.documents].slice(0, 118).map(({ content }) => content);
texts.push('x', 'The runbook says who is on call. '.repeat(60));

describeOnEmbedded('the runtime of a bundled model', () => {
  itNative('makes the same vectors of the model that sums in floating point', async () => {
    const [wasm, native] = await Promise.all(
      (['wasm', 'native'] as const).map((runtime) =>
        using(localEmbedder(silent, { model: FLOAT_MODEL, runtime }), async (embedder) => {
          const vectors = await embedder.embed(texts);
          expect(embedder.runtime!()).toBe(runtime);
          return vectors;
        }),
      ),
    );
    const apart = wasm!.map((vector, at) => difference(native![at]!, vector));
    expect(apart).toHaveLength(120);
    expect(Math.max(...apart)).toBeLessThan(1e-5);
  });

  it('leaves the model that rounds activations to WebAssembly, whatever is installed or asked for', async () => {
    for (const runtime of [null, 'wasm', ...(isNativeInstalled() ? ['native' as const] : [])] as const) {
      await using(localEmbedder(silent, { model: LOCAL_MODEL, runtime }), async (embedder) => {
        await embedder.ready();
        expect(embedder.runtime!()).toBe('wasm');
        const [vector] = await embedder.embed([KNOWN_TEXT]);
        expect(difference(vector!, await knownVector(MODEL_DIR, LOCAL_MODEL))).toBeLessThan(1e-5);
      });
    }
  });

  it('is WebAssembly where the native one is not installed', async () => {
    const embedder = localEmbedder(silent, { model: FLOAT_MODEL, nativePackage: 'no-such-runtime' });
    await using(embedder, async () => {
      await embedder.ready();
      expect(embedder.runtime!()).toBe('wasm');
    });
  });

  it('refuses a native one that is asked for and missing, and say what to do', () => {
    expect(() =>
      localEmbedder(silent, { model: FLOAT_MODEL, runtime: 'native', nativePackage: 'no-such-runtime' }),
    ).toThrow(
      /^L9_EMBEDDER=native: the package no-such-runtime is not installed: run `npm install` .*or set L9_EMBEDDER=wasm$/,
    );
  });

  it('refuses to make vectors that differ from those of the model', async () => {
    const modelDir = await mkdtemp(join(tmpdir(), 'l9-model-'));
    try {
      await cp(MODEL_DIR, modelDir, { recursive: true });
      const known = { [LOCAL_MODEL]: await knownVector(MODEL_DIR, FLOAT_MODEL) };
      await writeFile(join(modelDir, 'known-vectors.json'), JSON.stringify(known));
      await using(localEmbedder(silent, { modelDir }), async (embedder) => {
        await expect(embedder.ready()).rejects.toThrow(
          /wasm makes other vectors than those of all-MiniLM-L6-v2-int8 .*must not be mixed/,
        );
        await expect(embedder.embed(['a text'])).rejects.toMatchObject({ name: 'EmbedderUnavailable' });
      });
    } finally {
      await rm(modelDir, { recursive: true });
    }
  });
});

describeOnEmbedded('L9_EMBEDDER', () => {
  const modelOf = (env: NodeJS.ProcessEnv) => embeddingConfig(loadConfig(env).embedding).model;

  it('chooses the bundled model of a new database', () => {
    expect(modelOf({})).toBe(LOCAL_MODEL);
    expect(modelOf({ L9_EMBEDDER: '' })).toBe(LOCAL_MODEL);
    expect(modelOf({ L9_EMBEDDER: 'wasm' })).toBe(LOCAL_MODEL);
    expect(modelOf({ L9_EMBEDDER: 'native' })).toBe(FLOAT_MODEL);
    expect(modelOf({ L9_EMBEDDER: 'native', OPENAI_API_KEY: 'k' })).toBe('text-embedding-3-small');
  });

  it('refuses other values', () => {
    for (const value of ['Native', 'gpu', '1'])
      expect(() => modelOf({ L9_EMBEDDER: value })).toThrow(/L9_EMBEDDER: .*wasm/);
  });
});

describe('a gateway with L9_EMBEDDER=native on a database with vectors of WebAssembly', () => {
  itNative('adds no vectors of another model, and answers questions as before', async () => {
    const first = await startTestGateway({ env: { L9_EMBEDDER: 'wasm' } });
    await first.save('C', 'Lanterns light the quay.');
    await first.embedded();
    const { home } = first;
    await first.instance.close();

    const second = await startTestGateway({ home, env: { L9_EMBEDDER: 'native' } });
    try {
      await second.save('C', 'Buoys mark the channel.');
      await second.embedded();
      expect(await second.sql('C', 'select distinct model from public.memory_embeddings')).toStrictEqual([
        { model: LOCAL_MODEL },
      ]);
      const { result } = await second.tool('C', 'search_memory', { query: 'lamps by the harbour', mode: 'semantic' });
      expect(result.hits[0].content).toBe('Lanterns light the quay.');
      const ready = await fetch(`${second.instance.url}/ready`, {
        headers: { authorization: `Bearer ${second.apiKey('L')}` },
      });
      expect(await ready.json()).toMatchObject({ embedding_model: LOCAL_MODEL, embedding_runtime: 'wasm' });
    } finally {
      await second.close();
    }
  });

  itNative('embeds a new database with the native runtime', async () => {
    const gateway = await startTestGateway({ env: { L9_EMBEDDER: 'native' } });
    try {
      await gateway.save('C', 'Lanterns light the quay.');
      await gateway.embedded();
      expect(await gateway.sql('C', 'select distinct model from public.memory_embeddings')).toStrictEqual([
        { model: FLOAT_MODEL },
      ]);
      expect(gateway.instance.embedder.model).toBe(FLOAT_MODEL);
    } finally {
      await gateway.close();
    }
  });
});
