import { toSql } from 'pgvector/pg';

/** The width of every vector column. Shorter vectors are padded with zeros, which leaves cosine as it is. */
export const STORED_DIMENSIONS = 1536;

/** A piece of a text. Offsets are UTF-16 code units, `[start, end)`, into the text it was cut from. */
export interface Chunk {
  text: string;
  start: number;
  end: number;
}

export interface Embedder {
  /** What every vector is stored under. */
  readonly model: string;
  /** The model's own, at most 1536. */
  readonly dimensions: number;
  /**
   * L2-normalised vectors, one per text, in order. What is too long for the model counts up to its limit.
   * Rejects with EmbedderUnavailable when the provider can't answer, with EmbeddingRejected when it refuses
   * the input.
   */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** Pieces of a text too long to embed whole, by tokens with overlap; [] when it fits whole. */
  chunk(text: string): Promise<Chunk[]>;
  close(): Promise<void>;
}

export type { EmbeddingConfig } from '../config.ts';

/** Nobody answered: worth trying again later. Messages never carry a key or a text. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}

/** The same input would be refused again. Messages never carry a key or a text. */
export class EmbeddingRejected extends Error {
  override readonly name = 'EmbeddingRejected';
}

/** The vector as a parameter of SQL, padded with zeros to the width of the column. */
export function toVectorLiteral(vector: readonly number[]): string {
  if (vector.length > STORED_DIMENSIONS) {
    throw new RangeError(`a vector has at most ${STORED_DIMENSIONS} dimensions, not ${vector.length}`);
  }
  if (!vector.every(Number.isFinite)) throw new RangeError('a vector holds finite numbers only');
  const padded = new Array<number>(STORED_DIMENSIONS).fill(0);
  // Nine digits hold a float4 exactly; the other eight of a double would only make the statement longer.
  for (const [index, value] of vector.entries()) padded[index] = Number(value.toPrecision(9));
  return String(toSql(padded));
}

/** Scales to length 1; null when that can't be done (all zeros, or not numbers). */
export function normalised(vector: readonly number[]): number[] | null {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : null;
}
