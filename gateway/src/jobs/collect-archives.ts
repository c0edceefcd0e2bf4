// Deletes the bytes of deleted archives from stores outside the database, and what a crash in the middle of a store left.
import type { Store } from '../archive/stores/index.ts';
import { sqlstateOf } from '../base/errors.ts';
import { isTrue, type PeriodicJob } from './periodic.ts';

const BATCH = 100;

export const collectArchives = (stores: readonly Store[]): PeriodicJob => ({
  name: 'collect_archives',
  everyMs: 10 * 60_000,
  isDue: isTrue('archive.needs_collection()'),
  async run(pool, logger, signal) {
    await pool.query('select archive.collect_archives()');
    for (const store of stores) {
      while (!signal.aborted) {
        const { rows } = await pool.query<{ archive_id: string; content_hash: Buffer }>(
          'select * from archive.bytes_to_delete($1, $2)',
          [store.name, BATCH],
        );
        try {
          for (const { archive_id, content_hash } of rows) {
            await store.delete(content_hash);
            await pool.query('select archive.note_deletion($1, $2)', [archive_id, store.name]);
          }
        } catch (error) {
          // The keys are gone, so nobody can decrypt the bytes that stay. The next run tries again.
          logger.warn({ store: store.name, code: sqlstateOf(error) }, 'bytes of deleted archives could not be deleted');
          break;
        }
        if (rows.length < BATCH) break;
      }
    }
  },
});
