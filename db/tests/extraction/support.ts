import { named } from '../support/named.ts';
import type { Claims, Sessions } from '../support/sessions.ts';

export const setSettings = async (db: Sessions, args: Record<string, unknown>, caller = 'L', claims: Claims = {}) => {
  const [settings] = await db.sql(
    caller,
    `select s.* from public.set_extraction_settings(${named(args)}) s`,
    Object.values(args),
    claims,
  );
  return settings;
};

export const isPending = async (db: Sessions, packet: string) =>
  (await db.asWorker('select from extraction.pending_extractions where packet_id = $1', [packet])).length === 1;

/** Stores an answer of a model about the present text of a memory. */
export async function store(db: Sessions, packet: string, answer: object, model = 'a-model') {
  const [{ content_hash: hash }] = await db.asSuperuser(
    'select content_hash from public.packet_store where packet_id = $1',
    [packet],
  );
  const [outcome] = await db.asWorker('select * from extraction.store_extraction($1, $2, $3, $4)', [
    packet,
    hash,
    JSON.stringify(answer),
    model,
  ]);
  return outcome;
}

export const fact = (subject: string, object: string) => ({ subject, predicate: 'is', object, confidence: 0.6 });

export const factsOf = (db: Sessions, packet: string) =>
  db.asSuperuser(
    `select f.subject, f.object, f.scope, f.retracted_at is not null as is_retracted, e.extracted_by
     from public.fact_evidence e join public.knowledge_facts f using (fact_id) where e.packet_id = $1 order by 1, 2`,
    [packet],
  );
