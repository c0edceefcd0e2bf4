// How PostgreSQL in WebAssembly is opened: its extensions and its parameters.
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { pgcrypto } from '@electric-sql/pglite/contrib/pgcrypto';
import { pg_textsearch } from '@electric-sql/pglite-pg_textsearch';
import { vector } from '@electric-sql/pglite-pgvector';
import type { WasmModule } from './engine.ts';

// The default of 128 MB would be kept forever, and its pages are in the cache of the operating system anyway. Files of the
// write-ahead log that a checkpoint leaves behind are kept for later use up to min_wal_size. The search_path is that of
// bootstrap.sql, which applies to later sessions only, and the engine has one.
const PARAMETERS = [
  ...['-c', 'shared_buffers=16MB'],
  ...['-c', 'min_wal_size=32MB'],
  ...['-c', 'search_path="$user", public, extensions'],
];

/** `onLog` gets each line that PostgreSQL writes to its log; `wasm` is PostgreSQL, if it is compiled already. */
export const createPglite = (
  dataDir: string,
  onLog: (line: string) => void = () => {},
  wasm?: WasmModule,
): Promise<PGlite> =>
  PGlite.create(dataDir, {
    ...(wasm && { pgliteWasmModule: wasm }),
    extensions: { vector, pg_textsearch, pgcrypto, pg_trgm },
    onStderr: (line) => {
      onLog(line);
      return true;
    },
    startParams: [...PGlite.defaultStartParams, ...PARAMETERS],
  });
