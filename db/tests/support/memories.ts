// Saving and searching memories in SQL, as a caller.
import { named } from './named.ts';
import type { Claims, Sessions } from './sessions.ts';

export interface Hit {
  packet_id: string;
  access_id: string;
  content: string;
  is_truncated: boolean;
  snippet: string;
  score: number;
  lexical_score: number | null;
  semantic_score: number | null;
  chunk_index: number | null;
  scope: string;
  tags: string[];
  // biome-ignore lint/suspicious/noExplicitAny: its parts differ by mode, and tests name those they expect
  explanation: any;
}

export interface Answer {
  hits: Hit[];
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

/** Calls search_memory with these arguments. */
export async function searchMemory(db: Sessions, caller: string, args: object, claims: Claims = {}): Promise<Answer> {
  const query = `select to_jsonb(r) as answer from public.search_memory(${named(args)}) r`;
  const [{ answer }] = await db.sql(caller, query, Object.values(args), claims);
  return answer;
}
