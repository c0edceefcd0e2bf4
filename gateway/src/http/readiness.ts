// Whether the gateway can serve: what GET /ready answers, and the gauge l9_ready.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Database, inOneTrip } from '../database/index.ts';
import { pendingMigrations } from '../database/migrations.ts';
import { monitored } from '../database/monitored.ts';

const CANARY_EVERY_MS = 2_000;
const EMBEDDER_WITHIN_MS = 2_000;
// An agent without a tenant sees nothing, but goes the way of all agents. The queue counts it as a client of its own.
const CANARY = { role: 'l9_agent', 'jwt.claims.caller': 'ready', statement_timeout: '2s', synchronous_commit: 'off' };

export type Checks = Record<'database' | 'migrations' | 'reads' | 'disk' | 'embedder', string> & { replicas?: string };

/**
 * The checks that have to be `ok`. Without an embedder saves still work and searches use words, and without replicas the primary answers
 * all, so the gateway is ready.
 */
export const isReady = ({ database, migrations, reads, disk }: Checks): boolean =>
  [database, migrations, reads, disk].every((check) => check === 'ok');

const stateOfAll = (replicas: readonly { isUsed: boolean }[]) => {
  const used = replicas.filter(({ isUsed }) => isUsed).length;
  return used === replicas.length ? 'ok' : `${used} of ${replicas.length}`;
};

/** Returns a function that makes all checks. It costs one short transaction in two seconds, however often it is called. */
export function createReadiness(database: Database, isEmbedderReady: () => Promise<boolean>, logger: Logger) {
  const asked = monitored(database, logger);
  const pendingNow = asked.shared(() => pendingMigrations(asked));
  // As callers read: in their queue, with a role and claims.
  let read: { at: number; answer: Promise<boolean | null> } | null = null;
  const callersRead = asked.shared(async () => {
    await inOneTrip(database.pool, CANARY, 'read', (client) => client.query('select from public.packet_store limit 1'));
    return true;
  });
  const canCallersRead = () => {
    if (!read || Date.now() - read.at > CANARY_EVERY_MS) read = { at: Date.now(), answer: callersRead() };
    return read.answer;
  };

  return async (): Promise<Checks> => {
    const [pending, isReadable, isEmbedding] = await Promise.all([
      // An engine that was well when it was ended starts again with the next call, for which this must not count.
      database.isResting() ? [] : pendingNow(),
      database.isResting() ? true : canCallersRead(),
      // A provider of embeddings may answer late, or never.
      Promise.race([isEmbedderReady(), sleep(EMBEDDER_WITHIN_MS, false, { ref: false })]),
    ]);
    return {
      database: pending !== null ? 'ok' : 'unavailable',
      migrations: pending === null ? 'unknown' : pending.length === 0 ? 'ok' : 'pending',
      // Callers wait for connections that jobs and migrations do not need.
      reads: isReadable ? 'ok' : 'unavailable',
      // On a full disk saves are refused, so the gateway is not ready.
      disk: database.disk.state() === 'ok' ? 'ok' : 'full',
      embedder: isEmbedding ? 'ok' : 'unavailable',
      ...(database.replicas ? { replicas: stateOfAll(database.replicas.states()) } : {}),
    };
  };
}
