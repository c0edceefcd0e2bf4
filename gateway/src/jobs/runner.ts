// Runs the loop of graphile-worker on a server, and restarts it whenever it fails.
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Runner, type RunnerOptions, run, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import type { Logger } from 'pino';

const RUN_AGAIN_AFTER_MS = 1_000;

type Release = (destroy?: Error | boolean) => void;
type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, release: Release) => void;

/**
 * The pool, whose connections may be released twice. graphile-worker does so with the one that listens for jobs if it is stopped
 * while the database goes away; pg throws then, in a promise that nobody waits for, which would end the process.
 */
function withSafeRelease(pool: pg.Pool): pg.Pool {
  const connect = (connected?: Connected) =>
    connected
      ? pool.connect((error, client, release) => {
          let isReleased = false;
          connected(error, client, (destroy) => {
            if (!isReleased) release(destroy);
            isReleased = true;
          });
        })
      : pool.connect();
  return new Proxy(pool, {
    get: (target, name) => {
      if (name === 'connect') return connect;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/**
 * The error of the first question for a job, if it fails. graphile-worker asks for the ids of its tasks with it, and keeps a failed
 * answer for as long as it runs: every later question would fail, too.
 */
const firstQuestionFailed = (events: WorkerEvents) =>
  new Promise<Error>((resolve) => {
    let isAnswered = false;
    const answered = () => {
      isAnswered = true;
    };
    events.once('worker:getJob:empty', answered);
    events.once('job:start', answered);
    events.once('worker:getJob:error', ({ error }) => {
      if (!isAnswered) resolve(error as Error);
    });
  });

/** Runs until the signal, even if the database is lost. Resolves once it runs; `stopped` resolves after the signal. */
export async function keepRunning(
  options: Omit<RunnerOptions, 'events' | 'pgPool'> & { pgPool: pg.Pool },
  logger: Logger,
  signal: AbortSignal,
): Promise<{ stopped: Promise<void> }> {
  const pgPool = withSafeRelease(options.pgPool);
  const start = async () => {
    const events = new EventEmitter() as WorkerEvents;
    // graphile-worker shuts down when it cannot mark a job as done, for instance when the database is lost, but does not
    // always complete that. Its event is therefore enough to restart it.
    const failed = once(events, 'pool:fatalError', { signal }).then(([{ error }]) => error as Error);
    failed.catch(() => {});
    const unanswered = firstQuestionFailed(events);
    const runner = await run({ ...options, pgPool, events });
    const ended = runner.promise.then(
      () => null,
      (error: Error) => error,
    );
    return { runner, broken: Promise.race([failed.catch(() => null), unanswered, ended]) };
  };
  const stop = (runner: Runner) => runner.stop().catch(() => {});
  const keep = async (first: Awaited<ReturnType<typeof start>>) => {
    for (let current: typeof first | null = first; current; ) {
      const { runner, broken } = current;
      const reason = await broken;
      if (signal.aborted) return stop(runner);
      void stop(runner);
      current = null;
      while (!current && !signal.aborted) {
        logger.warn({ name: reason?.name }, 'background jobs stopped; restarting them');
        await sleep(RUN_AGAIN_AFTER_MS, null, { signal }).catch(() => {});
        if (!signal.aborted) current = await start().catch(() => null);
      }
    }
  };
  return { stopped: keep(await start()) };
}
