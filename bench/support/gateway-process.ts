// The gateway as it is, with all its APIs, but for the model: what the bench asks has its vector at hand, so that not the
// model's time is measured but everything else.
import { readFileSync } from 'node:fs';
import { loadConfig } from '../../gateway/src/config.ts';
import type { Embedder } from '../../gateway/src/embeddings/index.ts';
import { startGateway } from '../../gateway/src/gateway.ts';
import { createLogger } from '../../gateway/src/logger.ts';
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
// What it logs is written, to nowhere: that costs as it does in production.
const gateway = await startGateway(config, createLogger(config.logLevel), { embedder });
process.on('SIGTERM', () => void gateway.close().then(() => process.exit(0)));
process.send!({ url: gateway.url });
