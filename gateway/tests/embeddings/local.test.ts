import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { pino } from 'pino';
import { EmbedderUnavailable } from '../../src/embeddings/embedder.ts';
import { localEmbedder } from '../../src/embeddings/providers/local.ts';

const silent = pino({ level: 'silent' });
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, at) => sum + x * b[at]!, 0);
const longText = Array.from({ length: 400 }, (_, n) => `Step ${n}: rotate the deployment keys. `).join('');

describe('the embedded model', () => {
  const embedder = localEmbedder(silent);
  after(() => embedder.close());
  const embedOne = async (text: string): Promise<number[]> => (await embedder.embed([text]))[0]!;

  it('loads, and says what it is', async () => {
    await embedder.ready();
    assert.equal(embedder.model, 'all-MiniLM-L6-v2-int8');
    assert.equal(embedder.dimensions, 384);
  });

  it('puts paraphrases nearer than other matters', async () => {
    const pairs = [
      ['The service crashed because the disk was full.', 'It went down when there was no storage space left.'],
      ['We decided to use tabs instead of spaces.', 'Indentation is done with tabs, not blanks.'],
      ['Customers pay by credit card.', 'Payments from clients are made with plastic.'],
    ];
    const vectors = await embedder.embed(pairs.flat());
    for (let at = 0; at < vectors.length; at += 2) {
      const twin = dot(vectors[at]!, vectors[at + 1]!);
      const others = vectors.filter((_, other) => other >> 1 !== at >> 1).map((vector) => dot(vectors[at]!, vector));
      assert.ok(twin > Math.max(...others) + 0.1, `${pairs[at >> 1]![0]}: ${twin} against ${others}`);
    }
  });

  it('gives unit vectors, and the same one for the same text, alone or among others', async () => {
    const texts = ['deploy on Fridays', longText, 'x', 'The build uses Node 24.', 'deploy on Fridays'];
    const together = await embedder.embed(texts);
    for (const [at, text] of texts.entries()) {
      const vector = together[at]!;
      assert.equal(vector.length, 384);
      assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-6);
      assert.deepEqual(vector, await embedOne(text));
    }
  });

  it('reads the first 256 tokens of a long text', async () => {
    assert.deepEqual(await embedOne(longText), await embedOne(`${longText} and something else entirely`));
    assert.notDeepEqual(await embedOne(longText), await embedOne(longText.slice(0, 200)));
  });

  it('gives a vector for next to nothing, and for strange text', async () => {
    const strange = ['', ' ', '\n', '.', '🎉', '\u0000', '\ud800', '[SEP] [CLS]', 'é'.repeat(9000)];
    const vectors = await embedder.embed(strange);
    assert.equal(vectors.length, strange.length);
    for (const vector of vectors) assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-6);
    assert.deepEqual(await embedder.embed([]), []);
  });

  it('cuts into chunks only what is too long', async () => {
    assert.deepEqual(await embedder.chunk('short'), []);
    assert.deepEqual(await embedder.chunk('quite long but not too long. '.repeat(20)), []);
    const chunks = await embedder.chunk(longText);
    assert.ok(chunks.length > 5);
    assert.equal(chunks.at(-1)!.end, longText.length);
    for (const chunk of chunks) assert.equal(chunk.text, longText.slice(chunk.start, chunk.end));
  });

  it('lets a query pass a long batch', async () => {
    const done: string[] = [];
    const batch = embedder.embed(Array<string>(12).fill(longText)).then(() => done.push('batch'));
    const query = embedder.embed(['a query']).then(() => done.push('query'));
    await Promise.all([batch, query]);
    assert.deepEqual(done, ['query', 'batch']);
  });

  it('rejects what waits when the thread dies, and starts another for the next call', async () => {
    const before = await embedOne('still here');
    const thread = embedder.thread()!;
    const waiting = [embedder.embed(Array<string>(20).fill(longText)), embedder.chunk(longText.repeat(50))];
    const rejected = waiting.map((call) => assert.rejects(call, EmbedderUnavailable));
    await thread.terminate();
    await Promise.all(rejected);
    assert.deepEqual(await embedOne('still here'), before);
    assert.notEqual(embedder.thread(), thread);
  });
});

describe('the embedded model, closed or missing', () => {
  it('rejects once closed, what waits and what comes', async () => {
    const embedder = localEmbedder(silent);
    const waiting = assert.rejects(embedder.embed(['a text']), EmbedderUnavailable);
    await embedder.close();
    await waiting;
    await assert.rejects(embedder.embed(['another']), /closed/);
    await embedder.close();
  });

  it('says that it can not be loaded, to every call', async () => {
    const embedder = localEmbedder(silent, '/nowhere/at/all');
    await assert.rejects(embedder.ready(), { name: 'EmbedderUnavailable', message: /\/nowhere\/at\/all/ });
    await assert.rejects(embedder.embed(['a secret text']), (error: Error) => {
      assert.ok(error instanceof EmbedderUnavailable);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    await embedder.close();
  });

  it('keeps no process alive that has nothing more to do', async () => {
    const script = `
      import { pino } from 'pino';
      import { localEmbedder } from './local.ts';
      const embedder = localEmbedder(pino({ level: 'silent' }));
      await embedder.embed(['one']);
      console.log('done');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('../../src/embeddings/', import.meta.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    const [code] = await once(child, 'close');
    assert.deepEqual([code, output], [0, 'done\n']);
  });
});
