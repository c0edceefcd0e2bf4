// Carries archives from one installation to another: encrypted bytes as they are, and the key of each archive, which the master key
// of the other place wraps.
import { KnownError } from '../base/errors.ts';
import type { MasterKey } from '../config/master-keys.ts';
import type { Copies } from './copies.ts';
import { decrypt, fingerprint, hashOf, wrapKey } from './keys.ts';
import { type createOpening, type Problem, Unsound } from './opening.ts';
import { postgresStore } from './stores/postgres.ts';
import type { Query } from './stores/store.ts';

export interface Carried {
  bytes: Buffer | null;
  key: Buffer | null;
  /** Why bytes or key are missing. */
  problem: Problem | null;
}

export interface Carrier {
  carryOut(query: Query, archiveId: string): Promise<Carried>;
  carryIn(
    query: Query,
    archiveId: string,
    bytes: Buffer,
    key: Buffer | null,
  ): Promise<'stored' | 'present' | 'left_out'>;
}

interface CarrierDependencies extends Pick<ReturnType<typeof createOpening>, 'open'> {
  copies: Copies;
  keys: () => MasterKey[];
  onKeyUsed: (id: string) => void;
}

const notYours = () =>
  new KnownError('L9OWN', 'archive_id: there is no such archive, or it is not yours', 'archive_id');

export function carrier({ open, copies, keys, onKeyUsed }: CarrierDependencies): Carrier {
  const database = postgresStore();

  return {
    async carryOut(query, archiveId) {
      const [row] = await query<{ pointer: string; content_hash: Buffer }>(
        'select a.pointer, a.content_hash from public.session_archives a where a.archive_id = $1',
        [archiveId],
      );
      if (!row) throw notYours();
      try {
        const opened = await open(row.pointer, archiveId, query);
        return { bytes: await copies.fetch(opened, query), key: opened.dataKey, problem: null };
      } catch (error) {
        if (!(error instanceof Unsound)) throw error;
        if (error.problem !== 'key') return { bytes: null, key: null, problem: error.problem };
        // Without a key that opened, no other store is asked for bytes.
        const bytes = await database.get({ archiveId, hash: row.content_hash }, query);
        return { bytes: bytes && hashOf(bytes).equals(row.content_hash) ? bytes : null, key: null, problem: 'key' };
      }
    },

    async carryIn(query, archiveId, bytes, key) {
      await query('select transfer.require_importer()', []);
      const store = async (...wrapped: unknown[]) => {
        const text = `select transfer.store_archive(${['$1', '$2', '$3', '$4', '$5'].slice(0, 2 + wrapped.length)}) as state`;
        const [row] = await query<{ state: 'stored' | 'present' | 'left_out' }>(text, [archiveId, bytes, ...wrapped]);
        return row!.state;
      };
      if (key === null) return store();
      const [row] = await query<{ tenant_id: string; schema_version: string }>(
        'select a.tenant_id, a.schema_version from public.session_archives a where a.archive_id = $1',
        [archiveId],
      );
      if (!row) return 'left_out';
      const place = { archiveId, tenantId: row.tenant_id, schemaVersion: row.schema_version };
      const document = key.length === 32 ? decrypt(key, bytes, place) : null;
      if (document === null) throw new KnownError('L9KEY', 'key: does not open the bytes of this archive', 'key');
      const master = keys()[0]!;
      onKeyUsed(master.id);
      return store(
        master.id,
        wrapKey(master, key, place),
        fingerprint(master, place.tenantId, [Buffer.from(document)]),
      );
    },
  };
}
