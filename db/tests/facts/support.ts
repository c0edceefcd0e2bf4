import { named } from '../support/named.ts';
import type { Claims, Sessions } from '../support/sessions.ts';

export interface Fact {
  fact_id: string;
  subject: string;
  predicate: string;
  object: unknown;
  confidence: number;
  source_packet: string;
  supporting_packet_count: number;
  agent_count: number;
  is_from_admin: boolean;
  contradiction_count: number;
  access_count: string;
  valid_from: Date;
  valid_to: Date | null;
  recorded_at: Date;
  superseded_by: string | null;
  superseded_at: Date | null;
  retracted_at: Date | null;
  retraction_reason: string | null;
  scope: string;
  project_id: string | null;
  creator: string;
  is_single_valued: boolean;
  ttl: Date | null;
}

export type Triple = [subject: string, predicate: string, object: unknown];

/** Calls assert_fact, in project l9 unless the arguments name a project, a memory or the scope global. */
export async function assertFact(
  db: Sessions,
  caller: string,
  [subject, predicate, object]: Triple,
  args: Record<string, unknown> = {},
  claims: Claims = {},
): Promise<Fact> {
  const given: Record<string, unknown> = {
    subject,
    predicate,
    object: JSON.stringify(object),
    ...(args.source_packet || args.scope === 'global' ? {} : { project_id: 'l9' }),
    ...args,
  };
  const [fact] = await db.sql(
    caller,
    `select * from public.assert_fact(${named(given)})`,
    Object.values(given),
    claims,
  );
  return fact;
}

/** Calls find_facts. */
export function findFacts(
  db: Sessions,
  caller: string,
  args: Record<string, unknown>,
  claims: Claims = {},
): Promise<Fact[]> {
  const given = { ...args, ...('object' in args && { object: JSON.stringify(args.object) }) };
  return db.sql(caller, `select * from public.find_facts(${named(given)})`, Object.values(given), claims);
}

/** The objects that a caller finds for a subject, most confident first. */
export const objects = async (db: Sessions, caller: string, subject: string, more = {}, claims: Claims = {}) =>
  (await findFacts(db, caller, { subject, ...more }, claims)).map(({ object }) => object);

export async function retractFact(db: Sessions, caller: string, id: string, reason?: string): Promise<Fact> {
  const [fact] = await db.sql(caller, 'select * from public.retract_fact($1, $2)', [id, reason]);
  return fact;
}

/** The row of a fact, read past all policies. */
export async function factNow(db: Sessions, id: string): Promise<Fact | undefined> {
  const [fact] = await db.asSuperuser('select * from public.knowledge_facts where fact_id = $1', [id]);
  return fact;
}

export const contradictionsOf = async (db: Sessions, packet: string): Promise<number> => {
  const [row] = await db.asSuperuser('select contradiction_count from public.memory_signals where packet_id = $1', [
    packet,
  ]);
  return row?.contradiction_count ?? 0;
};

export const registerPredicate = (db: Sessions, predicate: string, isSingle = true) =>
  db.sql('L', 'select public.register_predicate($1, $2)', [predicate, isSingle]);

export const moveMemory = (db: Sessions, caller: string, packet: string, scope: string) =>
  db.sql(caller, 'select public.update_memory($1, scope => $2)', [packet, scope]);
