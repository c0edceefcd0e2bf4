import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import type { EmbeddingConfig } from '../../src/embeddings/index.ts';
import { createEmbedder, LOCAL_MODEL, toVectorLiteral } from '../../src/embeddings/index.ts';
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
    assert.deepEqual(numbers.slice(0, 4), [0.5, -1, 1e-7, 0]);
    assert.equal(numbers.length, 1536);
    assert.doesNotMatch(literal, /\s/);
  });

  it('keeps a float4 to the bit', () => {
    const floats = [...Float32Array.from({ length: 1536 }, (_, n) => Math.sin(n) / (n + 1))];
    const back: number[] = JSON.parse(toVectorLiteral(floats));
    assert.deepEqual(back.map(Math.fround), floats);
  });

  it('refuses what no column could hold', () => {
    assert.throws(() => toVectorLiteral(Array(1537).fill(0)), /1536/);
    for (const bad of [NaN, Infinity]) assert.throws(() => toVectorLiteral([bad]), /finite/);
  });
});

describe('createEmbedder', () => {
  it('makes the embedder that the configuration names', async () => {
    const embedded = await createEmbedder(local, silent);
    assert.deepEqual([embedded.model, embedded.dimensions], [LOCAL_MODEL, 384]);
    await embedded.close();
    const model = 'text-embedding-3-small';
    const remote = await createEmbedder({ ...local, provider: 'openai', model, dimensions: 1536, apiKey: 'k' }, silent);
    assert.deepEqual([remote.model, remote.dimensions], [model, 1536]);
    await remote.close();
  });

  it('refuses to file vectors under another name or width than theirs', async () => {
    await assert.rejects(createEmbedder({ ...local, model: 'all-MiniLM-L6-v2' }, silent), /EMBEDDING_MODEL/);
    await assert.rejects(createEmbedder({ ...local, dimensions: 1536 }, silent), /384 dimensions/);
    const wide: EmbeddingConfig = { ...local, provider: 'openai', apiKey: 'k', dimensions: 3072 };
    await assert.rejects(createEmbedder(wide, silent), /EMBEDDING_DIMENSIONS/);
  });
});

describe('the packed model', () => {
  it('is the file that its notice describes', async () => {
    const notice = await readFile(join(MODEL_DIR, 'NOTICE.md'), 'utf8');
    for (const name of ['model_int8.onnx', 'tokenizer.json']) {
      const digest = createHash('sha256')
        .update(await readFile(join(MODEL_DIR, name)))
        .digest('hex');
      assert.ok(notice.includes(digest), name);
    }
  });
});
