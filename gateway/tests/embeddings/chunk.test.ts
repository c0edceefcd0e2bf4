import fc from 'fast-check';
import { chunkText } from '../../src/embeddings/chunk.ts';
import { MODEL_DIR } from '../../src/embeddings/text-worker.ts';
import { loadTokens } from '../../src/embeddings/tokens.ts';

const limits = { maxTokens: 20, overlapTokens: 4 };
const byLetters = (word: string): number => Math.ceil(word.length / 4);
const wordsOf = (text: string): string[] => text.match(/\S+/g) ?? [];
const tokensOf = (text: string): number => wordsOf(text).reduce((sum, word) => sum + byLetters(word), 0);

// Words, punctuation and whitespace of many kinds; strings without spaces; characters beyond the basic plane.
const anyText = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom('. ', '! ', '\n', '\n\n', '\t', '   ', '。', ' — ', '\r\n\r\n'),
      },
      { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
      {
        weight: 1,
        arbitrary: fc.string({ unit: fc.constantFrom('a', 'Z', '9', '+', '界', '한', '🎉'), maxLength: 300 }),
      },
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));

describe('chunkText', () => {
  it('covers every character, in order, with the text that its offsets say', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const chunks = chunkText(text, byLetters, limits);
        if (chunks.length === 0) return;
        expect(chunks[0]!.start).toBe(0);
        expect(chunks.at(-1)!.end).toBe(text.length);
        chunks.forEach((chunk, at) => {
          expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
          const before = chunks[at - 1];
          if (!before) return;
          expect(chunk.start, 'nothing falls between two chunks').toBeLessThanOrEqual(before.end);
          expect(chunk.start, 'each chunk moves on').toBeGreaterThan(before.start);
          expect(chunk.end, 'each chunk moves on').toBeGreaterThan(before.end);
        });
      }),
    );
  });

  it('keeps every chunk, and every overlap, within its limit', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), fc.integer({ min: 0, max: 10 }), (text, max, overlap) => {
        const chunks = chunkText(text, byLetters, {
          maxTokens: max,
          overlapTokens: Math.min(overlap, max - 1),
        });
        chunks.forEach((chunk, at) => {
          expect(tokensOf(chunk.text), `${tokensOf(chunk.text)} tokens`).toBeLessThanOrEqual(max);
          const next = chunks[at + 1];
          if (next) expect(tokensOf(text.slice(next.start, chunk.end))).toBeLessThanOrEqual(overlap);
        });
      }),
    );
  });

  it('never cuts a surrogate pair', () => {
    const pairs = fc.string({ unit: fc.constantFrom('🎉', '𠮷', 'a', ' '), minLength: 30, maxLength: 400 });
    fc.assert(
      fc.property(pairs, fc.integer({ min: 1, max: 9 }), (text, maxTokens) => {
        for (const chunk of chunkText(text, (word) => word.length, { maxTokens, overlapTokens: 0 })) {
          expect(chunk.text.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  it('leaves whole what fits', () => {
    for (const text of ['', '   \n ', 'short', 'twenty '.repeat(10)]) {
      expect(chunkText(text, byLetters, limits)).toStrictEqual([]);
    }
  });

  it('repeats the end of a chunk at the start of the next', () => {
    const text = Array.from({ length: 100 }, (_, n) => `w${n}`).join(' ');
    const chunks = chunkText(text, () => 1, limits);
    for (const [at, chunk] of chunks.slice(1).entries()) {
      expect(wordsOf(text.slice(chunk.start, chunks[at]!.end))).toHaveLength(limits.overlapTokens);
    }
  });

  it('overlaps text without spaces too', () => {
    const chunks = chunkText('今天天气很好我们去公园'.repeat(20), (word) => word.length, limits);
    expect(chunks.length).toBeGreaterThan(1);
    for (const [at, chunk] of chunks.slice(1).entries()) expect(chunk.start).toBeLessThan(chunks[at]!.end);
  });

  it('stops at the end of a paragraph, else of a sentence, else of a line, when one is near', () => {
    const words = (count: number, end: string): string => `${Array(count).fill('word').join(' ')}${end}`;
    const firstEnd = (...parts: string[]): number =>
      wordsOf(chunkText(parts.join(''), () => 1, limits)[0]!.text).length;
    expect(firstEnd(words(16, '.\n\n'), words(2, '. '), words(30, ''))).toBe(16);
    expect(firstEnd(words(17, '\n'), words(2, '.” '), words(30, ''))).toBe(19);
    expect(firstEnd(words(16, '\n'), words(30, ''))).toBe(16);
    expect(firstEnd(words(10, '.\n\n'), words(30, '')), 'too early a stop would waste the chunk').toBe(20);
  });

  it('cuts an overlong word between its parts where it can', () => {
    const chunks = chunkText('https://example.com/some/path/'.repeat(40), byLetters, {
      maxTokens: 100,
      overlapTokens: 30,
    });
    expect(chunks.length).toBeGreaterThan(1);
    for (const { text } of chunks.slice(0, -1)) expect(text).toMatch(/[^A-Za-z0-9]$/);
  });

  it('takes a megabyte without a single space, or of nothing but spaces', () => {
    const size = 2 ** 20;
    expect(chunkText('x'.repeat(size), byLetters, { maxTokens: 254, overlapTokens: 38 }).length).toBeGreaterThan(1000);
    expect(chunkText(' '.repeat(size), byLetters, limits)).toStrictEqual([]);
  });
});

describe('tokens', () => {
  let tokens: Awaited<ReturnType<typeof loadTokens>>;
  beforeAll(async () => {
    tokens = await loadTokens(MODEL_DIR);
  });
  const prose = 'Re-embedding the café’s naïve PostgreSQL-18 notes, e.g. “vector(1536)” — don’t pad; 東京 2026! ';
  const long = prose.repeat(60);
  const real = (text: string): number => tokens.encode(text, 1_000_000).length - 2;

  it('counts words as the tokenizer does', () => {
    const sum = wordsOf(prose).reduce((total, word) => total + tokens.count(word), 0);
    expect(sum).toBe(real(prose));
    for (const word of ['https://example.com/a_b?c=d', 'QUJDRGVmZ2hpSktM', 'unaffable', '[[--]]', '##', '##ing']) {
      expect(tokens.count(word), word).toBe(real(word));
    }
  });

  it('keeps real chunks within what the model reads', () => {
    const data = Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * 7919 * n) & 255)).toString('base64');
    for (const text of [long, data, '東京都'.repeat(300), '한국어로'.repeat(300), `${data.slice(0, 900)} ${long}`]) {
      const chunks = chunkText(text, tokens.count, { maxTokens: 254, overlapTokens: 38 });
      expect(chunks.length).toBeGreaterThan(1);
      for (const chunk of chunks) expect(real(chunk.text), `${real(chunk.text)} wordpieces`).toBeLessThanOrEqual(254);
    }
  });

  it('encodes the start of a text, marked at both ends', () => {
    const ids = tokens.encode(long, 256);
    expect(ids).toHaveLength(256);
    expect([ids[0], ids.at(-1)]).toStrictEqual([101, 102]);
    expect(ids.slice(0, 20)).toStrictEqual(tokens.encode(prose, 256).slice(0, 20));
    expect(tokens.encode('', 256)).toStrictEqual([101, 102]);
  });
});
