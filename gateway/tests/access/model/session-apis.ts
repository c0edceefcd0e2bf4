// The APIs for the model-based test: any session, any operation, and answers that can be compared with the model.
import type pg from 'pg';
import { inTransaction } from '../../../src/database/index.ts';
import type { TestGateway } from '../../support/gateway.ts';
import type { Way } from '../model.ts';
import { EVERYWHERE } from './vocabulary.ts';
import type { Session } from './world.ts';

/** A memory as a caller sees it. */
export interface Seen {
  id: string;
  content: string;
  scope: string;
  project: string | null;
  branch: string | null;
  kind: string;
  creator: string;
}

export interface Stats {
  total: number;
  by_kind: Record<string, number>;
  by_scope: Record<string, number>;
  by_project: Record<string, number>;
  by_creator: Record<string, number>;
  embedded: number;
  awaiting_embedding: number;
}

/** Parameters by the names of save_memory and update_memory. `ttl: 'soon'` is a moment from now, by the database's clock. */
export type Fields = Record<string, unknown>;
export interface Filter {
  scope?: string;
  project?: string;
  branch?: string;
  kind?: string;
  /** By default what has been archived is left out; but SQL on the table shows all. */
  includesArchived?: boolean;
}

/** `code` is one of docs/reference/errors.md, also where PostgreSQL's own error comes through as it is in SQL. */
export type Answer<Done> = { code: string; text: string } | ({ code: null } & Done);

/** The answer, which must be none that refuses. */
export function accepted<Done>(answer: Answer<Done>, where = 'it'): Done {
  if (answer.code !== null) throw new Error(`${where} was refused with ${answer.code}: ${answer.text}`);
  return answer;
}

export interface SessionApi {
  name: string;
  way: Way;
  save(session: Session, fields: Fields): Promise<Answer<{ status: string; memory: Seen; ttl: Date | null }>>;
  update(session: Session, id: string, fields: Fields): Promise<Answer<{ memory: Seen; ttl: Date | null }>>;
  remove(session: Session, id: string): Promise<Answer<{ id: string }>>;
  get(session: Session, id: string): Promise<Answer<{ memory: Seen }>>;
  cleanUp(session: Session): Promise<Answer<{ deleted: number }>>;
  list(session: Session, filter: Filter): Promise<Answer<{ seen: Seen[]; count: number }>>;
  search(session: Session, query: string, mode: string, filter: Filter): Promise<Answer<{ seen: Seen[] }>>;
  stats(session: Session): Promise<Answer<{ stats: Stats }>>;
}

const errorCodes: Record<string, string> = { '42501': 'L9SCP', '23505': 'L9VAL' };

export interface Apis {
  graphql: SessionApi;
  mcp: SessionApi;
  sql: SessionApi;
  table: SessionApi;
}

export function createApis(gateway: TestGateway): Apis {
  return { graphql: graphqlApi(gateway), mcp: mcpApi(gateway), sql: functionApi(gateway), table: tableApi(gateway) };
}

// biome-ignore lint/suspicious/noExplicitAny: rows and results differ by question
export type Json = any;

const FIELDS = 'packetId content scope projectId branch kind metadata';
const fromGraphql = ({ packetId: id, content, scope, projectId: project, branch, kind, metadata }: Json): Seen => ({
  id,
  content,
  scope,
  project,
  branch,
  kind,
  creator: metadata?.creator,
});
export const camel = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]),
  );

/** Any question to GraphQL, as a session. */
export const askGraphql =
  (gateway: TestGateway) =>
  async <Done>(session: Session, query: string, variables: object, read: (data: Json) => Done) => {
    const response = await fetch(`${gateway.instance.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(session.token ? { authorization: `Bearer ${session.token}` } : {}),
      },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as Json;
    if (errors) return { code: String(errors[0].extensions?.sqlstate), text: String(errors[0].message) };
    return { code: null, ...read(data) };
  };

function graphqlApi(gateway: TestGateway): SessionApi {
  const ask = askGraphql(gateway);
  const saved = ({ status, memory }: Json) => ({ status, memory: fromGraphql(memory), ttl: null });
  return {
    name: 'GraphQL',
    way: 'function',
    save: (session, fields) =>
      ask(
        session,
        `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status memory { ${FIELDS} } } }`,
        { input: camel(fields) },
        (data) => saved(data.saveMemory),
      ),
    update: (session, packetId, fields) =>
      ask(
        session,
        `mutation ($input: UpdateMemoryInput!) { updateMemory(input: $input) { status memory { ${FIELDS} } } }`,
        { input: { packetId, ...camel(fields) } },
        (data) => saved(data.updateMemory),
      ),
    remove: (session, id) =>
      ask(session, 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }', { id }, (data) => ({
        id: data.deleteMemory.packetId,
      })),
    async get(session, id) {
      const answer = await ask(
        session,
        `query ($id: UUID!) { memoryByPacketId(packetId: $id) { ${FIELDS} } }`,
        { id },
        (data) => ({ memory: data.memoryByPacketId && fromGraphql(data.memoryByPacketId) }),
      );
      return answer.code === null && answer.memory === null ? { code: 'L9OWN', text: 'null' } : answer;
    },
    cleanUp: (session) =>
      ask(
        session,
        'mutation { deleteExpiredMemories(input: {}) { deleted } }',
        {},
        (data) => data.deleteExpiredMemories,
      ),
    list: (session, { scope, project, branch, kind, includesArchived }) =>
      ask(
        session,
        `query ($condition: MemoryCondition, $includeArchived: Boolean) {
           memories(condition: $condition, includeArchived: $includeArchived, first: 1000) { totalCount nodes { ${FIELDS} } } }`,
        {
          condition: {
            ...(scope ? { scope } : {}),
            ...(project ? { projectId: project } : {}),
            ...(branch ? { branch } : {}),
            ...(kind ? { kind } : {}),
          },
          ...(includesArchived ? { includeArchived: true } : {}),
        },
        ({ memories }) => ({ seen: memories.nodes.map(fromGraphql), count: memories.totalCount }),
      ),
    search: (session, query, mode, { scope, project, branch, kind, includesArchived }) =>
      ask(
        session,
        `query ($query: String!, $mode: SearchMode, $scopes: [String!], $kinds: [String!], $projectId: String, $branch: String,
             $includeArchived: Boolean) {
           searchMemory(query: $query, mode: $mode, k: 100, scopes: $scopes, kinds: $kinds, projectId: $projectId, branch: $branch,
             includeArchived: $includeArchived) {
             hits { packetId content scope projectId branch kind creator } } }`,
        {
          query,
          mode,
          scopes: scope && [scope],
          kinds: kind && [kind],
          projectId: project,
          branch,
          includeArchived: includesArchived,
        },
        ({ searchMemory }) => ({
          seen: searchMemory.hits.map((hit: Json) => fromGraphql({ ...hit, metadata: { creator: hit.creator } })),
        }),
      ),
    stats: (session) =>
      ask(
        session,
        '{ getMemoryStats { total byKind byScope byProject byCreator embedded awaitingEmbedding } }',
        {},
        ({ getMemoryStats: s }) => ({
          stats: {
            total: s.total,
            by_kind: s.byKind,
            by_scope: s.byScope,
            by_project: s.byProject,
            by_creator: s.byCreator,
            embedded: s.embedded,
            awaiting_embedding: s.awaitingEmbedding,
          },
        }),
      ),
  };
}

const fromMcp = ({ packet_id: id, content, scope, project_id: project, branch, kind, ...more }: Json): Seen => ({
  id,
  content,
  scope,
  project,
  branch,
  kind,
  creator: more.creator ?? more.metadata.creator,
});

/** Any call of a tool, as a session. */
export const askMcp =
  (gateway: TestGateway) =>
  async <Done>(session: Session, name: string, args: object, read: (result: Json) => Done) => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${session.apiKey}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    const { result, error } = (await response.json()) as Json;
    if (error || result.isError) {
      const text: string = error?.message ?? result.content[0].text;
      return { code: /\((\w+)\)/.exec(text)?.[1] ?? '?', text };
    }
    return { code: null, ...read(result.structuredContent) };
  };

function mcpApi(gateway: TestGateway): SessionApi {
  const ask = askMcp(gateway);
  const found = ({ hits }: Json) => ({ seen: hits.map(fromMcp) as Seen[] });
  const saved = ({ status, memory }: Json) => ({ status, memory: fromMcp(memory), ttl: null });
  return {
    name: 'MCP',
    way: 'function',
    save: (session, fields) => ask(session, 'save_memory', fields, saved),
    update: (session, packet_id, fields) => ask(session, 'update_memory', { packet_id, ...fields }, saved),
    remove: (session, packet_id) =>
      ask(session, 'delete_memory', { packet_id }, (result) => ({ id: result.packet_id })),
    get: (session, packet_id) =>
      ask(session, 'get_memory', { packet_id }, ({ memory }) => ({ memory: fromMcp(memory) })),
    cleanUp: (session) => ask(session, 'delete_expired_memories', {}, ({ deleted }) => ({ deleted })),
    // MCP has no list; a search for the word that all of them have comes to the same.
    async list(session, filter) {
      const answer = await this.search(session, EVERYWHERE, 'lexical', filter);
      return answer.code === null ? { ...answer, count: answer.seen.length } : answer;
    },
    search: (session, query, mode, { scope, project, branch, kind, includesArchived }) =>
      ask(
        session,
        'search_memory',
        {
          query,
          mode,
          k: 100,
          scopes: scope && [scope],
          kinds: kind && [kind],
          project_id: project,
          branch,
          include_archived: includesArchived,
        },
        found,
      ),
    stats: (session) => ask(session, 'get_memory_stats', {}, (stats) => ({ stats })),
  };
}

/** SQL of a session in a transaction of its own, under its role and claims. */
export const sqlOf = <T>(
  gateway: TestGateway,
  session: Session,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> => inTransaction(gateway.instance.database.pool, session.settings, work);

/** One statement of a session. */
export async function statement(
  gateway: TestGateway,
  session: Session,
  text: string,
  values: unknown[] = [],
): Promise<Answer<{ rows: Json[] }>> {
  try {
    return { code: null, rows: (await sqlOf(gateway, session, (client) => client.query(text, values))).rows };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code: errorCodes[code] ?? code, text: message };
  }
}

const columns = (row: string) =>
  `${row}.packet_id as id, ${row}.envelope ->> 'content' as content, ${row}.scope, ${row}.project_id as project, ${row}.branch,
   ${row}.packet_type as kind, ${row}.metadata ->> 'creator' as creator`;
const fromRow = ({ id, content, scope, project, branch, kind, creator }: Json): Seen => ({
  id,
  content,
  scope,
  project,
  branch,
  kind,
  creator,
});
const read = <Done>(answer: Answer<{ rows: Json[] }>, done: (rows: Json[]) => Done): Answer<Done> =>
  answer.code === null ? { code: null, ...done(answer.rows) } : answer;
const saved = ([row]: Json[]) => ({ status: row.status as string, memory: fromRow(row), ttl: row.ttl as Date | null });

const SOON = "clock_timestamp() + interval '25 milliseconds'";
/** An expression for each field, and the values of its parameters. */
function bind(fields: Fields, from: number) {
  const values: unknown[] = [];
  const bound = Object.entries(fields).map(([name, value]) => {
    if (value === 'soon') return { name, value: SOON };
    values.push(name === 'envelope' || name === 'metadata' ? JSON.stringify(value) : value);
    return { name, value: `$${from + values.length - 1}` };
  });
  return { bound, values };
}

/** The functions, as someone in psql calls them. */
function functionApi(gateway: TestGateway): SessionApi {
  const ask = (session: Session, text: string, values: unknown[] = []) => statement(gateway, session, text, values);
  const memory = `${columns('(r.memory)')}, (r.memory).ttl`;
  return {
    name: 'SQL functions',
    way: 'function',
    async save(session, fields) {
      const { bound, values } = bind(fields, 1);
      const named = bound.map(({ name, value }) => `${name} => ${value}`);
      return read(await ask(session, `select r.status, ${memory} from public.save_memory(${named}) r`, values), saved);
    },
    async update(session, id, fields) {
      const { bound, values } = bind(fields, 2);
      const named = bound.map(({ name, value }) => `${name} => ${value}`);
      const text = `select r.status, ${memory} from public.update_memory(${['$1', ...named]}) r`;
      return read(await ask(session, text, [id, ...values]), saved);
    },
    remove: async (session, id) =>
      read(await ask(session, 'select public.delete_memory($1) as id', [id]), ([row]) => row),
    get: async (session, id) =>
      read(await ask(session, `select ${columns('r')} from public.get_memory($1) r`, [id]), ([row]) => ({
        memory: fromRow(row),
      })),
    cleanUp: async (session) =>
      read(await ask(session, 'select public.delete_expired_memories() as deleted'), ([{ deleted }]) => ({
        deleted: Number(deleted),
      })),
    async list(session, filter) {
      const answer = await this.search(session, EVERYWHERE, 'lexical', filter);
      return answer.code === null ? { ...answer, count: answer.seen.length } : answer;
    },
    async search(session, text, mode, { scope, project, branch, kind, includesArchived }) {
      const vector = (await gateway.instance.embedder.embed([text]))[0]!;
      const answer = await ask(
        session,
        `select h.packet_id as id, h.content, h.scope, h.project_id as project, h.branch, h.kind, h.creator
         from public.search_memory($1, k => 100, mode => $2, scopes => $3, project_id => $4, kinds => $5,
           query_vector => (($6::real[] || array_fill(0::real, array[1536 - cardinality($6::real[])]))::extensions.vector), model => $7, branch => $8,
           include_archived => $9) r,
           unnest(r.hits) h`,
        [
          text,
          mode,
          scope ? [scope] : null,
          project ?? null,
          kind ? [kind] : null,
          vector,
          gateway.instance.embedder.model,
          branch ?? null,
          includesArchived ?? false,
        ],
      );
      return read(answer, (rows) => ({ seen: rows.map(fromRow) }));
    },
    stats: async (session) =>
      read(await ask(session, 'select to_jsonb(s) as stats from public.get_memory_stats() s'), ([row]) => row),
  };
}

/** Past the functions, straight to the table. */
function tableApi(gateway: TestGateway): SessionApi {
  const ask = (session: Session, text: string, values: unknown[] = []) => statement(gateway, session, text, values);
  const byId = (rows: Json[]) => (rows[0] ? null : { code: 'L9OWN', text: 'no row' });
  /** The columns that stand for the parameters of the functions. */
  const inColumns = ({ content, kind, importance, envelope, ...fields }: Fields): Fields => ({
    ...(importance === undefined ? {} : { importance_score: importance }),
    ...(content === undefined ? {} : { envelope: { ...(envelope as object), content } }),
    ...(kind === undefined ? {} : { packet_type: kind }),
    ...fields,
  });
  return {
    ...functionApi(gateway),
    name: 'SQL tables',
    way: 'table',
    async save(session, fields) {
      const { bound, values } = bind(inColumns(fields), 1);
      const answer = await ask(
        session,
        `insert into public.packet_store as p (${bound.map(({ name }) => name)}) values (${bound.map(({ value }) => value)})
         returning 'inserted' as status, ${columns('p')}, p.ttl`,
        values,
      );
      return read(answer, saved);
    },
    async update(session, id, fields) {
      const { bound, values } = bind(inColumns(fields), 2);
      const set = bound.map(({ name, value }) => `${name} = ${value}`);
      const answer = await ask(
        session,
        `update public.packet_store as p set ${set} where p.packet_id = $1 returning ${columns('p')}, p.ttl`,
        [id, ...values],
      );
      return (answer.code === null && byId(answer.rows)) || read(answer, saved);
    },
    async remove(session, id) {
      const answer = await ask(
        session,
        'delete from public.packet_store where packet_id = $1 returning packet_id as id',
        [id],
      );
      return (answer.code === null && byId(answer.rows)) || read(answer, ([row]) => row);
    },
    async get(session, id) {
      const answer = await ask(session, `select ${columns('p')} from public.packet_store p where p.packet_id = $1`, [
        id,
      ]);
      return (answer.code === null && byId(answer.rows)) || read(answer, ([row]) => ({ memory: fromRow(row) }));
    },
    async list(session, { scope, project, branch, kind }) {
      const answer = await ask(
        session,
        `select ${columns('p')} from public.packet_store p
         where ($1::text is null or scope = $1) and ($2::text is null or project_id = $2) and ($3::text is null or packet_type = $3)
           and ($4::text is null or branch = $4)`,
        [scope ?? null, project ?? null, kind ?? null, branch ?? null],
      );
      return read(answer, (rows) => ({ seen: rows.map(fromRow), count: rows.length }));
    },
  };
}
