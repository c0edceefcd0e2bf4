import type { Duplex } from 'node:stream';
import pg from 'pg';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import { asOutage, isFromPooler } from './away.ts';
import type { FairPool, Intent, Settings } from './fair-pool.ts';
import { queryPrepared } from './prepared.ts';
import { requireReplicated } from './replicated.ts';
import { sendAsTransaction, withoutNul } from './round-trip.ts';

// pg looks at each character, and most texts need no escape.
const literal = (value: string) => (/['\\\0]/.test(value) ? pg.escapeLiteral(withoutNul(value)) : `'${value}'`);

const setAll = (settings: Settings) =>
  `select ${Object.entries(settings)
    .map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`)
    .join(', ')}`;

const begin = (pool: FairPool, settings: Settings) => {
  const all = { ...pool.settings, ...settings };
  return Object.keys(all).length > 0 ? `begin; ${setAll(all)}` : 'begin';
};

/** True if queries are sent without waiting for earlier answers. */
const isPipelined = (client: pg.ClientBase) => (client as { pipeline?: boolean }).pipeline === true;

/** Writes all that `send` sends before it first waits to the socket at once. */
function sendTogether<T>(client: pg.ClientBase, send: () => T): T {
  const { stream } = (client as pg.ClientBase & { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** Waits until no query runs on the connection any more, then rejects with the first failure in order. */
export async function settled<T extends readonly unknown[]>(flight: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const results = await Promise.allSettled(flight);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

type Discard = (reason: Error) => void;

/** One key, or one user of a caller. Null: the gateway's own work, which has no caller. */
export function clientIn(settings: Settings): string | null {
  const claims = ['caller', 'tenant_id', 'user_id', 'key_id'].map((claim) => settings[`jwt.claims.${claim}`] ?? '');
  return claims[0] ? claims.join('\n') : null;
}

/** Requests of one client wait in one line. */
function checkOut(pool: FairPool, settings: Settings, intent: Intent): Promise<pg.PoolClient> {
  const client = clientIn(settings);
  return pool.connectFor && client ? pool.connectFor(client, intent) : pool.connect();
}

/** Checks out a connection of the pool. `discard` marks it as unusable. */
async function onConnection<T>(
  pool: FairPool,
  settings: Settings,
  intent: Intent,
  use: (client: pg.PoolClient, discard: Discard) => Promise<T>,
): Promise<T> {
  try {
    const client = await checkOut(pool, settings, intent);
    let broken: Error | undefined;
    const discard = (reason: Error) => {
      broken = reason;
    };
    try {
      const result = await use(client, discard);
      pool.pooler?.worked();
      return result;
    } catch (error) {
      // The server has become a replica, or the connection leads to one: the next connection may lead to the primary.
      if (sqlstateOf(error) === SQLSTATE.readOnly) discard(error as Error);
      throw error;
    } finally {
      client.release(broken);
    }
  } catch (error) {
    if (sqlstateOf(error) === SQLSTATE.diskFull) pool.onNoRoom?.();
    if (isFromPooler(error)) pool.pooler?.failed(error);
    throw asOutage(error);
  }
}

/** Rolls back when `work` fails. A connection that can't even do that is discarded. */
async function orRollBack<T>(client: pg.PoolClient, discard: Discard, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await client.query('rollback').catch(discard);
    throw error;
  }
}

/** A commit that waits has flushed the log up to itself; one that does not wait is only inserted. */
const position = ({ synchronous_commit: mode }: Settings) =>
  `select pg_current_wal_${mode === 'off' ? 'insert' : 'flush'}_lsn()::text as lsn`;

/** Asks how far the log is, once the transaction has committed, where replicas are to be waited for. */
async function noteWritten(client: pg.ClientBase, pool: FairPool, settings: Settings): Promise<void> {
  const writer = clientIn(settings);
  if (!pool.onWritten || writer === null) return;
  pool.onWritten(writer, (await client.query<{ lsn: string }>(position(settings))).rows[0]!.lsn);
}

const transact = <T>(client: pg.PoolClient, discard: Discard, started: string, work: Work<T>) =>
  orRollBack(client, discard, async () => {
    const [, result] = isPipelined(client)
      ? await settled(sendTogether(client, () => [client.query(started), work(client)] as const))
      : [await client.query(started), await work(client)];
    await client.query('commit');
    requireReplicated(client);
    return result;
  });

type Work<T> = (client: pg.PoolClient) => Promise<T>;

/**
 * Runs `work` in one transaction under these settings. On a server its first query is sent right behind begin and the
 * settings, without waiting for them: if they are refused it fails too, in a transaction that is aborted.
 */
export const inTransaction = <T>(pool: FairPool, settings: Settings, work: Work<T>): Promise<T> =>
  onConnection(pool, settings, 'write', async (client, discard) => {
    const result = await transact(client, discard, begin(pool, settings), work);
    await noteWritten(client, pool, settings);
    return result;
  });

/** The same in one round trip, for work that sends all its queries at once. */
export const inOneTrip = <T>(pool: FairPool, settings: Settings, intent: Intent, work: Work<T>): Promise<T> =>
  onConnection(pool, settings, intent, async (client) => {
    const noted = async () => (intent === 'write' ? noteWritten(client, pool, settings) : undefined);
    const [result] = await settled(
      sendTogether(
        client,
        () => [sendAsTransaction(client, { ...pool.settings, ...settings }, work), noted()] as const,
      ),
    );
    requireReplicated(client);
    return result;
  });

/** A replica did not answer in time. */
export class ReplicaSilent extends Error {}

export interface ReadOnReplica<T> {
  answer: T;
  /** What must be recorded on the primary before anybody gets the answer; null: nothing. */
  record: string | null;
}

/** What was called writes, so that a replica can't run it. */
export class NotForReplica extends Error {}

/**
 * Reads on a replica, in one round trip, what `work` asks for with one query. Where it takes longer than `withinMs`, the connection is
 * given up.
 */
export const readOnReplica = <T>(
  pool: FairPool,
  settings: Settings,
  withinMs: number,
  work: Work<T>,
): Promise<ReadOnReplica<T>> =>
  onConnection(pool, settings, 'read', async (client, discard) => {
    const all = { ...pool.settings, ...settings, 'l9.record_of_reads': '[]', transaction_read_only: 'on' };
    const both = (trip: pg.PoolClient) =>
      settled([
        work(trip),
        trip.query<{ record: string | null }>('select audit.record_of_reads()::text as record'),
      ] as const);
    const flight = sendTogether(client, () => sendAsTransaction(client, all, both));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const silent = new ReplicaSilent('the replica does not answer');
        discard(silent);
        reject(silent);
      }, withinMs);
    });
    try {
      const [answer, { rows }] = await Promise.race([flight, late]);
      return { answer, record: rows[0]!.record };
    } catch (error) {
      if (sqlstateOf(error) === SQLSTATE.readOnly) throw new NotForReplica((error as Error).message);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  });

const ATTEMPTS = 3;

/** Runs a whole transaction, and retries it if PostgreSQL aborted it to resolve a deadlock. */
export async function retryDeadlocks<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if (sqlstateOf(error) !== SQLSTATE.deadlock || attempt === ATTEMPTS) throw error;
    }
  }
}

/** A call of a function that returns nothing and writes a record. */
export interface RecordCall {
  settings: Settings;
  values: readonly (string | null)[];
}

/** Calls that function in one transaction and one round trip, each time under the settings of the call. All calls have the same keys of settings. */
export async function callInTransaction(pool: FairPool, name: string, calls: readonly RecordCall[]): Promise<void> {
  const [first] = calls;
  if (!first) return;
  const parameters = first.values.map((_, place) => `$${place + 1}`);
  const call = { name: `call ${name}`, text: `select ${name}(${parameters.join(', ')})` };
  const callAll = (trip: pg.PoolClient) =>
    settled(
      calls.flatMap(({ settings, values }, place) => {
        const before = calls[place - 1]?.settings ?? settings;
        const changed = Object.entries(settings).filter(([key, value]) => before[key] !== value);
        const set = changed.length > 0 ? [trip.query(setAll(Object.fromEntries(changed)))] : [];
        return [...set, queryPrepared(trip, { ...call, values: values.map((value) => value && withoutNul(value)) })];
      }),
    );
  await onConnection(pool, first.settings, 'read', async (client) => {
    await sendTogether(client, () => sendAsTransaction(client, { ...pool.settings, ...first.settings }, callAll));
    requireReplicated(client);
  });
}
