// Whether the gateway can serve: what GET /ready answers, and the gauge l9_ready.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Database, inOneTrip } from '../database/index.ts';
import { ForeignDatabase, pendingMigrations } from '../database/migrations.ts';
import { monitored } from '../database/monitored.ts';

const CANARY_EVERY_MS = 2_000;
const EMBEDDER_WITHIN_MS = 2_000;
// An agent without a tenant sees nothing, but goes the way of all agents. The queue counts it as a client of its own.
const CANARY = { role: 'l9_agent', 'jwt.claims.caller': 'ready', statement_timeout: '2s', synchronous_commit: 'off' };

export type Checks = Record<'database' | 'migrations' | 'reads' | 'disk' | 'embedder', string> & { replicas?: string };

/** A schema that is newer than this version serves it, too. */
export const isWell = (state: string): boolean => state === 'ok' || state === 'newer';

/**
 * The checks that have to be well. Without an embedder saves still work and searches use words, and without replicas the primary answers
 * all, so the gateway is ready.
 */
export const isReady = ({ database, migrations, reads, disk }: Checks): boolean =>
  [database, migrations, reads, disk].every(isWell);

/**
 * Whether the schema is the one that this version knows. A newer version that migrates meanwhile leaves what this one uses, so that
 * this one serves until it is replaced.
 */
async function schemaOf(client: Parameters<typeof pendingMigrations>[0]): Promise<'ok' | 'pending' | 'newer'> {
  try {
    return (await pendingMigrations(client)).length === 0 ? 'ok' : 'pending';
  } catch (error) {
    if (error instanceof ForeignDatabase && error.isNewer) return 'newer';
    throw error;
  }
}

const stateOfAll = (replicas: readonly { isUsed: boolean }[]) => {
  const used = replicas.filter(({ isUsed }) => isUsed).length;
  return used === replicas.length ? 'ok' : `${used} of ${replicas.length}`;
};

/** Returns a function that makes all checks. It costs one short transaction in two seconds, however often it is called. */
export function createReadiness(database: Database, isEmbedderReady: () => Promise<boolean>, logger: Logger) {
  const asked = monitored(database, logger);
  const schemaNow = asked.shared(() => schemaOf(asked));
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
    const [schema, isReadable, isEmbedding] = await Promise.all([
      // An engine that was well when it was ended starts again with the next call, for which this must not count.
      database.isResting() ? 'ok' : schemaNow(),
      database.isResting() ? true : canCallersRead(),
      // A provider of embeddings may answer late, or never.
      Promise.race([isEmbedderReady(), sleep(EMBEDDER_WITHIN_MS, false, { ref: false })]),
    ]);
    return {
      database: schema !== null ? 'ok' : 'unavailable',
      migrations: schema ?? 'unknown',
      // Callers wait for connections that jobs and migrations do not need.
      reads: isReadable ? 'ok' : 'unavailable',
      // On a full disk saves are refused, so the gateway is not ready.
      disk: database.disk.state() === 'ok' ? 'ok' : 'full',
      embedder: isEmbedding ? 'ok' : 'unavailable',
      ...(database.replicas ? { replicas: stateOfAll(database.replicas.states()) } : {}),
    };
  };
}
