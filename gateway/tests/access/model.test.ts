// Random callers of random tenants, orgs, users, projects and scopes call random operations through every API. A simple
// model of the access rules (model.ts) predicts each answer, what the caller can read afterwards and, periodically, what
// every caller can read and what the tables contain.

import fc from 'fast-check';
import { engine } from '../../../db/tests/support/engine.ts';
import { retryDeadlocks } from '../../src/database/transaction.ts';
import { startTestGateway } from '../support/gateway.ts';
import { compareArchives, compareArchiveTables } from './model/archive-operations.ts';
import { compareKnowledge, compareSeen, compareSeenInGraphql } from './model/knowledge-world.ts';
import { type Operation, operation, perform, turnFor } from './model/operations.ts';
import { apisOf, compareList, compareStats, createApis, heardOf, pick, type Run, same, turnOf } from './model/run.ts';
import { accepted, statement } from './model/session-apis.ts';
import { embedAll, embedder } from './model/vocabulary.ts';
import { populate, type Session } from './model/world.ts';
import * as model from './model.ts';

const seed = Number(process.env.MODEL_SEED || Date.now() % 1_000_000_000);
// In WebAssembly each takes several times as long.
const count = Number(process.env.MODEL_OPERATIONS || (engine === 'server' ? 400 : 250));
const TIME_LIMIT_MS = Math.max(900_000, count * 2_000);
const COMPARE_ALL_EVERY = 25;
const MEMORY_ID = /01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
// A search returns at most 100 hits and has to find all memories that a caller can read.
const MOST_MEMORIES = 90;

/** The minimum number of each outcome in 2,400 operations; with fewer the run would prove little. */
const atLeast: Record<string, number> = {
  inserted: 150,
  skipped_dedupe: 15,
  'the first answer again': 3,
  updated: 50,
  deleted: 40,
  'cleaned up': 3,
  found: 75,
  told: 20,
  counted: 20,
  visible: 5,
  'not visible': 5,
  changed: 3,
  deactivated: 2,
  reactivated: 1,
  derived: 100,
  'summed up': 12,
  retracted: 4,
  erased: 4,
  explored: 2,
  'found facts': 2,
  'found by relations': 2,
  archived: 40,
  cited: 20,
  superseded: 5,
  'changed fields': 5,
  'nothing stored': 12,
  'found citations': 5,
  'found archived': 3,
  'suggested kind': 20,
  'suggested archived': 5,
  'suggested branch': 5,
  'suggested spelling': 6,
  'session stored': 20,
  'session known': 5,
  'session opened': 5,
  'sessions found': 10,
  'rule set': 15,
  'rules deleted': 4,
  waits: 3,
  approved: 15,
  rejected: 10,
  merged: 2,
  undone: 5,
  edited: 2,
  'a rejection expired': 2,
  'found what waits': 5,
  L9IMM: 5,
  L9SCP: 150,
  L9OWN: 200,
  L9VAL: 80,
  L9AUT: 40,
  GraphQL: 250,
  MCP: 200,
  'SQL functions': 400,
  'SQL tables': 400,
};

let mostContexts = 0;

/** What has come too seldom for this number of operations, with half the share as leeway. A run of less than 400 says nothing of it. */
function missing(all: Readonly<Record<string, number>>): string[] {
  if (count < 400) return [];
  // A short run may have one context only.
  const contexts = mostContexts < (count >= 2_400 ? 2 : 1) ? ['contexts to speak of'] : [];
  const lacks = ([what, n]: [string, number]) => (all[what] ?? 0) < Math.floor((n * count) / 2_400 / 2);
  return [
    ...contexts,
    ...Object.entries(atLeast)
      .filter(lacks)
      .map(([what]) => what),
  ];
}

const replay = (operations: number) =>
  `${engine === 'server' ? 'TEST_DATABASE_URL=… ' : ''}MODEL_SEED=${seed} MODEL_OPERATIONS=${operations} npm test -- gateway/tests/access/model.test.ts`;

describe('the access rules', () => {
  let run: Run;
  beforeAll(async () => {
    const gateway = await startTestGateway({ embedder });
    run = {
      gateway,
      ...(await populate(gateway)),
      apis: createApis(gateway),
      gone: [NEVER_THERE],
      updates: 0,
      keyed: new Map(),
    };
    for (const session of run.sessions) await heardOf(run, session);
    // By the clock, at any moment: the model would not know of it.
    await gateway.asSuperuser('revoke execute on function memories.delete_expired_batch(integer) from l9_worker');
  });
  afterAll(() => run?.gateway.close());

  it(
    `matches a model of the access rules over ${count} random operations (MODEL_SEED=${seed})`,
    async () => {
      // One long sequence instead of many short ones that fast-check could shrink, because a new database takes too long.
      // A short run goes on for as long as an outcome is still missing: each run draws its own.
      const operations = fc.sample(operation, { seed, numRuns: 2 * count });
      const told: string[] = [];
      const tally: Record<string, Record<string, number>> = {};
      const came = (what: string, of: string) => {
        tally[what] = { ...tally[what], [of]: (tally[what]?.[of] ?? 0) + 1 };
      };

      for (const [index, one] of operations.entries()) {
        if (index >= count && missing(tally.all ?? {}).length === 0) break;
        const turn = turnFor(run, one);
        const tell = (outcome: string) =>
          told.push(
            `${index + 1}. ${turn.session.name}, through ${turn.api.name}: ${one.act} ${JSON.stringify(turn.asked)}: ${outcome}`,
          );
        try {
          const outcome = await perform(turn, one);
          tell(outcome.join(', '));
          for (const part of outcome) {
            came(one.act, part);
            came('all', part);
          }
          came('all', turn.api.name);
          await compareOwnView(turn.session, one);
          if ((index + 1) % COMPARE_ALL_EVERY === 0 || index === count - 1) await compareAll(index);
          await makeRoom();
        } catch (error) {
          tell('failed, or what came after it did');
          const { message: what } = error as Error;
          const subjects = [...new Set(`${/memory [0-9a-f-]{36} /.exec(what)} ${told.at(-1)}`.match(MEMORY_ID))];
          const lines = told.filter((line, n) => n >= told.length - 12 || subjects.some((id) => line.includes(id)));
          const inModel = subjects.map((id) => JSON.stringify(run.world.memories.get(id) ?? `${id} is not there`));
          const message = `operation ${index + 1}: ${what}\n\n${lines.join('\n')}\n\nIn the model:\n${inModel.join('\n')}\n\nTo repeat it: ${replay(index + 1)}\n`;
          throw new Error(message, { cause: error });
        }
      }
      const { all, ...acts } = tally;
      const list = (counts: object) =>
        Object.entries(counts)
          .map(([name, n]) => `${name} ${n}`)
          .join(', ');
      for (const act of Object.keys(acts).sort()) console.log(`${act}: ${list(acts[act]!)}`);
      console.log(`in all: ${list(all!)}`);
      expect(missing(all ?? {}), replay(count)).toStrictEqual([]);
    },
    TIME_LIMIT_MS,
  );

  /** Compares what the caller of the last operation can read now, through one of the APIs. */
  async function compareOwnView(session: Session, { view }: Operation) {
    // Most often through the cheapest.
    const turn = turnOf(run, session, pick([run.apis.table, run.apis.table, ...apisOf(run, session)], view));
    await (turn.api.way === 'function' && view % 7 === 0
      ? compareStats(turn)
      : compareList(turn, { includesArchived: view % 3 === 0 }));
  }

  /** Compares what every caller can read, and what the tables contain. */
  async function compareAll(index: number) {
    await embedAll(run.gateway);
    await compareTables(run);
    await compareArchiveTables(run);
    const knowledge = await compareKnowledge(run);
    await run.gateway.asSuperuser('set role l9_worker; call public.refresh_memory_views(); reset role');
    const turns = Math.floor(index / COMPARE_ALL_EVERY);
    for (const [place, session] of run.sessions.entries()) {
      const me = model.identityOf(run.world, session.claims);
      const expected = me ? model.visible(run.world, me) : [];
      const answer = await statement(run.gateway, session, seenInSql(session));
      const { memories, typed, versions, vectors, contexts, scopes, keys } = accepted(answer, session.name).rows[0];
      same(memories, expected, `${session.name}: the table`);
      const counting = expected.filter((memory) => !model.isWithheld(memory));
      expect(typed, `${session.name}: the views of todos and decisions`).toStrictEqual(
        Object.fromEntries(
          counting.flatMap(({ id, fields }) => (fields ? [[id, [fields.text ?? fields.title, fields.status]]] : [])),
        ),
      );
      expect(vectors, `${session.name}: the vectors`).toStrictEqual(counting.map(({ id }) => id).sort());
      const seen = new Set(expected.map(({ id }) => id));
      for (const ids of contexts) {
        expect(
          ids.every((id: string) => seen.has(id)),
          `${session.name}: a context of hidden memories`,
        ).toBeTruthy();
      }
      const reads =
        me?.role === 'l9_platform_admin' ? run.world.tenants.flatMap(({ scopes }) => [...scopes.keys()]) : me?.reads;
      expect(scopes, `${session.name}: the scopes`).toStrictEqual((reads ?? []).sort());
      expect(versions, `${session.name}: the versions`).toStrictEqual(
        Object.fromEntries(
          expected
            .map((memory) => [memory.id, model.seenVersions(me, memory)] as const)
            .filter(([, seen]) => seen.length > 0),
        ),
      );
      const own = [...run.world.answers.keys()].map((key) => JSON.parse(key) as (string | null)[]);
      expect(keys, `${session.name}: the idempotency keys`).toStrictEqual(
        own
          .flatMap(([tenant, caller, org, user, key]) =>
            me && tenant === me.tenant && caller === me.caller && org === me.org && user === me.user ? [key!] : [],
          )
          .sort(),
      );

      if (me) {
        const [{ traced, visible }] = accepted(await statement(run.gateway, session, TRACED), session.name).rows;
        expect(traced, `${session.name}: a trace`).toStrictEqual(visible);
        expect(
          traced.every((id: string) => seen.has(id)),
          `${session.name}: a trace of hidden memories`,
        ).toBeTruthy();
        const [{ found, readable }] = accepted(await statement(run.gateway, session, FILTERED), session.name).rows;
        expect(found, `${session.name}: memories by a field`).toStrictEqual(readable);
      }
      if (me && me.role !== 'l9_platform_admin') {
        const [sums] = accepted(await statement(run.gateway, session, SUMMED), session.name).rows;
        expect([sums.mentions, sums.relations], `${session.name}: sums of relations`).toStrictEqual([
          sums.mentionsSeen,
          sums.relationsSeen,
        ]);
        expect(sums.dated, `${session.name}: counts by day`).toBe(sums.datedSeen);
        expect(sums.reflections, `${session.name}: counts of reflections`).toStrictEqual(sums.reflectionsSeen);
      }
      await compareSeen(run, session, knowledge);
      await compareArchives(run, session, me);

      // And, by turns, through another API.
      if (me && (turns + place) % 6 === 0) await compareSeenInGraphql(run, session, knowledge);
      if (me === null || (turns + place) % 3 !== 0) continue;
      const views = apisOf(run, session).flatMap((api) =>
        api.way === 'function'
          ? [() => compareList(turnOf(run, session, api)), () => compareStats(turnOf(run, session, api))]
          : [],
      );
      await pick(views, Math.floor((turns + place) / 3))();
    }
  }

  /** Deletes memories, so that no caller can read more than a search can return. */
  async function makeRoom() {
    const all = [...run.world.memories.values()];
    if (all.length <= MOST_MEMORIES) return;
    const ids = all.filter((_, place) => place % 2 === 0).map(({ id }) => id);
    // Jobs of the gateway lock some of these rows too.
    await retryDeadlocks(() =>
      run.gateway.asSuperuser('delete from public.packet_store where packet_id = any ($1)', [ids]),
    );
    for (const id of ids) model.forget(run.world, id);
  }
});

/** The memories whose rows trace_of() shows, and those of this trace that the table shows. */
const TRACED = `
  select array(select distinct t.packet_id from public.trace_of('the trace', 10000) t order by t.packet_id) as traced,
    array(select p.packet_id from public.packet_store p where p.trace_id = 'the trace' and p.withheld_creator is null order by p.packet_id) as visible`;
/** The memories that a condition on fields finds which all of them satisfy. */
const FILTERED = `
  select array(select unnest((search.find_where('{"nothing": {"exists": false}}')).packet_ids) order by 1) as found,
    array(select p.packet_id from public.packet_store p order by 1) as readable`;
/** What the views that sum up say, and the sums of what the tables show. */
const SUMMED = `
  select (select coalesce(sum(g.total_mentions), 0)::int from public.entity_graph(k => 500) g) as mentions,
    (select coalesce(sum(e.mention_count), 0)::int from public.entity_relationships e) as "mentionsSeen",
    (select coalesce(sum(g.relationship_count), 0)::int from public.entity_graph(k => 500) g) as relations,
    (select count(*)::int from public.entity_relationships e) as "relationsSeen",
    (select coalesce(sum(d.memories + d.events + d.sessions), 0)::int from public.memory_days('-infinity') d) as dated,
    (select count(*)::int from public.packet_store p where p.archived_at is null or p.archived_at > now()) as "datedSeen",
    (select coalesce(jsonb_object_agg(r.reflection_type, r.count), '{}') from public.reflection_patterns() r) as reflections,
    (select coalesce(jsonb_object_agg(r.reflection_type, r.count), '{}') from (
       select reflection_type, count(*) from public.reflection_store group by 1) r) as "reflectionsSeen"`;
const NEVER_THERE = '01900000-0000-7000-8000-000000000000';

const versionsOf = (where: string) => `
  (select coalesce(jsonb_agg(jsonb_build_object('content', v.envelope ->> 'content', 'scope', v.scope, 'project', v.project_id,
     'branch', v.branch, 'kind', v.packet_type, 'creator', v.metadata ->> 'creator', 'updatedBy', v.metadata -> 'updated_by' ->> 'caller', 'review', v.review_state) order by v.version_id), '[]')
   from public.packet_versions v where ${where})`;

const seenInSql = ({ claims }: Session) => `
  select
    (select coalesce(jsonb_agg(jsonb_build_object('id', p.packet_id, 'content', p.envelope ->> 'content', 'scope', p.scope,
       'project', p.project_id, 'branch', p.branch, 'kind', p.packet_type, 'creator', p.metadata ->> 'creator')), '[]') from public.packet_store p) as memories,
    (select coalesce(jsonb_object_agg(t.packet_id, jsonb_build_array(t.text, t.status)), '{}') from public.todos t)
      || (select coalesce(jsonb_object_agg(d.packet_id, jsonb_build_array(d.title, d.status)), '{}') from public.decisions d) as typed,
    (select coalesce(jsonb_object_agg(packet_id, ${versionsOf('v.packet_id = changed.packet_id')}), '{}')
       from (select distinct packet_id from public.packet_versions) as changed) as versions,
    (select coalesce(jsonb_agg(e.packet_id order by e.packet_id), '[]') from public.memory_embeddings e where e.embedding_type = 'content') as vectors,
    (select coalesce(jsonb_agg(jsonb_build_array(c.packet_id, c.predecessor_id, coalesce(e.packet_id, c.packet_id))), '[]')
       from public.memory_contexts c full join (
         select * from public.memory_embeddings e where e.embedding_type = 'context') e using (context_id)) as contexts,
    (select coalesce(jsonb_agg(s.scope order by s.scope collate "C"), '[]') from public.scopes s) as scopes,
    ${
      // Operators can't look at them at all.
      claims.role === 'l9_platform_admin'
        ? "'[]'::jsonb"
        : `(select coalesce(jsonb_agg(k.idempotency_key order by k.idempotency_key collate "C"), '[]') from public.idempotency_keys k)`
    } as keys`;

/** What is really in the tables, for a superuser to see. */
async function compareTables({ gateway, world }: Run) {
  const [{ memories, answers, strays, stale, contexts }] = await gateway.asSuperuser(
    `
      select
        (select coalesce(jsonb_agg(jsonb_build_object(
            'id', p.packet_id, 'tenant', p.tenant_id, 'org', p.org_id, 'user', p.user_id, 'scope', p.scope, 'project', p.project_id,
            'branch', p.branch, 'kind', p.packet_type, 'content', p.envelope ->> 'content', 'creator', p.metadata ->> 'creator',
            'updatedBy', p.metadata -> 'updated_by' ->> 'caller', 'review', p.review_state, 'textCreator', p.text_creator,
            'parents', (select coalesce(jsonb_agg(id order by id), '[]') from unnest(p.parent_ids) id),
            'fields', case when p.packet_type = any ($1) then p.envelope - 'content' || case
              -- Tests give dates; a time of day is what a todo got by itself.
              when p.envelope ->> 'closed_at' like '%T%' then jsonb_build_object('closed_at', $2::text) else '{}' end end,
            'isArchived', coalesce(p.archived_at <= now(), false), 'isExpired', coalesce(p.ttl <= now(), false), 'versions', ${versionsOf('v.packet_id = p.packet_id')}) order by p.packet_id), '[]')
          from public.packet_store p) as memories,
        (select coalesce(jsonb_object_agg(jsonb_build_array(k.tenant_id, k.caller, k.acting_org_id, k.acting_user_id, k.idempotency_key)::text,
            jsonb_build_object('status', k.status, 'id', k.packet_id)), '{}')
          from public.idempotency_keys k) as answers,
        (select coalesce(jsonb_agg(e.packet_id), '[]') from public.memory_embeddings e join public.packet_store p using (packet_id)
          where (e.tenant_id, e.org_id, e.user_id, e.scope, e.project_id, e.branch, e.ttl)
            is distinct from (p.tenant_id, p.org_id, p.user_id, p.scope, p.project_id, p.branch, p.ttl)
            and e.embedding_type = 'content') as strays,
        (select coalesce(jsonb_agg(c.packet_id), '[]')
          from public.memory_contexts c
          join public.packet_store p using (packet_id)
          left join public.packet_store b on b.packet_id = c.predecessor_id
          left join public.memory_embeddings e on e.context_id = c.context_id
          where (c.tenant_id, c.org_id, c.user_id, c.scope, c.project_id, c.branch, c.ttl, p.thread_id, c.context)
            is distinct from (p.tenant_id, p.org_id, p.user_id, p.scope, p.project_id, p.branch, least(p.ttl, b.ttl), b.thread_id,
              embeddings.context_text(b.envelope ->> 'content', p.envelope ->> 'content'))
            or not embeddings.is_same_thread(b, p)
            or (e.tenant_id, e.org_id, e.user_id, e.scope, e.project_id, e.branch, e.ttl)
              is distinct from (c.tenant_id, c.org_id, c.user_id, c.scope, c.project_id, c.branch, c.ttl)) as stale,
        (select count(*) from public.memory_contexts) as contexts`,
    [model.kindsWithFields, model.BY_ITSELF],
  );
  const there = new Map((memories as { id: string }[]).map((memory) => [memory.id, memory]));
  for (const memory of world.memories.values())
    expect(there.get(memory.id), `memory ${memory.id} of packet_store is, and should be`).toStrictEqual({
      ...memory,
      isArchived: model.isArchived(memory),
    });
  expect([...there.keys()].sort(), 'what is in packet_store').toStrictEqual([...world.memories.keys()].sort());
  const expected = [...world.answers].map(([key, { status, id }]) => [JSON.parse(key).join(' '), { status, id }]);
  const actual = Object.entries(answers).map(([key, answer]) => [JSON.parse(key).join(' '), answer]);
  expect(Object.fromEntries(actual), 'the idempotency keys').toStrictEqual(Object.fromEntries(expected));
  expect(strays, 'vectors that do not belong where their memory does').toStrictEqual([]);
  expect(stale, 'contexts that are not of the two memories as they are').toStrictEqual([]);
  mostContexts = Math.max(mostContexts, Number(contexts));
}
