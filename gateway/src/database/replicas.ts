// Reads on replicas. What a read must leave is written on the primary before the answer is returned: no record, no answer.
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Logger } from 'pino';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import { currentRequest } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { FairPool, Settings } from './fair-pool.ts';
import { createGroupedCalls } from './grouped-calls.ts';
import { END_OF_LOG, lsnOf, parseLsn } from './lsn.ts';
import { ORIGIN, type Origin, openReplica, type Replica } from './replica.ts';
import { clientIn, inOneTrip, NotForReplica, type ReadOnReplica, ReplicaSilent, readOnReplica } from './transaction.ts';

const PROBE_EVERY_MS = 250;
/** How long a read waits until a replica has what its caller wrote. */
const WAIT_MS = 100;
const READ_WITHIN_MS = 10_000;
const REMEMBERED_WRITERS = 10_000;
const REMEMBERED_POSITIONS = 1_000;
const REMEMBERED_STATEMENTS = 500;
/** A function that writes for some arguments only is tried on a replica again after so long. */
const REMEMBER_THAT_IT_WRITES_MS = 600_000;
/** Operators read on the primary, because the server's log has their reads, too. */
const ROLES = ['l9_agent', 'l9_admin'];
// Connections, internal errors (such as `invalid segment header` of an index of words) and damaged files.
const FAULTS = /^(08...|53...|57P0.|58...|XX...|L9BSY)$/;

/**
 * Failed: the replica is left alone for a while. Conflict: it had to replay what the read still needed. Refused: by an error, also
 * because the call writes. Behind: it had not replayed what the caller wrote last.
 */
export type ReadOutcome = 'answered' | 'failed' | 'conflict' | 'refused' | 'behind';

export interface ReplicaState {
  name: string;
  isUsed: boolean;
  lagMs: number;
  /** How many reads it has now. */
  reads: number;
}

export interface ReplicaEvents {
  onRead?(replica: string, outcome: ReadOutcome): void;
  /** The record of a read was written on the primary, in so many milliseconds. */
  onRecorded?(milliseconds: number): void;
}

export interface Replicas {
  /** Runs one query on a replica, or on the primary if no replica is up to it. `what`: the statement, or the name of the operation. */
  read<T>(what: string, settings: Settings, work: (client: pg.ClientBase) => Promise<T>): Promise<T>;
  /** What the primary has written up to now must be on a replica before anybody reads there. */
  requirePresent(): Promise<void>;
  states(): ReplicaState[];
  events: ReplicaEvents;
  close(): Promise<void>;
}

type Primary = Pick<pg.Pool, 'query'>;

export async function openReplicas(
  config: Config,
  pool: FairPool,
  primary: Primary,
  logger: Logger,
): Promise<Replicas> {
  const replicas = config.replicas.urls.map((url) => openReplica(url, config, logger));
  const events: ReplicaEvents = {};
  const store = createGroupedCalls(pool, 'audit.store_record');
  const written = new LRUCache<string, bigint>({
    max: REMEMBERED_WRITERS,
    // What is forgotten of one writer is waited for by all.
    dispose: (lsn, _, reason) => {
      if (reason === 'evict' && lsn > floor) floor = lsn;
    },
  });
  /** What a replica refused because it writes. */
  const writing = new LRUCache<string, true>({ max: REMEMBERED_STATEMENTS, ttl: REMEMBER_THAT_IT_WRITES_MS });
  /** What every read waits for. */
  let floor = 0n;
  let requiring = 0;
  /** Where the log of the primary was, and when. */
  const positions: { lsn: bigint; at: number }[] = [];
  let isClosed = false;

  const lagOf = (replica: Replica) => {
    const ahead = positions.find(({ lsn }) => lsn > replica.replayed());
    return ahead ? Date.now() - ahead.at : 0;
  };
  const isUsed = (replica: Replica) =>
    replica.isHealthy() && positions.length > 0 && lagOf(replica) <= config.replicas.maxLagMs;

  async function probe(): Promise<void> {
    try {
      const { rows } = await primary.query<Origin & { lsn: string }>(
        `select pg_current_wal_flush_lsn()::text as lsn, ${ORIGIN}`,
      );
      positions.push({ lsn: lsnOf(rows[0]!.lsn), at: Date.now() });
      if (positions.length > REMEMBERED_POSITIONS) positions.shift();
      await Promise.all(replicas.map((replica) => replica.probe(rows[0]!)));
    } catch (error) {
      // Without the primary nothing can be recorded, so nothing is read.
      logger.debug({ code: sqlstateOf(error) }, 'the primary did not say where its log is');
    }
  }
  const watch = async () => {
    while (!isClosed) {
      await sleep(PROBE_EVERY_MS, null, { ref: false });
      if (!isClosed) await probe();
    }
  };

  /** What this read has to find. */
  const neededBy = (settings: Settings): bigint => {
    const own = written.get(clientIn(settings) ?? '') ?? 0n;
    const asked = parseLsn(currentRequest()?.readsAfter ?? '') ?? 0n;
    return [own, asked].reduce((most, lsn) => (lsn > most ? lsn : most), floor);
  };

  async function choose(what: string, settings: Settings): Promise<Replica | null> {
    if (requiring > 0 || !ROLES.includes(settings.role ?? '') || writing.has(what)) return null;
    const lsn = neededBy(settings);
    if (lsn === lsnOf(END_OF_LOG)) return null;
    const used = replicas.filter(isUsed);
    const upToIt = used.filter((replica) => replica.replayed() >= lsn);
    const [best] = (upToIt.length > 0 ? upToIt : used)
      .map((replica) => ({ replica, load: replica.load(), order: Math.random() }))
      .sort((a, b) => a.load - b.load || a.order - b.order);
    if (!best) return null;
    if (await best.replica.waitFor(lsn, WAIT_MS)) return best.replica;
    events.onRead?.(best.replica.name, 'behind');
    return null;
  }

  function outcomeOf(error: unknown): ReadOutcome {
    const code = sqlstateOf(error) ?? '';
    if (error instanceof ReplicaSilent || FAULTS.test(code) || (code === '' && !(error instanceof NotForReplica)))
      return 'failed';
    return code === SQLSTATE.recoveryConflict ? 'conflict' : 'refused';
  }

  pool.onWritten = (client, text) => {
    const lsn = lsnOf(text);
    if (lsn > (written.get(client) ?? 0n)) written.set(client, lsn);
    currentRequest()?.onWritten?.(text);
  };
  await probe();
  const watching = watch();

  async function requirePresent(): Promise<void> {
    requiring += 1;
    try {
      const { rows } = await primary.query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn');
      const lsn = lsnOf(rows[0]!.lsn);
      if (lsn > floor) floor = lsn;
    } catch (error) {
      // What has changed is unknown: reads stay on the primary until it can be asked.
      logger.warn({ code: sqlstateOf(error) }, 'the primary did not say where its log is: replicas are not read');
      await sleep(PROBE_EVERY_MS, null, { ref: false });
      if (!isClosed) await requirePresent();
    } finally {
      requiring -= 1;
    }
  }

  return {
    events,
    async read<T>(what: string, settings: Settings, work: (client: pg.ClientBase) => Promise<T>) {
      // A client that says how far it has to see is told how far it has seen.
      const intent = currentRequest()?.readsAfter ? 'write' : 'read';
      const onPrimary = () => inOneTrip(pool, settings, intent, work);
      const replica = await choose(what, settings);
      if (!replica) return onPrimary();
      let found: ReadOnReplica<T>;
      try {
        found = await readOnReplica(replica.pool, settings, READ_WITHIN_MS, work);
      } catch (error) {
        // Also where the read was refused: a replica may not know yet what the caller may do, or what it asks for.
        const outcome = outcomeOf(error);
        if (outcome === 'failed') replica.failed(error);
        if (error instanceof NotForReplica) writing.set(what, true);
        events.onRead?.(replica.name, outcome);
        return onPrimary();
      }
      if (found.record !== null) {
        const began = performance.now();
        await store({ settings, values: [found.record] });
        events.onRecorded?.(performance.now() - began);
      }
      events.onRead?.(replica.name, 'answered');
      return found.answer;
    },
    requirePresent,
    states: () =>
      replicas.map((replica) => ({
        name: replica.name,
        isUsed: isUsed(replica),
        lagMs: lagOf(replica),
        reads: replica.load(),
      })),
    async close() {
      isClosed = true;
      await watching;
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}
