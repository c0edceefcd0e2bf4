// Measures of a ranking against judgements. Relevance is binary, and the ids in a ranking are distinct.

/** Normalised discounted cumulative gain of the first k; 0 if nothing is relevant. */
export function ndcgAt(k: number, ranking: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const reached = ranking.slice(0, k).reduce((sum, id, rank) => (relevant.has(id) ? sum + gain(rank) : sum), 0);
  let ideal = 0;
  for (let rank = 0; rank < Math.min(k, relevant.size); rank++) ideal += gain(rank);
  return ideal === 0 ? 0 : reached / ideal;
}

/** The share of the relevant documents that are among the first k. */
export function recallAt(k: number, ranking: readonly string[], relevant: ReadonlySet<string>): number {
  if (relevant.size === 0) return 0;
  return ranking.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
}

/** 1 divided by the rank of the first relevant document; 0 without one. */
export function reciprocalRank(ranking: readonly string[], relevant: ReadonlySet<string>): number {
  const rank = ranking.findIndex((id) => relevant.has(id));
  return rank < 0 ? 0 : 1 / (rank + 1);
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The smallest value that is at least as large as `part` (0 to 1) of the values. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(part * sorted.length) - 1, 0)] ?? Number.NaN;
}

export interface Judged {
  ranking: readonly string[];
  relevant: ReadonlySet<string>;
  milliseconds: number;
  /** What kind of question it is, where figures differ by it. */
  category?: string | undefined;
}

export interface Figures {
  recall_at_1: number;
  recall_at_5: number;
  recall_at_10: number;
  ndcg_at_10: number;
  mrr: number;
  success_at_10: number;
  p50_ms: number;
  p95_ms: number;
  /** The same of each category, where the questions have one. */
  categories?: Record<string, Figures>;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Means over all queries, with rankings cut off at 10, and latencies. */
export function figuresOf(queries: readonly Judged[]): Figures {
  const over = (measure: (query: Judged) => number) => round(mean(queries.map(measure)), 4);
  const times = queries.map(({ milliseconds }) => milliseconds);
  const categories = Object.entries(Object.groupBy(queries, ({ category }) => category ?? ''))
    .filter(([category]) => category !== '')
    .map(([category, part]) => [category, figuresOf(part!.map(({ category: _, ...query }) => query))]);
  return {
    recall_at_1: over(({ ranking, relevant }) => recallAt(1, ranking, relevant)),
    recall_at_5: over(({ ranking, relevant }) => recallAt(5, ranking, relevant)),
    recall_at_10: over(({ ranking, relevant }) => recallAt(10, ranking, relevant)),
    ndcg_at_10: over(({ ranking, relevant }) => ndcgAt(10, ranking, relevant)),
    mrr: over(({ ranking, relevant }) => reciprocalRank(ranking.slice(0, 10), relevant)),
    success_at_10: over(({ ranking, relevant }) => (reciprocalRank(ranking.slice(0, 10), relevant) > 0 ? 1 : 0)),
    p50_ms: round(percentile(times, 0.5), 1),
    p95_ms: round(percentile(times, 0.95), 1),
    ...(categories.length > 0 && { categories: Object.fromEntries(categories) }),
  };
}

/** By how much a hybrid search may be below one of its parts: with fewer than 200 questions, a hit more or less is as much. */
const TOLERATED = 0.005;

/** Where a hybrid search finds or ranks less well than words alone or meaning alone, in sentences. */
export function belowALeg({ hybrid, ...legs }: Record<string, Figures>): string[] {
  return Object.entries(legs).flatMap(([leg, figures]) =>
    (['recall_at_10', 'ndcg_at_10'] as const)
      .filter((measure) => figures[measure] - hybrid![measure] > TOLERATED + 1e-9)
      .map((measure) => `hybrid has a ${measure} of ${hybrid![measure]}, and ${leg} alone has ${figures[measure]}`),
  );
}
