// Random operations on the rules: attempts to break them, explanations of access, and changes of the rights of actors.
import fc from 'fast-check';
import * as model from '../model.ts';
import { type Act, act, isAdmin, number, onlySql, target, targetOf } from './arbitraries.ts';
import { heardOf, pick, refusal } from './run.ts';
import { statement } from './session-apis.ts';
import { changing } from './world.ts';

export const administrationActs: Record<string, Act> = {
  /** SQL that no caller may run, under any claims. */
  tamper: act(4, onlySql, fc.record({ target, statement: number }), async (turn, given) => {
    const values = { $1: targetOf(turn, given.target), $2: turn.me?.tenant ?? changing.tenant };
    const forbiddenHere = pick(forbidden, given.statement).replace(/\$[12]/, (name) => `'${values[name as '$1']}'`);
    turn.asked = { sql: forbiddenHere };
    const answer = await statement(turn.run.gateway, turn.session, forbiddenHere);
    return refusal({ refused: ['L9SCP'] }, answer)!;
  }),

  /** What explain_access tells an admin about another caller. */
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
      const answer = await statement(run.gateway, session, EXPLAIN, [caller, id, org, user, projects, scopes, tenant]);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expect(answer.rows).toStrictEqual([{ is_visible: expected.isVisible }]);
      return expected.isVisible ? 'visible' : 'not visible';
    },
    isAdmin,
  ),

  /** An actor is deactivated, comes back, or gets other scopes. */
  'change an actor': act(2, onlySql, number, async (turn, n) => {
    const { gateway, world, sessions } = turn.run;
    const actor = world.actors.find((one) => one.tenant === changing.tenant && one.caller === changing.caller)!;
    const { tenant, caller } = actor;
    turn.asked = actor;
    if (actor.isActive && n % 3 === 0) {
      actor.isActive = false;
      await gateway.asSuperuser('select public.deactivate_actor($1, $2)', [caller, tenant]);
      return 'deactivated';
    }
    Object.assign(actor, pick(otherScopes, n));
    await gateway.asSuperuser(
      'select public.register_actor($1, readable_scopes => $3, writable_scopes => $4, tenant_id => $2)',
      [caller, tenant, actor.reads, actor.writes],
    );
    if (actor.isActive) return 'changed';
    actor.isActive = true;
    await gateway.asSuperuser('select public.reactivate_actor($1, $2)', [caller, tenant]);
    for (const session of sessions) if (session.claims.caller === caller) await heardOf(turn.run, session);
    return 'reactivated';
  }),
};

const EXPLAIN = 'select (public.explain_access($1, $2, $3, $4, $5, $6, $7)).is_visible';

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
  'select from embeddings.pending_embeddings where packet_id = $1',
  "update public.packet_versions set scope = 'global' where packet_id = $1",
  'delete from public.packet_versions where packet_id = $1',
  'delete from public.memory_tombstones where packet_id = $1',
  "update public.api_keys set caller = 'L' where tenant_id = $2",
  'select from identity.api_key_hashes',
  'update public.orgs set is_active = true where tenant_id = $2',
  'set local role l9_owner',
  'set local session_replication_role = replica',
];
