// Memories for a test, saved through the functions that callers use.
import { named } from './named.ts';
import type { Claims, Rows, Sessions } from './sessions.ts';

export interface Saved {
  status: 'inserted' | 'updated' | 'skipped_dedupe';
  // biome-ignore lint/suspicious/noExplicitAny: tests name the fields they expect
  memory: any;
  similar: { packet_id: string; similarity: number }[] | null;
}

/** Calls save_memory with these parameters, in project l9 unless they name another. */
export async function saveMemory(db: Sessions, caller: string, args: object, claims: Claims = {}): Promise<Saved> {
  const given = { project_id: 'l9', ...args };
  const [row] = await db.sql(
    caller,
    `select r.status, memories.memory_json(r.memory) as memory, to_jsonb(r."similar") as similar from public.save_memory(${named(given)}) r`,
    Object.values(given),
    claims,
  );
  return row;
}

/** Calls update_memory with these parameters. */
export async function updateMemory(db: Sessions, caller: string, id: string, args: object, claims: Claims = {}) {
  const [row] = await db.sql(
    caller,
    `select r.status, memories.memory_json(r.memory) as memory from public.update_memory($1, ${named(args, 2)}) r`,
    [id, ...Object.values(args)],
    claims,
  );
  return row as Saved;
}

/** Lets memories expire that many seconds ago, which no caller could write. */
export const expireMemories = (db: Sessions, ids: string[], secondsAgo = 1): Promise<Rows> =>
  db.inSuperuserSession(async (client) => {
    await client.query('set session_replication_role = replica');
    const { rows } = await client.query(
      'update public.packet_store set ttl = now() - make_interval(secs => $2) where packet_id = any ($1) returning 1',
      [ids, secondsAgo],
    );
    await client.query('reset session_replication_role');
    return rows;
  });

/** Those of these memories that are still stored, expired or not. */
export const storedMemories = async (db: Sessions, ids: string[]): Promise<string[]> =>
  (await db.asSuperuser('select packet_id from public.packet_store where packet_id = any ($1)', [ids])).map(
    ({ packet_id }) => packet_id,
  );
