// What the tests of the access log, feedback and importance share.
import { eventually } from '../support/eventually.ts';
import { saveMemory } from '../support/memories.ts';
import type { Rows, Sessions } from '../support/sessions.ts';

/** Rolls up until nothing is left; on a server that others use too, transactions of theirs may hold it up for a while. */
export async function rollUp(db: Sessions, rows = 10_000): Promise<void> {
  await eventually(async () => {
    await db.asWorker('select facts.roll_up_accesses($1)', [rows]);
    const [{ waiting }] = await db.asWorker('select waiting from importance.access_backlog()');
    return Number(waiting) === 0;
  });
}

export const save = async (db: Sessions, caller: string, content: string, args: object = {}): Promise<string> =>
  await saveMemory(db, caller, { content, ...args });

export interface Hit {
  packet_id: string;
  access_id: string;
  score: number;
  importance: number;
  content: string;
}

/** The hits of a search by words. */
export async function search(db: Sessions, caller: string, query: string, claims = {}, k = 10): Promise<Hit[]> {
  const [{ hits }] = await db.sql(
    caller,
    `select to_jsonb((public.search_memory($1, k => $2, mode => 'lexical')).hits) as hits`,
    [query, k],
    claims,
  );
  return hits;
}

export const vote = (
  db: Sessions,
  caller: string,
  access: string,
  useful: boolean,
  reason?: string,
  claims = {},
): Promise<Rows> =>
  db.sql(caller, 'select * from public.record_feedback($1, $2, $3)', [access, useful, reason], claims);
