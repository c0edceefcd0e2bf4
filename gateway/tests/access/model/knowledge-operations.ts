// Random operations on facts, relations, aliases, lessons, tasks, the world model and summaries. Each is applied to the
// model, as a row that belongs to its memory, and called through an API.
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import {
  type Act,
  act,
  everything,
  functions,
  isAdmin,
  maybe,
  number,
  percent,
  project,
  projectOf,
  scope,
  scopeOf,
  target,
  targetOf,
} from './arbitraries.ts';
import { addRow, erasedWith, goesWith, mayDerive, type Row, subjectOf, summaryOf } from './knowledge.ts';
import { call, madeOnTheWay } from './knowledge-apis.ts';
import { askKnowledge } from './knowledge-queries.ts';
import { done, pick, type Run, refusal, type Turn } from './run.ts';
import type { Fields } from './session-apis.ts';
import { EVERYWHERE, words } from './vocabulary.ts';

/** Things have few names, so that much is said of the same ones. */
export const nameOf = (n: number) => `${EVERYWHERE} ${pick(words.slice(0, 4), n)}`;
export const aliasOf = (name: string) => `${name} too`;

const twoApis = ({ apis }: Run) => [apis.sql, apis.graphql];

/** Where it comes from: a memory that is there, or a place where one is saved. */
const from = fc.record({ source: maybe(50, target), scope, project });
type From = typeof from extends fc.Arbitrary<infer One> ? One : never;
type Says = Pick<Row, 'table' | 'says'>;

interface Wish {
  name: string;
  given: Fields;
  /** The memory that is saved where none is named; null: its text is not known beforehand. */
  content: string | null;
  kind: string;
  expiry?: 'later';
  says: Says[];
}

/** Makes a row of a memory that is there, or of one that is saved on the way. */
async function derive(turn: Turn, at: From, { name, given, content, kind, expiry, says }: Wish): Promise<string> {
  const { run, me } = turn;
  const { world } = run;
  if (at.source) {
    const source = targetOf(turn, at.source);
    turn.asked = { ...given, source: world.memories.get(source) ?? source };
    const codes = mayDerive(me, world.memories.get(source));
    const answer = await call(turn, name, { ...given, source_packet: source });
    const refused = refusal(codes.length > 0 ? { refused: codes } : done, answer);
    if (answer.code !== null) return refused!;
    expect(await madeOnTheWay(run), 'nothing is saved where a memory is named').toStrictEqual([]);
    for (const row of says) addRow(world, { ...row, packet: source });
    return 'derived';
  }
  const place = scopeOf(turn, at.scope);
  const wanted: model.Wanted = {
    scope: place,
    project: projectOf(turn, place, at.project),
    // What is derived holds for every branch.
    branch: null,
    content: content ?? `${EVERYWHERE} of ${name}`,
    kind,
    parents: [],
    expiry: expiry ?? 'never',
    idempotencyKey: null,
  };
  turn.asked = { ...given, ...wanted };
  const expected = model.save(world, me, wanted, 'function');
  const answer = await call(turn, name, { ...given, scope: place, project_id: wanted.project });
  const refused = refusal(expected, answer);
  if (expected.refused || answer.code !== null) return refused!;
  const [made, ...others] = await madeOnTheWay(run);
  expect(others, 'no more than one memory is saved').toStrictEqual([]);
  let packet: string;
  if ('memory' in expected) {
    expect(made, 'the memory that says so is there already').toBeUndefined();
    expected.commit();
    packet = expected.memory.id;
  } else if (!made && name === 'reflect') {
    return 'reinforced';
  } else {
    if (!made) throw new Error('no memory is saved that says so');
    expected.commit(made.id);
    if (content === null) world.memories.get(made.id)!.content = made.content;
    if (expiry) world.knowledge.expireLater.add(made.id);
    packet = made.id;
  }
  for (const row of says) addRow(world, { ...row, packet });
  return 'derived';
}

const next = ({ world }: Run) => {
  world.knowledge.counter += 1;
  return world.knowledge.counter;
};

interface SeenFact {
  id: string;
  says: string[];
  isRetracted: boolean;
  /** Those that say so, and whether they also say so of a time that is not meant. */
  packets: { id: string; says_elsewhere: boolean }[];
  writers: string[];
}

const FACTS = `
  select f.fact_id as id, jsonb_build_array(f.subject_normalized, f.predicate, f.object_normalized) as says,
    f.retracted_at is not null as "isRetracted",
    jsonb_agg(jsonb_build_object('id', e.packet_id, 'says_elsewhere', exists (
      select from public.fact_evidence other join public.knowledge_facts g using (fact_id)
      where other.packet_id = e.packet_id and g.fact_id <> f.fact_id and g.retracted_at is null
        and (g.subject_normalized, g.predicate, g.object_normalized) = (f.subject_normalized, f.predicate, f.object_normalized)))
    ) as packets,
    (select array_agg(distinct w.name) from public.fact_evidence own, unnest(own.asserted_by) as w (name) where own.fact_id = f.fact_id) as writers
  from public.knowledge_facts f join public.fact_evidence e using (fact_id)
  group by f.fact_id order by f.fact_id`;

async function retract(turn: Turn, n: number): Promise<string> {
  const { run, me } = turn;
  const { memories, knowledge } = run.world;
  const all: SeenFact[] = await run.gateway.asSuperuser(FACTS);
  const sourceOf = ({ packets }: SeenFact) =>
    packets.map(({ id }) => memories.get(id)!).find((one) => model.maySee(me, one));
  // Most often one that it sees.
  const seen = all.filter((fact) => sourceOf(fact) && (!fact.isRetracted || n % 8 === 0));
  const fact = n % 4 === 0 || seen.length === 0 ? pick(all, n >> 2) : pick(seen, n >> 2);
  const source = fact && sourceOf(fact);
  const codes = new Set(mayDerive(me, source));
  if (me?.role === 'l9_agent' && fact?.writers.some((name) => name !== me.creator)) codes.add('L9OWN');
  if (codes.size === 0 && fact?.isRetracted) codes.add('L9VAL');
  turn.asked = { fact };
  const answer = await call(turn, 'retract_fact', { fact_id: fact?.id ?? pick(run.gone, n), reason: 'it is not so' });
  const refused = refusal(codes.size > 0 ? { refused: [...codes] } : done, answer);
  if (answer.code !== null) return refused!;
  const { says } = fact!;
  const stated = fact!.packets.filter(({ id }) => id).map(({ id }) => id);
  const only = new Set(fact!.packets.filter(({ says_elsewhere }) => !says_elsewhere).map(({ id }) => id));
  knowledge.rows = knowledge.rows.filter(
    (row) =>
      !(row.table === 'fact_evidence' && only.has(row.packet) && !row.retracted && String(row.says) === String(says)),
  );
  for (const packet of stated) addRow(run.world, { table: 'fact_evidence', packet, says, retracted: fact!.id });
  return 'retracted';
}

async function summarise(
  turn: Turn,
  given: { first: never; more: number[]; subject: number; mixed: boolean },
): Promise<string> {
  const { run, me } = turn;
  const { world } = run;
  const first = world.memories.get(targetOf(turn, given.first));
  const near = everything(run).filter(
    (one) =>
      model.maySee(me, one) && (given.mixed || (first && one.scope === first.scope && one.project === first.project)),
  );
  const sources = [
    ...new Set([first?.id ?? pick(run.gone, given.subject), ...given.more.flatMap((n) => pick(near, n)?.id ?? [])]),
  ];
  const memories = sources.map((id) => world.memories.get(id));
  const subject = given.subject % 2 === 0 ? nameOf(given.subject >> 1) : `subject ${next(run)}`;
  const text = `${EVERYWHERE} in short, ${next(run)}`;
  turn.asked = { sources: memories.map((one, place) => one ?? sources[place]), subject };
  const call_ = () =>
    call(turn, 'save_summary', {
      scope_type: 'topic',
      scope_value: subject,
      summary_text: text,
      source_packet_ids: sources,
    });
  const seen = memories.filter((one): one is Memory => one !== undefined && model.maySee(me, one));
  const places = new Set(seen.map(({ scope, project }) => JSON.stringify([scope, project])));
  const draft = { ...seen[0]!, org: me?.org ?? null, user: me?.user ?? null };
  const codes = new Set<model.Code>(me ? [] : ['L9AUT', 'L9OWN', 'L9SCP', 'L9VAL']);
  if (me?.role === 'l9_platform_admin') codes.add('L9SCP');
  if (seen.length < sources.length) codes.add('L9OWN');
  for (const owner of ['org', 'user'] as const) {
    const of = new Set(seen.flatMap((one) => one[owner] ?? []));
    if (of.size > 1 || [...of].some((one) => one !== me?.[owner])) codes.add('L9VAL');
  }
  if (seen[0] && !me?.writes.includes(seen[0].scope)) codes.add('L9SCP');
  const former = codes.size === 0 && places.size === 1 ? summaryOf(world, draft, subject) : undefined;
  if (former && !former.isExpired) {
    if (!model.mayChange(me, former)) codes.add('L9OWN');
    const gone = goesWith(world, former.id);
    if (sources.some((id) => gone.has(id))) codes.add('L9VAL').add('L9OWN');
  }
  // Sources of several places may have no scope with their readers, which may be said before anything else.
  if (places.size > 1 && codes.size > 0) codes.add('L9VAL');
  const answer = await call_();
  if (places.size > 1 && codes.size === 0) {
    // Where these may be read by the same people is not said again here: only that nobody else reads of them.
    if (answer.code !== null) return refusal({ refused: ['L9VAL', 'L9SCP', 'L9OWN'] }, answer)!;
  } else {
    const refused = refusal(codes.size > 0 ? { refused: [...codes] } : done, answer);
    if (answer.code !== null) return refused!;
  }
  const [made, ...others] = await madeOnTheWay(run);
  if (!made) throw new Error('no memory is saved');
  expect(others, 'one memory is saved').toHaveLength(0);
  const { id, content, scope, project, branch } = made;
  const branches = new Set(seen.map((one) => one.branch));
  expect(branch, 'the one branch of its sources').toBe(
    branches.size === 1 && project !== null ? [...branches][0] : null,
  );
  const memory: Memory = {
    ...draft,
    id,
    content,
    scope,
    project,
    branch,
    kind: 'summary',
    fields: null,
    creator: me!.creator,
    updatedBy: null,
    parents: [...sources].sort(),
    isExpired: false,
    versions: [],
  };
  for (const source of seen)
    expect(model.mayRestOn(world, me!, memory, source), 'every reader of it may read its sources').toBe(true);
  const replaced = summaryOf(world, memory, subject);
  if (replaced) model.forget(world, replaced.id);
  world.memories.set(id, memory);
  if (sources.some((source) => world.knowledge.expireLater.has(source))) world.knowledge.expireLater.add(id);
  world.knowledge.summaries.set(id, sources);
  addRow(world, { table: 'memory_summaries', packet: id, says: [subject] });
  expect(subjectOf(world, id)).toBe(subject);
  return 'summed up';
}

async function erase(turn: Turn, given: never): Promise<string> {
  const { run, me } = turn;
  const { world } = run;
  const id = targetOf(turn, given);
  const memory = world.memories.get(id);
  turn.asked = memory ?? { id };
  const mayErase = (one: Memory) =>
    me?.role === 'l9_platform_admin' ||
    (one.tenant === me?.tenant &&
      me.writes.includes(one.scope) &&
      (one.project === null || me.projects.includes('*') || me.projects.includes(one.project)));
  const gone = memory ? [...erasedWith(world, id)].map((one) => world.memories.get(one)!) : [];
  const codes: model.Code[] = [];
  if (!me) codes.push('L9AUT', 'L9OWN', 'L9SCP');
  else if (me.role === 'l9_agent') codes.push('L9SCP');
  else if (!memory || !mayErase(memory)) codes.push('L9OWN');
  else if (!gone.every(mayErase)) codes.push('L9SCP');
  const answer = await call(turn, 'erase_memory', { packet_id: id, reason: 'asked for' });
  const refused = refusal(codes.length > 0 ? { refused: codes } : done, answer);
  if (answer.code !== null) return refused!;
  for (const one of gone) model.forget(world, one.id);
  return 'erased';
}

const two = fc.record({ a: number, b: number, from });
const confidence = 0.6;

export const knowledgeActs: Record<string, Act> = {
  assert: act(
    6,
    functions,
    fc.record({ a: number, b: number, isSingle: percent(40), from }),
    (turn, { a, b, isSingle, from }) => {
      const [subject, predicate, object] = [nameOf(a), isSingle ? 'is' : 'uses', nameOf(b)];
      return derive(turn, from, {
        name: 'assert_fact',
        given: { subject, predicate, object, confidence },
        kind: 'fact',
        content: `${subject} ${predicate}: ${object}`,
        says: [{ table: 'fact_evidence', says: [subject, predicate, object] }],
      });
    },
  ),
  retract: act(2, twoApis, number, retract),
  relate: act(5, twoApis, two, (turn, { a, b, from }) => {
    const [source, target] = [nameOf(a), nameOf(a + 1 + (b % 3))];
    return derive(turn, from, {
      name: 'relate',
      given: { source, type: 'depends_on', target, confidence },
      kind: 'fact',
      content: `${source} depends on ${target}`,
      says: [{ table: 'relationship_evidence', says: [source, 'depends_on', target] }],
    });
  }),
  'add an alias': act(2, twoApis, two, (turn, { a, from }) => {
    const [entity, alias] = [nameOf(a), aliasOf(nameOf(a))];
    return derive(turn, from, {
      name: 'add_alias',
      given: { alias, entity },
      content: `${alias} is another name of ${entity}`,
      kind: 'fact',
      says: [{ table: 'entity_aliases', says: [alias, entity] }],
    });
  }),
  reflect: act(4, functions, two, (turn, { a, b, from }) => {
    const content = `${nameOf(a)} ${pick(words, b)}`;
    return derive(
      turn,
      { ...from, source: null },
      {
        name: 'reflect',
        given: { content, expires_at: '2099-01-01T00:00:00Z' },
        content,
        kind: 'reflection',
        expiry: 'later',
        says: [{ table: 'reflection_store', says: [] }],
      },
    );
  }),
  'reflect on a task': act(2, twoApis, two, (turn, { a, from }) => {
    const task_id = `task ${next(turn.run)}`;
    return derive(
      turn,
      { ...from, source: null },
      {
        name: 'reflect_on_task',
        given: { task_id, description: nameOf(a), outcome: 'success' },
        content: null,
        kind: 'task_reflection',
        says: [{ table: 'task_reflections', says: [task_id] }],
      },
    );
  }),
  'change the world': act(4, twoApis, two, (turn, { a, b, from }) => {
    // Each update leaves a mark of its own on every entity it speaks of.
    const mark = `n${next(turn.run)}`;
    const names = [...new Set([nameOf(a), nameOf(b)])];
    const content = `${nameOf(a)} ${pick(words, b)}`;
    const entities = names.map((entity_id) => ({ entity_id, attributes: { [mark]: true } }));
    return derive(turn, from, {
      name: 'apply_world_update',
      given: { insight: { insight_type: 'observation', content, entities } },
      content,
      kind: 'insight',
      says: [{ table: 'world_model_updates', says: [mark, ...names] }],
    });
  }),
  'snapshot of the world': act(1, twoApis, fc.record({ target, from }), (turn, { target, from }) => {
    const description = `snapshot ${next(turn.run)}`;
    return derive(
      turn,
      { ...from, source: target },
      {
        name: 'snapshot_world',
        given: { description },
        content: null,
        kind: 'world_snapshot',
        says: [{ table: 'world_model_snapshots', says: [description] }],
      },
    );
  }),
  'sum up': act(
    5,
    twoApis,
    fc.record({ first: target, more: fc.array(number, { maxLength: 3 }), subject: number, mixed: percent(20) }),
    (turn, given) => summarise(turn, given as never),
  ),
  erase: act(2, twoApis, target, (turn, given) => erase(turn, given as never), isAdmin),
  ask: act(8, functions, fc.record({ name: number, what: number }), askKnowledge),
};
