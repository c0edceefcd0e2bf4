// Rules, pending memories and decisions, for the tests of reviews.
import { named } from '../support/named.ts';
import type { Claims, Sessions } from '../support/sessions.ts';

export interface Rule {
  needs_review: boolean;
  caller?: string;
  scope?: string;
  project_id?: string;
  kinds?: string[];
  source?: string;
}

/** Makes a rule as L, and returns it. */
export async function setRule(db: Sessions, rule: Rule) {
  const [row] = await db.sql('L', `select * from public.set_review_rule(${named(rule)})`, Object.values(rule));
  return row;
}

/** Deletes all rules. What is pending stays so. */
export const deleteRules = (db: Sessions) =>
  db.sql('L', 'select public.delete_review_rule(rule_id) from public.review_rules');

/** Registers another agent with the rights of C. */
export const addColleague = (db: Sessions, caller = 'D') =>
  db.sql('L', 'select public.register_actor($1, $2, $3, $4)', [
    caller,
    `${caller}-Agent`,
    `${caller}-source`,
    'colleague',
  ]);

/** Decides as L, and returns the status and the memory. */
export async function decide(db: Sessions, id: string, decision: string, reason: string | null = null) {
  const [row] = await db.sql('L', 'select status, (memory).* from review.decide($1, $2, $3)', [id, decision, reason]);
  return row;
}

/** The review_state of a memory as it is stored; undefined if there is none. */
export async function stateOf(db: Sessions, id: string): Promise<string | null | undefined> {
  const [row] = await db.asSuperuser('select review_state from public.packet_store where packet_id = $1', [id]);
  return row?.review_state;
}

/** How many memories of these ids a caller reads. */
export async function reads(db: Sessions, caller: string, id: string, claims: Claims = {}): Promise<boolean> {
  return (await db.sql(caller, 'select 1 from public.packet_store where packet_id = $1', [id], claims)).length > 0;
}
