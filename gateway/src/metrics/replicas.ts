// Reads on replicas. Registered only where there are replicas.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ReadOutcome, Replicas } from '../database/replicas.ts';

const OUTCOMES: readonly ReadOutcome[] = ['answered', 'failed', 'conflict', 'refused', 'behind'];
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

export function addReplicaMetrics(replicas: Replicas, registers: Registry[]): void {
  const reads = new Counter({
    name: 'l9_replica_reads_total',
    help: 'Reads that this process sent to a replica, by outcome. All but answered were made on the primary: answered, failed, conflict, refused, behind.',
    labelNames: ['replica', 'outcome'],
    registers,
  });
  for (const { name: replica } of replicas.states()) for (const outcome of OUTCOMES) reads.inc({ replica, outcome }, 0);
  const recorded = new Histogram({
    name: 'l9_read_record_seconds',
    help: 'How long it took to write on the primary what a read on a replica must leave.',
    buckets: SECONDS,
    registers,
  });
  replicas.events.onRead = (replica, outcome) => reads.inc({ replica, outcome });
  replicas.events.onRecorded = (milliseconds) => recorded.observe(milliseconds / 1_000);
  const gauge = (name: string, help: string, read: (state: ReturnType<Replicas['states']>[number]) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['replica'],
      registers,
      collect() {
        for (const state of replicas.states()) this.set({ replica: state.name }, read(state));
      },
    });
  gauge(
    'l9_replica_used',
    'Whether this process reads from a replica: it is well and not too far behind; 1 or 0.',
    ({ isUsed }) => (isUsed ? 1 : 0),
  );
  gauge(
    'l9_replica_lag_seconds',
    'How long ago the primary wrote what a replica has yet to replay, as this process measures it.',
    ({ lagMs }) => lagMs / 1_000,
  );
  gauge('l9_replica_reads_running', 'How many reads this process makes on a replica now.', ({ reads }) => reads);
}
