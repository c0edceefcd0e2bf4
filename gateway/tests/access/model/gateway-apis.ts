// What a session can do through GraphQL and MCP, with answers that can be compared with the model.
import type { TestGateway } from '../../support/gateway.ts';
import { askGraphql, askMcp, camel, type Json, type Seen, type SessionApi } from './session-apis.ts';
import { EVERYWHERE } from './vocabulary.ts';

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

export function graphqlApi(gateway: TestGateway): SessionApi {
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
    list: (session, { scope, project, branch, kind, includesArchived }) => {
      const asked = Object.entries({ scope, projectId: project, branch, kind }).filter(([, value]) => value);
      return ask(
        session,
        `query ($filter: MemoryFilter, $includeArchived: Boolean) {
           memories(filter: $filter, includeArchived: $includeArchived, first: 1000) { totalCount nodes { ${FIELDS} } } }`,
        {
          ...(asked.length > 0
            ? { filter: Object.fromEntries(asked.map(([field, value]) => [field, { equalTo: value }])) }
            : {}),
          ...(includesArchived ? { includeArchived: true } : {}),
        },
        ({ memories }) => ({ seen: memories.nodes.map(fromGraphql), count: memories.totalCount }),
      );
    },
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

export function mcpApi(gateway: TestGateway): SessionApi {
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
