// Calls that save and read summaries, each as a caller.
import { saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import type { Sessions } from '../support/sessions.ts';

/** Claims of a user, whose memories are visible to that user only. */
export const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };

export function summariesOf(db: Sessions) {
  let number = 0;
  const sum = async (caller: string, sources: string[], args: Record<string, unknown> = {}, claims = {}) => {
    const given: Record<string, unknown> = {
      scope_type: 'topic',
      scope_value: `topic ${++number}`,
      summary_text: 'In short: it works.',
      source_packet_ids: sources,
      ...args,
    };
    const [row] = await db.sql(
      caller,
      `select s.*, summaries.summary_json(s) ->> 'summary_text' as text
       from public.save_summary(${named(given)}) s`,
      Object.values(given),
      claims,
    );
    return row;
  };
  const seen = async (caller: string, id: string) =>
    (
      await db.sql(
        caller,
        'select s.*, public.memory_summaries_is_stale(s) as stale from public.memory_summaries s where summary_id = $1',
        [id],
      )
    )[0];
  const note = (caller: string, content: string, args: object = {}) =>
    saveMemory(db, caller, { content: `${content} ${++number}`, ...args });
  const due = (caller: string, args: Record<string, unknown> = {}, claims = {}) =>
    db.sql(caller, `select * from public.due_summaries(${named(args)})`, Object.values(args), claims);

  return { sum, seen, note, due };
}
