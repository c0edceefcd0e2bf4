// mem0ai in a separate process: its pgvector store with an HNSW index, and infer false, so that no language model is called.
// Its embedder is replaced by a lookup of precomputed vectors, so that only its own work is timed. Its telemetry and its
// history (SQLite) are off.
import { readFileSync } from 'node:fs';

interface Given {
  url: string;
  memories: { content: string; vector: number[] }[];
  queries: { query: string; vector: number[] }[];
  rounds: number;
}

const { url, memories, queries, rounds } = JSON.parse(readFileSync(process.env.BENCH_MEM0!, 'utf8')) as Given;
process.env.MEM0_TELEMETRY = 'false';
const userId = 'bench';

// The package is installed only for a measurement, so its types are not available to the type check.
const name = 'mem0ai/oss';
const { Memory } = (await import(name)) as {
  Memory: new (
    config: object,
  ) => {
    embedder: object;
    add(messages: string, options: object): Promise<unknown>;
    search(query: string, options: object): Promise<{ results: { memory: string }[] }>;
  };
};
const memory = new Memory({
  disableHistory: true,
  embedder: { provider: 'openai', config: { apiKey: 'none', model: 'bench', embeddingDims: 384 } },
  llm: { provider: 'openai', config: { apiKey: 'none' } },
  vectorStore: {
    provider: 'pgvector',
    config: { connectionString: url, collectionName: 'memories', embeddingModelDims: 384, dimension: 384, hnsw: true },
  },
});
const vectors = new Map<string, number[]>([
  ...memories.map(({ content, vector }) => [content, vector] as const),
  ...queries.map((q) => [q.query, q.vector] as const),
]);
const anyVector = queries[0]!.vector;
const embed = async (text: string) => vectors.get(text) ?? anyVector;
memory.embedder = { embed, embedBatch: (texts: string[]) => Promise.all(texts.map(embed)) };

for (const [n, { content }] of memories.entries()) {
  await memory.add(content, { userId, infer: false });
  if (n % 500 === 499) process.send!({ saved: n + 1 });
}
process.send!({ saved: memories.length, loaded: true });

// Each round is requested separately, so that rounds of both sides alternate.
process.on('message', async ({ round }: { round: number }) => {
  const times: number[] = [];
  let found = 0;
  for (let n = 0; n < rounds; n++) {
    const { query } = queries[(round * rounds + n) % queries.length]!;
    const start = performance.now();
    const { results } = await memory.search(query, { topK: 10, filters: { user_id: userId } });
    times.push(performance.now() - start);
    found += results.length;
  }
  process.send!({ times, found });
});
process.on('SIGTERM', () => process.exit(0));
