import { toSql } from 'pgvector/pg';
import type { Runtime } from '../config/config.ts';

/** The width of every vector column. Shorter vectors are padded with zeros, which leaves cosine as it is. */
export const STORED_DIMENSIONS = 1536;

/** A piece of a text. Offsets are UTF-16 code units, `[start, end)`, into the text it was cut from. */
export interface Chunk {
  text: string;
  start: number;
  end: number;
}

/** Null: the model knows no piece of the text, so that its vector would be that of any other such text. */
export type TextVector = number[] | null;

/** Who waits for a vector: a search, a save (which gives up after a second), or nobody. */
export type Urgency = 'query' | 'save' | 'backlog';

export interface Embedder {
  /** The name under which its vectors are stored. */
  readonly model: string;
  /** The dimensions of the model, at most 1536. */
  readonly dimensions: number;
  /**
   * L2-normalised vectors, one per text, in order. A text that is too long for the model is truncated. Rejects with
   * EmbedderUnavailable if the provider cannot answer, with EmbeddingRejected if it refuses the input.
   */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** Whether the model knows any piece of a text, as it does not of emoji. Without it, it knows every text. */
  knows?(text: string): Promise<boolean>;
  /** Overlapping chunks of a text that is too long to embed whole; [] if it fits. */
  chunk(text: string): Promise<Chunk[]>;
  /** Rejects if it can't embed. Without it, a text is embedded to find out. */
  isReady?(): Promise<void>;
  /** Starts loading the model if it is not loaded. */
  warmUp?(): void;
  /** What runs the bundled model in this process; null while it is not loaded. Other models run elsewhere. */
  runtime?(): Runtime | null;
  close(): Promise<void>;
}

export type { EmbeddingConfig } from '../config/config.ts';

/** The provider did not answer, so a retry may succeed. Messages contain no key and no text. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}

/** The provider refused the input, so a retry would fail. Messages contain no key and no text. */
export class EmbeddingRejected extends Error {
  override readonly name = 'EmbeddingRejected';
}

// So many characters are read by every model. One letter or digit of ASCII is a piece that every model knows.
const READ_BY_EVERY_MODEL = 64;
const KNOWN_TO_EVERY_MODEL = /[A-Za-z0-9]/;

/** Whether the vector of a text by this model says anything about it. */
export async function isKnown(embedder: Pick<Embedder, 'knows'>, text: string): Promise<boolean> {
  return KNOWN_TO_EVERY_MODEL.test(text.slice(0, READ_BY_EVERY_MODEL)) || ((await embedder.knows?.(text)) ?? true);
}

function checkVector(vector: readonly number[]): void {
  if (vector.length > STORED_DIMENSIONS) {
    throw new RangeError(`a vector can have at most ${STORED_DIMENSIONS} dimensions, this one has ${vector.length}`);
  }
  if (!vector.every(Number.isFinite)) throw new RangeError('a vector can contain finite numbers only');
}

const FLOAT_BYTES = 4;
/** Of pgvector's binary format: the number of dimensions, and two bytes that are not used. */
const HEADER_BYTES = 4;

/** The vector as a parameter of SQL in the binary format of pgvector, padded with zeros to the width of the column. */
export function toVectorParameter(vector: readonly number[]): Buffer {
  checkVector(vector);
  const parameter = Buffer.alloc(HEADER_BYTES + FLOAT_BYTES * STORED_DIMENSIONS);
  parameter.writeUInt16BE(STORED_DIMENSIONS);
  for (const [index, value] of vector.entries()) parameter.writeFloatBE(value, HEADER_BYTES + FLOAT_BYTES * index);
  return parameter;
}

/** The same as text, for the job that stores vectors: it sends arrays of them, and pg sends arrays as text. */
export function toVectorLiteral(vector: readonly number[]): string {
  checkVector(vector);
  const padded = new Array<number>(STORED_DIMENSIONS).fill(0);
  // Nine digits represent a float4 exactly; more would only make the statement longer.
  for (const [index, value] of vector.entries()) padded[index] = Number(value.toPrecision(9));
  return String(toSql(padded));
}

/** Scales a vector to length 1; null if it has no direction (all zeros, or not numbers). */
export function normalised(vector: readonly number[]): number[] | null {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : null;
}
