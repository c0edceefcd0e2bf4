// Session archives, cell by cell, through every API: who stores, opens, finds and deletes them, in which scope, of which author.
import { createHash, randomBytes } from 'node:crypto';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import type { Refused } from './apis.ts';

const scopes = ['developer', 'l-private', 'global'] as const;
type Scope = (typeof scopes)[number];
type Caller = 'C' | 'L';
const yes = 'yes';

/** Cell by cell: what is answered to C; to L it is always yes. */
const ofC = {
  store: { developer: yes, 'l-private': 'L9SCP', global: yes },
  open: { developer: yes, 'l-private': 'L9OWN', global: yes },
} as const;

const projectOf = (scope: Scope) => (scope === 'global' ? null : 'l9');
const fieldsOf = (name: string) => ({ session_id: name, summary: `Session about ${name}`, tags: [name] });

interface ArchiveApi {
  name: string;
  store(caller: Caller, name: string, scope: Scope): Promise<string>;
  open(caller: Caller, pointer: string): Promise<string>;
  find(caller: Caller, by: { tags?: string[]; query?: string }): Promise<string[]>;
  remove(caller: Caller, packetId: string): Promise<string>;
}

describe('the access matrix of archives', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const codeOf = (refused: Partial<Refused> | null) => refused?.code ?? yes;

  const ask = async (caller: Caller, tool: string, args: object) => {
    const { isError, text, result } = await gateway.tool(caller, tool, args);
    return { code: isError ? /\((\w+)\)/.exec(text)![1]! : yes, result };
  };
  const mcp: ArchiveApi = {
    name: 'MCP',
    async store(caller, name, scope) {
      const args = { session: fieldsOf(name), scope, project_id: projectOf(scope) };
      return (await ask(caller, 'store_session_to_cascade', args)).code;
    },
    open: async (caller, pointer) => (await ask(caller, 'retrieve_session_from_cascade', { pointer })).code,
    async find(caller, by) {
      const { result } = await ask(caller, 'query_cascade_memories', by);
      return result.sessions.map(({ pointer }: { pointer: string }) => pointer);
    },
    remove: async (caller, packet_id) => (await ask(caller, 'delete_memory', { packet_id })).code,
  };

  const request = async (caller: Caller, query: string, variables: object) => {
    const { data, errors } = await gateway.graphql(caller, query, variables);
    return { data, code: codeOf(errors ? { code: errors[0]!.extensions?.sqlstate ?? '?' } : null) };
  };
  const graphql: ArchiveApi = {
    name: 'GraphQL',
    async store(caller, name, scope) {
      const input = { session: fieldsOf(name), scope, projectId: projectOf(scope) };
      const query =
        'mutation ($input: StoreSessionToCascadeInput!) { storeSessionToCascade(input: $input) { pointer } }';
      return (await request(caller, query, { input })).code;
    },
    open: async (caller, pointer) =>
      (
        await request(
          caller,
          'query ($pointer: String!) { retrieveSessionFromCascade(pointer: $pointer) { verified } }',
          { pointer },
        )
      ).code,
    async find(caller, by) {
      const query =
        'query ($query: String, $tags: [String!]) { queryCascadeMemories(query: $query, tags: $tags) { pointer } }';
      const { data } = await request(caller, query, by);
      return data.queryCascadeMemories.map(({ pointer }: { pointer: string }) => pointer);
    },
    remove: async (caller, id) =>
      (await request(caller, 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }', { id }))
        .code,
  };

  const run = (caller: Caller, query: string, values: unknown[]) =>
    gateway.sql(caller, query, values).then(
      (rows) => ({ code: yes, rows }),
      (error: { code: string }) => ({ code: error.code, rows: [] }),
    );
  const sql: ArchiveApi = {
    name: 'SQL',
    async store(caller, name, scope) {
      const blob = Buffer.concat([Buffer.from([1]), randomBytes(60)]);
      const prepared = await run(caller, 'select archive_id from archive.prepare_session_archive($1, $2, $3)', [
        JSON.stringify(fieldsOf(name)),
        scope,
        projectOf(scope),
      ]);
      if (prepared.code !== yes) return prepared.code;
      const finish = `select * from archive.finish_session_archive($1, $2, $3, '{postgres}', 'k1', $4, $5, $6)`;
      const { archive_id } = prepared.rows[0];
      const hash = createHash('sha256').update(blob).digest();
      return (await run(caller, finish, [archive_id, hash, 61, randomBytes(60), [randomBytes(32)], blob])).code;
    },
    open: async (caller, pointer) => {
      const { code, rows } = await run(caller, 'select * from archive.open_session_archive($1, true)', [pointer]);
      if (code === yes) expect([rows[0].wrapped_key.length, rows[0].blob]).toStrictEqual([60, expect.any(Buffer)]);
      return code;
    },
    async find(caller, { query = null, tags = null }: { query?: string | null; tags?: string[] | null }) {
      const { rows } = await run(caller, 'select pointer from query_cascade_memories($1, $2)', [query, tags]);
      const table = await run(caller, 'select pointer from session_archives where tags && $1 or summary ~ $2', [
        tags,
        query,
      ]);
      expect(table.rows).toStrictEqual(rows);
      return rows.map(({ pointer }) => pointer);
    },
    remove: async (caller, id) => (await run(caller, 'select delete_memory($1)', [id])).code,
  };

  let count = 0;
  /** A session that nothing else is called like. */
  const fresh = () => `topic${String.fromCharCode(97 + (count % 26))}${count++}`;

  /** An archive that this author stored over MCP. */
  async function seed(author: Caller, scope: Scope) {
    const name = fresh();
    const args = { session: fieldsOf(name), scope, project_id: projectOf(scope) };
    const { pointer, packet_id } = await gateway.call(author, 'store_session_to_cascade', args);
    return { name, pointer: pointer as string, packetId: packet_id as string };
  }

  for (const api of [mcp, graphql, sql]) {
    describe(`over ${api.name}`, () => {
      for (const caller of ['C', 'L'] as const) {
        for (const scope of scopes) {
          const mayStore = caller === 'L' ? yes : ofC.store[scope];
          const mayOpen = caller === 'L' ? yes : ofC.open[scope];

          it(`answers ${mayStore} when ${caller} stores a session in ${scope}`, async () => {
            const name = fresh();
            expect(await api.store(caller, name, scope)).toBe(mayStore);
            const rows = await gateway.sql('L', 'select scope, creator from session_archives where $1 = any (tags)', [
              name,
            ]);
            const creator = caller === 'C' ? 'Cursor-IDE' : 'L-CTO';
            expect(rows).toStrictEqual(mayStore === yes ? [{ scope, creator }] : []);
          });

          it(`answers ${mayOpen} when ${caller} opens, and ${mayOpen === yes ? 'shows' : 'hides'} it when ${caller} looks for, what L stored in ${scope}`, async () => {
            const { name, pointer } = await seed('L', scope);
            expect(await api.open(caller, pointer)).toBe(mayOpen);
            const seen = mayOpen === yes ? [pointer] : [];
            expect(await api.find(caller, { tags: [name] })).toStrictEqual(seen);
            expect(await api.find(caller, { query: name })).toStrictEqual(seen);
          });

          for (const author of ['C', 'L'] as const) {
            if (author === 'C' && scope === 'l-private') continue; // C can't have stored there.
            const mayDelete = caller === 'L' || author === caller ? yes : 'L9OWN';
            it(`answers ${mayDelete} when ${caller} deletes what ${author} stored in ${scope}`, async () => {
              const { pointer, packetId } = await seed(author, scope);
              expect(await api.remove(caller, packetId)).toBe(mayDelete);
              expect(await api.open('L', pointer)).toBe(mayDelete === yes ? 'L9OWN' : yes);
              const left =
                'select count(*)::integer as n from archive_blobs b where $1 = archive.pointer_of(b.content_hash)';
              expect((await gateway.asSuperuser(left, [pointer]))[0].n).toBe(mayDelete === yes ? 0 : 1);
            });
          }
        }
      }
    });
  }

  it('answers the same to C for a private pointer and for one that does not exist, in every text', async () => {
    const { pointer, packetId } = await seed('L', 'l-private');
    const nowhere = `cascade://${'0'.repeat(64)}`;
    for (const [tool, hidden, missing] of [
      ['retrieve_session_from_cascade', { pointer }, { pointer: nowhere }],
      ['verify_archives', { pointer }, { pointer: nowhere }],
      ['estimate_storage_cost', { pointer }, { pointer: nowhere }],
      ['delete_memory', { packet_id: packetId }, { packet_id: '01900000-0000-7000-8000-000000000000' }],
    ] as const) {
      const { text } = await gateway.tool('C', tool, hidden);
      expect(text, tool).toMatch(/L9OWN/);
      const say = (answer: { text: string }) => answer.text.replace(/memory [0-9a-f-]{36}/, 'memory');
      expect(say({ text }), tool).toBe(say(await gateway.tool('C', tool, missing)));
    }
  });
});
