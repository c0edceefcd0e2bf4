import type { Store } from './store.ts';

/** The database itself, on either engine. It enters an archive together with its bytes, and its triggers delete them with its row. */
export const postgresStore = (): Store => ({
  name: 'postgres',
  async put({ archiveId }, blob, query) {
    await query('select archive.restore_archive_blob($1, $2)', [archiveId, blob]);
  },
  async get({ archiveId }, query) {
    const rows = await query<{ piece: Buffer }>(
      'select p.piece from archive.pieces_of(archive.get_archive_blob($1)) as p (piece)',
      [archiveId],
    );
    return rows.length > 0 ? Buffer.concat(rows.map(({ piece }) => piece)) : null;
  },
  async delete() {},
});
