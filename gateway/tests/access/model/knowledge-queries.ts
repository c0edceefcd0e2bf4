// A query of the graph or of facts must return exactly what the memories state that the caller can read.

import * as model from '../model.ts';
import { question } from './knowledge-apis.ts';
import { aliasOf, nameOf } from './knowledge-operations.ts';
import { done, nothing, refusal, type Turn } from './run.ts';
import { accepted } from './session-apis.ts';

/** What the memories say there that the caller sees. Of the graph an operator is shown its own tenant's. */
const said = ({ run, me }: Turn, table: string) =>
  run.world.knowledge.rows.filter(({ table: one, packet }) => {
    const memory = run.world.memories.get(packet)!;
    return one === table && model.maySee(me, memory) && (table === 'fact_evidence' || memory.tenant === me?.tenant);
  });

const setOf = (lists: readonly (readonly string[])[]) => [...new Set(lists.map((list) => list.join(' | ')))].sort();

export function askKnowledge(turn: Turn, given: { name: number; what: number }): Promise<string> {
  const name = nameOf(given.name);
  return [exploreGraph, findFacts, searchGraph][given.what % 3]!(turn, given.what % 5 === 0 ? aliasOf(name) : name);
}

/** All its names, as far as the caller knows that they are names of one, and as they count for it. */
async function namesOf(turn: Turn, name: string): Promise<string[]> {
  const stated = said(turn, 'entity_aliases');
  const counting = await countingAliases(turn, stated);
  const pairs = stated.filter(({ says }) => says.includes(name) && counting.has(says.join(' | ')));
  return [...new Set([name, ...pairs.flatMap(({ says }) => says)])].sort();
}

/** An agent's alias counts for that agent alone where another agent states something of one of its names that the caller sees. */
async function countingAliases({ run, me }: Turn, stated: readonly { packet: string }[]): Promise<Set<string>> {
  const seen = [...run.world.memories.values()].filter((memory) => model.maySee(me, memory));
  const rows: { alias: string; entity: string }[] = await run.gateway.asSuperuser(
    `select a.alias_normalized as alias, a.entity_normalized as entity
     from public.entity_aliases a
     where a.source_packet = any ($1) and (a.is_from_admin or a.agent = $2 or not exists (
       select from (
         select e.packet_id, e.agent, array[f.subject_normalized, f.object_normalized] as names
         from public.fact_evidence e join public.knowledge_facts f using (fact_id)
         union all
         select e.packet_id, e.agent, array[r.source_normalized, r.target_normalized]
         from public.relationship_evidence e join public.entity_relationships r using (relationship_id)) s
       where s.packet_id = any ($3) and s.agent <> a.agent
         and s.names && array[a.alias_normalized, a.entity_normalized]))`,
    [stated.map(({ packet }) => packet), me?.creator ?? null, seen.map(({ id }) => id)],
  );
  return new Set(rows.map(({ alias, entity }) => `${alias} | ${entity}`));
}

async function exploreGraph(turn: Turn, name: string): Promise<string> {
  turn.asked = { entity: name };
  const fields = 'knownAs paths { entity steps { relationshipIds } }';
  const answer = await question(turn, 'explore_graph', { entity: name, depth: 1 }, fields);
  const refused = refusal(turn.me ? done : { refused: ['L9AUT', 'L9SCP'] }, answer);
  if (answer.code !== null) return refused!;
  const [found] = answer.answers;
  const names = await namesOf(turn, name);
  expect([...(found.knownAs ?? found.known_as)].sort(), 'the names of one entity').toStrictEqual(names);
  const edges = said(turn, 'relationship_evidence')
    .map(({ says }) => [says[0]!, says[2]!])
    .filter((ends) => ends.some((end) => names.includes(end)));
  expect(setOf(found.paths.map(({ entity }: { entity: string }) => [entity])), 'what it is related to').toStrictEqual(
    setOf(edges.map((ends) => ends.filter((end) => !names.includes(end)))),
  );
  const ids = found.paths.flatMap(
    ({ steps }: { steps: { relationshipIds?: string[]; relationship_ids: string[] }[] }) =>
      steps.flatMap((step) => step.relationshipIds ?? step.relationship_ids),
  );
  const evidence = await turn.run.gateway.asSuperuser(
    'select r.id, array(select e.packet_id from public.relationship_evidence e where e.relationship_id = r.id) as packets from unnest($1::uuid[]) as r (id)',
    [ids],
  );
  for (const { packets } of evidence as { packets: string[] }[]) {
    expect(
      packets.some((id) => model.maySee(turn.me, turn.run.world.memories.get(id)!)),
      'a relation that rests on what is seen',
    ).toBe(true);
  }
  return edges.length > 0 ? 'explored' : 'found nothing';
}

async function findFacts(turn: Turn, name: string): Promise<string> {
  turn.asked = { subject: name };
  const answer = await question(
    turn,
    'find_facts',
    { subject: name, include_history: true, k: 100 },
    'subject predicate object',
  );
  const refused = refusal(turn.me ? done : { refused: ['L9AUT', 'L9SCP'] }, answer);
  if (answer.code !== null) return refused!;
  const names = await namesOf(turn, name);
  const expected = said(turn, 'fact_evidence').filter(({ says }) => names.includes(says[0]!));
  expect(
    setOf(answer.answers.map(({ subject, predicate, object }) => [subject, predicate, object])),
    'the facts of it',
  ).toStrictEqual(setOf(expected.map(({ says }) => says)));
  return expected.length > 0 ? 'found facts' : 'found nothing';
}

async function searchGraph(turn: Turn, name: string): Promise<string> {
  const { session, api, me, run } = turn;
  turn.asked = { query: name, mode: 'graph' };
  const answer = await api.search(session, name, 'graph', {});
  if (!me) return nothing(answer);
  const { seen } = accepted(answer);
  const relations = said(turn, 'relationship_evidence');
  const states = new Set([...relations, ...said(turn, 'fact_evidence')].map(({ packet }) => packet));
  for (const { id } of seen) {
    expect(states.has(id), `${id} states something of the graph, and may be read`).toBe(true);
    expect(model.maySee(me, run.world.memories.get(id)!), `${id} states something of the graph, and may be read`).toBe(
      true,
    );
  }
  const ids = new Set(seen.map(({ id }) => id));
  const names = await namesOf(turn, name);
  const direct = relations.filter(
    ({ packet, says }) =>
      (names.includes(says[0]!) || names.includes(says[2]!)) && !model.isArchived(run.world.memories.get(packet)!),
  );
  expect(
    direct.filter(({ packet }) => !ids.has(packet)),
    'no memory is left out that relates it',
  ).toStrictEqual([]);
  return ids.size > 0 ? 'found by relations' : 'found nothing';
}
