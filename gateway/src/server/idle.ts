import type { Express } from 'express';
import { collectGarbage } from '../garbage.ts';

const OF_MONITORS = new Set(['/health', '/ready', '/metrics']);

export interface IdleOptions {
  /** How long without a request; 0: never. */
  idleMs: number;
  /** Gives back the memory of other threads. */
  trim?: (() => void) | undefined;
}

/** Gives memory back to the system once no request has come for a while. Requests of monitors do not count. */
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
    response.once('close', () => {
      underWay -= 1;
      wait();
    });
    next();
  });
  return { close: () => clearTimeout(timer) };
}
