// The order in which callers get the connections of a pool.
import { KnownError } from '../errors.ts';

export interface FairQueueOptions {
  /** How many callers can have a turn at once. */
  slots: number;
  /** How many may wait in all. */
  maxWaiting: number;
  /** How long each may wait. */
  maxWaitMs: number;
}

export interface FairQueue {
  /** Waits for a turn, and returns the function that ends it. Rejects with L9BSY when too many wait, or for too long. */
  take(client: string): Promise<() => void>;
  /** The same for work of the gateway itself, which waits as long as it takes and is never refused. */
  takeUnlimited(name: string): Promise<() => void>;
  waiting(): number;
  /** How many have a turn. */
  taken(): number;
}

interface Waiter {
  start(): void;
  /** Absent for one that may not be refused. */
  refuse?(): void;
}

const busy = () =>
  new KnownError('L9BSY', 'too many requests are waiting for the database', null, 'Try again in a second.');

/**
 * Each client has a queue of its own, and the queues take turns, so that one with many requests does not delay the others.
 * When too many wait, the longest queue loses its newest.
 */
export function createFairQueue(
  { slots, maxWaiting, maxWaitMs }: FairQueueOptions,
  onRefused: () => void = () => {},
): FairQueue {
  const lines = new Map<string, Waiter[]>();
  let free = slots;
  let waiting = 0;

  const remove = (client: string, waiter: Waiter) => {
    const line = lines.get(client)!;
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) lines.delete(client);
    waiting -= 1;
  };

  const next = () => {
    const first = lines.entries().next();
    if (first.done) {
      free += 1;
      return;
    }
    const [client, line] = first.value;
    const waiter = line[0]!;
    remove(client, waiter);
    if (line.length > 0) {
      // Its next one comes after those of all other clients.
      lines.delete(client);
      lines.set(client, line);
    }
    waiter.start();
  };

  const turn = () => {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      next();
    };
  };

  /** The newest of the longest line, if that line is longer than the one of this client would become. */
  const longest = (client: string) => {
    const refusable = [...lines.values()].map((line) => line.filter(({ refuse }) => refuse));
    const line = refusable.reduce((most, other) => (other.length > most.length ? other : most), []);
    return line.length > (lines.get(client)?.length ?? 0) + 1 ? line.at(-1) : undefined;
  };

  const wait = (client: string, isPatient: boolean) =>
    new Promise<() => void>((resolve, reject) => {
      const waiter: Waiter = { start: () => resolve(turn()) };
      if (!isPatient) {
        const refuse = () => {
          onRefused();
          reject(busy());
        };
        if (waiting >= maxWaiting) {
          const other = longest(client);
          if (!other) return refuse();
          other.refuse!();
        }
        const timer = setTimeout(() => waiter.refuse!(), maxWaitMs);
        waiter.start = () => {
          clearTimeout(timer);
          resolve(turn());
        };
        waiter.refuse = () => {
          clearTimeout(timer);
          remove(client, waiter);
          refuse();
        };
      }
      const line = lines.get(client);
      if (line) line.push(waiter);
      else lines.set(client, [waiter]);
      waiting += 1;
    });

  const take = async (client: string, isPatient: boolean) => {
    if (free === 0) return wait(client, isPatient);
    free -= 1;
    return turn();
  };

  return {
    take: (client) => take(client, false),
    takeUnlimited: (name) => take(name, true),
    waiting: () => waiting,
    taken: () => slots - free,
  };
}
