// Logistic regression, and how well probabilities are calibrated.

export interface Observation {
  /** The values of the features, without the constant. */
  features: readonly number[];
  isTrue: boolean;
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, n) => sum + value * b[n]!, 0);

/** What the coefficients say about features. */
export const probability = (coefficients: readonly number[], features: readonly number[]) =>
  sigmoid(dot(coefficients, [1, ...features]));

/** The coefficients that make the observations most likely, that of the constant first (Newton's method). */
export function logisticRegression(observations: readonly Observation[]): number[] {
  const rows = observations.map(({ features, isTrue }) => ({ x: [1, ...features], y: isTrue ? 1 : 0 }));
  const size = rows[0]?.x.length ?? 0;
  let coefficients = new Array<number>(size).fill(0);
  for (let round = 0; round < 50; round++) {
    const gradient = new Array<number>(size).fill(0);
    // A little ridge keeps the matrix invertible.
    const hessian = Array.from({ length: size }, (_, i) =>
      Array.from({ length: size }, (_, j) => (i === j ? 1e-3 : 0)),
    );
    for (const { x, y } of rows) {
      const p = sigmoid(dot(coefficients, x));
      for (let i = 0; i < size; i++) {
        gradient[i]! += (y - p) * x[i]!;
        for (let j = 0; j < size; j++) hessian[i]![j]! += p * (1 - p) * x[i]! * x[j]!;
      }
    }
    const step = solve(hessian, gradient);
    coefficients = coefficients.map((value, n) => value + step[n]!);
    if (Math.max(...step.map(Math.abs)) < 1e-6) break;
  }
  return coefficients;
}

/** Gaussian elimination with the largest pivot. */
function solve(matrix: number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, n) => [...row, right[n]!]);
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column; row < size; row++)
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row;
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const factor = rows[row]![column]! / rows[column]![column]!;
      for (let n = column; n <= size; n++) rows[row]![n]! -= factor * rows[column]![n]!;
    }
  }
  return rows.map((row, n) => row[size]! / row[n]!);
}

export interface Bin {
  from: number;
  count: number;
  /** The mean of the probabilities, and the share that came true. */
  said: number;
  was: number;
}

/** Predictions in bins of a tenth, without the empty ones. */
export function calibration(predictions: readonly { probability: number; isTrue: boolean }[], width = 0.1): Bin[] {
  const bins = Map.groupBy(predictions, ({ probability }) => Math.min(Math.floor(probability / width), 1 / width - 1));
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([bin, all]) => ({
      from: bin * width,
      count: all.length,
      said: all.reduce((sum, { probability }) => sum + probability, 0) / all.length,
      was: all.filter(({ isTrue }) => isTrue).length / all.length,
    }));
}

/** The expected calibration error: by how much the stated probability differs from the observed share, as a mean over all predictions. */
export function calibrationError(bins: readonly Bin[]): number {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  return bins.reduce((sum, { count, said, was }) => sum + count * Math.abs(said - was), 0) / total;
}
