// Random operations on reviews: rules and settings come and go, administrators and others decide about what waits, what was
// rejected expires, and searches and the queue show what waits to those who may see it.
import fc from 'fast-check';
import { DEFAULT_TENANT } from '../../../src/auth/identity.ts';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import {
  type Act,
  act,
  everything,
  isAdmin,
  maybe,
  number,
  onlySql,
  percent,
  target,
  targetOf,
} from './arbitraries.ts';
import { rowsOf } from './knowledge-world.ts';
import { pick, type Run, refusal, type Turn } from './run.ts';
import { type Answer, type Json, statement } from './session-apis.ts';
import { EVERYWHERE, words } from './vocabulary.ts';
import { projects } from './world.ts';

const isReviewer = ({ claims }: { claims: model.Claims }) => claims.role === 'l9_admin';

export const reviewActs: Record<string, Act> = {
  /** A rule is made or changed, or all of a tenant are deleted. */
  'change a rule': act(
    7,
    onlySql,
    fc.record({
      n: number,
      on: number,
      kinds: number,
      project: number,
      needsReview: percent(75),
      deletes: percent(22),
    }),
    async (turn, given) => {
      const { world, gateway } = turn.run;
      const tenant = turn.me?.tenant ?? DEFAULT_TENANT;
      if (given.deletes) {
        world.rules = world.rules.filter((one) => one.tenant !== tenant);
        turn.asked = { tenant, deleted: 'all' };
        await gateway.asSuperuser(
          'select public.delete_review_rule(rule_id, $1) from public.review_rules where tenant_id = $1',
          [tenant],
        );
        return 'rules deleted';
      }
      // Most rules state kinds, so that much still counts at once.
      const kinds = given.kinds % 9 === 0 ? null : pick(kindsOfRules, given.kinds);
      const isThere = ({ caller }: Conditions) =>
        caller === undefined || world.actors.some((actor) => actor.tenant === tenant && actor.caller === caller);
      const conditions = pick((kinds === null ? narrow : [...narrow, ...wide]).filter(isThere), given.n);
      const rule: model.Rule = {
        tenant,
        caller: null,
        scope: null,
        source: null,
        ...conditions,
        project: given.project % 6 === 0 ? pick(projects, given.on) : null,
        kinds,
        needsReview: given.needsReview,
      };
      turn.asked = rule;
      world.rules = [...world.rules.filter((one) => model.conditionsOf(one) !== model.conditionsOf(rule)), rule];
      await gateway.asSuperuser(
        `select public.set_review_rule($1, caller => $2, scope => $3, project_id => $4, kinds => $5, source => $6,
           tenant_id => $7)`,
        [rule.needsReview, rule.caller, rule.scope, rule.project, rule.kinds, rule.source, tenant],
      );
      return 'rule set';
    },
  ),

  /** Whether a text that was rejected before is refused or held. */
  'change what is done again': act(1, onlySql, percent(50), async (turn, holds) => {
    const { world, gateway } = turn.run;
    const tenant = turn.me?.tenant ?? DEFAULT_TENANT;
    if (holds) world.holding.add(tenant);
    else world.holding.delete(tenant);
    await gateway.asSuperuser('select public.set_review_settings($1, $2)', [holds ? 'hold' : 'refuse', tenant]);
    return 'setting changed';
  }),

  /** Most often about one that waits. */
  decide: act(
    16,
    onlySql,
    fc.record({ target, waiting: number, isWaiting: percent(90), approves: percent(65) }),
    (turn, given) =>
      decide(turn, given.isWaiting ? mayDecideAbout(turn, 'pending', given) : targetOf(turn, given.target), {
        decision: given.approves ? 'approved' : 'rejected',
      }),
    isReviewer,
  ),

  'approve with an edit': act(
    3,
    onlySql,
    fc.record({ target, waiting: number, word: number }),
    async (turn, given) => {
      const { world } = turn.run;
      const id = mayDecideAbout(turn, 'pending', given);
      const memory = world.memories.get(id);
      const content = `${EVERYWHERE} ${pick(words, given.word)} as edited`;
      if (!memory || memory.fields || !isReviewer(turn.session) || memory.review !== 'pending')
        return 'nothing to edit';
      const edit = model.update(world, turn.me, memory, { content }, 'function');
      // The model takes an edit that can't be approved back.
      const before = structuredClone(world);
      // The text that is there already is no edit.
      if (!edit.refused && content !== memory.content) edit.commit();
      const refused = await decide(turn, id, { decision: 'approved', content, alsoRefused: edit.refused });
      if (/^L9/.test(refused)) Object.assign(world, before);
      return /^L9/.test(refused) ? refused : [refused, 'edited'];
    },
    isReviewer,
  ),

  /** What was approved or rejected, or merged, waits again or counts again. */
  undo: act(
    5,
    onlySql,
    fc.record({ target, waiting: number, isDecided: percent(85) }),
    (turn, given) =>
      decide(turn, given.isDecided ? mayDecideAbout(turn, 'decided', given) : targetOf(turn, given.target), {
        decision: 'undone',
      }),
    isReviewer,
  ),

  'reject what counts': act(
    2,
    onlySql,
    fc.record({ target, waiting: number }),
    (turn, given) => decide(turn, mayDecideAbout(turn, 'approved', given), { decision: 'rejected' }),
    isReviewer,
  ),

  merge: act(
    4,
    onlySql,
    fc.record({ target, other: target, n: number, isNear: percent(85) }),
    async (turn, given) => {
      const { run, me } = turn;
      const { world } = run;
      const keep = world.memories.get(targetOf(turn, given.target));
      const near = everything(run).filter(
        (one) => keep && one.id !== keep.id && model.isForTheSame(one, keep) && model.mayChange(me, one),
      );
      const other =
        given.isNear && near.length > 0 ? pick(near, given.n) : world.memories.get(targetOf(turn, given.other));
      const ids = [keep?.id ?? pick(run.gone, given.n), other?.id ?? pick(run.gone, given.n >> 1)];
      turn.asked = { keep: keep ?? ids[0], other: other ?? ids[1] };
      const may = model.merge(world, me, keep, other);
      const expected = ids[0] === ids[1] ? model.refuse('L9VAL', ...(may.refused ?? [])) : may;
      const said = await rowsOf(run, ids);
      const answer = await statement(run.gateway, turn.session, MERGE, ids);
      // A summary that would outlive its sources is refused. The model does not know when they expire.
      if (!expected.refused && answer.code === 'L9VAL' && world.knowledge.summaries.has(keep!.id)) return 'L9VAL';
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expected.commit();
      expect(answer.rows).toStrictEqual([{ status: 'merged', packet_id: other!.id, merged_into: keep!.id }]);
      await learnMerged(run, keep!);
      await learnRows(run, ids, said, other!.id);
      return 'merged';
    },
    isReviewer,
  ),

  /** As 30 days later. */
  'rejections expire': act(1, onlySql, number, async (turn, n) => {
    const { run } = turn;
    const rejected = everything(run).filter(({ review, isExpired }) => review === 'rejected' && !isExpired);
    if (rejected.length === 0) return 'nothing was rejected';
    const { id } = pick(rejected, n);
    await run.gateway.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 second' where packet_id = '${id}';
       reset session_replication_role`,
    );
    run.world.memories.set(id, { ...run.world.memories.get(id)!, isExpired: true });
    return 'a rejection expired';
  }),

  /** Searches show what waits only where they are asked to, and only to those who may see it. */
  'search what waits': act(4, onlySql, fc.constant(null), (turn) =>
    findWaiting(turn, SEARCH, { refused: turn.me ? null : ['L9AUT', 'L9SCP'] }, 'search'),
  ),
  'read the queue': act(
    3,
    onlySql,
    maybe(40, number),
    (turn, n) =>
      findWaiting(
        turn,
        QUEUE,
        { refused: turn.me?.role === 'l9_admin' ? null : ['L9AUT', 'L9SCP'] },
        'queue',
        n === null ? undefined : pick(['developer', 'global', 'research'], n),
      ),
    isAdmin,
  ),
};

const kindsOfRules = [
  ['claim'],
  ['claim'],
  ['finding', 'note'],
  ['fact'],
  ['reflection'],
  ['event', 'reasoning_trace'],
  ['decision', 'todo'],
  ['todo'],
  ['summary', 'task_reflection'],
  ['insight', 'session'],
];
type Conditions = Partial<Pick<model.Rule, 'caller' | 'scope' | 'source'>>;
const narrow: Conditions[] = [
  { caller: 'C', scope: 'global' },
  { scope: 'research' },
  { source: 'scribe' },
  { caller: 'Changing' },
];
const wide: Conditions[] = [
  {},
  { caller: 'C' },
  { scope: 'developer' },
  { scope: 'global' },
  { caller: 'L' },
  { source: 'cursor-ide' },
  { caller: 'C', scope: 'developer', source: 'cursor-ide' },
];

/** One that the caller may decide about, where there is one. */
function mayDecideAbout(
  turn: Turn,
  what: 'pending' | 'approved' | 'decided',
  given: { target: typeof target extends fc.Arbitrary<infer One> ? One : never; waiting: number },
): string {
  const among = everything(turn.run).filter(
    ({ review, ...memory }) =>
      (what === 'decided' ? review === 'approved' || review === 'rejected' : review === what) &&
      model.mayChange(turn.me, { ...memory, review }),
  );
  return among.length > 0 ? pick(among, given.waiting).id : targetOf(turn, given.target);
}

async function decide(
  turn: Turn,
  id: string,
  wanted: { decision: model.Decision; content?: string; alsoRefused?: model.Code[] | null },
): Promise<string> {
  const { run, session, me } = turn;
  const { world } = run;
  const { decision, content, alsoRefused } = wanted;
  const memory = world.memories.get(id);
  turn.asked = { decision, content, of: memory ?? id };
  const decided = model.decide(world, me, memory, decision);
  const expected = alsoRefused ? model.refuse(...alsoRefused, ...(decided.refused ?? [])) : decided;
  const merged = world.merges.get(id);
  const said = merged ? await rowsOf(run, [id, merged]) : [];
  const values = decision === 'approved' ? [[id], content ?? null] : [[id]];
  const answer = await statement(run.gateway, session, CALLS[decision], values);
  const refused = refusal(expected, answer);
  if (decided.refused || answer.code !== null) return refused!;
  decided.commit();
  const [{ status, packet_id, merged_into }] = answer.rows;
  expect([packet_id, merged_into], 'the memory of the answer').toStrictEqual([id, decided.into?.id ?? null]);
  expect(status).toBe(decided.into ? 'merged' : world.memories.get(id)!.review);
  if (decided.into) await learnMerged(run, decided.into);
  if (decided.isBack) {
    await learnRows(run, [id, merged!], said);
    world.merges.delete(id);
  }
  if (decision === 'undone' || decided.isBack) await learnLastVersion(turn, id);
  return decision === 'undone' && status !== 'merged' ? 'undone' : status;
}

const CALLS: Record<model.Decision, string> = {
  approved: 'select status, packet_id, merged_into from public.approve_memory($1, text => $2)',
  rejected: "select status, packet_id, merged_into from public.reject_memory($1, 'It is not so.')",
  undone: 'select status, packet_id, merged_into from public.undo_review($1)',
};
const MERGE = `
  select (m).status, (m).packet_id, (m).merged_into from unnest((public.merge_memories($1, array[$2::uuid])).merged) m`;
const SEARCH = `
  select array(
    select h.packet_id
    from unnest((public.search_memory(since => '0001-01-01', k => 100, scopes => array[$1]::text[], include_pending => true,
      include_archived => true)).hits) h
    where (h.standing).review_state = 'pending' order by 1) as ids`;
const QUEUE = `
  select array(select i.packet_id from unnest(q.items) i order by 1) as ids, q.waiting
  from public.review_queue(k => 100, scope => $1) q`;

async function findWaiting(
  turn: Turn,
  sql: string,
  expected: { refused: model.Code[] | null },
  what: 'search' | 'queue',
  scope?: string,
): Promise<string> {
  const { run, session, me } = turn;
  const query =
    scope === undefined ? sql.replace('scopes => array[$1]::text[], ', '').replace(', scope => $1', '') : sql;
  const answer: Answer<{ rows: Json[] }> = await statement(run.gateway, session, query, scope ? [scope] : []);
  const refused = refusal(expected, answer);
  if (answer.code !== null) return refused!;
  const waiting = model
    .visible(run.world, me)
    .filter((memory) => memory.review === 'pending' && (scope ?? memory.scope) === memory.scope);
  expect(answer.rows[0].ids, `what waits, by ${what}`).toStrictEqual(waiting.map(({ id }: Memory) => id).sort());
  if (what === 'queue') expect(answer.rows[0].waiting, 'how many wait').toBe(waiting.length);
  return waiting.length > 0 ? 'found what waits' : 'found nothing that waits';
}

/** A merge takes over what both say; the model knows only which memory is left. */
async function learnMerged({ gateway, world }: Run, { id }: Memory): Promise<void> {
  const [row] = await gateway.asSuperuser(
    `select p.text_creator as "textCreator", p.metadata -> 'updated_by' ->> 'caller' as "updatedBy",
       p.envelope ->> 'content' as content,
       case when p.packet_type = any ($2) then p.envelope - 'content' || case
         when p.envelope ->> 'closed_at' like '%T%' then jsonb_build_object('closed_at', $3::text) else '{}' end end as fields,
       (select coalesce(jsonb_agg(i order by i), '[]') from unnest(p.parent_ids) i) as parents,
       (select count(*)::integer from public.packet_versions v where v.packet_id = p.packet_id) as versions
     from public.packet_store p where p.packet_id = $1`,
    [id, model.kindsWithFields, model.BY_ITSELF],
  );
  const former = world.memories.get(id)!;
  const { versions, ...next } = row;
  world.memories.set(id, {
    ...former,
    ...next,
    versions: versions > former.versions.length ? [...former.versions, model.stateOf(former)] : former.versions,
  });
}

/** What two memories state after a merge, or after it was taken back: between them the same as before. */
async function learnRows(run: Run, ids: string[], said: model.Row[], leftEmpty?: string): Promise<void> {
  const { knowledge } = run.world;
  const now = await rowsOf(run, ids);
  const wasSaid = ({ table }: model.Row) => /evidence|updates/.test(table);
  const all = (rows: model.Row[]) => [
    ...new Set(rows.filter(wasSaid).map(({ table, says }) => JSON.stringify([table, says]))),
  ];
  expect(all(now).sort(), 'what the two memories state').toStrictEqual(all(said).sort());
  if (leftEmpty) expect(now.filter(({ packet }) => packet === leftEmpty)).toStrictEqual([]);
  knowledge.rows = [...knowledge.rows.filter(({ packet }) => !ids.includes(packet)), ...now];
}

/** The expiry that a memory had before it was rejected comes back as a change of its own. */
async function learnLastVersion({ run: { gateway, world }, me }: Turn, id: string): Promise<void> {
  const memory = world.memories.get(id)!;
  const [{ versions }] = await gateway.asSuperuser(
    'select count(*)::integer as versions from public.packet_versions where packet_id = $1',
    [id],
  );
  if (versions === memory.versions.length + 1)
    world.memories.set(id, {
      ...memory,
      updatedBy: me!.caller,
      versions: [...memory.versions, model.stateOf(memory)],
    });
}
