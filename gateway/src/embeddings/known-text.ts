// A text whose vectors are known, beside the models. Each start of a model compares the vector that the runtime makes of it with
// the known one, so that vectors under one model's name can be compared, whatever machine and runtime they come from.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const KNOWN_TEXT =
  'The staging cluster in Frankfurt was rebuilt on 12 March, because two of its three disks were full; Mara keeps the runbook.';

/** The largest difference of one number of a vector. Floating-point sums of two runtimes differ by 1e-6. */
export const TOLERANCE = 1e-4;

export async function knownVector(modelDir: string, model: string): Promise<number[]> {
  const vectors = JSON.parse(await readFile(join(modelDir, 'known-vectors.json'), 'utf8')) as Record<string, number[]>;
  return vectors[model]!;
}

export const difference = (one: readonly number[], other: readonly number[]): number =>
  Math.max(...other.map((value, at) => Math.abs(value - (one[at] ?? Number.NaN))));
