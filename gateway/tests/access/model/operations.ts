// What the model-based test tries: random operations, each done in the model and through a door, and the two compared.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import { type Door, type Filter, statement } from './doors.ts';
import {
  asSeen,
  compareStats,
  done,
  doorsOf,
  heardOf,
  nothing,
  pick,
  type Run,
  refusal,
  same,
  type Turn,
  turnOf,
} from './turns.ts';
import { EVERYWHERE, words } from './words.ts';
import { changing, kinds, projects, type Session } from './world.ts';

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
const everything = ({ world }: Run) => [...world.memories.values()].sort(byId);

// An operation says by numbers who does what to which memory; what they stand for depends on what is there by then. So a
// list of operations is all there is to a run, and a seed repeats it.

const number = fc.nat({ max: 1_000_000 });
const percent = (chance: number) => fc.nat({ max: 99 }).map((n) => n < chance);
const maybe = <T>(chance: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.tuple(percent(chance), arbitrary).map(([isThere, value]) => (isThere ? value : null));
const oneOf = <T extends string>(weights: Record<T, number>): fc.Arbitrary<T> =>
  fc.oneof(
    ...Object.entries<number>(weights).map(([value, weight]) => ({ weight, arbitrary: fc.constant(value as T) })),
  );

const scopes = ['developer', 'l-private', 'global', 'research', 'notices', 'nowhere'];
const filters: Filter[] = [
  ...[{ scope: 'developer' }, { scope: 'l-private' }, { scope: 'global', kind: 'note' }, { scope: 'research' }],
  ...[{ scope: 'nowhere' }, { project: 'l9' }, { project: 'l9-more' }, { project: 'L9' }, { kind: 'decision' }],
];

interface Target {
  n: number;
  among: 'own' | 'authored' | 'seen' | 'near' | 'any' | 'gone';
}
const target: fc.Arbitrary<Target> = fc.record({
  n: number,
  among: oneOf({ own: 5, authored: 2, seen: 4, any: 4, gone: 1 }),
});
const parent: fc.Arbitrary<Target> = fc.record({ n: number, among: oneOf({ near: 8, seen: 2, any: 2, gone: 1 }) });
const parents = fc.array(parent, { minLength: 1, maxLength: 2 });

function targetOf({ run, me }: Turn, { n, among }: Target, near?: { scope: string; project: string | null }): string {
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
function copyOf({ run, me }: Turn, n: number | null): Memory | undefined {
  if (n === null) return undefined;
  const seen = model.visible(run.world, me).sort(byId);
  const among = n % 4 === 0 || seen.length === 0 ? everything(run) : seen;
  return among.length > 0 ? pick(among, n >> 2) : undefined;
}

const text = fc.record({ first: number, second: number, spelling: number, isBlank: percent(2) });

function textOf(given: { first: number; second: number; spelling: number; isBlank: boolean }, copied?: Memory): string {
  if (given.isBlank) return ' \n ';
  const content = copied?.content ?? `${EVERYWHERE} ${pick(words, given.first)} ${pick(words, given.second)}`;
  // Spelt otherwise, but the same.
  return pick(
    [content, content, ` ${content}\n`, content.replaceAll(' ', '  '), content.toUpperCase()],
    given.spelling,
  );
}

const scope = fc.record({ n: number, isWritable: percent(70) });
const project = fc.record({ n: number, fits: percent(92) });

const scopeOf = ({ me }: Turn, { n, isWritable }: { n: number; isWritable: boolean }): string =>
  pick(isWritable && me && me.writes.length > 0 ? me.writes : scopes, n);

function projectOf({ run, me }: Turn, scope: string, { n, fits }: { n: number; fits: boolean }): string | null {
  const hasProjects = run.world.tenants.find(({ id }) => id === me?.tenant)?.scopes.get(scope) ?? true;
  return hasProjects === fits ? pick(projects, n) : null;
}

const expiry = oneOf({ never: 16, later: 3, soon: 3, past: 1 });

/** Only SQL can say `soon` by the database's clock; and SQL on the table may not even set a time that is past. */
const expiryAt = ({ run, door }: Turn, wanted: 'never' | 'later' | 'soon' | 'past') => {
  if (wanted === 'soon' && door !== run.doors.sql && door !== run.doors.table) return 'later';
  return wanted === 'past' && door === run.doors.table ? 'later' : wanted;
};
const ttls = { never: null, later: '2099-01-01T00:00:00Z', past: '2020-01-01T00:00:00Z', soon: 'soon' };

// Who wrote it is not the client's to say.
const forged = { creator: 'L-CTO', source: 'l9-kernel' };

/** A moment passes, and what was to expire soon has. */
async function expire({ run }: Turn, id: string, ttl: Date) {
  await sleep(Math.max(0, ttl.getTime() - Date.now()) + 3);
  run.world.memories.set(id, { ...run.world.memories.get(id)!, isExpired: true });
}

// The operations.

interface Act {
  weight: number;
  /** What it can go through; none where it is SQL of its own. */
  doors(run: Run): Door[];
  arbitrary: fc.Arbitrary<unknown>;
  perform(turn: Turn, rest: never): Promise<string>;
  /** Comes from those most often. */
  by: (session: Session) => boolean;
}
const act = <Rest>(
  weight: number,
  doors: Act['doors'],
  arbitrary: fc.Arbitrary<Rest>,
  perform: (turn: Turn, rest: Rest) => Promise<string>,
  by: Act['by'] = () => true,
): Act => ({ weight, doors, arbitrary, perform, by });

const isAdmin = ({ claims }: Pick<Session, 'claims'>) => claims.role !== 'l9_agent';
const all = ({ doors }: Run) => [doors.table, doors.table, doors.sql, doors.sql, doors.graphql, doors.mcp];
const functions = ({ doors }: Run) => [doors.sql, doors.sql, doors.graphql, doors.mcp];
const tables = ({ doors }: Run) => [doors.table, doors.graphql];
const onlySql = ({ doors }: Run) => [doors.table];

const acts: Record<string, Act> = {
  save: act(
    34,
    all,
    fc.record({
      ...{ text, scope, project, kind: number, expiry, parents: maybe(20, parents) },
      // The text and place of a memory that is there.
      copies: maybe(35, number),
      key: maybe(35, fc.nat({ max: 5 })),
    }),
    async (turn, given) => {
      const { run, session, me, door } = turn;
      const copied = copyOf(turn, given.copies);
      const scope = copied?.scope ?? scopeOf(turn, given.scope);
      const at = { scope, project: copied ? copied.project : projectOf(turn, scope, given.project) };
      const wanted: model.Wanted = {
        ...at,
        content: textOf(given.text, copied),
        kind: copied?.kind ?? pick(kinds, given.kind),
        parents: (given.parents ?? []).map((parent) => targetOf(turn, parent, at)),
        expiry: expiryAt(turn, given.expiry),
        idempotencyKey: given.key === null || door.way === 'table' ? null : `key ${given.key}`,
      };
      turn.asked = wanted;
      const expected = model.save(run.world, me, wanted, door.way);
      const answer = await door.save(session, {
        ...{ content: wanted.content, scope, project_id: wanted.project, kind: wanted.kind, metadata: forged },
        ...{ parent_ids: wanted.parents, ttl: ttls[wanted.expiry] },
        // Many of one thread: whatever comes before it that its readers may read is its context.
        ...(wanted.content.length % 3 === 0 ? { thread_id: 'the thread' } : {}),
        ...(wanted.idempotencyKey === null ? {} : { idempotency_key: wanted.idempotencyKey }),
      });
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      assert.equal(answer.status, expected.status);
      const { id } = answer.memory;
      if ('memory' in expected) {
        assert.deepEqual(answer.memory, asSeen(expected.memory), 'the memory that is there already');
        expected.commit();
        return expected.isRetry ? 'the first answer again' : expected.status;
      }
      assert.ok(!run.world.memories.has(id), 'a new id');
      expected.commit(id);
      assert.deepEqual(answer.memory, asSeen(run.world.memories.get(id)!));
      if (wanted.expiry === 'soon') await expire(turn, id, answer.ttl!);
      return expected.status;
    },
  ),

  update: act(
    20,
    all,
    fc.record({
      ...{ target, expiry, text: maybe(40, text), scope: maybe(25, scope), project: maybe(25, project) },
      ...{ kind: maybe(15, number), parents: maybe(15, parents), copies: maybe(30, number) },
    }),
    async (turn, given) => {
      const { run, session, me, door } = turn;
      const id = targetOf(turn, given.target);
      const memory = run.world.memories.get(id);
      const scope = given.scope && scopeOf(turn, given.scope);
      const project = given.project && projectOf(turn, scope ?? memory?.scope ?? '', given.project);
      const change: model.Change = {
        ...(given.text && { content: textOf(given.text, copyOf(turn, given.copies)) }),
        ...(scope && { scope }),
        ...(project && { project }),
        ...(given.kind !== null && { kind: pick(kinds, given.kind) }),
        ...(given.parents && { parents: given.parents.map((parent) => targetOf(turn, parent, memory)) }),
        expiry: expiryAt(turn, given.expiry),
      };
      turn.asked = { ...change, of: memory ?? id };
      const expected = model.update(run.world, me, memory, change, door.way);
      const { project: project_id, parents: parent_ids, expiry, ...rest } = change;
      const ttl = ttls[expiry ?? 'never'];
      const answer = await door.update(session, id, {
        ...{ ...rest, metadata: forged, ...nextImportance(turn) },
        ...(project_id && { project_id }),
        ...(parent_ids && { parent_ids }),
        ...(ttl && { ttl }),
      });
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expected.commit();
      assert.deepEqual(answer.memory, asSeen(run.world.memories.get(id)!));
      if (expiry === 'soon') await expire(turn, id, answer.ttl!);
      return 'updated';
    },
  ),

  delete: act(10, all, target, async (turn, given) => {
    const { run, session, me, door } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.remove(run.world, me, run.world.memories.get(id));
    const answer = await door.remove(session, id);
    const refused = refusal(expected, answer);
    if (expected.refused) return refused!;
    expected.commit();
    return 'deleted';
  }),

  get: act(6, all, target, async (turn, given) => {
    const { run, session, me, door } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.get(me, run.world.memories.get(id));
    const answer = await door.get(session, id);
    const refused = refusal(expected, answer);
    if (expected.refused || answer.code !== null) return refused!;
    assert.deepEqual(answer.memory, asSeen(expected.memory));
    return 'found';
  }),

  list: act(5, tables, number, async (turn, n) => {
    const { run, session, me, door } = turn;
    const filter = pick(filters, n);
    turn.asked = filter;
    const answer = await door.list(session, filter);
    if (!me) return nothing(answer);
    assert.equal(answer.code, null);
    const expected = model.visible(run.world, me).filter((memory) => fits(memory, filter));
    same(answer.seen, expected, `a list of ${JSON.stringify(filter)}`);
    assert.equal(answer.count, expected.length, 'how many there are');
    return expected.length > 0 ? 'found' : 'found nothing';
  }),

  search: act(
    6,
    functions,
    fc.record({ word: number, filter: number, mode: oneOf({ lexical: 4, hybrid: 2, semantic: 2 }) }),
    async (turn, given) => {
      const { run, session, me, door } = turn;
      const word = pick(words, given.word);
      const filter = pick([{}, {}, {}, ...filters], given.filter);
      turn.asked = { word, mode: given.mode, ...filter };
      const answer = await door.search(session, word, given.mode, filter);
      if (!me) return nothing(answer);
      assert.equal(answer.code, null);
      // A search in a project is also one of what belongs to no project.
      const searched = model
        .visible(run.world, me)
        .filter((memory) => fits(memory, { ...filter, project: memory.project === null ? undefined : filter.project }));
      const isHit = (memory: Memory) => memory.content.toLowerCase().includes(word);
      const ids = new Set(answer.seen.map(({ id }) => id));
      // By what came before it, only where that says so to the same readers, and is there.
      const isHitByContext = (memory: Memory) =>
        ids.has(memory.id) &&
        model.visible(run.world, me).some((other) => isHit(other) && model.isForTheSame(other, memory));
      const expected = searched.filter(
        (memory) => isHit(memory) || isHitByContext(memory) || (given.mode !== 'lexical' && ids.has(memory.id)),
      );
      // What is found by meaning alone depends on whether its vector has landed.
      const certain = given.mode === 'semantic' ? expected.filter(({ id }) => ids.has(id)) : expected;
      same(answer.seen, certain, `a ${given.mode} search for ${word} in ${JSON.stringify(filter)}`);
      return certain.length > 0 ? 'found' : 'found nothing';
    },
  ),

  stats: act(3, functions, fc.constant(null), compareStats),

  'clean up': act(
    4,
    functions,
    fc.constant(null),
    async ({ run, session, me, door }) => {
      const expected = model.cleanUp(run.world, me);
      const answer = await door.cleanUp(session);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      let { deleted } = answer;
      // Cleanup leaves for later what a job holds.
      for (let tries = 0; deleted < expected.deleted && tries < 100; tries++) {
        await sleep(20);
        const again = await door.cleanUp(session);
        deleted += again.code === null ? again.deleted : 0;
      }
      assert.equal(deleted, expected.deleted, 'how many were cleaned up');
      expected.commit();
      return expected.deleted > 0 ? 'cleaned up' : 'nothing to clean up';
    },
    ({ claims }) => isAdmin({ claims }) || claims.caller === 'Scribe',
  ),

  /** SQL on many rows at once concerns those that the caller may change, and no other. */
  'update all': act(3, onlySql, number, (turn, n) =>
    changeAll(
      turn,
      pick(filters, n),
      `update public.packet_store set importance_score = $4 where ${FILTERED} returning packet_id as id`,
      (memory) => {
        const expected = model.update(turn.run.world, turn.me, memory, {}, 'table');
        if (!expected.refused) expected.commit();
        return 'updated';
      },
    ),
  ),

  'delete all': act(1, onlySql, number, (turn, n) =>
    changeAll(
      turn,
      pick(filters, n),
      `delete from public.packet_store where ${FILTERED} returning packet_id as id`,
      (memory) => {
        const expected = model.remove(turn.run.world, turn.me, memory);
        if (!expected.refused) expected.commit();
        return 'deleted';
      },
    ),
  ),

  /** SQL that nobody may run, whoever it claims to be. */
  tamper: act(4, onlySql, fc.record({ target, statement: number }), async (turn, given) => {
    const values = { $1: targetOf(turn, given.target), $2: turn.me?.tenant ?? changing.tenant };
    const forbiddenHere = pick(forbidden, given.statement).replace(/\$[12]/, (name) => `'${values[name as '$1']}'`);
    turn.asked = { sql: forbiddenHere };
    const answer = await statement(turn.run.house, turn.session, forbiddenHere);
    return refusal({ refused: ['L9SCP'] }, answer)!;
  }),

  history: act(5, onlySql, target, async (turn, given) => {
    const { run, session, me } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.history(me, run.world.memories.get(id));
    const answer = await statement(run.house, session, HISTORY, [id]);
    const refused = refusal(expected, answer);
    if (expected.refused || answer.code !== null) return refused!;
    assert.deepEqual(answer.rows, expected.states.map(model.stateOf), 'the history, the newest first');
    return 'told';
  }),

  /** What an admin is told of what another sees. */
  explain: act(
    4,
    onlySql,
    fc.record({ target, whom: number }),
    async (turn, given) => {
      const { run, session, me } = turn;
      const id = targetOf(turn, given.target);
      const whom = pick(
        run.sessions.filter(({ token, claims }) => token !== null && claims.org !== 'blue'),
        given.whom,
      );
      const { tenant, caller, scopes, projects, org, user } = whom.claims;
      turn.asked = { of: run.world.memories.get(id) ?? id, whom: whom.name };
      const expected = model.explain(run.world, me, run.world.memories.get(id), whom.claims);
      const answer = await statement(run.house, session, EXPLAIN, [caller, id, org, user, projects, scopes, tenant]);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      assert.deepEqual(answer.rows, [{ is_visible: expected.isVisible }]);
      return expected.isVisible ? 'visible' : 'not visible';
    },
    isAdmin,
  ),

  /** An actor is deactivated, comes back, or gets other scopes. */
  'change an actor': act(2, onlySql, number, async (turn, n) => {
    const { house, world, sessions } = turn.run;
    const actor = world.actors.find((one) => one.tenant === changing.tenant && one.caller === changing.caller)!;
    const { tenant, caller } = actor;
    turn.asked = actor;
    if (actor.isActive && n % 3 === 0) {
      actor.isActive = false;
      await house.asSuperuser('select public.deactivate_actor($1, $2)', [caller, tenant]);
      return 'deactivated';
    }
    Object.assign(actor, pick(otherScopes, n));
    await house.asSuperuser(
      'select public.register_actor($1, readable_scopes => $3, writable_scopes => $4, tenant_id => $2)',
      [caller, tenant, actor.reads, actor.writes],
    );
    if (actor.isActive) return 'changed';
    actor.isActive = true;
    await house.asSuperuser('select public.reactivate_actor($1, $2)', [caller, tenant]);
    for (const session of sessions) if (session.claims.caller === caller) await heardOf(turn.run, session);
    return 'reactivated';
  }),
};

const HISTORY = `
  select content, state ->> 'scope' as scope, state ->> 'project_id' as project, state ->> 'kind' as kind, creator
  from public.memory_history($1, 1000)`;
const EXPLAIN = 'select (public.explain_access($1, $2, $3, $4, $5, $6, $7)).is_visible';

/** No update is one that changes nothing, and makes no version. */
const nextImportance = ({ run }: Turn) => {
  run.updates += 1;
  return { importance: (run.updates % 10_000) / 10_000 };
};

const fits = ({ scope, project, kind }: Memory, filter: { [Name in keyof Filter]: Filter[Name] | undefined }) =>
  (filter.scope === undefined || scope === filter.scope) &&
  (filter.project === undefined || project === filter.project) &&
  (filter.kind === undefined || kind === filter.kind);

const FILTERED =
  '($1::text is null or scope = $1) and ($2::text is null or project_id = $2) and ($3::text is null or packet_type = $3)';

async function changeAll(turn: Turn, filter: Filter, sql: string, commit: (memory: Memory) => string) {
  const { run, session, me } = turn;
  turn.asked = filter;
  const { importance } = nextImportance(turn);
  const more = sql.includes('$4') ? [importance] : [];
  const answer = await statement(run.house, session, sql, [filter.scope, filter.project, filter.kind, ...more]);
  // Operators have no such grant.
  const refused = refusal(session.claims.role === 'l9_platform_admin' ? { refused: ['L9SCP'] } : done, answer);
  if (answer.code !== null) return refused!;
  const expected = everything(run).filter((memory) => fits(memory, filter) && model.mayChange(me, memory));
  assert.deepEqual(
    answer.rows.sort(byId),
    expected.map(({ id }) => ({ id })),
    'the rows that it concerned',
  );
  return expected.map(commit)[0] ?? 'found nothing';
}

// What it wrote stays when it may no longer write there, or no longer read it.
const otherScopes: { reads: string[]; writes: string[] }[] = [
  { reads: ['developer', 'global'], writes: ['developer', 'global'] },
  { reads: ['developer', 'global'], writes: [] },
  { reads: ['developer', 'notices', 'research'], writes: ['notices'] },
  { reads: ['developer', 'l-private'], writes: ['developer'] },
  { reads: ['*'], writes: ['global'] },
];

/** $1: a memory; $2: the session's tenant. */
const forbidden = [
  `insert into public.packet_store (envelope, scope, tenant_id) values ('{"content": "x"}', 'global', $2)`,
  'update public.packet_store set tenant_id = $2',
  'update public.packet_store set org_id = null, user_id = null where packet_id = $1',
  'update public.packet_store set packet_id = uuidv7() where packet_id = $1',
  "update public.packet_store set content_hash = sha256('x') where packet_id = $1",
  'update public.packet_store set access_count = 1 where packet_id = $1',
  'truncate public.packet_store cascade',
  'alter table public.packet_store disable row level security',
  'alter table public.packet_store disable trigger all',
  'drop policy tenant_isolation on public.packet_store',
  "update public.memory_embeddings set scope = 'global' where packet_id = $1",
  'delete from public.memory_embeddings where packet_id = $1',
  "update public.idempotency_keys set caller = 'C' where packet_id = $1",
  "update public.actors set readable_scopes = '{*}', writable_scopes = '{*}' where tenant_id = $2",
  "update public.actors set role = 'l9_admin', is_active = true",
  'delete from public.actors where tenant_id = $2',
  'update public.scopes set is_project_scoped = false where tenant_id = $2',
  'update public.tenants set is_active = true',
  'delete from public.audit_log where row_id = $1',
  'select from l9_private.pending_embeddings where packet_id = $1',
  "update public.packet_versions set scope = 'global' where packet_id = $1",
  'delete from public.packet_versions where packet_id = $1',
  'delete from public.memory_tombstones where packet_id = $1',
  "update public.api_keys set caller = 'L' where tenant_id = $2",
  'select from l9_private.api_key_hashes',
  'update public.orgs set is_active = true where tenant_id = $2',
  'set local role l9_owner',
  'set local session_replication_role = replica',
];

export const operation = fc.noBias(
  fc.oneof(
    ...Object.entries(acts).map(([name, { weight, arbitrary }]) => ({
      weight,
      arbitrary: fc.record({ act: fc.constant(name), who: number, door: number, view: number, given: arbitrary }),
    })),
  ),
);

export type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

/** Whose turn it is, and through which door. */
export function turnFor(run: Run, { act, who, door }: Operation): Turn {
  const { sessions, world } = run;
  const usual = sessions.filter((session) => acts[act]!.by(session) && model.identityOf(world, session.claims));
  const session = pick(who % 6 === 0 ? sessions : usual, Math.floor(who / 6));
  const open = doorsOf(run, session);
  const doors = acts[act]!.doors(run).filter((one) => open.includes(one));
  return turnOf(run, session, pick(doors, door));
}

/** Does it in the model and in the database: fails where they differ, else says what came of it. */
export async function perform(turn: Turn, { act, given }: Operation): Promise<string> {
  const there = new Set(turn.run.world.memories.keys());
  const outcome = await acts[act]!.perform(turn, given as never);
  for (const id of there) if (!turn.run.world.memories.has(id)) turn.run.gone.push(id);
  turn.run.gone.splice(0, turn.run.gone.length - 40);
  return outcome;
}
