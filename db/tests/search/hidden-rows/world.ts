// A tenant whose memories of one project every reader can read, places for memories that some readers can't read, and the readers.
import pg from 'pg';
import { embedPending, serveModel, wordModel } from '../../support/embeddings.ts';
import { expireMemories } from '../../support/memories.ts';
import { type Claims, DEFAULT_TENANT } from '../../support/sessions.ts';
import { addTenant } from '../../support/tenants.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { ENTITIES, type Random, sentence, TOPICS } from './texts.ts';

/** Who writes a memory, and where to. */
export interface Place {
  name: string;
  caller: string;
  claims: Claims;
  scope: string;
  projectId: string | null;
  /** Whether what is written there expires at once. */
  expires?: boolean;
}

export interface Reader {
  name: string;
  /** The hidden places of this world that it can read after all. */
  reads: string[];
  /** Runs statements as the reader, in one transaction, so that now() stands still. */
  session<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T>;
}

export interface Draft {
  content: string;
  kind?: string;
  tags?: string[];
  thread_id?: string;
}

export interface World {
  db: TestDatabase;
  readers: Reader[];
  places: Record<'expired' | 'otherTenant' | 'private' | 'otherUser' | 'otherOrg' | 'otherProject', Place>;
  /** The memories that every reader can read, the oldest first. */
  visible: { id: string; content: string }[];
  close(): Promise<void>;
}

export const PROJECT = 'p1';
const USER = '11111111-1111-4111-8111-111111111111';
const OTHER_USER = '22222222-2222-4222-8222-222222222222';
const OTHER_ORG = '33333333-3333-4333-8333-333333333333';

export const model = wordModel(TOPICS, 0.3);

const everyone: Place = { name: 'the project', caller: 'C', claims: {}, scope: 'developer', projectId: PROJECT };

/** A world in a database of its own, with more memories in the project that every reader can read. */
export async function openWorld(random: Random, more: readonly Draft[] = []): Promise<World> {
  const db = await openTestDatabase();
  await serveModel(db, model);
  const inProject = { scope: 'developer', projectId: PROJECT };
  const places: World['places'] = {
    expired: { name: 'expired memories', caller: 'C', claims: {}, ...inProject, expires: true },
    otherTenant: {
      name: 'another tenant',
      caller: 'C',
      claims: await addTenant(db, 'neighbour', { sharesIndexes: true }),
      ...inProject,
    },
    private: { name: 'another scope', caller: 'L', claims: {}, scope: 'l-private', projectId: PROJECT },
    otherUser: { name: 'another user', caller: 'C', claims: { 'jwt.claims.user_id': OTHER_USER }, ...inProject },
    otherOrg: { name: 'another org', caller: 'C', claims: { 'jwt.claims.org_id': OTHER_ORG }, ...inProject },
    otherProject: { name: 'another project', caller: 'C', claims: {}, scope: 'developer', projectId: 'p2' },
  };

  const visible = await fillProject(db, random, more);
  await saveAll(
    db,
    { ...everyone, claims: { 'jwt.claims.user_id': USER } },
    Array.from({ length: 20 }, () => ({ content: sentence(random) })),
  );
  await saveAll(
    db,
    places.private,
    Array.from({ length: 20 }, () => ({ content: sentence(random) })),
  );
  await freezeTimes(db);
  await embedPending(db, model);
  const login = await addLogin(db);

  const as = (name: string, caller: string, claims: Claims, reads: string[]): Reader => ({
    name,
    reads,
    session: (work) => db.asCaller(caller, work, claims),
  });
  const readers: Reader[] = [
    as('an agent', 'C', {}, ['another project']),
    as('an agent limited to one project', 'C', { 'jwt.claims.projects': `["${PROJECT}"]` }, []),
    as('an agent of a user', 'C', { 'jwt.claims.user_id': USER }, ['another project']),
    as('an administrator', 'L', {}, ['another project', 'another scope', 'another user', 'another org']),
    { name: 'the login of an agent', reads: ['another project'], session: login.session },
  ];
  return {
    db,
    readers,
    places,
    visible,
    async close() {
      await login.drop();
      await db.close();
    },
  };
}

async function fillProject(db: TestDatabase, random: Random, more: readonly Draft[]): Promise<World['visible']> {
  const drafts: Draft[] = Array.from({ length: 200 }, (_, n) => ({
    content: sentence(random),
    kind: ['note', 'finding', 'errand'][n % 3]!,
    tags: [['red'], ['red', 'blue'], []][n % 3]!,
    ...(n % 4 === 0 && { thread_id: `thread ${n % 5}` }),
  }));
  // The two words that an attacker compares, each in one memory, and nearly the same text several times.
  drafts.push({ content: 'pad merger pad' }, { content: 'pad zxq81k pad' });
  for (const n of [1, 2, 3]) drafts.push({ content: `${sentence(() => 0.5)} again in round ${n}` });
  const ids = await saveAll(db, everyone, [...drafts, ...more]);
  const shared = { ...everyone, scope: 'global', projectId: null };
  const globals = Array.from({ length: 20 }, () => ({ content: sentence(random) }));
  const globalIds = await saveAll(db, shared, globals);
  for (let n = 0; n < 4; n++) await addKnowledge(db, everyone, random, n);
  return [
    ...[...drafts, ...more].map(({ content }, n) => ({ id: ids[n]!, content })),
    ...globals.map(({ content }, n) => ({ id: globalIds[n]!, content })),
  ];
}

/** Saves memories in one statement, in which all triggers of the table fire; returns their ids. */
export async function saveAll(db: TestDatabase, place: Place, drafts: readonly Draft[]): Promise<string[]> {
  const rows = await db.sql(
    place.caller,
    `insert into public.packet_store (packet_type, envelope, tags, thread_id, project_id, branch, scope)
     select coalesce(d.kind, 'note'), jsonb_build_object('content', d.content), coalesce(d.tags, '{}'), d.thread_id, $2,
       case when $2::text is not null and hashtext(d.content) % 3 = 0 then 'main' end, $3
     from jsonb_to_recordset($1) as d (content text, kind text, tags text[], thread_id text)
     on conflict do nothing
     returning packet_id`,
    [JSON.stringify(drafts), place.projectId, place.scope],
    place.claims,
  );
  const ids = rows.map(({ packet_id }) => packet_id as string);
  if (place.expires) await expireMemories(db, ids);
  return ids;
}

/** A lesson, a relation and a fact, about entities of which other places also know something. */
export async function addKnowledge(db: TestDatabase, place: Place, random: Random, n: number): Promise<void> {
  const one = ENTITIES[n % ENTITIES.length]!;
  const other = ENTITIES[(n + 1) % ENTITIES.length]!;
  const own = { scope: place.scope, project_id: place.projectId };
  const call = (statement: string, values: unknown[]) =>
    db.sql(place.caller, statement, [...values, own.scope, own.project_id], place.claims);
  await call("select public.reflect($1, tags => '{red}', scope => $2, project_id => $3)", [
    `${sentence(random)} taught ${one}`,
  ]);
  await call("select public.relate($1, 'uses', $2, scope => $3, project_id => $4)", [one, other]);
  await call("select public.assert_fact($1, 'likes', to_jsonb($2::text), scope => $3, project_id => $4)", [
    one,
    TOPICS[Math.floor(random() * TOPICS.length)],
  ]);
}

/**
 * Dates all new memories so far back that neither their recency nor the age in their importance changes any more, because the
 * clock moves on between two answers that have to be equal. Some are dated the same.
 */
export const freezeTimes = (db: TestDatabase) =>
  db.inSuperuserSession(async (client) => {
    await client.query('set session_replication_role = replica');
    await client.query(
      `update public.packet_store p set "timestamp" = timestamptz '1900-01-01' + o.place / 3 * interval '1 minute'
       from (
         select packet_id, row_number() over (order by packet_id) as place from public.packet_store
       ) o
       where o.packet_id = p.packet_id and p."timestamp" > '2000-01-01'`,
    );
    await client.query('reset session_replication_role');
  });

async function addLogin(db: TestDatabase): Promise<{ session: Reader['session']; drop(): Promise<void> }> {
  const login = `l9t_reader_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  await db.asSuperuser(`create role ${login} login in role l9_agent`);
  await db.asOwner("select public.register_actor('Reader', creator => 'Reader', tenant_id => $1)", [DEFAULT_TENANT]);
  await db.asOwner('select public.bind_login($1, $2)', ['Reader', login]);
  // On a server this login keeps one session for all questions, because each new session plans every statement again.
  const client = db.superuserUrl ? new pg.Client({ connectionString: db.superuserUrl }) : null;
  await client?.connect();
  await client?.query(`set session authorization ${login}`);
  const asAgent = async <T>(of: pg.ClientBase, work: (client: pg.ClientBase) => Promise<T>) => {
    await of.query('begin; set local role l9_agent');
    return work(of);
  };
  return {
    session: (work) =>
      client
        ? asAgent(client, work).finally(() => client.query('rollback'))
        : db.asLogin(login, (own) => asAgent(own, work)),
    async drop() {
      await client?.end();
      // It belongs to the whole server.
      await db.asSuperuser(`drop role ${login}`);
    },
  };
}
