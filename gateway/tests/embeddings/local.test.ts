import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pino } from 'pino';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { EmbedderUnavailable } from '../../src/embeddings/embedder.ts';
import { localEmbedder, localProvider } from '../../src/embeddings/providers/local.ts';
import { scheduled } from '../../src/embeddings/scheduler.ts';

const silent = pino({ level: 'silent' });
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, at) => sum + x * b[at]!, 0);
const longText = Array.from({ length: 400 }, (_, n) => `Step ${n}: rotate the deployment keys. `).join('');

describeOnEmbedded('the local model', () => {
  const embedder = localEmbedder(silent);
  afterAll(() => embedder.close());
  const embedOne = async (text: string): Promise<number[]> => (await embedder.embed([text]))[0]!;

  it('loads, and reports its name and dimensions', async () => {
    await embedder.ready();
    expect(embedder.model).toBe('all-MiniLM-L6-v2-int8');
    expect(embedder.dimensions).toBe(384);
  });

  it('ranks paraphrases nearer than unrelated texts', async () => {
    const pairs = [
      ['The service crashed because the disk was full.', 'It went down when there was no storage space left.'],
      ['We decided to use tabs instead of spaces.', 'Indentation is done with tabs, not blanks.'],
      ['Customers pay by credit card.', 'Payments from clients are made with plastic.'],
    ];
    const vectors = await embedder.embed(pairs.flat());
    for (let at = 0; at < vectors.length; at += 2) {
      const twin = dot(vectors[at]!, vectors[at + 1]!);
      const others = vectors.filter((_, other) => other >> 1 !== at >> 1).map((vector) => dot(vectors[at]!, vector));
      expect(twin, `${pairs[at >> 1]![0]}: ${twin} against ${others}`).toBeGreaterThan(Math.max(...others) + 0.1);
    }
  });

  it('returns unit vectors, equal for a text alone or in a batch', async () => {
    const texts = ['deploy on Fridays', longText, 'x', 'The build uses Node 24.', 'deploy on Fridays'];
    const together = await embedder.embed(texts);
    for (const [at, text] of texts.entries()) {
      const vector = together[at]!;
      expect(vector).toHaveLength(384);
      expect(Math.abs(dot(vector, vector) - 1)).toBeLessThan(1e-6);
      expect(vector).toStrictEqual(await embedOne(text));
    }
  });

  it('reads the first 256 tokens of a long text', async () => {
    expect(await embedOne(longText)).toStrictEqual(await embedOne(`${longText} and something else entirely`));
    expect(await embedOne(longText)).not.toStrictEqual(await embedOne(longText.slice(0, 200)));
  });

  it('knows a text if it knows any letter of it', async () => {
    const known = ['hello', 'ok 🚀', '中国', '서울', 'Привет', 'été', '...', '12', '🚀 é'];
    for (const text of known) expect(await embedder.knows!(text), text).toBe(true);
    const unknown = ['🚀', '✅ ✅', '🎉!', 'กรุงเทพมหานครเป็นเมืองหลวง', '👨‍👩‍👧 – 🇩🇪', 'ᚠᚢᚦ', '\u2800\u2801'];
    for (const text of unknown) expect(await embedder.knows!(text), text).toBe(false);
  });

  it('returns a vector for nearly empty and for unusual text', async () => {
    const strange = ['', ' ', '\n', '.', '🎉', '\u0000', '\ud800', '[SEP] [CLS]', 'é'.repeat(9000)];
    const vectors = await embedder.embed(strange);
    expect(vectors).toHaveLength(strange.length);
    for (const vector of vectors) expect(Math.abs(dot(vector, vector) - 1)).toBeLessThan(1e-6);
    expect(await embedder.embed([])).toStrictEqual([]);
  });

  it('divides only texts into chunks that are too long', async () => {
    expect(await embedder.chunk('short')).toStrictEqual([]);
    expect(await embedder.chunk('quite long but not too long. '.repeat(20))).toStrictEqual([]);
    const chunks = await embedder.chunk(longText);
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.at(-1)!.end).toBe(longText.length);
    for (const chunk of chunks) expect(chunk.text).toBe(longText.slice(chunk.start, chunk.end));
  });

  it('embeds a query before the rest of a long batch, and while a very long text is divided', async () => {
    const inOrder = scheduled(embedder, localProvider.capacity);
    const done: string[] = [];
    const batch = inOrder.embed(Array<string>(12).fill(longText)).then(() => done.push('batch'));
    const chunks = inOrder.chunk(longText.repeat(60)).then(() => done.push('chunks'));
    const query = inOrder.embed(['a query'], 'query').then(() => done.push('query'));
    await Promise.all([batch, chunks, query]);
    expect(done[0]).toBe('query');
  });

  it('rejects pending calls when the process dies, and starts another for the next call', async () => {
    const before = await embedOne('still here');
    const worker = embedder.process()!;
    const waiting = [embedder.embed(Array<string>(20).fill(longText)), embedder.chunk(longText.repeat(50))];
    const rejected = waiting.map((call) => expect(call).rejects.toThrow(EmbedderUnavailable));
    worker.kill('SIGKILL');
    await Promise.all(rejected);
    expect(await embedOne('still here')).toStrictEqual(before);
    expect(embedder.process()).not.toBe(worker);
  });
});

describeOnEmbedded('the local model, closed or missing', () => {
  it('rejects pending and new calls once it is closed', async () => {
    const embedder = localEmbedder(silent);
    const waiting = expect(embedder.embed(['a text'])).rejects.toThrow(EmbedderUnavailable);
    await embedder.close();
    await waiting;
    await expect(embedder.embed(['another'])).rejects.toThrow(/closed/);
    await embedder.close();
  });

  it('reports to every call that it cannot be loaded', async () => {
    const embedder = localEmbedder(silent, { modelDir: '/nowhere/at/all' });
    await expect(embedder.ready()).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: expect.stringMatching(/\/nowhere\/at\/all/),
    });
    const error = await errorOf(embedder.embed(['a secret text']));
    expect(error).toBeInstanceOf(EmbedderUnavailable);
    expect(error.message).not.toMatch(/secret/);
    await embedder.close();
  });

  it('does not keep an otherwise finished process alive', async () => {
    const script = `
      import { pino } from 'pino';
      import { localEmbedder } from './local.ts';
      const embedder = localEmbedder(pino({ level: 'silent' }));
      await embedder.embed(['one']);
      console.log('done');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('../../src/embeddings/providers/', import.meta.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    const [code] = await once(child, 'close');
    expect([code, output]).toStrictEqual([0, 'done\n']);
  });
});

describeOnEmbedded('the local model without work', () => {
  it('is let go, reported as ready, and loaded again by the next text', async () => {
    const embedder = localEmbedder(silent, { idleMs: 50 });
    try {
      const [before] = await embedder.embed(['The disk is full.']);
      await eventually(() => embedder.process() === null);
      await embedder.isReady!();
      expect(embedder.process()).toBeNull();
      const [after] = await embedder.embed(['The disk is full.']);
      expect(after).toStrictEqual(before);
    } finally {
      await embedder.close();
    }
  });

  it('is not let go while it works', async () => {
    const embedder = localEmbedder(silent, { idleMs: 1 });
    try {
      expect(await embedder.embed(Array.from({ length: 20 }, (_, n) => `text ${n}`))).toHaveLength(20);
    } finally {
      await embedder.close();
    }
  });
});
