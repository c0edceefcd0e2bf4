import {
  belowALeg,
  figuresOf,
  mean,
  ndcgAt,
  percentile,
  recallAt,
  reciprocalRank,
} from '../../../bench/eval/metrics.ts';

const close = (actual: number, expected: number) =>
  expect(Math.abs(actual - expected), `${actual} is not ${expected}`).toBeLessThan(1e-9);

describe('nDCG', () => {
  it('is 1 for the ideal ranking, also if fewer than k documents are relevant', () => {
    close(ndcgAt(10, ['a', 'b', 'c'], new Set(['a', 'b'])), 1);
  });

  it('discounts by rank', () => {
    // Relevant at ranks 2 and 3: 1/log2(3) + 1/log2(4) = 1.130930; ideal: 1 + 1/log2(3) = 1.630930.
    close(ndcgAt(3, ['x', 'a', 'b'], new Set(['a', 'b'])), (1 / Math.log2(3) + 0.5) / (1 + 1 / Math.log2(3)));
    close(Number(ndcgAt(3, ['x', 'a', 'b'], new Set(['a', 'b'])).toFixed(4)), 0.6934);
  });

  it('considers only the first k documents, in the ideal ranking too', () => {
    close(ndcgAt(2, ['x', 'y', 'a'], new Set(['a'])), 0);
    close(ndcgAt(2, ['a', 'b'], new Set(['a', 'b', 'c', 'd'])), 1);
  });

  it('is 0 if nothing is found or nothing is relevant', () => {
    close(ndcgAt(10, [], new Set(['a'])), 0);
    close(ndcgAt(10, ['a'], new Set()), 0);
  });
});

describe('recall', () => {
  it('is the share of the relevant documents that were found', () => {
    close(recallAt(3, ['a', 'x', 'b', 'c'], new Set(['a', 'b', 'c', 'd'])), 0.5);
    close(recallAt(3, ['x'], new Set(['a'])), 0);
    close(recallAt(3, ['x'], new Set()), 0);
  });
});

describe('reciprocal rank', () => {
  it('is 1 divided by the rank of the first relevant document', () => {
    close(reciprocalRank(['a', 'b'], new Set(['a', 'b'])), 1);
    close(reciprocalRank(['x', 'y', 'b', 'a'], new Set(['a', 'b'])), 1 / 3);
    close(reciprocalRank(['x'], new Set(['a'])), 0);
  });
});

describe('percentile', () => {
  it('returns a value that was measured', () => {
    const values = [5, 1, 4, 2, 3];
    expect(percentile(values, 0.5)).toBe(3);
    expect(percentile(values, 0.95)).toBe(5);
    expect(percentile(values, 0)).toBe(1);
    expect(percentile([1, 2], 0.5)).toBe(1);
    expect(values).toStrictEqual([5, 1, 4, 2, 3]);
    expect(Number.isNaN(percentile([], 0.5))).toBe(true);
  });
});

describe('figures', () => {
  it('averages over the queries, cut off at rank 10', () => {
    const late = [...'0123456789'].map((name) => `x${name}`).concat('a');
    const figures = figuresOf([
      { ranking: ['a', 'x'], relevant: new Set(['a', 'b']), milliseconds: 10 },
      { ranking: late, relevant: new Set(['a']), milliseconds: 30 },
    ]);
    // The first: 1 / (1 + 1/log2(3)) = 0.613147, recall 1/2, rank 1. The second has it at rank 11: nothing.
    expect(figures).toStrictEqual({
      ndcg_at_10: 0.3066,
      recall_at_1: 0.25,
      recall_at_5: 0.25,
      recall_at_10: 0.25,
      mrr: 0.5,
      success_at_10: 0.5,
      p50_ms: 10,
      p95_ms: 30,
    });
    expect(mean([])).toBe(0);
  });

  it('tells the figures of each category of questions apart', () => {
    const query = (ranking: string[], category?: string) => ({
      ranking,
      relevant: new Set(['a']),
      milliseconds: 10,
      ...(category && { category }),
    });
    const { recall_at_1, categories } = figuresOf([query(['a'], 'general'), query(['x'], 'specific'), query(['a'])]);
    expect(recall_at_1).toBe(0.6667);
    expect(Object.entries(categories!).map(([name, part]) => [name, part.recall_at_1])).toStrictEqual([
      ['general', 1],
      ['specific', 0],
    ]);
    expect(categories!.general!.categories).toBeUndefined();
  });
});

describe('a hybrid search that is below one of its parts', () => {
  const figures = (recall_at_10: number, ndcg_at_10: number) => ({ ...figuresOf([]), recall_at_10, ndcg_at_10 });

  it('is told by measure and part, from more than .005 on', () => {
    const hybrid = figures(0.5, 0.6);
    expect(belowALeg({ hybrid, lexical: figures(0.505, 0.605), semantic: figures(0.4, 0.5) })).toStrictEqual([]);
    expect(belowALeg({ hybrid, lexical: figures(0.5051, 0.6), semantic: figures(0.4, 0.7) })).toStrictEqual([
      'hybrid has a recall_at_10 of 0.5, and lexical alone has 0.5051',
      'hybrid has a ndcg_at_10 of 0.6, and semantic alone has 0.7',
    ]);
  });
});
