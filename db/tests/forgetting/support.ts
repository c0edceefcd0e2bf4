// Calls that save and erase memories, each as a caller.
import { saveMemory } from '../support/memories.ts';
import type { Claims, Rows, Sessions } from '../support/sessions.ts';

/** The id of a memory that does not exist. */
export const missing = '01900000-0000-7000-8000-000000000000';

export function erasuresOf(db: Sessions) {
  let count = 0;
  return {
    save: (caller: string, args: Record<string, unknown> = {}, claims: Claims = {}) =>
      saveMemory(db, caller, { content: `to be forgotten ${count++}`, ...args }, claims),
    eraseMemory: async (caller: string, id: string, claims: Claims = {}, reason = 'a test') =>
      (await db.sql(caller, 'select * from public.erase_memory($1, $2)', [id, reason], claims))[0],
    eraseSubject: async (caller: string, user: string, claims: Claims = {}, tenant: string | null = null) =>
      (await db.sql(caller, 'select * from public.erase_subject($1, $2, $3)', [user, 'a test', tenant], claims))[0],
    isThere: async (id: string) =>
      (await db.asSuperuser('select 1 from public.packet_store where packet_id = $1', [id])).length === 1,
    tombstones: (caller: string, ids: string[], claims: Claims = {}): Promise<Rows> =>
      db.sql(
        caller,
        'select * from public.memory_tombstones where packet_id = any ($1) order by packet_id',
        [ids],
        claims,
      ),
  };
}
