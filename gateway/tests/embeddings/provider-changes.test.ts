// What the embedder's provider being down does to callers: next to nothing.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { type Embedder, EmbedderUnavailable, EmbeddingRejected } from '../../src/embeddings/index.ts';
import { localEmbedder } from '../../src/embeddings/providers/local.ts';
import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';

describe('while the embedder is down', () => {
  let house: House;
  let isDown = true;
  before(async () => {
    // The real embedder behind a switch: what is tested is what the house does when calls to it fail.
    const real = localEmbedder(pino({ level: 'silent' }));
    const embedder: Embedder = {
      model: real.model,
      dimensions: real.dimensions,
      chunk: (text) => real.chunk(text),
      close: () => real.close(),
      embed: async (texts) => {
        if (isDown) throw new EmbedderUnavailable('switched off');
        if (texts.some((text) => text.includes('unspeakable'))) throw new EmbeddingRejected('refused');
        return real.embed(texts);
      },
    };
    house = await openHouse({ embedder });
  });
  after(() => house.close());

  const backlog = async () =>
    (
      await house.gateway.database.workerPool.query(
        'select pending::int, failing::int from embeddings.embedding_backlog()',
      )
    ).rows[0];

  it('saves go on, and are found by words', async () => {
    const { result } = await house.tool('C', 'save_memory', { content: 'Lighthouses guide ships.', project_id: 'l9' });
    assert.equal(result.status, 'inserted');
    const found = await house.tool('C', 'search_memory', { query: 'lighthouses' });
    assert.equal(found.result.hits.length, 1);
    assert.equal(found.result.searched.mode, 'lexical');
    assert.equal(found.result.searched.requested_mode, 'hybrid');
    assert.match(found.text, /embedder is not available/);
    assert.equal((await backlog()).pending, 1);
  });

  it('a search by meaning alone is refused with a way out', async () => {
    const { isError, text } = await house.tool('C', 'search_memory', { query: 'x', mode: 'semantic' });
    assert.deepEqual([isError, /L9VAL.*try lexical/.test(text)], [true, true]);
  });

  it('GET /ready says so, and that the house is still fit for use', async () => {
    const response = await fetch(`${house.gateway.url}/ready`);
    assert.equal(response.status, 200);
    const { status, embedder, database, migrations } = (await response.json()) as Record<string, string>;
    assert.deepEqual(
      { status, embedder, database, migrations },
      { status: 'degraded', embedder: 'unavailable', database: 'ok', migrations: 'ok' },
    );
  });

  it('GET /metrics shows the backlog', async () => {
    const text = await (await fetch(`${house.gateway.url}/metrics`)).text();
    assert.match(text, /^l9_embedding_backlog 1$/m);
    assert.match(text, /^l9_embedding_backlog_oldest_seconds \d/m);
  });

  it('and up again, what waited is embedded; what the provider refuses does not hold up the rest', async () => {
    isDown = false;
    await house.tool('C', 'save_memory', { content: 'something unspeakable', project_id: 'l9' });
    await house.tool('C', 'save_memory', { content: 'Harbours shelter boats.', project_id: 'l9' });
    await eventually(async () => (await backlog()).pending <= 1);
    assert.deepEqual(await backlog(), { pending: 1, failing: 1 });
    const { result } = await house.tool('C', 'search_memory', {
      query: 'a beacon for sailors',
      mode: 'semantic',
      k: 1,
    });
    assert.equal(result.hits[0].content, 'Lighthouses guide ships.');
    assert.equal(((await (await fetch(`${house.gateway.url}/ready`)).json()) as { status: string }).status, 'ready');
  });
});

describe('a gateway started with another embedding model than before', () => {
  it('goes on with the one that serves, whose vectors are there; a change is asked for (reembed)', async () => {
    const first = await openHouse();
    await first.tool('C', 'save_memory', { content: 'Lanterns light the quay.', project_id: 'l9' });
    await first.embedded();
    const { home } = first;
    await first.gateway.close();

    // The same vectors under another name: to the database it is another model.
    const real = localEmbedder(pino({ level: 'silent' }));
    const embedder: Embedder = { ...real, model: 'another-model' };
    const second = await openHouse({ home, embedder });
    try {
      await second.tool('C', 'save_memory', { content: 'Buoys mark the channel.', project_id: 'l9' });
      await second.embedded();
      assert.deepEqual(await second.sql('C', 'select distinct model from public.memory_embeddings'), [
        { model: 'all-MiniLM-L6-v2-int8' },
      ]);
      assert.equal(second.gateway.servingModel(), 'all-MiniLM-L6-v2-int8');
      const { result } = await second.tool('C', 'search_memory', { query: 'lamps by the harbour', mode: 'semantic' });
      assert.equal(result.hits[0].content, 'Lanterns light the quay.');
    } finally {
      await second.close();
    }
  });
});
