// The complete gateway without the embedding model: vectors of the queries are precomputed, so that the time of the model
// is not measured.
import { readFileSync } from 'node:fs';
import { createLogger } from '../../gateway/src/base/logger.ts';
import { loadConfig } from '../../gateway/src/config/config.ts';
import type { Embedder } from '../../gateway/src/embeddings/index.ts';
import { startGateway } from '../../gateway/src/gateway.ts';
import { DIMENSIONS, MODEL } from './data.ts';
import { randomFrom } from './random.ts';

const known = new Map<string, number[]>(JSON.parse(readFileSync(process.env.BENCH_QUERIES!, 'utf8')));

function vectorOf(text: string): number[] {
  const vector = known.get(text);
  if (vector) return vector;
  const random = randomFrom([...text].reduce((hash, character) => (hash * 31 + character.codePointAt(0)!) >>> 0, 7));
  const numbers = Array.from({ length: DIMENSIONS }, () => random() - 0.5);
  const norm = Math.hypot(...numbers);
  return numbers.map((value) => value / norm);
}

const embedder: Embedder = {
  model: MODEL,
  dimensions: DIMENSIONS,
  embed: async (texts) => texts.map(vectorOf),
  chunk: async () => [],
  close: async () => {},
};

const config = loadConfig({ ...process.env, PORT: '0' });
// Log lines are formatted and discarded, which costs as much as in production.
const gateway = await startGateway(config, createLogger(config.logLevel), { embedder });
// How long the records of reads on replicas took on the primary, in milliseconds.
const records: number[] = [];
const events = gateway.database.replicas?.events;
const { onRecorded } = events ?? {};
if (events)
  events.onRecorded = (milliseconds) => {
    records.push(milliseconds);
    onRecorded?.(milliseconds);
  };
process.on('message', () => process.send!(records.splice(0)));
process.on('SIGTERM', () => void gateway.close().then(() => process.exit(0)));
process.send!({ url: gateway.url });
