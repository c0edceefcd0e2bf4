// What the embedder's provider being down does to callers: next to nothing.
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { type Embedder, EmbedderUnavailable, EmbeddingRejected } from '../../src/embeddings/index.ts';
import { localEmbedder } from '../../src/embeddings/providers/local.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('while the embedder is down', () => {
  let gateway: TestGateway;
  let isDown = true;
  beforeAll(async () => {
    // The real embedder behind a switch: what is tested is what the gateway does when calls to it fail.
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
    gateway = await startTestGateway({ embedder });
  });
  afterAll(() => gateway.close());

  const backlog = async () =>
    (
      await gateway.instance.database.workerPool.query(
        'select pending::int, failing::int from embeddings.embedding_backlog()',
      )
    ).rows[0];

  it('saves go on, and are found by words', async () => {
    const { result } = await gateway.tool('C', 'save_memory', {
      content: 'Lighthouses guide ships.',
      project_id: 'l9',
    });
    expect(result.status).toBe('inserted');
    const found = await gateway.tool('C', 'search_memory', { query: 'lighthouses' });
    expect(found.result.hits.length).toBe(1);
    expect(found.result.searched.mode).toBe('lexical');
    expect(found.result.searched.requested_mode).toBe('hybrid');
    expect(found.text).toMatch(/embedder is not available/);
    expect((await backlog()).pending).toBe(1);
  });

  it('a search by meaning alone is refused with a way out', async () => {
    const { isError, text } = await gateway.tool('C', 'search_memory', { query: 'x', mode: 'semantic' });
    expect([isError, /L9VAL.*try lexical/.test(text)]).toStrictEqual([true, true]);
  });

  it('GET /ready says so, and that the gateway is still fit for use', async () => {
    const response = await fetch(`${gateway.instance.url}/ready`);
    expect(response.status).toBe(200);
    const { status, embedder, database, migrations } = (await response.json()) as Record<string, string>;
    expect({ status, embedder, database, migrations }).toStrictEqual({
      status: 'degraded',
      embedder: 'unavailable',
      database: 'ok',
      migrations: 'ok',
    });
  });

  it('GET /metrics shows the backlog', async () => {
    const text = await (await fetch(`${gateway.instance.url}/metrics`)).text();
    expect(text).toMatch(/^l9_embedding_backlog 1$/m);
    expect(text).toMatch(/^l9_embedding_backlog_oldest_seconds \d/m);
  });

  it('and up again, what waited is embedded; what the provider refuses does not hold up the rest', async () => {
    isDown = false;
    await gateway.tool('C', 'save_memory', { content: 'something unspeakable', project_id: 'l9' });
    await gateway.tool('C', 'save_memory', { content: 'Harbours shelter boats.', project_id: 'l9' });
    await eventually(async () => (await backlog()).pending <= 1);
    expect(await backlog()).toStrictEqual({ pending: 1, failing: 1 });
    const { result } = await gateway.tool('C', 'search_memory', {
      query: 'a beacon for sailors',
      mode: 'semantic',
      k: 1,
    });
    expect(result.hits[0].content).toBe('Lighthouses guide ships.');
    expect(((await (await fetch(`${gateway.instance.url}/ready`)).json()) as { status: string }).status).toBe('ready');
  });
});

describe('a gateway started with another embedding model than before', () => {
  it('goes on with the one that serves, whose vectors are there; a change is asked for (reembed)', async () => {
    const first = await startTestGateway();
    await first.tool('C', 'save_memory', { content: 'Lanterns light the quay.', project_id: 'l9' });
    await first.embedded();
    const { home } = first;
    await first.instance.close();

    // The same vectors under another name: to the database it is another model.
    const real = localEmbedder(pino({ level: 'silent' }));
    const embedder: Embedder = { ...real, model: 'another-model' };
    const second = await startTestGateway({ home, embedder });
    try {
      await second.tool('C', 'save_memory', { content: 'Buoys mark the channel.', project_id: 'l9' });
      await second.embedded();
      expect(await second.sql('C', 'select distinct model from public.memory_embeddings')).toStrictEqual([
        { model: 'all-MiniLM-L6-v2-int8' },
      ]);
      expect(second.instance.servingModel()).toBe('all-MiniLM-L6-v2-int8');
      const { result } = await second.tool('C', 'search_memory', { query: 'lamps by the harbour', mode: 'semantic' });
      expect(result.hits[0].content).toBe('Lanterns light the quay.');
    } finally {
      await second.close();
    }
  });
});
