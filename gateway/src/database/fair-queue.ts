// The order in which callers get the connections of a pool.
import { KnownError } from '../base/errors.ts';
import { RoundRobinQueue } from '../base/round-robin-queue.ts';

export interface FairQueueOptions {
  /** How many callers can have a turn at once. */
  slots: number;
  /** How many may wait in all. */
  maxWaiting: number;
  /** How long each request may wait, in all its turns together. */
  maxWaitMs: number;
}

export type FairQueue = ReturnType<typeof createFairQueue>;

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
export function createFairQueue({ slots, maxWaiting, maxWaitMs }: FairQueueOptions, onRefused: () => void = () => {}) {
  const waiters = new RoundRobinQueue<Waiter>();
  const waits = waitsOfRequests();
  let free = slots;

  const next = () => {
    const waiter = waiters.shift();
    if (waiter) waiter.start();
    else free += 1;
  };

  const turn = () => {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      next();
    };
  };

  /** The newest of the longest queue, if that queue is longer than the one of this client would become. */
  const longest = (client: string) => {
    const refusable = waiters.queues().map((queue) => queue.filter(({ refuse }) => refuse));
    const queue = refusable.reduce((most, other) => (other.length > most.length ? other : most), []);
    return queue.length > waiters.queueOf(client).length + 1 ? queue.at(-1) : undefined;
  };

  const wait = (client: string, isPatient: boolean, request?: object) =>
    new Promise<() => void>((resolve, reject) => {
      const waiter: Waiter = { start: () => resolve(turn()) };
      if (!isPatient) {
        const refuse = () => {
          onRefused();
          reject(busy());
        };
        const left = maxWaitMs - waits.spent(request);
        if (left <= 0) return refuse();
        if (waiters.size >= maxWaiting) {
          const other = longest(client);
          if (!other) return refuse();
          other.refuse!();
        }
        const end = waits.begin(request);
        const timer = setTimeout(() => waiter.refuse!(), left);
        waiter.start = () => {
          clearTimeout(timer);
          end();
          resolve(turn());
        };
        waiter.refuse = () => {
          clearTimeout(timer);
          end();
          waiters.remove(client, waiter);
          refuse();
        };
      }
      if (waits.hadTurn(request)) waiters.unshift(client, waiter);
      else waiters.push(client, waiter);
    });

  const take = async (client: string, isPatient: boolean, request?: object) => {
    if (free === 0) {
      const end = await wait(client, isPatient, request);
      waits.noteTurn(request);
      return end;
    }
    free -= 1;
    waits.noteTurn(request);
    return turn();
  };

  return {
    /**
     * Waits for a turn, and returns the function that ends it. Rejects with L9BSY when too many wait, or for too long. A `request` that
     * had a turn before, and needs another for the record of it, goes before those of its client that had none.
     */
    take: (client: string, request?: object) => take(client, false, request),
    /** The same for work of the gateway itself, which waits as long as it takes and is never refused. */
    takeUnlimited: (name: string) => take(name, true),
    waiting: () => waiters.size,
    /** How many have a turn. */
    taken: () => slots - free,
  };
}

interface Waits {
  /** In turns that are over, or came. */
  spentMs: number;
  /** How many turns it waits for at this moment, and since when it has waited for one. */
  open: number;
  since: number;
  hadTurn: boolean;
}

/** How long each request has waited. Where it waits for several turns at once, that is one wait. */
function waitsOfRequests() {
  const requests = new WeakMap<object, Waits>();
  const of = (request: object) => {
    const known = requests.get(request) ?? { spentMs: 0, open: 0, since: 0, hadTurn: false };
    requests.set(request, known);
    return known;
  };
  return {
    spent(request?: object): number {
      if (!request) return 0;
      const { spentMs, open, since } = of(request);
      return spentMs + (open > 0 ? performance.now() - since : 0);
    },
    /** Returns the function that ends the wait. */
    begin(request?: object): () => void {
      if (!request) return () => {};
      const waits = of(request);
      if (waits.open === 0) waits.since = performance.now();
      waits.open += 1;
      return () => {
        waits.open -= 1;
        if (waits.open === 0) waits.spentMs += performance.now() - waits.since;
      };
    },
    noteTurn(request?: object) {
      if (request) of(request).hadTurn = true;
    },
    hadTurn: (request?: object) => request !== undefined && of(request).hadTurn,
  };
}
