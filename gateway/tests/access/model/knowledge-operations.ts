// Random operations on facts, relations, aliases, lessons, tasks, the world model and summaries. Each is applied to the
// model, as a row that belongs to its memory, and called through an API.
import fc from 'fast-check';
import * as model from '../model.ts';
import {
  type Act,
  act,
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
import { addRow, mayDerive, type Says } from './knowledge.ts';
import { call, madeOnTheWay } from './knowledge-apis.ts';
import { askKnowledge } from './knowledge-queries.ts';
import { done, learnTextCreators, pick, type Run, refusal, type Turn } from './run.ts';
import type { Fields } from './session-apis.ts';
import { erase, summarise } from './summary-operations.ts';
import { EVERYWHERE, words } from './vocabulary.ts';

/** Things have few names, so that much is said of the same ones. */
export const nameOf = (n: number) => `${EVERYWHERE} ${pick(words.slice(0, 4), n)}`;
export const aliasOf = (name: string) => `${name} too`;

const twoApis = ({ apis }: Run) => [apis.sql, apis.graphql];

/** Where it comes from: a memory that is there, or a place where one is saved. */
const from = fc.record({ source: maybe(50, target), scope, project });
type From = typeof from extends fc.Arbitrary<infer One> ? One : never;

interface Wish {
  name: string;
  given: Fields;
  /** The memory that is saved where none is named; null: its text is not known beforehand. */
  content: string | null;
  kind: string;
  expiry?: 'later';
  says: Says[];
}

/** What these state waits with a memory of its own; nothing else can wait. */
const canWait = new Set(['assert_fact', 'relate', 'reflect']);

/** An agent whose saves need a review states nothing from a memory that counts. */
const isUnreviewed = ({ run: { world }, me }: Turn, source: model.Memory, kind: string): boolean =>
  me?.role === 'l9_agent' &&
  (model.needsReview(world, me, source) || model.needsReview(world, me, { ...source, kind }));

/** Makes a row of a memory that is there, or of one that is saved on the way. */
async function derive(turn: Turn, at: From, { name, given, content, kind, expiry, says }: Wish): Promise<string> {
  const { run, me } = turn;
  const { world } = run;
  if (at.source) {
    const source = targetOf(turn, at.source);
    turn.asked = { ...given, source: world.memories.get(source) ?? source };
    const codes = mayDerive(me, world.memories.get(source));
    const there = world.memories.get(source);
    // Which of the reasons is named first is no rule.
    // A snapshot says nothing by itself.
    if (there && model.maySee(me, there) && isUnreviewed(turn, there, name === 'snapshot_world' ? there.kind : kind))
      codes.push('L9IMM');
    const answer = await call(turn, name, { ...given, source_packet: source });
    const refused = refusal(codes.length > 0 ? { refused: codes } : done, answer);
    if (answer.code !== null) return refused!;
    expect(await madeOnTheWay(run), 'nothing is saved where a memory is named').toStrictEqual([]);
    model.claim(world, me, world.memories.get(source)!);
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
  const saved = model.save(world, me, wanted, 'function');
  const waits =
    me !== null && model.needsReview(world, me, { kind, scope: place, project: draftProject(turn, wanted) });
  const isRefused =
    !saved.refused &&
    ('memory' in saved
      ? model.isWithheld(saved.memory)
        ? !canWait.has(name)
        : isUnreviewed(turn, saved.memory, kind)
      : waits && !canWait.has(name));
  const expected = isRefused ? model.refuse('L9IMM') : saved;
  const answer = await call(turn, name, { ...given, scope: place, project_id: wanted.project });
  // A lesson like this one is there, and nothing needs to be saved.
  if (name === 'reflect' && answer.code === null && (await madeOnTheWay(run)).length === 0 && !('memory' in expected)) {
    await learnLessons(run);
    return 'reinforced';
  }
  const refused = refusal(expected, answer);
  if (expected.refused || answer.code !== null) return refused!;
  const [made, ...others] = await madeOnTheWay(run);
  expect(others, 'no more than one memory is saved').toStrictEqual([]);
  let packet: string;
  if ('memory' in expected) {
    expect(made, 'the memory that says so is there already').toBeUndefined();
    expected.commit();
    packet = expected.memory.id;
  } else {
    if (!made) throw new Error('no memory is saved that says so');
    expected.commit(made.id);
    if (content === null) world.memories.get(made.id)!.content = made.content;
    if (expiry) world.knowledge.expireLater.add(made.id);
    packet = made.id;
    if (waits) {
      world.onApproval.set(packet, says);
      return 'waits';
    }
  }
  if (model.isWithheld(world.memories.get(packet)!)) return 'waits';
  for (const row of says) addRow(world, { ...row, packet });
  return 'derived';
}

const draftProject = ({ run, me }: Turn, wanted: model.Wanted) =>
  model.draftOf(run.world, me!, wanted, 'function').project;

/** Which of several similar lessons is reinforced, and so becomes an administrator's text, the model does not know. */
async function learnLessons(run: Run): Promise<void> {
  const lessons = [...run.world.memories.values()].filter((memory) => memory.kind === 'reflection');
  await learnTextCreators(
    run,
    lessons.map(({ id }) => id),
  );
}

/** A number that was never said before. */
export const next = ({ world }: Run) => {
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
    (select array_agg(distinct own.creator) from public.fact_evidence own where own.fact_id = f.fact_id) as writers
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
