// Random operations on reviews: rules come and go, and administrators and others decide about what waits.
import fc from 'fast-check';
import { DEFAULT_TENANT } from '../../../src/auth/identity.ts';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import { type Act, act, everything, number, onlySql, percent, target, targetOf } from './arbitraries.ts';
import { pick, type Run, refusal } from './run.ts';
import { statement } from './session-apis.ts';

export const reviewActs: Record<string, Act> = {
  /** A rule is made or changed, or all of a tenant are deleted. */
  'change a rule': act(6, onlySql, number, async (turn, n) => {
    const { world, gateway } = turn.run;
    const tenant = turn.me?.tenant ?? DEFAULT_TENANT;
    if (n % 13 === 0) {
      world.rules = world.rules.filter((one) => one.tenant !== tenant);
      turn.asked = { tenant, deleted: 'all' };
      await gateway.asSuperuser(
        'select public.delete_review_rule(rule_id, $1) from public.review_rules where tenant_id = $1',
        [tenant],
      );
      return 'rules deleted';
    }
    const [caller, scope] = pick(conditions, n);
    const rule = { tenant, caller, scope, needsReview: n % 5 > 0 };
    turn.asked = rule;
    world.rules = [
      ...world.rules.filter((one) => one.tenant !== tenant || one.caller !== caller || one.scope !== scope),
      rule,
    ];
    await gateway.asSuperuser(
      `select public.set_review_rule($1, caller => $2, scope => $3, kinds => array[$4], tenant_id => $5)`,
      [rule.needsReview, caller, scope, model.REVIEWED, tenant],
    );
    return 'rule set';
  }),

  /** Most often about one that waits. */
  decide: act(
    14,
    onlySql,
    fc.record({ target, waiting: number, isWaiting: percent(90), approves: percent(60) }),
    async (turn, given) => {
      const { run, session, me } = turn;
      const waiting = everything(run).filter((memory) => memory.review === 'pending' && model.mayChange(me, memory));
      const id = given.isWaiting && waiting.length > 0 ? pick(waiting, given.waiting).id : targetOf(turn, given.target);
      const memory = run.world.memories.get(id);
      // An approval that is taken back withdraws what was derived, which db/tests/review tests.
      const decision: model.Decision = given.approves || memory?.review === 'approved' ? 'approved' : 'rejected';
      turn.asked = { decision, of: memory ?? id };
      const expected = model.decide(run.world, me, memory, decision);
      const answer = await statement(run.gateway, session, DECIDE, [id, decision]);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expected.commit();
      const [{ status, packet_id }] = answer.rows;
      expect(packet_id, 'the memory of the answer').toBe(expected.into?.id ?? id);
      expect(status).toBe(expected.into ? 'merged' : decision);
      if (expected.into) await learnMerged(run, expected.into);
      return status;
    },
    (session) => session.claims.role === 'l9_admin',
  ),

  /** Searches show what waits only where they are asked to, and only to those who may see it. */
  'search what waits': act(4, onlySql, fc.constant(null), async (turn) => {
    const { run, session, me } = turn;
    const answer = await statement(run.gateway, session, SEARCH, []);
    const refused = refusal({ refused: me ? null : ['L9AUT', 'L9SCP'] }, answer);
    if (answer.code !== null) return refused!;
    const expected = model.visible(run.world, me).filter((memory) => memory.review === 'pending');
    expect(answer.rows[0].ids, 'what waits').toStrictEqual(expected.map(({ id }: Memory) => id).sort());
    return expected.length > 0 ? 'found what waits' : 'found nothing that waits';
  }),
};

/** Caller and scope of rules. */
const conditions: [string | null, string | null][] = [
  [null, null],
  ['C', null],
  [null, 'developer'],
  [null, 'global'],
  ['C', 'global'],
  ['L', null],
];

const DECIDE = `
  select status, (memory).packet_id from review.decide($1, $2, case $2 when 'rejected' then 'It is not so.' end)`;
const SEARCH = `
  select array(
    select h.packet_id
    from unnest((public.search_memory(since => '0001-01-01', k => 100, include_pending => true)).hits) h
    where (h.standing).review_state = 'pending' order by 1) as ids`;

/** A merge takes over what both say; the model knows only which memory is left. */
async function learnMerged({ gateway, world }: Run, { id }: Memory): Promise<void> {
  const [row] = await gateway.asSuperuser(
    `select p.text_creator as "textCreator", p.metadata -> 'updated_by' ->> 'caller' as "updatedBy",
       p.envelope ->> 'content' as content,
       (select coalesce(jsonb_agg(i order by i), '[]') from unnest(p.parent_ids) i) as parents,
       (select count(*)::integer from public.packet_versions v where v.packet_id = p.packet_id) as versions
     from public.packet_store p where p.packet_id = $1`,
    [id],
  );
  const former = world.memories.get(id)!;
  const { versions, ...next } = row;
  world.memories.set(id, {
    ...former,
    ...next,
    versions: versions > former.versions.length ? [...former.versions, model.stateOf(former)] : former.versions,
  });
}
