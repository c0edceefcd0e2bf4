// Deletes the bytes of deleted archives from stores outside the database, and what a crash in the middle of a store left.
import type { Store } from '../archive/stores/index.ts';
import { sqlstateOf } from '../errors.ts';
import type { PeriodicJob } from './periodic.ts';

const BATCH = 100;

export const collectArchives = (stores: readonly Store[]): PeriodicJob => ({
  name: 'collect_archives',
  everyMs: 10 * 60_000,
  async isDue(pool) {
    const { rows } = await pool.query<{ due: boolean }>('select archive.needs_collection() as due');
    return rows[0]?.due === true;
  },
  async run(pool, logger, signal) {
    await pool.query('select archive.collect_archives()');
    for (const store of stores) {
      while (!signal.aborted) {
        const { rows } = await pool.query<{ content_hash: Buffer }>(
          'select content_hash from archive.pending_deletions where connector = $1 and due_at <= clock_timestamp() order by due_at limit $2',
          [store.name, BATCH],
        );
        try {
          for (const { content_hash } of rows) {
            await store.delete(content_hash);
            await pool.query('delete from archive.pending_deletions where content_hash = $1 and connector = $2', [
              content_hash,
              store.name,
            ]);
          }
        } catch (error) {
          // The keys are gone, so what stays is noise. The next run tries again.
          logger.warn({ store: store.name, code: sqlstateOf(error) }, 'bytes of deleted archives could not be deleted');
          break;
        }
        if (rows.length < BATCH) break;
      }
    }
  },
});
