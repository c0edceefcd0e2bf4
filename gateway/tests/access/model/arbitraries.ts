// The random values of operations in the model-based test: callers, operations and memories are chosen by numbers.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import { pick, type Run, type Turn } from './run.ts';
import type { Filter, SessionApi } from './session-apis.ts';
import { EVERYWHERE, words } from './vocabulary.ts';
import { branches, projects, type Session } from './world.ts';

export const isAdmin = ({ claims }: Session) => claims.role !== 'l9_agent';
/** The APIs to the functions, and the one where only SQL will do. */
export const functions = ({ apis }: Run) => [apis.sql, apis.sql, apis.graphql, apis.mcp];
export const onlySql = ({ apis }: Run) => [apis.table];
export const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
export const everything = ({ world }: Run) => [...world.memories.values()].sort(byId);

// An operation says by numbers who does what to which memory; what they stand for depends on what is there by then. So a
// list of operations is all there is to a run, and a seed repeats it.

export const number = fc.nat({ max: 1_000_000 });
export const percent = (chance: number) => fc.nat({ max: 99 }).map((n) => n < chance);
export const maybe = <T>(chance: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.tuple(percent(chance), arbitrary).map(([isThere, value]) => (isThere ? value : null));
export const oneOf = <T extends string>(weights: Record<T, number>): fc.Arbitrary<T> =>
  fc.oneof(
    ...Object.entries<number>(weights).map(([value, weight]) => ({ weight, arbitrary: fc.constant(value as T) })),
  );

export const scopes = ['developer', 'l-private', 'global', 'research', 'notices', 'nowhere'];
export const filters: Filter[] = [
  { scope: 'developer' },
  { scope: 'l-private' },
  { scope: 'global', kind: 'note' },
  { scope: 'research' },
  { scope: 'nowhere' },
  { project: 'l9' },
  { project: 'l9-more' },
  { project: 'L9' },
  { kind: 'finding' },
  { project: 'l9', branch: 'main' },
  { branch: 'Main' },
  { kind: 'todo' },
  { kind: 'todo', includesArchived: true },
  { kind: 'decision' },
  { includesArchived: true },
];

export interface Target {
  n: number;
  among: 'own' | 'authored' | 'seen' | 'near' | 'any' | 'gone';
}
export const target: fc.Arbitrary<Target> = fc.record({
  n: number,
  among: oneOf({ own: 5, authored: 2, seen: 4, any: 4, gone: 1 }),
});
export const parent: fc.Arbitrary<Target> = fc.record({
  n: number,
  among: oneOf({ near: 8, seen: 2, any: 2, gone: 1 }),
});
export const parents = fc.array(parent, { minLength: 1, maxLength: 2 });

export function targetOf(
  { run, me }: Turn,
  { n, among }: Target,
  near?: { scope: string; project: string | null },
): string {
  const isAmong = {
    own: (memory: Memory) => model.mayChange(me, memory),
    authored: (memory: Memory) => model.maySee(me, memory) && memory.creator === me?.creator,
    seen: (memory: Memory) => model.maySee(me, memory),
    near: (memory: Memory) =>
      model.maySee(me, memory) && memory.scope === near?.scope && memory.project === near.project,
    any: () => true,
    gone: () => false,
  }[among];
  const candidates = everything(run).filter(isAmong);
  return candidates.length > 0 ? pick(candidates, n).id : pick(run.gone, n);
}

/** One that it sees, rather than any: then it often says again what is there. */
export function copyOf(
  { run, me }: Turn,
  n: number | null,
  isLikeIt: (memory: Memory) => boolean = () => true,
): Memory | undefined {
  if (n === null) return undefined;
  const seen = model.visible(run.world, me).filter(isLikeIt).sort(byId);
  const among = n % 4 === 0 || seen.length === 0 ? everything(run).filter(isLikeIt) : seen;
  return among.length > 0 ? pick(among, n >> 2) : undefined;
}

export const text = fc.record({ first: number, second: number, spelling: number, isBlank: percent(2) });

export function textOf(
  given: { first: number; second: number; spelling: number; isBlank: boolean },
  copied?: Pick<Memory, 'content'>,
): string {
  if (given.isBlank) return ' \n ';
  const content = copied?.content ?? `${EVERYWHERE} ${pick(words, given.first)} ${pick(words, given.second)}`;
  // Spelt otherwise, but the same.
  return pick(
    [content, content, ` ${content}\n`, content.replaceAll(' ', '  '), content.toUpperCase()],
    given.spelling,
  );
}

export const scope = fc.record({ n: number, isWritable: percent(70) });
export const project = fc.record({ n: number, fits: percent(92) });

export const scopeOf = ({ me }: Turn, { n, isWritable }: { n: number; isWritable: boolean }): string =>
  pick(isWritable && me && me.writes.length > 0 ? me.writes : scopes, n);

export function projectOf({ run, me }: Turn, scope: string, { n, fits }: { n: number; fits: boolean }): string | null {
  const hasProjects = run.world.tenants.find(({ id }) => id === me?.tenant)?.scopes.get(scope) ?? true;
  return hasProjects === fits ? pick(projects, n) : null;
}

/** Mostly one of a project, for which it makes sense. */
export const branch = fc.record({ n: number, isForEvery: percent(50), isOdd: percent(4) });
export const branchOf = (
  project: string | null,
  { n, isForEvery, isOdd }: { n: number; isForEvery: boolean; isOdd: boolean },
) => (isForEvery || (project === null && !isOdd) ? null : pick(branches, n));

/** How it stands with a todo or a decision. */
export const state = fc.record({
  todo: oneOf({ open: 5, in_progress: 2, blocked: 1, done: 4, cancelled: 1 }),
  decision: oneOf({ proposed: 3, accepted: 4, rejected: 1, deprecated: 1, superseded: 1 }),
  closed: oneOf({ unsaid: 4, nothing: 1, recently: 2, 'long ago': 4 }),
  priority: oneOf({ unsaid: 4, high: 1, nothing: 1 }),
});

export function stateOf(kind: string, given: Record<'todo' | 'decision' | 'closed' | 'priority', string>) {
  if (kind === 'decision') return { status: given.decision };
  return {
    status: given.todo,
    ...saidOf('closed_at', given.closed, { recently: model.daysAgo(10), 'long ago': model.daysAgo(200) }),
    ...saidOf('priority', given.priority, { high: 'high' }),
  };
}

const saidOf = (field: string, said: string, values: Record<string, string>): Record<string, string | null> =>
  said === 'unsaid' ? {} : { [field]: values[said] ?? null };

export const expiry = oneOf({ never: 16, later: 3, soon: 3, past: 1 });

/** Only SQL can say `soon` by the database's clock; and SQL on the table may not even set a time that is past. */
export const expiryAt = ({ run, api }: Turn, wanted: 'never' | 'later' | 'soon' | 'past') => {
  if (wanted === 'soon' && api !== run.apis.sql && api !== run.apis.table) return 'later';
  return wanted === 'past' && api === run.apis.table ? 'later' : wanted;
};
export const ttls = { never: null, later: '2099-01-01T00:00:00Z', past: '2020-01-01T00:00:00Z', soon: 'soon' };

// Who wrote it is not the client's to say.
export const forged = { creator: 'L-CTO', source: 'l9-kernel' };

/** A moment passes, and what was to expire soon has. */
export async function expire({ run }: Turn, id: string, ttl: Date) {
  await sleep(Math.max(0, ttl.getTime() - Date.now()) + 3);
  run.world.memories.set(id, { ...run.world.memories.get(id)!, isExpired: true });
}

// The operations.

export interface Act {
  weight: number;
  /** What it can go through; none where it is SQL of its own. */
  apis(run: Run): SessionApi[];
  arbitrary: fc.Arbitrary<unknown>;
  perform(turn: Turn, rest: never): Promise<string | string[]>;
  /** Comes from those most often. */
  by: (session: Session) => boolean;
}
export const act = <Rest>(
  weight: number,
  apis: Act['apis'],
  arbitrary: fc.Arbitrary<Rest>,
  perform: (turn: Turn, rest: Rest) => Promise<string | string[]>,
  by: Act['by'] = () => true,
): Act => ({ weight, apis, arbitrary, perform, by });
