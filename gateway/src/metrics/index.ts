import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Database } from '../database/index.ts';
import { monitored } from '../database/monitored.ts';
import { operationMetrics } from './calls.ts';
import { addDatabaseGauges } from './database.ts';
import { gaugesOf } from './gauges.ts';
import { createRecent } from './recent.ts';
import { addReplicaMetrics } from './replicas.ts';

const APIS = ['graphql', 'mcp'] as const;
export type Api = (typeof APIS)[number];

export type Metrics = ReturnType<typeof createMetrics>;

/** Counters and gauges of GET /metrics, in the format of Prometheus. */
export function createMetrics(database: Database, logger: Logger) {
  const registers = [new Registry()];
  const registry = registers[0]!;
  collectDefaultMetrics({ register: registry });

  const asked = monitored(database, logger);
  addDatabaseGauges(database, asked, registers);
  if (database.replicas) addReplicaMetrics(database.replicas, registers);
  const gauges = gaugesOf(asked, registers);
  gauges<{ pending: string; failing: string; oldest_seconds: number }>('select * from embeddings.embedding_backlog()', {
    l9_embedding_backlog: ['Memories that wait for vectors of the serving model.', ({ pending }) => Number(pending)],
    l9_embedding_backlog_failing: [
      'Memories in the embedding backlog that failed before.',
      ({ failing }) => Number(failing),
    ],
    l9_embedding_backlog_oldest_seconds: [
      'Age of the oldest memory in the embedding backlog.',
      (row) => row.oldest_seconds,
    ],
  });
  gauges<{ to_embed: string; remaining: string; refused: string } | undefined>(
    'select * from embeddings.embedding_change()',
    {
      l9_reembedding_memories: [
        'Memories to embed for a change of the embedding model; 0 if no change is in progress.',
        (row) => Number(row?.to_embed ?? 0),
      ],
      l9_reembedding_remaining: [
        'Memories that a change of the embedding model has not embedded yet.',
        (row) => Number(row?.remaining ?? 0),
      ],
      l9_reembedding_refused: ['Memories that the new embedding model refused.', (row) => Number(row?.refused ?? 0)],
    },
  );
  gauges<{ unsealed: string; oldest_seconds: number; last_sealed_at: Date | null }>(
    'select * from audit.audit_backlog()',
    {
      l9_audit_unsealed: [
        'Rows of the audit log that are not sealed yet, counted up to 100,000.',
        ({ unsealed }) => Number(unsealed),
      ],
      l9_audit_unsealed_oldest_seconds: [
        'Age of the oldest row of the audit log that is not sealed yet.',
        (row) => row.oldest_seconds,
      ],
      l9_audit_last_seal_timestamp_seconds: [
        'Time of the last seal of the audit log, in seconds since 1970; 0 if there is none.',
        ({ last_sealed_at: at }) => (at ? at.getTime() / 1_000 : 0),
      ],
    },
  );
  gauges<{ pending: string; given_up: string; oldest_seconds: number; tokens_today: string }>(
    'select * from extraction.extraction_backlog()',
    {
      l9_extraction_backlog: ['Memories that wait for extraction by a chat model.', ({ pending }) => Number(pending)],
      l9_extraction_given_up: ['Memories for which extraction was given up.', ({ given_up: count }) => Number(count)],
      l9_extraction_backlog_oldest_seconds: [
        'Age of the oldest memory that waits for extraction.',
        (row) => row.oldest_seconds,
      ],
      l9_chat_tokens_today: [
        'Tokens used by calls of the chat model since midnight UTC, for all tenants and processes.',
        ({ tokens_today: tokens }) => Number(tokens),
      ],
    },
  );
  gauges<{ waiting: string; oldest_seconds: number; rolled_up_at: Date | null }>(
    'select * from importance.access_backlog()',
    {
      l9_access_backlog: [
        'Accesses and votes that are not rolled up yet, counted up to 100,000 of each.',
        ({ waiting }) => Number(waiting),
      ],
      l9_access_backlog_oldest_seconds: [
        'Age of the oldest access or vote that is not rolled up yet.',
        (row) => row.oldest_seconds,
      ],
      l9_access_last_roll_up_timestamp_seconds: [
        'Time of the last roll-up of accesses, in seconds since 1970; 0 if there was none.',
        ({ rolled_up_at: at }) => (at ? at.getTime() / 1_000 : 0),
      ],
    },
  );
  if (database.disk.freeBytes() !== null) {
    new Gauge({
      name: 'l9_disk_free_bytes',
      help: 'Free space on the disk of the home folder, which holds the database of the embedded engine.',
      registers,
      collect() {
        this.set(database.disk.freeBytes() ?? 0);
      },
    });
  }
  const tokens = new Counter({
    name: 'l9_chat_tokens_total',
    help: 'Tokens used by calls of the chat model in this process.',
    labelNames: ['type'],
    registers,
  });

  gauges<{ refreshed_at: Date | null; age_seconds: number | null }>(
    `select case when bool_and(refreshed_at is not null) then min(refreshed_at) end as refreshed_at,
       case when bool_and(refreshed_at is not null) then max(age_seconds) end as age_seconds from public.memory_views_status()`,
    {
      l9_memory_views_refreshed_timestamp_seconds: [
        'Time of the last refresh of the oldest materialized view, in seconds since 1970; 0 if there was none.',
        ({ refreshed_at: at }) => (at ? at.getTime() / 1_000 : 0),
      ],
      l9_memory_views_age_seconds: [
        'Age of the oldest materialized view; +Inf if it was never refreshed.',
        ({ age_seconds: age }) => age ?? Number.POSITIVE_INFINITY,
      ],
    },
  );

  const extractedMemories = new Counter({
    name: 'l9_extracted_memories_total',
    help: 'Memories from which this process extracted facts, by outcome: stored, outdated, failed.',
    labelNames: ['outcome'],
    registers,
  });
  const embeddedMemories = new Counter({
    name: 'l9_embedded_memories_total',
    help: 'Memories embedded by this process.',
    registers,
  });
  const embeddedVectors = new Counter({
    name: 'l9_embedded_vectors_total',
    help: 'Vectors computed by this process, including those of chunks.',
    registers,
  });
  const limited = new Counter({
    name: 'l9_rate_limited_total',
    help: 'Requests refused by this process because of a limit: reads, writes, tenant_reads, tenant_writes, wrong_keys.',
    labelNames: ['limit'],
    registers,
  });
  const archiveProblems = new Counter({
    name: 'l9_archive_problems_total',
    help: 'Archives that this process could not read: missing, hash, tag, key.',
    labelNames: ['problem'],
    registers,
  });
  // With a first value of 0 even the first problem is an increase, which an alert can see.
  for (const problem of ['missing', 'hash', 'tag', 'key']) archiveProblems.inc({ problem }, 0);
  const inFlight = new Gauge({
    name: 'l9_calls_in_flight',
    help: 'Requests to the APIs that this process is answering, by API: graphql, mcp.',
    labelNames: ['api'],
    registers,
  });
  for (const api of APIS) inFlight.set({ api }, 0);
  const recent = createRecent();
  return {
    ...operationMetrics(registers, recent),
    recent,
    chatTokens({ promptTokens, completionTokens }: { promptTokens: number; completionTokens: number }) {
      tokens.inc({ type: 'prompt' }, promptTokens);
      tokens.inc({ type: 'completion' }, completionTokens);
    },
    extracted: (outcome: string) => extractedMemories.inc({ outcome }),
    archiveProblem: (problem: string) => archiveProblems.inc({ problem }),
    rateLimited(limit: string) {
      limited.inc({ limit });
      recent.limited(limit);
    },
    embedded(memories: number, vectors: number) {
      embeddedMemories.inc(memories);
      embeddedVectors.inc(vectors);
    },
    /** Counts a request that is being answered until the returned function is called. */
    startRequest(api: Api) {
      inFlight.inc({ api });
      return () => inFlight.dec({ api });
    },
    /** Adds the gauge of what GET /ready checks. */
    watchReadiness(check: () => Promise<Readonly<Record<string, string>>>, isWell: (state: string) => boolean) {
      new Gauge({
        name: 'l9_ready',
        help: 'Whether what GET /ready checks is well, by check: database, migrations, reads, disk, embedder, and replicas where there are any; 1 or 0.',
        labelNames: ['check'],
        registers,
        async collect() {
          for (const [name, state] of Object.entries(await check())) this.set({ check: name }, isWell(state) ? 1 : 0);
        },
      });
    },
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}
