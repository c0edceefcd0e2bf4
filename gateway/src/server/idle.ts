import type { Express } from 'express';
import { collectGarbage, collectQuickly, isLarge } from '../garbage.ts';

const OF_MONITORS = new Set(['/health', '/ready', '/metrics']);

export interface IdleOptions {
  /** How long without a request; 0: never. */
  idleMs: number;
  /** Gives back the memory of other threads. */
  trim?: (() => void) | undefined;
}

/**
 * Gives memory back to the system once no request has come for a while, for which requests of monitors do not count, and collects the
 * garbage of each large request when it is over.
 */
export function mountIdle(app: Express, { idleMs, trim }: IdleOptions) {
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  const rest = () => {
    if (underWay > 0) return wait();
    trim?.();
    collectGarbage();
  };
  const wait = () => {
    clearTimeout(timer);
    if (idleMs > 0) timer = setTimeout(rest, idleMs).unref();
  };
  wait();
  app.use((request, response, next) => {
    if (OF_MONITORS.has(request.path)) return next();
    underWay += 1;
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
  return { close: () => clearTimeout(timer) };
}
