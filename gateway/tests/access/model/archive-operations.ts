// Random operations on session archives: who stores, opens and finds them, and what is left of those whose memory goes.
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import {
  type Act,
  act,
  functions,
  maybe,
  number,
  oneOf,
  percent,
  project,
  projectOf,
  scope,
  scopeOf,
  target,
  targetOf,
} from './arbitraries.ts';
import { pick, type Run, refusal, type Turn } from './run.ts';
import { type Answer, accepted, askGraphql, askMcp, type Json, statement } from './session-apis.ts';
import { EVERYWHERE, words } from './vocabulary.ts';
import type { Session } from './world.ts';

/** The gateway encrypts, so that SQL alone stores no session that it knows again. */
const gateways = ({ apis }: Run) => [apis.graphql, apis.mcp];
/** Mostly of one that is there, now and then of one that was deleted, or of a memory that may have none. */
const sessionTarget = oneOf({ 'an archive': 6, 'an archive of any time': 1, 'a memory': 1 });
const NOWHERE = `cascade://${'0'.repeat(64)}`;

export const archiveActs: Record<string, Act> = {
  'store a session': act(
    7,
    gateways,
    fc.record({
      scope,
      project,
      session: fc.nat({ max: 3 }),
      word: number,
      // The session and the place of an archive that is there.
      copies: maybe(40, fc.record({ n: number, isOwn: percent(75) })),
    }),
    async (turn, given) => {
      const { run, me } = turn;
      const copied = given.copies && copiedArchive(turn, given.copies);
      const [session, summary] = copied
        ? (JSON.parse(run.world.archives.get(copied.id)!.document) as [string, string])
        : [`session-${given.session}`, `${EVERYWHERE} ${pick(words, given.word)}`];
      const scope = copied?.scope ?? scopeOf(turn, given.scope);
      const project = copied ? copied.project : projectOf(turn, scope, given.project);
      const wanted = { session, summary, scope, project };
      turn.asked = wanted;
      const expected = model.storeSession(run.world, me, wanted);
      const answer = await callStoreSession(turn, wanted);
      const refused = refusal(expected, answer);
      if (expected.refused || answer.code !== null) return refused!;
      const { status, id, pointer } = answer;
      expect(status).toBe(expected.status);
      if (expected.status === 'skipped_dedupe') {
        expect({ id, pointer }, 'the first one again').toStrictEqual({
          id: expected.memory.id,
          pointer: expected.pointer,
        });
        return 'session known';
      }
      expect(run.world.memories.has(id), 'a new id').toBe(false);
      expected.commit(id, pointer);
      return 'session stored';
    },
  ),

  'open a session': act(5, functions, fc.record({ n: number, of: sessionTarget, target }), async (turn, given) => {
    const { run, me } = turn;
    const ids = {
      'an archive': archived(run).map(({ id }) => id),
      'an archive of any time': [...run.world.archives.keys()],
      'a memory': [targetOf(turn, given.target)],
    }[given.of];
    const id = pick(ids.length > 0 ? ids : ['none'], given.n);
    const memory = run.world.memories.get(id);
    const archive = run.world.archives.get(id);
    turn.asked = memory ?? { id };
    const expected = model.get(me, archive && memory);
    const answer = await callOpenSession(turn, archive?.pointer ?? NOWHERE);
    const refused = refusal(expected, answer);
    if (expected.refused || answer.code !== null) return refused!;
    if (answer.session)
      expect(answer.session, 'the session as it was stored').toStrictEqual(JSON.parse(archive!.document));
    return 'session opened';
  }),

  'find sessions': act(4, functions, maybe(50, number), async (turn, n) => {
    const { run, me } = turn;
    const word = n === null ? null : pick(words, n);
    turn.asked = { word };
    const answer = await callFindSessions(turn, word);
    const mayNot: model.Code[] | null =
      me === null ? ['L9AUT', 'L9SCP'] : me.role === 'l9_platform_admin' ? ['L9SCP'] : null;
    const refused = refusal({ refused: mayNot }, answer);
    if (answer.code !== null) return refused!;
    const expected = model
      .visibleArchives(run.world, me)
      .filter(({ kind, content }) => word === null || (kind === 'session' && content.toLowerCase().includes(word)));
    expect(answer.pointers.sort(), 'the sessions that the caller can read').toStrictEqual(
      expected.map(({ id }) => run.world.archives.get(id)!.pointer).sort(),
    );
    return expected.length > 0 ? 'sessions found' : 'found nothing';
  }),
};

function copiedArchive({ run, me }: Turn, { n, isOwn }: { n: number; isOwn: boolean }): Memory | undefined {
  const all = archived(run);
  const own = all.filter(
    ({ tenant, org, user, creator }) =>
      tenant === me?.tenant && org === me.org && user === me.user && creator === me.creator,
  );
  const among = isOwn && own.length > 0 ? own : all;
  return among.length > 0 ? pick(among, n) : undefined;
}

const archived = ({ world }: Run): Memory[] => [...world.memories.values()].filter(({ id }) => world.archives.has(id));

async function callStoreSession(
  { run, session, api }: Turn,
  { session: session_id, summary, scope, project }: model.SessionToStore,
): Promise<Answer<{ status: string; id: string; pointer: string }>> {
  const given = { session: { session_id, summary }, scope };
  const read = ({ status, packet_id, packetId, pointer }: Json) => ({ status, id: packet_id ?? packetId, pointer });
  if (api === run.apis.mcp) {
    const args = { ...given, ...(project === null ? {} : { project_id: project }) };
    return askMcp(run.gateway)(session, 'store_session_to_cascade', args, read);
  }
  const query = `mutation ($input: StoreSessionToCascadeInput!) {
    storeSessionToCascade(input: $input) { status packetId pointer } }`;
  const input = { ...given, ...(project === null ? {} : { projectId: project }) };
  return askGraphql(run.gateway)(session, query, { input }, (data) => read(data.storeSessionToCascade));
}

/** The session id and the summary; null in SQL, which hands out the bytes and their wrapped key. */
async function callOpenSession(
  { run, session, api }: Turn,
  pointer: string,
): Promise<Answer<{ session: [string, string] | null }>> {
  const read = ({ session_id, summary }: Json) => ({ session: [session_id, summary] as [string, string] });
  if (api === run.apis.mcp)
    return askMcp(run.gateway)(session, 'retrieve_session_from_cascade', { pointer }, ({ session_data }) =>
      read(session_data),
    );
  if (api === run.apis.graphql) {
    const query = 'query ($pointer: String!) { retrieveSessionFromCascade(pointer: $pointer) { sessionData } }';
    return askGraphql(run.gateway)(session, query, { pointer }, ({ retrieveSessionFromCascade: { sessionData } }) =>
      read(sessionData),
    );
  }
  const text =
    'select octet_length(blob) as bytes, octet_length(wrapped_key) as key from archive.open_session_archive($1, true)';
  const answer = await statement(run.gateway, session, text, [pointer]);
  if (answer.code !== null) return answer;
  expect(answer.rows).toStrictEqual([{ bytes: expect.any(Number), key: 60 }]);
  return { code: null, session: null };
}

async function callFindSessions(
  { run, session, api }: Turn,
  word: string | null,
): Promise<Answer<{ pointers: string[] }>> {
  const given = { limit: 100, ...(word === null ? {} : { query: word }) };
  const read = (rows: Json[]) => ({ pointers: rows.map(({ pointer }) => pointer as string) });
  if (api === run.apis.mcp)
    return askMcp(run.gateway)(session, 'query_cascade_memories', given, ({ sessions }) => read(sessions));
  if (api === run.apis.graphql) {
    const query =
      'query ($query: String, $limit: Int) { queryCascadeMemories(query: $query, limit: $limit) { pointer } }';
    return askGraphql(run.gateway)(session, query, given, ({ queryCascadeMemories }) => read(queryCascadeMemories));
  }
  const text = 'select pointer from public.query_cascade_memories($1, "limit" => 100)';
  const answer = await statement(run.gateway, session, text, [word]);
  return answer.code === null ? { code: null, ...read(answer.rows) } : answer;
}

/** The rows of the table of archives that a session sees in SQL. */
export async function compareArchives({ gateway, world }: Run, session: Session, me: model.Identity | null) {
  const { rows } = accepted(await statement(gateway, session, SEEN), session.name);
  const expected = model.visibleArchives(world, me).map(({ id, scope, project, creator }) => ({
    id,
    pointer: world.archives.get(id)!.pointer,
    scope,
    project,
    creator,
  }));
  expect(rows, `${session.name}: the archives`).toStrictEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
}

const SEEN =
  'select packet_id as id, pointer, scope, project_id as project, creator from public.session_archives order by packet_id';

/** What a superuser sees: archives are where their memories are, and each has its bytes and its key, and nothing else has. */
export async function compareArchiveTables({ gateway, world }: Run) {
  const [{ ids, strays, bytes, keys }] = await gateway.asSuperuser(`
    select array(select a.packet_id::text from public.session_archives a order by 1) as ids,
      array(select a.packet_id::text from public.session_archives a join public.packet_store p using (packet_id)
        where (a.tenant_id, a.org_id, a.user_id, a.scope, a.project_id, a.ttl, a.creator)
          is distinct from (p.tenant_id, p.org_id, p.user_id, p.scope, p.project_id, p.ttl, p.metadata ->> 'creator')) as strays,
      array(select a.packet_id::text from public.archive_blobs b left join public.session_archives a using (archive_id) order by 1) as bytes,
      array(select a.packet_id::text from archive.wrapped_keys w left join public.session_archives a using (archive_id) order by 1) as keys`);
  const expected = [...world.memories.keys()].filter((id) => world.archives.has(id)).sort();
  expect({ ids, strays, bytes, keys }, 'what is in the tables of archives').toStrictEqual({
    ids: expected,
    strays: [],
    bytes: expected,
    keys: expected,
  });
}
