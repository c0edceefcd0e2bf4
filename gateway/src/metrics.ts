import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from './database/index.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Counters and gauges of GET /metrics, in the format of Prometheus. */
export function createMetrics(database: Database) {
  const registers = [new Registry()];
  const registry = registers[0]!;
  collectDefaultMetrics({ register: registry });

  const backlog = async () => {
    const { rows } = await database.workerPool.query<{ pending: string; failing: string; oldest_seconds: number }>(
      'select * from l9_private.embedding_backlog()',
    );
    return rows[0]!;
  };
  const failing = new Gauge({
    name: 'l9_embedding_backlog_failing',
    help: 'Memories among them that failed before.',
    registers,
  });
  const oldest = new Gauge({
    name: 'l9_embedding_backlog_oldest_seconds',
    help: 'Age of the oldest of them.',
    registers,
  });
  new Gauge({
    name: 'l9_embedding_backlog',
    help: 'Memories that wait for their vectors.',
    registers,
    async collect() {
      const now = await backlog();
      this.set(Number(now.pending));
      failing.set(Number(now.failing));
      oldest.set(now.oldest_seconds);
    },
  });

  return {
    embeddedMemories: new Counter({
      name: 'l9_embedded_memories_total',
      help: 'Memories embedded by this process.',
      registers,
    }),
    embeddedVectors: new Counter({
      name: 'l9_embedded_vectors_total',
      help: 'Vectors made by this process, chunks included.',
      registers,
    }),
    operations: new Histogram({
      name: 'l9_operation_seconds',
      help: 'Time of operations, by name and outcome.',
      labelNames: ['operation', 'outcome'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}
