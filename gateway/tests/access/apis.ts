// The same operations through each API, with comparable answers, so that one table of expectations applies to all.
import type { TestGateway } from '../support/gateway.ts';

export interface Refused {
  code: string;
  text: string;
}

export interface Api {
  name: string;
  save(caller: string, memory: { content: string; scope: string; project?: string }): Promise<{ id: string } | Refused>;
  read(caller: string, id: string): Promise<{ content: string } | Refused>;
  search(caller: string, query: string, mode: string): Promise<string[]>;
  /** Ids of all the memories that the caller can list. */
  list(caller: string): Promise<string[]>;
  statsByScope(caller: string): Promise<Record<string, number>>;
  update(caller: string, id: string, content: string): Promise<{ id: string } | Refused>;
  remove(caller: string, id: string): Promise<{ id: string } | Refused>;
  cleanUp(caller: string): Promise<{ deleted: number } | Refused>;
}

export const isRefused = (answer: object): answer is Refused => 'code' in answer;

/** The answer, which must be none that refuses. */
export function accepted<T extends object>(answer: T | Refused): T {
  if (isRefused(answer)) throw new Error(`refused with ${answer.code}: ${answer.text}`);
  return answer;
}

export function graphqlApi(gateway: TestGateway): Api {
  const ask = async (caller: string, query: string, variables: object) => {
    const { data, errors } = await gateway.graphql(caller, query, variables);
    const error = errors?.[0];
    return error
      ? { data, refused: { code: error.extensions?.sqlstate ?? '?', text: error.message } }
      : { data, refused: null };
  };
  return {
    name: 'GraphQL',
    async save(caller, { content, scope, project }) {
      const { data, refused } = await ask(
        caller,
        'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { memory { packetId } } }',
        { input: { content, scope, projectId: project } },
      );
      return refused ?? { id: data.saveMemory.memory.packetId };
    },
    async read(caller, id) {
      const { data, refused } = await ask(
        caller,
        'query ($id: UUID!) { memoryByPacketId(packetId: $id) { content } }',
        { id },
      );
      return refused ?? data.memoryByPacketId ?? { code: 'L9OWN', text: 'null' };
    },
    async search(caller, query, mode) {
      const { data } = await ask(
        caller,
        'query ($query: String!, $mode: SearchMode) { searchMemory(query: $query, mode: $mode, k: 100) { hits { packetId } } }',
        { query, mode },
      );
      return data.searchMemory.hits.map(({ packetId }: { packetId: string }) => packetId);
    },
    async list(caller) {
      const { data } = await ask(caller, '{ memories(first: 1000) { totalCount nodes { packetId } } }', {});
      const ids = data.memories.nodes.map(({ packetId }: { packetId: string }) => packetId);
      if (ids.length !== data.memories.totalCount) throw new Error('totalCount counts other rows than are listed');
      return ids;
    },
    async statsByScope(caller) {
      const { data } = await ask(caller, '{ getMemoryStats { byScope } }', {});
      return data.getMemoryStats.byScope;
    },
    async update(caller, id, content) {
      const { data, refused } = await ask(
        caller,
        'mutation ($id: UUID!, $content: String) { updateMemory(input: { packetId: $id, content: $content }) { memory { packetId } } }',
        { id, content },
      );
      return refused ?? { id: data.updateMemory.memory.packetId };
    },
    async remove(caller, id) {
      const { data, refused } = await ask(
        caller,
        'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }',
        { id },
      );
      return refused ?? { id: data.deleteMemory.packetId };
    },
    async cleanUp(caller) {
      const { data, refused } = await ask(caller, 'mutation { deleteExpiredMemories(input: {}) { deleted } }', {});
      return refused ?? { deleted: data.deleteExpiredMemories.deleted };
    },
  };
}

export function mcpApi(gateway: TestGateway): Api {
  const ask = async (caller: string, name: string, args: object) => {
    const { isError, text, result } = await gateway.tool(caller, name, args);
    const refused: Refused | null = isError ? { code: /\((\w+)\)/.exec(text)?.[1] ?? '?', text } : null;
    return { result, refused };
  };
  return {
    name: 'MCP',
    async save(caller, { content, scope, project }) {
      const { result, refused } = await ask(caller, 'save_memory', { content, scope, project_id: project });
      return refused ?? { id: result.memory.packet_id };
    },
    async read(caller, id) {
      const { result, refused } = await ask(caller, 'get_memory', { packet_id: id });
      return refused ?? { content: result.memory.content };
    },
    async search(caller, query, mode) {
      const { result } = await ask(caller, 'search_memory', { query, mode, k: 100 });
      return result.hits.map(({ packet_id }: { packet_id: string }) => packet_id);
    },
    // MCP has no list; what comes nearest is to search for a word that all of them have.
    async list(caller) {
      const { result } = await ask(caller, 'search_memory', { query: 'memory', mode: 'lexical', k: 100 });
      return result.hits.map(({ packet_id }: { packet_id: string }) => packet_id);
    },
    async statsByScope(caller) {
      return (await ask(caller, 'get_memory_stats', {})).result.by_scope;
    },
    async update(caller, id, content) {
      const { result, refused } = await ask(caller, 'update_memory', { packet_id: id, content });
      return refused ?? { id: result.memory.packet_id };
    },
    async remove(caller, id) {
      const { result, refused } = await ask(caller, 'delete_memory', { packet_id: id });
      return refused ?? { id: result.packet_id };
    },
    async cleanUp(caller) {
      const { result, refused } = await ask(caller, 'delete_expired_memories', {});
      return refused ?? { deleted: result.deleted };
    },
  };
}

/** A database session under the caller's role and claims, through the functions. */
export function sqlApi(gateway: TestGateway): Api {
  const ask = async (caller: string, query: string, values: unknown[] = []) => {
    try {
      return { rows: await gateway.sql(caller, query, values), refused: null };
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { rows: [], refused: { code, text: message } };
    }
  };
  const vectorOf = async (text: string) => (await gateway.instance.embedder.embed([text]))[0]!;
  return {
    name: 'SQL functions',
    async save(caller, { content, scope, project }) {
      const { rows, refused } = await ask(
        caller,
        'select (memory).packet_id as id from public.save_memory($1, scope => $2, project_id => $3)',
        [content, scope, project ?? null],
      );
      return refused ?? rows[0];
    },
    async read(caller, id) {
      const { rows, refused } = await ask(caller, 'select content from public.get_memory($1)', [id]);
      return refused ?? rows[0];
    },
    async search(caller, query, mode) {
      const vector = [...(await vectorOf(query)), ...new Array(1536 - 384).fill(0)];
      const { rows } = await ask(
        caller,
        `select hit.packet_id from public.search_memory($1, k => 100, mode => $2, query_vector => $3::text::extensions.vector, model => $4) r,
           unnest(r.hits) hit`,
        [query, mode, JSON.stringify(vector), gateway.instance.embedder.model],
      );
      return rows.map(({ packet_id }) => packet_id);
    },
    async list(caller) {
      return (await ask(caller, 'select packet_id from public.packet_store')).rows.map(({ packet_id }) => packet_id);
    },
    async statsByScope(caller) {
      return (await ask(caller, 'select by_scope from public.get_memory_stats()')).rows[0].by_scope;
    },
    async update(caller, id, content) {
      const { rows, refused } = await ask(
        caller,
        'select (memory).packet_id as id from public.update_memory($1, content => $2)',
        [id, content],
      );
      return refused ?? rows[0];
    },
    async remove(caller, id) {
      const { rows, refused } = await ask(caller, 'select public.delete_memory($1) as id', [id]);
      return refused ?? rows[0];
    },
    async cleanUp(caller) {
      const { rows, refused } = await ask(caller, 'select public.delete_expired_memories() as deleted');
      return refused ?? { deleted: Number(rows[0].deleted) };
    },
  };
}

/** A database session that goes past the functions, straight to the table. */
export function tableApi(gateway: TestGateway): Api {
  const functions = sqlApi(gateway);
  const ask = async (caller: string, query: string, values: unknown[]) => {
    try {
      const rows = await gateway.sql(caller, query, values);
      // A row that a policy hides is not an error of the statement: nothing happens.
      return rows[0] ?? { code: 'L9OWN', text: 'no row' };
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { code, text: message };
    }
  };
  return {
    ...functions,
    name: 'SQL tables',
    save: (caller, { content, scope, project }) =>
      ask(
        caller,
        `insert into public.packet_store (envelope, scope, project_id) values (jsonb_build_object('content', $1::text), $2, $3)
         returning packet_id as id`,
        [content, scope, project ?? null],
      ),
    read: (caller, id) => ask(caller, 'select content from public.packet_store where packet_id = $1', [id]),
    update: (caller, id, content) =>
      ask(
        caller,
        `update public.packet_store set envelope = jsonb_build_object('content', $2::text) where packet_id = $1 returning packet_id as id`,
        [id, content],
      ),
    remove: (caller, id) =>
      ask(caller, 'delete from public.packet_store where packet_id = $1 returning packet_id as id', [id]),
  };
}

export const apisOf = (gateway: TestGateway): Api[] => [
  graphqlApi(gateway),
  mcpApi(gateway),
  sqlApi(gateway),
  tableApi(gateway),
];
