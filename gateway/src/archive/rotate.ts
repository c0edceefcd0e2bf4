// Wraps the keys of archives with another master key. Stored bytes stay as they are.
import type { MasterKey } from '../config/master-keys.ts';
import { SCHEMA_VERSION, unwrapKey, wrapKey } from './keys.ts';
import type { Query } from './stores/index.ts';

export interface Rotated {
  rotated: number;
  /** Archives whose former master key is not given, or whose key does not open. */
  failed: number;
  /** After the last: the master keys that archives need, of all that the caller administers. */
  keys: { key_id: string; archives: number }[] | null;
  next: string | null;
}

type Rotator = (query: Query, after: string | null, atMost: number) => Promise<Rotated>;

export const rotator =
  (keys: () => MasterKey[], onKeyUsed: (id: string) => void): Rotator =>
  async (query, after, atMost) => {
    const [current, ...others] = keys();
    const rows = await query<{ archive_id: string; tenant_id: string; key_id: string; wrapped_key: Buffer }>(
      'select * from archive.keys_to_rotate($1, $2, $3)',
      [current!.id, after, atMost],
    );
    let rotated = 0;
    let failed = 0;
    for (const { archive_id: archiveId, tenant_id: tenantId, key_id, wrapped_key } of rows) {
      const place = { tenantId, archiveId, schemaVersion: SCHEMA_VERSION };
      const former = others.find(({ id }) => id === key_id);
      const dataKey = former && unwrapKey(former, wrapped_key, place);
      if (dataKey) {
        onKeyUsed(current!.id);
        const wrapped = wrapKey(current!, dataKey, place);
        await query('select archive.replace_key($1, $2, $3, $4)', [archiveId, key_id, current!.id, wrapped]);
        rotated += 1;
      } else failed += 1;
    }
    if (rows.length === atMost) return { rotated, failed, keys: null, next: rows.at(-1)!.archive_id };
    const inUse = await query<{ key_id: string; archives: number }>(
      'select key_id, archives::integer from archive.keys_in_use()',
      [],
    );
    return { rotated, failed, keys: inUse, next: null };
  };
