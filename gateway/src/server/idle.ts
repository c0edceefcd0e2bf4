import type { Express } from 'express';
import { collectGarbage, collectQuickly, isLarge } from '../base/garbage.ts';

// Monitors ask all day, and an editor that is attached holds a request open as long as it runs.
const NO_WORK = new Set(['/health', '/ready', '/metrics', '/attach']);

export interface IdleOptions {
  /** How long without a request; 0: never. */
  idleMs: number;
  /** Lets go of what the next request can have again. `isIdle` says whether none has come meanwhile. */
  rest(isIdle: () => boolean): Promise<void>;
  /** Called at each request, which will soon need what was let go. */
  wake(): void;
}

/**
 * Gives memory back to the system once no request has come for a while, and again after each further such time, in which jobs may
 * have worked; and collects the garbage of each large request when it is over. Some requests are no work and do not count.
 */
export function mountIdle(app: Express, { idleMs, rest, wake }: IdleOptions) {
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  let isClosed = false;
  let resting: Promise<void> = Promise.resolve();
  const isIdle = () => underWay === 0 && !isClosed;
  const wait = () => {
    clearTimeout(timer);
    if (idleMs > 0 && !isClosed) timer = setTimeout(letGo, idleMs).unref();
  };
  const letGo = () => {
    resting = resting
      .then(() => (isIdle() ? rest(isIdle) : undefined))
      // The next rest tries again to give back the memory that this one could not.
      .catch(() => {})
      .then(() => {
        if (isIdle()) collectGarbage();
        wait();
      });
  };
  wait();
  app.use((request, response, next) => {
    if (NO_WORK.has(request.path)) return next();
    underWay += 1;
    wake();
    const { socket } = request;
    const bytesOf = () => socket.bytesRead + socket.bytesWritten;
    const before = bytesOf();
    response.once('close', () => {
      underWay -= 1;
      // The handlers of the request let go of it first.
      if (isLarge(bytesOf() - before)) setImmediate(collectQuickly);
      wait();
    });
    next();
  });
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await resting;
    },
  };
}
