// An outage of the embedding provider hardly affects callers.
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { type Embedder, EmbedderUnavailable, EmbeddingRejected } from '../../src/embeddings/index.ts';
import { localEmbedder } from '../../src/embeddings/providers/local.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('a gateway whose embedding provider is down', () => {
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

  it('saves memories, and finds them by words', async () => {
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

  it('refuses a purely semantic search, and suggests another mode', async () => {
    const { isError, text } = await gateway.tool('C', 'search_memory', { query: 'x', mode: 'semantic' });
    expect([isError, /L9VAL.*try lexical/.test(text)]).toStrictEqual([true, true]);
  });

  it('reports the outage at GET /ready, and that it is still usable', async () => {
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

  it('reports the backlog at GET /metrics', async () => {
    const text = await gateway.metrics();
    expect(text).toMatch(/^l9_embedding_backlog 1$/m);
    expect(text).toMatch(/^l9_embedding_backlog_oldest_seconds \d/m);
  });

  it('embeds the backlog once the provider is back, except texts that it refuses', async () => {
    isDown = false;
    await gateway.save('C', 'something unspeakable');
    await gateway.save('C', 'Harbours shelter boats.');
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
  it('continues with the serving model until reembed changes it', async () => {
    const first = await startTestGateway();
    await first.save('C', 'Lanterns light the quay.');
    await first.embedded();
    const { home } = first;
    await first.instance.close();

    // The same vectors under another name: to the database it is another model.
    const real = localEmbedder(pino({ level: 'silent' }));
    const embedder: Embedder = { ...real, model: 'another-model' };
    const second = await startTestGateway({ home, embedder });
    try {
      await second.save('C', 'Buoys mark the channel.');
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
