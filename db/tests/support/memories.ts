// Saving and searching memories in SQL, as a caller.
import { named } from './named.ts';
import type { Claims, Rows, Sessions } from './sessions.ts';

export interface Hit {
  packet_id: string;
  access_id: string;
  content: string;
  is_truncated: boolean;
  snippet: string;
  score: number;
  lexical_score: number | null;
  semantic_score: number | null;
  relevance: number | null;
  chunk_index: number | null;
  scope: string;
  tags: string[];
  timestamp: string;
  created_at: string;
  speaker: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: its parts differ by mode, and tests name those they expect
  explanation: any;
}

export interface Nearest {
  packet_id: string;
  snippet: string;
  score: number;
  relevance: number | null;
}

export interface Answer {
  hits: Hit[];
  nearest: Nearest[];
  // biome-ignore lint/suspicious/noExplicitAny: its fields differ by request, and tests name those they expect
  searched: any;
}

/** Saves a memory, in project l9 unless the arguments say otherwise, and returns its id. */
export async function saveMemory(
  db: Sessions,
  caller: string,
  args: { content: string; [name: string]: unknown },
  claims: Claims = {},
): Promise<string> {
  const all = { project_id: 'l9', ...args };
  const query = `select (memory).packet_id as id from public.save_memory(${named(all)})`;
  const [{ id }] = await db.sql(caller, query, Object.values(all), claims);
  return id;
}

export interface SaveResult {
  status: 'inserted' | 'updated' | 'skipped_dedupe';
  // biome-ignore lint/suspicious/noExplicitAny: tests name the fields they expect
  memory: any;
  similar: { packet_id: string; similarity: number }[] | null;
}

/** Calls save_memory, in project l9 unless the arguments say otherwise, and returns its answer. */
export async function callSaveMemory(db: Sessions, caller: string, args: object, claims: Claims = {}) {
  const all = { project_id: 'l9', ...args };
  const query = `select r.status, memories.memory_json(r.memory) as memory, to_jsonb(r."similar") as similar
    from public.save_memory(${named(all)}) r`;
  const [answer] = await db.sql(caller, query, Object.values(all), claims);
  return answer as SaveResult;
}

/** Calls update_memory with these arguments, and returns its answer. */
export async function callUpdateMemory(db: Sessions, caller: string, id: string, args: object, claims: Claims = {}) {
  const query = `select r.status, memories.memory_json(r.memory) as memory, to_jsonb(r."similar") as similar
    from public.update_memory($1, ${named(args, 2)}) r`;
  const [answer] = await db.sql(caller, query, [id, ...Object.values(args)], claims);
  return answer as SaveResult;
}

/** Calls search_memory with these arguments. */
export async function searchMemory(db: Sessions, caller: string, args: object, claims: Claims = {}): Promise<Answer> {
  const query = `select to_jsonb(r) as answer from public.search_memory(${named(args)}) r`;
  const [{ answer }] = await db.sql(caller, query, Object.values(args), claims);
  return answer;
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
