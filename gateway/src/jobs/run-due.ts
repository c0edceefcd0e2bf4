// Runs the jobs of one name on the embedded engine, where no loop asks for them.
import { EventEmitter } from 'node:events';
import { type RunOnceOptions, runTaskListOnce, type Task, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';

/**
 * Returns a function that runs the due jobs of a name, and resolves once none is left. graphile-worker never forgets the object
 * with its options, so that each name keeps its own: one for each run would be a leak.
 */
export function dueJobs(shared: RunOnceOptions) {
  const kept = new Map<string, RunOnceOptions>();
  const newOptions = (name: string): RunOnceOptions => {
    const events = new EventEmitter() as WorkerEvents;
    // With the options it also keeps a failed lookup of the job's name, after which no run would find a job.
    events.once('worker:getJob:error', () => kept.delete(name));
    const options = { ...shared, events };
    kept.set(name, options);
    return options;
  };
  return async (name: string, task: Task, pool: pg.Pool): Promise<void> => {
    // It only calls query(): with a client of its own it would hold the one session that the job needs.
    const client = { query: pool.query.bind(pool) } as pg.PoolClient;
    await runTaskListOnce(kept.get(name) ?? newOptions(name), { [name]: task }, client).promise;
  };
}
