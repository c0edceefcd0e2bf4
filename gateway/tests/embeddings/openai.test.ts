import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { errorOf } from '../../../db/tests/support/errors.ts';
import type { Embedder, EmbeddingConfig } from '../../src/embeddings/embedder.ts';
import { EmbedderUnavailable, EmbeddingRejected } from '../../src/embeddings/embedder.ts';
import type { OpenaiTuning } from '../../src/embeddings/providers/openai.ts';
import { openaiEmbedder } from '../../src/embeddings/providers/openai.ts';
import type { Provider } from './provider.ts';
import { startProvider, vectorFor, vectors } from './provider.ts';

const DIMENSIONS = 8;
const KEY = 'sk-test-4f9a';
const TEXT = 'the vault code is 4711';

describe('embeddings by OpenAI', () => {
  let provider: Provider;
  let logged: string;
  let open: Embedder[];

  beforeEach(async () => {
    provider = await startProvider(DIMENSIONS);
    logged = '';
    open = [];
  });
  afterEach(async () => {
    await Promise.all(open.map((embedder) => embedder.close()));
    await provider.close();
  });

  function embedderWith(config: Partial<EmbeddingConfig> = {}, tuning: Partial<OpenaiTuning> = {}): Embedder {
    const base = {
      provider: 'openai',
      model: 'some-model',
      dimensions: DIMENSIONS,
      apiKey: KEY,
      timeoutMs: 5000,
    } as const;
    const write = (line: string): void => {
      logged += line;
    };
    const logger = pino({ level: 'trace' }, { write });
    const embedder = openaiEmbedder({ ...base, baseUrl: provider.baseUrl, ...config }, logger, tuning);
    open.push(embedder);
    return embedder;
  }

  /** The message of the error, which shows neither key nor text anywhere; nor does the log. */
  async function failure(call: Promise<unknown>, type: new (message: string) => Error): Promise<string> {
    const error = await errorOf(call);
    expect(error, String(error)).toBeInstanceOf(type);
    const shown = [error.stack, String(error.cause), JSON.stringify(error), logged].join('\n');
    expect(shown, `key or text in: ${shown}`).not.toContain(KEY);
    expect(shown, `key or text in: ${shown}`).not.toContain(TEXT);
    return error.message;
  }

  const unit = (text: string): number[] => {
    const vector = vectorFor(text, DIMENSIONS);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const near = (actual: number[], expected: number[]): void => {
    expect(actual).toHaveLength(expected.length);
    expect(actual.every((value, at) => Math.abs(value - expected[at]!) < 1e-9)).toBe(true);
  };

  it('asks for floats with its key, and gives unit vectors', async () => {
    near((await embedderWith().embed([TEXT]))[0]!, unit(TEXT));
    const [call] = provider.asked;
    expect(call!.url).toBe('/v1/embeddings');
    expect(call!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(call!.body).toStrictEqual({ model: 'some-model', input: [TEXT], encoding_format: 'float' });
  });

  it('needs no key where a base URL is given, and one of them at least', async () => {
    expect(await embedderWith({ apiKey: null }).embed(['a'])).toHaveLength(1);
    expect(() => embedderWith({ apiKey: null, baseUrl: null })).toThrow(/OPENAI_API_KEY.*OPENAI_BASE_URL/);
  });

  it('splits many texts into requests, and keeps their order', async () => {
    const texts = Array.from({ length: 300 }, (_, n) => `${n} texts`);
    const result = await embedderWith().embed(texts);
    expect(result).toHaveLength(300);
    for (const [at, vector] of result.entries()) near(vector, unit(texts[at]!));
    const sizes = provider.asked.map(({ body }) => body.input.length);
    expect(sizes).toStrictEqual([128, 128, 44]);
    expect(await embedderWith().embed([])).toStrictEqual([]);
  });

  it('splits by size, and cuts a text at what any provider reads', async () => {
    const texts = Array.from({ length: 40 }, (_, n) => `${n}${'🎉'.repeat(3000)}`);
    expect(await embedderWith().embed(texts)).toHaveLength(40);
    expect(provider.asked.length).toBeGreaterThan(1);
    for (const { body } of provider.asked) {
      expect(body.input.reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBeLessThanOrEqual(256 * 1024);
      for (const text of body.input) expect(Buffer.byteLength(text) <= 8191 && text.isWellFormed()).toBe(true);
    }
  });

  it('sends something for an empty text, which providers refuse', async () => {
    await embedderWith().embed(['', 'b']);
    expect(provider.asked[0]!.body.input).toStrictEqual([' ', 'b']);
  });

  it('tries again after an error of the server', async () => {
    provider.script.push({ status: 500 }, { status: 429 }, (asked) => vectors(asked, DIMENSIONS));
    expect(await embedderWith().embed([TEXT])).toHaveLength(1);
    expect(provider.asked).toHaveLength(3);
  });

  it('gives up in the end, with the status and code alone', async () => {
    provider.script.push({ status: 503, body: { error: { message: `${TEXT} ${KEY}`, code: 'overloaded' } } });
    const message = await failure(embedderWith().embed([TEXT]), EmbedderUnavailable);
    expect(message).toMatch(/HTTP 503 \(overloaded\)/);
    expect(provider.asked).toHaveLength(3);
  });

  it('does not repeat what the provider refuses', async () => {
    for (const status of [400, 413, 422]) {
      provider.script.splice(0, 1, { status, body: { error: { message: TEXT, code: TEXT, type: TEXT } } });
      const message = await failure(embedderWith().embed([TEXT]), EmbeddingRejected);
      expect(message).toMatch(new RegExp(`HTTP ${status}$`));
    }
    expect(provider.asked).toHaveLength(3);
  });

  it('names the setting that is wrong', async () => {
    provider.script.push({
      status: 401,
      body: { error: { message: `not a key: ${KEY}`, code: 'invalid_api_key' } },
    });
    const message = await failure(embedderWith().embed([TEXT]), EmbedderUnavailable);
    expect(message).toMatch(/OPENAI_API_KEY: HTTP 401 \(invalid_api_key\)/);
    provider.script.splice(0, 1, { status: 404 });
    expect(await failure(embedderWith().embed([TEXT]), EmbedderUnavailable)).toMatch(/EMBEDDING_MODEL=some-model/);
  });

  it('times out, whether the head or the body of the answer is late', async () => {
    for (const hang of ['all', 'body'] as const) {
      provider.script.splice(0, 1, { hang });
      const call = embedderWith({ timeoutMs: 50 }, { maxRetries: 0 }).embed([TEXT]);
      expect(await failure(call, EmbedderUnavailable)).toMatch(/timed out/);
    }
  });

  it('says that nobody listens', async () => {
    const embedder = embedderWith({}, { maxRetries: 0 });
    await provider.close();
    expect(await failure(embedder.embed([TEXT]), EmbedderUnavailable)).toMatch(/can't be reached \(ECONNREFUSED\)/);
  });

  it('does not take a strange answer for vectors', async () => {
    const one = (embedding: unknown, index = 0): unknown => ({ data: [{ index, embedding }] });
    const strange = [null, {}, { data: [] }, { data: [null] }, one('AACAPw=='), one([null, 1]), one([1], 7)];
    const embedder = embedderWith({}, { failuresToOpen: 100 });
    for (const body of strange) {
      provider.script.splice(0, 1, { body });
      const message = await failure(embedder.embed([TEXT]), EmbedderUnavailable);
      expect(message, JSON.stringify(body)).toMatch(/answer/);
    }
    provider.script.splice(0, 1, { body: one(Array(DIMENSIONS).fill(0)) });
    expect(await failure(embedder.embed([TEXT]), EmbeddingRejected)).toMatch(/no direction/);
  });

  describe('dimensions', () => {
    const asked = (): Array<number | undefined> => provider.asked.map(({ body }) => body.dimensions);

    it('are asked of the models that take them', async () => {
      for (const model of ['text-embedding-3-small', 'openai/text-embedding-3-large']) {
        await embedderWith({ model }).embed(['a']);
      }
      expect(asked()).toStrictEqual([DIMENSIONS, DIMENSIONS]);
    });

    it('are asked of a model that answered with more, then from the start', async () => {
      provider.script.push((call) => vectors(call, call.body.dimensions ?? 12));
      const embedder = embedderWith();
      near((await embedder.embed(['abc']))[0]!, unit('abc'));
      near((await embedder.embed(['def']))[0]!, unit('def'));
      expect(asked()).toStrictEqual([undefined, DIMENSIONS, DIMENSIONS]);
    });

    it('that stay wrong are refused, and the settings named', async () => {
      for (const [size, requests] of [
        [12, 2],
        [4, 1],
      ] as const) {
        provider.asked.length = 0;
        provider.script.splice(0, 1, (call) => vectors(call, size));
        const message = await failure(embedderWith().embed([TEXT]), EmbeddingRejected);
        expect(message).toMatch(
          new RegExp(`EMBEDDING_MODEL=some-model .*${size} .*EMBEDDING_DIMENSIONS=${DIMENSIONS}`),
        );
        expect(provider.asked).toHaveLength(requests);
      }
    });

    it('that a model can not be asked for are named too', async () => {
      provider.script.push((call) => (call.body.dimensions ? { status: 400 } : vectors(call, 12)));
      const message = await failure(embedderWith().embed([TEXT]), EmbeddingRejected);
      expect(message).toMatch(/EMBEDDING_MODEL=some-model .*12 .*EMBEDDING_DIMENSIONS=8/);
    });
  });

  describe('breaker', () => {
    it('opens after failures in a row, then fails at once, until the provider is back', async () => {
      provider.script.push({ status: 500 });
      const embedder = embedderWith({}, { maxRetries: 0, failuresToOpen: 3, halfOpenAfterMs: 400 });
      for (let n = 0; n < 3; n += 1) await failure(embedder.embed([TEXT]), EmbedderUnavailable);
      expect(await failure(embedder.embed([TEXT]), EmbedderUnavailable)).toMatch(/down/);
      expect(provider.asked, 'the provider is left alone').toHaveLength(3);
      expect(logged).toMatch(/provider is down/);

      provider.script.length = 0;
      await sleep(450);
      expect(await embedder.embed([TEXT])).toHaveLength(1);
      expect(await embedder.embed([TEXT])).toHaveLength(1);
      expect(logged).toMatch(/provider is back/);
    });

    it('does not open for texts that are refused', async () => {
      provider.script.push({ status: 400 });
      const embedder = embedderWith({}, { failuresToOpen: 2 });
      for (let n = 0; n < 4; n += 1) await failure(embedder.embed([TEXT]), EmbeddingRejected);
      expect(provider.asked).toHaveLength(4);
    });
  });

  it('chunks by about 800 tokens, without asking the provider', async () => {
    const embedder = embedderWith();
    const text = 'Every packet belongs to one tenant and to one scope. '.repeat(200);
    expect(await embedder.chunk('a few words')).toStrictEqual([]);
    const chunks = await embedder.chunk(text);
    expect(chunks.length).toBeGreaterThanOrEqual(2);
    expect(chunks.length).toBeLessThanOrEqual(5);
    expect(chunks.at(-1)!.end).toBe(text.length);
    expect(provider.asked).toHaveLength(0);
  });
});
