// Random operations on memories with fields: they are stored, alone and together, and found by words.
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import {
  type Act,
  act,
  branch,
  branchOf,
  byId,
  copyOf,
  everything,
  filters,
  functions,
  maybe,
  number,
  oneOf,
  parents,
  percent,
  project,
  projectOf,
  scope,
  scopeOf,
  state,
  stateOf,
  target,
  targetOf,
  text,
  textOf,
} from './arbitraries.ts';
import { asSeen, done, pick, type Run, refusal, type Turn } from './run.ts';
import { type AnsweredItem, callFind, callStore } from './typed-apis.ts';
import { EVERYWHERE, words } from './vocabulary.ts';
import { branches } from './world.ts';

const storing = ({ apis }: Run) => [apis.table, apis.sql, apis.sql, apis.graphql, apis.mcp];

const item = fc.record({
  kind: oneOf({ todo: 6, decision: 4, note: 1 }),
  text,
  scope,
  project,
  branch,
  state,
  component: percent(30),
  rationale: number,
  replaces: maybe(35, target),
  isOdd: percent(4),
  citations: maybe(30, parents),
  // The name and place of a memory that is there.
  copies: maybe(55, number),
  key: maybe(20, fc.nat({ max: 3 })),
});
type GivenItem = typeof item extends fc.Arbitrary<infer One> ? One : never;

function itemOf(turn: Turn, given: GivenItem): model.Item {
  const { kind } = given;
  const replaced = kind === 'decision' && given.replaces ? replacedBy(turn, given.replaces) : undefined;
  // Mostly one that it may change.
  const likeIt = (one: Memory) => one.kind === kind && (given.rationale % 5 === 0 || model.mayChange(turn.me, one));
  const copied = replaced?.memory ?? copyOf(turn, given.copies, likeIt);
  const scope = copied?.scope ?? scopeOf(turn, given.scope);
  const at = { scope, project: copied ? copied.project : projectOf(turn, scope, given.project) };
  return {
    kind,
    data: dataOf(given, copied, replaced?.id),
    ...at,
    branch: copied && given.rationale % 4 > 0 ? copied.branch : branchOf(at.project, given.branch),
    citations: (given.citations ?? []).map((parent) => targetOf(turn, parent, at)),
    idempotencyKey: given.key === null || turn.api.way === 'table' || kind === 'note' ? null : `key ${given.key}`,
  };
}

/** Mostly a decision that it may replace. */
function replacedBy(
  turn: Turn,
  { n, among }: { n: number; among: 'own' | 'authored' | 'seen' | 'near' | 'any' | 'gone' },
) {
  const { run, me } = turn;
  const own = everything(run).filter((one) => one.kind === 'decision' && model.mayChange(me, one));
  if (own.length === 0 && n % 5 > 0) return undefined;
  if (n % 5 === 0) return { id: targetOf(turn, { n, among }), memory: undefined };
  const memory = pick(own, n);
  return { id: memory.id, memory };
}

function dataOf(given: GivenItem, copied: Memory | undefined, supersedes: string | undefined): model.Item['data'] {
  const { fields } = copied ?? {};
  if (given.kind === 'note') return { content: textOf(given.text, copied) };
  if (given.kind === 'todo') {
    return {
      text: textOf(given.text, fields ? { content: fields.text! } : undefined),
      ...stateOf('todo', given.state),
      ...(given.isOdd ? { status: 'lost' } : {}),
    };
  }
  return {
    // Another one of the same name, or with a name of its own.
    title: textOf(
      given.text,
      fields && (!supersedes || given.rationale % 2 === 0) ? { content: fields.title! } : undefined,
    ),
    rationale: given.rationale % 3 > 0 && fields ? fields.rationale! : `because of ${pick(words, given.rationale)}`,
    ...stateOf('decision', given.state),
    ...(given.component ? { component: 'api' } : {}),
    ...(fields?.component && !given.component ? { component: fields.component } : {}),
    ...(given.isOdd ? { owner: 'nobody' } : {}),
    ...(supersedes === undefined ? {} : { supersedes }),
  };
}

async function store(turn: Turn, given: { items: GivenItem[]; allOrNothing: boolean }): Promise<string[]> {
  const { run, me, api } = turn;
  const { world } = run;
  const items = given.items.slice(0, api.way === 'table' ? 1 : 3).map((one) => itemOf(turn, one));
  turn.asked = { items, ...(given.allOrNothing ? { allOrNothing: true } : {}) };
  const answer = await callStore(turn, items, given.allOrNothing);
  // A row's fields are checked before its readers are.
  const faults = api.way === 'table' ? model.faultsOfItem(items[0]!) : [];
  if (!me) return [refusal({ refused: ['L9AUT', 'L9SCP', ...faults] }, answer)!];
  if (me.role === 'l9_platform_admin') return [refusal({ refused: ['L9SCP', ...faults] }, answer)!];
  if (api.way === 'table') {
    const answered = answer.code === null ? answer.items[0]! : { index: 0, status: null, id: null, code: answer.code };
    return storeOne(turn, items[0]!, answered);
  }
  const refused = refusal(done, answer);
  if (answer.code !== null) return [refused!];
  const isUndone = given.allOrNothing && answer.items.some(({ code }) => code !== null);
  const before = isUndone ? structuredClone([world.memories, world.answers, world.knowledge] as const) : undefined;
  const outcomes = items.flatMap((one, index) =>
    storeOne(
      turn,
      one,
      answer.items.find((other) => other.index === index) ?? {
        index,
        status: isUndone ? 'undone' : null,
        id: null,
        code: null,
      },
    ),
  );
  if (before) {
    [world.memories, world.answers, world.knowledge] = before;
    expect(
      outcomes.some((outcome) => outcome.startsWith('L9')),
      'an item failed',
    ).toBe(true);
    return [...outcomes.filter((outcome) => outcome.startsWith('L9')), 'nothing stored'];
  }
  expect(answer.items.length, 'an answer for each item').toBe(items.length);
  return outcomes;
}

function storeOne(turn: Turn, item: model.Item, { index, status, id, code }: AnsweredItem): string[] {
  const { me, api } = turn;
  const { world } = turn.run;
  const expected = model.store(world, me!, item, api.way, id ?? undefined);
  turn.asked = { ...turn.asked, [`item ${index}`]: { status, code, memory: (id && world.memories.get(id)) ?? id } };
  const refused = refusal(expected, code === null ? { code } : { code, text: `item ${index}` });
  if (expected.refused || code !== null) return [refused!];
  if (status === 'undone') {
    expected.commit(expected.memory?.id ?? `${'f'.repeat(8)}-ffff-ffff-ffff-fffffffffff${index}`);
    return [status];
  }
  expect(status, `item ${index}`).toBe(expected.status);
  if (expected.memory) expect(id, `item ${index}: the memory that is there already`).toBe(expected.memory.id);
  else expect(world.memories.has(id!), `item ${index}: a new id`).toBe(false);
  expected.commit(id!);
  const memory = world.memories.get(id!)!;
  return [
    expected.isRetry ? 'the first answer again' : expected.status,
    ...(!expected.isRetry && model.isArchived(memory) ? ['archived'] : []),
    ...(!expected.isRetry && expected.status !== 'skipped_dedupe' && item.data.supersedes ? ['superseded'] : []),
    ...(memory.parents.length > 0 ? ['cited'] : []),
  ];
}

const question = fc.record({
  word: number,
  isEverywhere: percent(10),
  // A word of a memory that is there, and the project of that.
  like: maybe(60, number),
  isMisspelt: percent(30),
  kinds: maybe(
    60,
    fc.array(fc.constantFrom('todo', 'decision', 'note', 'finding', 'nothing'), { minLength: 1, maxLength: 2 }),
  ),
  at: maybe(50, number),
  branch: maybe(50, number),
  includesArchived: percent(25),
});

async function find(
  turn: Turn,
  given: typeof question extends fc.Arbitrary<infer One> ? One : never,
): Promise<string[]> {
  const { run, me } = turn;
  // Mostly one that is left out: archived, or of another branch. Words are corrected by titles: never by hidden ones.
  const likes = [() => true, model.isArchived, ({ branch }: Memory) => branch !== null];
  const isHidden = (one: Memory) => one.kind === 'decision' && !model.maySee(me, one);
  const like = copyOf(turn, given.like, given.isMisspelt ? isHidden : pick(likes, given.word));
  const { scope = null, project = null } =
    (!given.isMisspelt && like) || (given.at === null ? {} : pick(filters, given.at));
  const known = words.filter((one) => like?.content.toLowerCase().includes(one));
  const word = given.isEverywhere ? EVERYWHERE : pick(known.length > 0 ? known : words, given.word);
  const question: model.Question = {
    word: given.isMisspelt ? `${word}x` : word,
    kinds: given.kinds,
    scope,
    project,
    branch: given.branch === null ? null : pick(branches, given.branch),
    includesArchived: given.includesArchived,
  };
  turn.asked = question;
  const answer = await callFind(turn, question);
  const refused = refusal(me ? done : { refused: ['L9AUT', 'L9SCP'] }, answer);
  if (answer.code !== null || !me) return [refused!];
  const expected = model.find(run.world, me, question);
  const citing = await citationsAmong(run, model.visible(run.world, me));
  const shown = expected.hits.map((memory) => {
    const { id, kind, scope, project, branch } = asSeen(memory);
    const citations = citing.get(id) ?? 0;
    return { id, kind, scope, project, branch, citations, ...(memory.fields && { fields: memory.fields }) };
  });
  const isTyped = new Set(shown.flatMap(({ id, fields }) => (fields ? [id] : [])));
  expect(
    answer.hits.map(({ fields, ...hit }) => (isTyped.has(hit.id) ? { ...hit, fields } : hit)).sort(byId),
    'the hits, with what rests on them',
  ).toStrictEqual(shown.sort(byId));
  expect(answer.suggestions, 'what is suggested instead').toStrictEqual(expected.suggestions);
  expect(answer.candidates, 'how many were looked at').toBe(shown.length);
  return [
    shown.length > 0 ? 'found' : 'found nothing',
    ...(shown.some(({ citations }) => citations > 0) ? ['found citations'] : []),
    ...(expected.hits.some((memory) => model.isArchived(memory)) ? ['found archived'] : []),
    ...[...new Set(expected.suggestions.map(({ reason }) => `suggested ${reason}`))],
  ];
}

/** How many agents other than the writer rest something on the present text of each, by memories or facts among these. */
async function citationsAmong({ gateway }: Run, memories: model.Memory[]): Promise<Map<string, number>> {
  const rows = await gateway.asSuperuser(
    `select cited.packet_id as id, count(distinct a.agent)::integer as citations
     from public.packet_store cited
     cross join lateral (
       select packets.text_writer(m) as agent
       from importance.memory_citations c join public.packet_store m on m.packet_id = c.cited_by
       where c.packet_id = cited.packet_id and c.content_hash = cited.content_hash and m.packet_id = any ($1)
       union all
       select e.agent from public.fact_evidence e where e.packet_id = cited.packet_id and e.content_hash = cited.content_hash) a
     where cited.packet_id = any ($1) and a.agent not in (packets.text_writer(cited), 'job')
     group by cited.packet_id`,
    [memories.map(({ id }) => id)],
  );
  return new Map(rows.map(({ id, citations }) => [id, citations]));
}

export const typedActs: Record<string, Act> = {
  store: act(
    26,
    storing,
    fc.record({ items: fc.array(item, { minLength: 1, maxLength: 3 }), allOrNothing: percent(20) }),
    store,
    ({ claims }) => claims.role !== 'l9_platform_admin' && claims.caller !== 'Reader',
  ),
  find: act(16, functions, question, find),
};
