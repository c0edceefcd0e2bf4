// What the database itself does: connections, transactions, reads, sizes and replicas.
import { Counter, Gauge, type Registry } from 'prom-client';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { Database } from '../database/index.ts';
import type { Monitored } from '../database/monitored.ts';
import { gaugesOf } from './gauges.ts';

interface BlockReads {
  kind: string;
  from_cache: string;
  from_disk: string;
}

interface TableSize {
  table_name: string;
  table_bytes: string;
  index_bytes: string;
}

interface ReplicationLag {
  replica: string;
  lag_seconds: number;
  lag_bytes: string | null;
}

/** Of the embedded engine, which has one session and no replicas, what only a server has is left out. */
export function addDatabaseGauges(database: Database, monitored: Monitored, registers: Registry[]): void {
  // Before the gauges that ask the database, so that their own queries are not counted.
  addPools(database, registers);
  addBlockReads(monitored, registers);
  addSizes(monitored, registers);
  if (database.engine === 'embedded') return;
  gaugesOf(monitored, registers)<{ seconds: number }>('select l9_monitor.longest_transaction_seconds() as seconds', {
    l9_database_longest_transaction_seconds: [
      'Age of the oldest open transaction of the database, of any login; 0 if there is none.',
      ({ seconds }) => seconds,
    ],
  });
  addReplicationLag(monitored, registers);
}

function addPools({ pools }: Database, registers: Registry[]): void {
  new Gauge({
    name: 'l9_database_connections',
    help: 'Connections of this process to the database, by pool and state: in_use, idle.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { inUse, idle }] of Object.entries(pools())) {
        this.set({ pool, state: 'in_use' }, inUse);
        this.set({ pool, state: 'idle' }, idle);
      }
    },
  });
  new Gauge({
    name: 'l9_database_waiting',
    help: 'Requests of this process that wait for a connection, by pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waiting }] of Object.entries(pools())) this.set({ pool }, waiting);
    },
  });
}

function addBlockReads({ query, shared }: Monitored, registers: Registry[]): void {
  const reads = shared(async () => (await query<BlockReads>('select * from administration.block_reads()')).rows);
  new Counter({
    name: 'l9_database_block_reads_total',
    help: 'Blocks read since the statistics of the database were reset, by kind (index, table) and source: cache, disk.',
    labelNames: ['kind', 'source'],
    registers,
    async collect() {
      const answered = await reads();
      this.reset();
      for (const { kind, from_cache, from_disk } of answered ?? []) {
        this.inc({ kind, source: 'cache' }, Number(from_cache));
        this.inc({ kind, source: 'disk' }, Number(from_disk));
      }
    },
  });
}

function addSizes({ query, shared }: Monitored, registers: Registry[]): void {
  const sizes = shared(async () => {
    try {
      return (await query<TableSize>('select * from administration.table_sizes()')).rows;
    } catch (error) {
      // While a table is locked, its size can't be asked for; the sizes are missing from this scrape.
      if (sqlstateOf(error) === SQLSTATE.lockNotAvailable) return [];
      throw error;
    }
  });
  const add = (name: string, help: string, read: (size: TableSize) => string) =>
    new Gauge({
      name,
      help,
      labelNames: ['table'],
      registers,
      async collect() {
        const answered = await sizes();
        this.reset();
        for (const row of answered ?? []) this.set({ table: row.table_name }, Number(read(row)));
      },
    });
  add('l9_database_table_bytes', 'Size of each table without its indexes, partitions included.', (r) => r.table_bytes);
  add(
    'l9_database_index_bytes',
    'Size of all indexes of each table, those of partitions included.',
    (r) => r.index_bytes,
  );
}

function addReplicationLag({ query, shared }: Monitored, registers: Registry[]): void {
  const lags = shared(async () => (await query<ReplicationLag>('select * from l9_monitor.replication_lag()')).rows);
  const add = (name: string, help: string, read: (lag: ReplicationLag) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames: ['replica'],
      registers,
      async collect() {
        const answered = await lags();
        this.reset();
        for (const row of answered ?? []) {
          const value = read(row);
          if (value !== null) this.set({ replica: row.replica }, value);
        }
      },
    });
  add(
    'l9_database_replication_lag_seconds',
    'How old what each replica replayed last is; no sample without replicas.',
    ({ lag_seconds }) => lag_seconds,
  );
  add(
    'l9_database_replication_lag_bytes',
    'How much of the write-ahead log each replica has yet to replay; no sample without replicas.',
    ({ lag_bytes }) => (lag_bytes === null ? null : Number(lag_bytes)),
  );
}
