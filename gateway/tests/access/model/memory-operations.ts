// Random operations on memories, each applied to the model and called through an API, with the results compared.

import { setTimeout as sleep } from 'node:timers/promises';
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
  expire,
  expiry,
  expiryAt,
  filters,
  forged,
  functions,
  isAdmin,
  maybe,
  number,
  onlySql,
  parents,
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
  ttls,
} from './arbitraries.ts';
import { asSeen, done, fits, learnTextCreators, pick, type Run, refusal, type Turn } from './run.ts';
import { type Filter, statement } from './session-apis.ts';
import { envelopes, kinds } from './world.ts';

const all = ({ apis }: Run) => [apis.table, apis.table, apis.sql, apis.sql, apis.graphql, apis.mcp];

export const memoryActs: Record<string, Act> = {
  save: act(
    34,
    all,
    fc.record({
      text,
      scope,
      project,
      branch,
      kind: number,
      expiry,
      parents: maybe(20, parents),
      // The text and place of a memory that is there.
      copies: maybe(35, number),
      key: maybe(35, fc.nat({ max: 5 })),
    }),
    async (turn, given) => {
      const { run, session, me, api } = turn;
      const copied = copyOf(turn, given.copies);
      const scope = copied?.scope ?? scopeOf(turn, given.scope);
      const at = { scope, project: copied ? copied.project : projectOf(turn, scope, given.project) };
      const fresh: model.Wanted = {
        ...at,
        // Now and then the text of a memory of another branch.
        branch: copied && given.kind % 4 > 0 ? copied.branch : branchOf(at.project, given.branch),
        content: textOf(given.text, copied),
        // Reflections, tasks and summaries have functions of their own.
        kind: copied && copiedKinds.has(copied.kind) ? copied.kind : pick(kinds, given.kind),
        parents: (given.parents ?? []).map((parent) => targetOf(turn, parent, at)),
        expiry: expiryAt(turn, given.expiry),
        idempotencyKey: given.key === null || api.way === 'table' ? null : `key ${given.key}`,
      };
      // Now and then the last request with a key, sent again.
      const wanted = (fresh.idempotencyKey !== null && given.kind % 3 === 0 && run.keyed.get(session)) || fresh;
      if (wanted.idempotencyKey !== null && wanted.expiry !== 'soon') run.keyed.set(session, wanted);
      turn.asked = wanted;
      const expected = model.save(run.world, me, wanted, api.way);
      const answer = await api.save(session, {
        content: wanted.content,
        scope: wanted.scope,
        project_id: wanted.project,
        branch: wanted.branch,
        kind: wanted.kind,
        metadata: forged,
        envelope: envelopes[wanted.kind] ?? {},
        parent_ids: wanted.parents,
        ttl: ttls[wanted.expiry],
        // Many of one thread: whatever comes before it that its readers may read is its context.
        ...(wanted.content.length % 2 === 0 ? { thread_id: 'the thread' } : {}),
        ...(wanted.content.length % 3 === 0 ? { trace_id: 'the trace' } : {}),
        ...(wanted.idempotencyKey === null ? {} : { idempotency_key: wanted.idempotencyKey }),
      });
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expect(answer.status).toBe(expected.status);
      const { id } = answer.memory;
      if ('memory' in expected) {
        expect(answer.memory, 'the memory that is there already').toStrictEqual(asSeen(expected.memory));
        expected.commit();
        return expected.isRetry ? 'the first answer again' : expected.status;
      }
      expect(run.world.memories.has(id), 'a new id').toBe(false);
      expected.commit(id);
      if (wanted.expiry === 'later') run.world.knowledge.expireLater.add(id);
      expect(answer.memory).toStrictEqual(asSeen(run.world.memories.get(id)!));
      if (wanted.expiry === 'soon') await expire(turn, id, answer.ttl!);
      return expected.status;
    },
  ),

  update: act(
    20,
    all,
    fc.record({
      target,
      expiry,
      text: maybe(40, text),
      scope: maybe(25, scope),
      project: maybe(25, project),
      branch: maybe(20, branch),
      kind: maybe(15, number),
      parents: maybe(15, parents),
      copies: maybe(30, number),
      state: maybe(40, state),
    }),
    async (turn, given) => {
      const { run, session, me, api } = turn;
      const id = targetOf(turn, given.target);
      const memory = run.world.memories.get(id);
      const scope = given.scope && scopeOf(turn, given.scope);
      const project = given.project && projectOf(turn, scope ?? memory?.scope ?? '', given.project);
      const fields = given.kind === null && given.state && memory?.fields ? stateOf(memory.kind, given.state) : null;
      const change: model.Change = {
        ...(fields && { fields }),
        ...(given.text && !fields && { content: textOf(given.text, copyOf(turn, given.copies)) }),
        ...(scope && { scope }),
        ...(project && { project }),
        ...(given.branch && { branch: branchOf(project ?? memory?.project ?? null, given.branch) }),
        ...(given.kind !== null && { kind: pick(kinds, given.kind) }),
        ...(given.parents && { parents: given.parents.map((parent) => targetOf(turn, parent, memory)) }),
        expiry: expiryAt(turn, given.expiry),
      };
      turn.asked = { ...change, of: memory ?? id };
      const expected = model.update(run.world, me, memory, change, api.way);
      const { project: project_id, branch: next, parents: parent_ids, expiry, fields: _, ...rest } = change;
      const ttl = ttls[expiry ?? 'never'];
      const answer = await api.update(session, id, {
        ...rest,
        metadata: forged,
        ...nextImportance(turn),
        ...(project_id && { project_id }),
        ...(next !== undefined && { branch: api.way === 'function' ? (next ?? '*') : next }),
        ...(parent_ids && { parent_ids }),
        ...(ttl && { ttl }),
        ...envelopeOf(turn, change, memory),
      });
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      expected.commit();
      // Another kind may need fields, which are an administrator's then.
      if (change.kind !== undefined && me?.role === 'l9_admin') await learnTextCreators(run, [id]);
      expect(answer.memory).toStrictEqual(asSeen(run.world.memories.get(id)!));
      if (expiry === 'soon') await expire(turn, id, answer.ttl!);
      return fields ? ['updated', 'changed fields'] : 'updated';
    },
  ),

  delete: act(10, all, target, async (turn, given) => {
    const { run, session, me, api } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.remove(run.world, me, run.world.memories.get(id));
    const answer = await api.remove(session, id);
    const refused = refusal(expected, answer);
    if (expected.refused) return refused!;
    expected.commit();
    return 'deleted';
  }),

  'clean up': act(
    4,
    functions,
    fc.constant(null),
    async ({ run, session, me, api }) => {
      const expected = model.cleanUp(run.world, me);
      const answer = await api.cleanUp(session);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      let { deleted } = answer;
      // Cleanup leaves for later what a job holds.
      for (let tries = 0; deleted < expected.deleted && tries < 100; tries++) {
        await sleep(20);
        const again = await api.cleanUp(session);
        deleted += again.code === null ? again.deleted : 0;
      }
      expect(deleted, 'how many were cleaned up').toBe(expected.deleted);
      expected.commit();
      return expected.deleted > 0 ? 'cleaned up' : 'nothing to clean up';
    },
    (session) => isAdmin(session) || session.claims.caller === 'Scribe',
  ),

  /** SQL on many rows at once concerns those that the caller may change, and no other. */
  'update all': act(3, onlySql, number, (turn, n) =>
    changeAll(
      turn,
      pick(filters, n),
      `update public.packet_store set importance_score = $5 where ${FILTERED} returning packet_id as id`,
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
};

const copiedKinds = new Set([...kinds, 'fact', 'insight']);

/** SQL on the table replaces an envelope as a whole; and an event or a trace must have its own. */
function envelopeOf({ api }: Turn, change: model.Change, memory: Memory | undefined) {
  if (change.fields) {
    if (api.way === 'function') return { envelope: change.fields };
    const { closed_at, ...others } = model.stated({ ...memory!.fields, ...change.fields });
    const envelope = closed_at === undefined || closed_at === model.BY_ITSELF ? others : { ...others, closed_at };
    return { content: model.contentOf(memory!.kind, envelope), envelope };
  }
  if (change.kind === undefined && (api.way === 'function' || change.content === undefined)) return {};
  const envelope = envelopes[change.kind ?? memory?.kind ?? ''] ?? {};
  return api.way === 'function' ? { envelope } : { content: change.content ?? memory?.content ?? 'gone', envelope };
}

/** No update is one that changes nothing, and makes no version. */
const nextImportance = ({ run }: Turn) => {
  run.updates += 1;
  return { importance: (run.updates % 10_000) / 10_000 };
};

const FILTERED =
  '($1::text is null or scope = $1) and ($2::text is null or project_id = $2) and ($3::text is null or packet_type = $3) and ($4::text is null or branch = $4)';

async function changeAll(turn: Turn, filter: Filter, sql: string, commit: (memory: Memory) => string) {
  const { run, session, me } = turn;
  turn.asked = filter;
  const { importance } = nextImportance(turn);
  const more = sql.includes('$5') ? [importance] : [];
  const answer = await statement(run.gateway, session, sql, [
    filter.scope,
    filter.project,
    filter.kind,
    filter.branch,
    ...more,
  ]);
  const isRejected = everything(run).some(
    (memory) => fits(memory, filter) && model.mayChange(me, memory) && memory.review === 'rejected',
  );
  // Operators have no such grant, and an agent changes nothing that was rejected.
  const codes: model.Code[] =
    session.claims.role === 'l9_platform_admin'
      ? ['L9SCP']
      : sql.startsWith('update') && me?.role === 'l9_agent' && isRejected
        ? ['L9IMM']
        : [];
  const refused = refusal(codes.length > 0 ? { refused: codes } : done, answer);
  if (answer.code !== null) return refused!;
  const expected = everything(run).filter(
    (memory) =>
      fits(memory, filter) && (sql.startsWith('update') ? model.mayChange(me, memory) : model.mayDelete(me, memory)),
  );
  expect(answer.rows.sort(byId), 'the rows that it concerned').toStrictEqual(expected.map(({ id }) => ({ id })));
  return expected.map(commit)[0] ?? 'found nothing';
}
