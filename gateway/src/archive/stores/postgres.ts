import type { Store } from './store.ts';

/** The database itself, on either engine. Its triggers delete the bytes of an archive with its row. */
export const postgresStore = (): Store => ({
  name: 'postgres',
  async put(hash, blob, query) {
    await query('select archive.put_archive_blob($1, $2)', [hash, blob]);
  },
  async get(hash, query) {
    const rows = await query<{ piece: Buffer }>(
      'select p.piece from archive.pieces_of(archive.get_archive_blob($1)) as p (piece)',
      [hash],
    );
    return rows.length > 0 ? Buffer.concat(rows.map(({ piece }) => piece)) : null;
  },
  async has(hash, query) {
    return (await this.stat(hash, query)) !== null;
  },
  async stat(hash, query) {
    const [row] = await query<{ size: number | null }>('select archive.has_archive_blob($1) as size', [hash]);
    return row?.size ?? null;
  },
  async delete() {},
});
