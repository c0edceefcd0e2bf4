import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { useTestDatabase } from '../../../db/tests/support/test-database.ts';
import type { EmbeddingConfig } from '../../src/embeddings/index.ts';
import {
  createEmbedder,
  embeddingConfig,
  LOCAL_MODEL,
  providerOf,
  toVectorLiteral,
  toVectorParameter,
} from '../../src/embeddings/index.ts';
import { MODEL_DIR } from '../../src/embeddings/text-worker.ts';

const silent = pino({ level: 'silent' });
const local: EmbeddingConfig = {
  provider: 'local',
  model: LOCAL_MODEL,
  dimensions: 384,
  apiKey: null,
  baseUrl: null,
  timeoutMs: 1000,
};

describe('toVectorLiteral', () => {
  it('pads with zeros to the width of the column', () => {
    const literal = toVectorLiteral([0.5, -1, 1e-7]);
    const numbers: number[] = JSON.parse(literal);
    expect(numbers.slice(0, 4)).toStrictEqual([0.5, -1, 1e-7, 0]);
    expect(numbers).toHaveLength(1536);
    expect(literal).not.toMatch(/\s/);
  });

  it('keeps every bit of a float4', () => {
    const floats = [...Float32Array.from({ length: 1536 }, (_, n) => Math.sin(n) / (n + 1))];
    const back: number[] = JSON.parse(toVectorLiteral(floats));
    expect(back.map(Math.fround)).toStrictEqual(floats);
  });

  it.each([toVectorLiteral, toVectorParameter])('refuses vectors that no column could hold: %p', (convert) => {
    expect(() => convert(Array(1537).fill(0))).toThrow(/1536/);
    for (const bad of [NaN, Infinity]) expect(() => convert([bad])).toThrow(/finite/);
  });
});

describe('toVectorParameter', () => {
  const db = useTestDatabase();

  it('is the same vector for the database as the literal', async () => {
    const floats = [...Float32Array.from({ length: 384 }, (_, n) => Math.sin(n) / (n + 1))];
    const [row] = await db.sql(
      'C',
      'select $1::extensions.vector operator(extensions.=) $2 as is_same, extensions.vector_dims($1)',
      [toVectorParameter(floats), toVectorLiteral(floats)],
    );
    expect(row).toStrictEqual({ is_same: true, vector_dims: 1536 });
  });
});

describe('createEmbedder', () => {
  it('creates the embedder that the configuration names', async () => {
    const embedded = await createEmbedder(local, silent);
    expect([embedded.model, embedded.dimensions]).toStrictEqual([LOCAL_MODEL, 384]);
    await embedded.close();
    const model = 'text-embedding-3-small';
    const remote = await createEmbedder({ ...local, provider: 'openai', model, dimensions: 1536, apiKey: 'k' }, silent);
    expect([remote.model, remote.dimensions]).toStrictEqual([model, 1536]);
    await remote.close();
  });

  it('refuses a model name or width that differs from its vectors', async () => {
    await expect(createEmbedder({ ...local, model: 'all-MiniLM-L6-v2' }, silent)).rejects.toThrow(/EMBEDDING_MODEL/);
    await expect(createEmbedder({ ...local, dimensions: 1536 }, silent)).rejects.toThrow(/384 dimensions/);
    const wide: EmbeddingConfig = { ...local, provider: 'openai', apiKey: 'k', dimensions: 3072 };
    await expect(createEmbedder(wide, silent)).rejects.toThrow(/EMBEDDING_DIMENSIONS/);
  });
});

describe('the list of providers', () => {
  const settings = { model: null, dimensions: 1536, apiKey: null, baseUrl: null, timeoutMs: 1000 };
  const chosen = (given: object) => {
    const { provider, model, dimensions } = embeddingConfig({ ...settings, ...given });
    return [provider, model, dimensions];
  };

  it('chooses the bundled model unless another provider is configured', () => {
    expect(chosen({})).toStrictEqual(['local', LOCAL_MODEL, 384]);
    expect(chosen({ model: 'wide', dimensions: 768 })).toStrictEqual(['local', LOCAL_MODEL, 384]);
    expect(chosen({ apiKey: 'k' })).toStrictEqual(['openai', 'text-embedding-3-small', 1536]);
    expect(chosen({ baseUrl: 'http://a/v1', model: 'wide', dimensions: 768 })).toStrictEqual(['openai', 'wide', 768]);
    expect(chosen({ apiKey: 'k', model: LOCAL_MODEL, dimensions: 384 })).toStrictEqual(['openai', LOCAL_MODEL, 384]);
  });

  it('finds the provider of another model', () => {
    expect(providerOf({ ...settings, apiKey: 'k' }, LOCAL_MODEL)?.name).toBe('local');
    expect(providerOf({ ...settings, apiKey: 'k' }, 'wide')?.name).toBe('openai');
    expect(providerOf(settings, 'wide')).toBeNull();
  });
});

describe('the bundled model', () => {
  it('has the checksum that its notice states', async () => {
    const notice = await readFile(join(MODEL_DIR, 'NOTICE.md'), 'utf8');
    for (const name of ['model_int8.onnx', 'tokenizer.json']) {
      const digest = createHash('sha256')
        .update(await readFile(join(MODEL_DIR, name)))
        .digest('hex');
      expect(notice, name).toContain(digest);
    }
  });
});
