// Every number that a ranking uses and that a caller can move: what one agent does to move it, and how it is read. docs/explanation/trust.md
// lists the same names.
import { eventually } from '../support/eventually.ts';
import type { Sessions } from '../support/sessions.ts';

export interface RankedNumber {
  name: string;
  /** What an agent does, for the n-th time; the value is its own. */
  act(db: Sessions, caller: string, project: string, n: number): Promise<unknown>;
  /** What a ranking makes of it, as L reads it. */
  read(db: Sessions, project: string): Promise<number>;
}

const one = async (db: Sessions, query: string, values: unknown[]): Promise<number> =>
  Number((await db.asSuperuser(query, values))[0]?.number ?? 0);
const sql = (db: Sessions, caller: string, query: string, ...values: unknown[]) => db.sql(caller, query, values);
const cited = (project: string) => `the ranked memory of ${project}`;
const idOf = async (db: Sessions, project: string): Promise<string> =>
  (
    await db.asSuperuser('select packet_id from public.packet_store where project_id = $1 and content = $2', [
      project,
      cited(project),
    ])
  )[0].packet_id;
const hit = async (db: Sessions, caller: string, project: string) =>
  (
    await db.sql(
      caller,
      `select h.access_id from unnest((public.search_memory('ranked memory', project_id => $1, mode => 'lexical')).hits) h
       where h.content = $2`,
      [project, cited(project)],
    )
  )[0].access_id as string;
const learned = async (db: Sessions, project: string) => {
  // A transaction of another test on the same server may hold up what is counted.
  await eventually(async () => {
    await db.asWorker('select facts.roll_up_accesses()');
    const [{ waiting }] = await db.asSuperuser(
      `select count(*) filter (where f.xid >= r.to_xid)::int + (select count(*) from importance.pending_recounts)::int as waiting
       from importance.access_roll_up r left join public.memory_feedback f on true group by r.to_xid`,
    );
    return waiting === 0;
  });
  return one(db, 'select useful - useless as number from public.memory_signals where packet_id = $1', [
    await idOf(db, project),
  ]);
};
const find = async (db: Sessions, project: string) =>
  (
    await db.sql(
      'L',
      `select (h.explanation -> 'citations' ->> 'value')::float as number
       from unnest((public.memory_find('ranked memory', project_id => $1, mode => 'fast', explain => true)).hits) h
       where h.packet_id = $2`,
      [project, await idOf(db, project)],
    )
  )[0].number as number;
const lesson = (project: string) => `Check the valve of ${project} before each shift.`;
const reflect = (db: Sessions, caller: string, project: string) =>
  sql(
    db,
    caller,
    "select public.reflect($1, priority => 'low', confidence => 0.4, project_id => $2)",
    lesson(project),
    project,
  );
const ofLesson = (db: Sessions, project: string, expression: string) =>
  one(db, `select ${expression} as number from public.reflection_store where project_id = $1`, [project]);
const state = (db: Sessions, caller: string, project: string, n: number) =>
  sql(
    db,
    caller,
    `select public.assert_fact($1, 'is', '"open"', 0.4, source_packet => ((public.save_memory($2, project_id => $1)).memory).packet_id)`,
    project,
    `${caller} says for the time ${n} that ${project} is open`,
  );
const cite = (db: Sessions, caller: string, project: string, n: number) =>
  idOf(db, project).then((id) =>
    sql(
      db,
      caller,
      'select public.save_memory($1, project_id => $2, parent_ids => array[$3::uuid])',
      `${caller} rests on it ${n}`,
      project,
      id,
    ),
  );

export const rankedNumbers: readonly RankedNumber[] = [
  {
    name: 'confidence of a fact',
    act: state,
    read: (db, p) =>
      one(db, 'select confidence as number from public.knowledge_facts where project_id = $1 and subject = $1', [p]),
  },
  {
    name: 'agents of a fact',
    act: state,
    read: (db, p) =>
      one(db, 'select agent_count as number from public.knowledge_facts where project_id = $1 and subject = $1', [p]),
  },
  {
    name: 'contradictions of a fact',
    async act(db, caller, p, n) {
      await sql(
        db,
        caller,
        `select public.assert_fact('gate', 'state of gates', to_jsonb($1::text), project_id => $2)`,
        `open ${n}`,
        p,
      );
    },
    read: (db, p) =>
      one(
        db,
        'select max(contradiction_count) as number from public.knowledge_facts where project_id = $1 and is_from_admin',
        [p],
      ),
  },
  {
    name: 'confidence of a relation',
    act: (db, caller, p) => sql(db, caller, "select public.relate($1, 'uses', 'a pump', 0.4, project_id => $1)", p),
    read: (db, p) => one(db, 'select confidence as number from public.entity_relationships where project_id = $1', [p]),
  },
  { name: 'confidence of a lesson', act: reflect, read: (db, p) => ofLesson(db, p, 'confidence') },
  {
    name: 'priority of a lesson',
    act: reflect,
    read: (db, p) => ofLesson(db, p, 'reflection.priority_rank(priority)'),
  },
  { name: 'agents of a lesson', act: reflect, read: (db, p) => ofLesson(db, p, 'agent_count') },
  {
    name: 'votes for a memory',
    act: async (db, caller, p) => sql(db, caller, 'select public.record_feedback($1, true)', await hit(db, caller, p)),
    read: learned,
  },
  { name: 'citations in importance', act: cite, read: learned },
  { name: 'citations in memory_find', act: cite, read: find },
];
