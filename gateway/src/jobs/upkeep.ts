// The periodic jobs that call SQL functions and do nothing else.
import { withJobRun } from './job-runs.ts';
import { asks, isTrue, type PeriodicJob, untilDone } from './periodic.ts';

const MONTHS_AHEAD = 13;
const PARTITIONED = ['public.audit_log', 'importance.memory_access_log'];
/** Audiences that one transaction counts: each takes up to a second, in which nobody else gets the embedded engine. */
const AUDIENCES_AT_ONCE = 1;
const CHECKPOINT_AFTER_BYTES = 32 * 1024 * 1024;
const REFRESH_AFTER_SECONDS = 24 * 60 * 60;

/** Creates monthly partitions in advance, so that no row has to go to the default partition. */
const makePartitions: PeriodicJob = {
  name: 'make_partitions',
  everyMs: 24 * 60 * 60_000,
  async run(pool, logger) {
    for (const table of PARTITIONED) {
      const made = await asks('audit.create_month_partitions($1::regclass, now()::date, $2)', [
        table,
        MONTHS_AHEAD + 1,
      ])(pool);
      if (Array.isArray(made) && made.length > 0) logger.info({ partitions: made }, 'partitions were created');
    }
  },
};

/** Adds committed rows of audit_log to the hash chain, outside the transactions that write them. */
const sealAudit: PeriodicJob = {
  name: 'seal_audit',
  everyMs: 10_000,
  isDue: isTrue('audit.is_audit_unsealed()'),
  run: untilDone('audit.seal_audit()'),
};

/** Adds up the access log and feedback in memory_signals, so that searches need not. */
const rollUpAccesses: PeriodicJob = {
  name: 'roll_up_accesses',
  everyMs: 15_000,
  isDue: isTrue('importance.are_accesses_waiting()'),
  run: untilDone('facts.roll_up_accesses()'),
};

/** Counts how often words occur in the memories of each audience, by which a search weighs the words of its query. */
const countWords: PeriodicJob = {
  name: 'count_words',
  everyMs: 5 * 60_000,
  isDue: isTrue('exists (select from ranking.stale_audiences())'),
  run: untilDone(`ranking.count_stale_audiences(${AUDIENCES_AT_ONCE})`, AUDIENCES_AT_ONCE),
};

/** Refreshes the materialized views one day after the last refresh by any process. */
export const refreshViews: PeriodicJob = {
  name: 'refresh_memory_views',
  everyMs: 10 * 60_000,
  isDue: isTrue('select bool_or(coalesce(age_seconds >= $1, true)) from public.memory_views_status()', [
    REFRESH_AFTER_SECONDS,
  ]),
  async run(pool, logger) {
    await withJobRun(pool, { type: 'refresh_memory_views' }, logger, () =>
      pool.query('call public.refresh_memory_views()'),
    );
    logger.info('materialized views were refreshed');
  },
};

/** The embedded engine has no process that makes checkpoints, and without them its write-ahead log would grow forever. */
export const makeCheckpoints: PeriodicJob = {
  name: 'make_checkpoints',
  everyMs: 10_000,
  makesRoom: true,
  isDue: isTrue('select pg_current_wal_insert_lsn() - redo_lsn > $1 from pg_control_checkpoint()', [
    CHECKPOINT_AFTER_BYTES,
  ]),
  run: async (pool) => {
    await pool.query('checkpoint');
  },
};

/** Those of both engines. */
export const upkeep: readonly PeriodicJob[] = [makePartitions, sealAudit, rollUpAccesses, refreshViews, countWords];
