// Summaries of memories, which rest on them and go with them, and the erasure of a memory with all that rests on it.
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import { everything, targetOf } from './arbitraries.ts';
import { addRow, erasedWith, goesWith, subjectOf, summaryOf } from './knowledge.ts';
import { call, madeOnTheWay } from './knowledge-apis.ts';
import { nameOf, next } from './knowledge-operations.ts';
import { done, pick, refusal, type Turn } from './run.ts';
import { EVERYWHERE } from './vocabulary.ts';

export async function summarise(
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
  const seen = memories.filter(
    (one): one is Memory => one !== undefined && model.maySee(me, one) && !model.isWithheld(one),
  );
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
  // A summary can't wait for a review.
  const wouldWait = (scope: string, project: string | null) =>
    me !== null && model.needsReview(world, me, { kind: 'summary', scope, project });
  if (codes.size === 0 && places.size === 1 && wouldWait(draft.scope, draft.project)) codes.add('L9IMM');
  // Sources of several places may have no scope with their readers, which may be said before anything else.
  if (places.size > 1 && codes.size > 0) codes.add('L9VAL');
  const answer = await call_();
  if (places.size > 1 && codes.size === 0) {
    // Where these may be read by the same people is not said again here: only that nobody else reads of them.
    if (answer.code !== null) return refusal({ refused: ['L9VAL', 'L9SCP', 'L9OWN', 'L9IMM'] }, answer)!;
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
    review: null,
    textCreator: null,
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

export async function erase(turn: Turn, given: never): Promise<string> {
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
