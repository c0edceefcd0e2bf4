// The list of the governance specification, line by line, each through GraphQL, MCP and SQL. matrix.test.ts checks each
// cell of the access matrix with its error codes.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Api, accepted, apisOf, isRefused } from './apis.ts';
import { cheapEmbedder } from './attacker.ts';

type Caller = 'C' | 'L';
interface Saved {
  id: string;
  content: string;
}

const words = ['aspen', 'birch', 'cedar', 'date', 'elm', 'fir', 'ginkgo', 'hazel', 'ilex', 'juniper'];

describe('the governance of memories', () => {
  let gateway: TestGateway;
  let apis: Api[];
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
    apis = apisOf(gateway);
  });
  afterAll(() => gateway.close());

  let count = 0;
  const write = async (api: Api, caller: Caller, scope: string, project = 'l9'): Promise<Saved> => {
    const content = `memory of ${words[count % words.length]} number ${count++}`;
    const saved = await api.save(caller, { content, scope, ...(scope === 'global' ? {} : { project }) });
    return { id: accepted(saved).id, content };
  };
  /** By its id, by a search and in a list. */
  const reads = async (api: Api, caller: Caller, { id, content }: Saved) => {
    const answer = await api.read(caller, id);
    const found = await api.search(caller, content, 'lexical');
    const listed = await api.list(caller);
    return [isRefused(answer) ? answer.code : answer.content === content, found.includes(id), listed.includes(id)];
  };
  const throughEveryApi = async (work: (api: Api, other: Api) => Promise<void>) => {
    // Written through each API, and read through all.
    for (const api of apis) for (const other of apis) await work(api, other);
  };

  const shared: [Caller, string, Caller][] = [
    ['C', 'developer', 'L'],
    ['L', 'developer', 'C'],
    ['C', 'global', 'L'],
    ['L', 'global', 'C'],
  ];
  for (const [writer, scope, reader] of shared) {
    it(`lets ${reader} read what ${writer} writes in ${scope}`, () =>
      throughEveryApi(async (api, other) => {
        const saved = await write(api, writer, scope);
        expect(await reads(other, reader, saved), `${api.name}, ${other.name}`).toStrictEqual([true, true, true]);
      }));
  }

  it('keeps what L writes in l-private from C', () =>
    throughEveryApi(async (api, other) => {
      const saved = await write(api, 'L', 'l-private');
      expect(await reads(other, 'C', saved), `${api.name}, ${other.name}`).toStrictEqual(['L9OWN', false, false]);
      expect(await reads(other, 'L', saved), 'L itself does').toStrictEqual([true, true, true]);
    }));

  it('refuses C to save in l-private, or to move a memory there', async () => {
    for (const api of apis) {
      const content = `kept out ${count++}`;
      const saved = await api.save('C', { content, scope: 'l-private', project: 'l9' });
      expect([isRefused(saved) && saved.code], api.name).toStrictEqual(['L9SCP']);
      expect(
        await gateway.asSuperuser('select 1 from public.packet_store where content = $1', [content]),
      ).toStrictEqual([]);
    }
    const { id } = await write(apis[0]!, 'C', 'developer');
    const { errors } = await gateway.graphql(
      'C',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, scope: "l-private" }) { status } }',
      { id },
    );
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    expect((await gateway.tool('C', 'update_memory', { packet_id: id, scope: 'l-private' })).text).toMatch(/L9SCP/);
    for (const statement of [
      "select public.update_memory($1, scope => 'l-private')",
      "update public.packet_store set scope = 'l-private' where packet_id = $1",
    ]) {
      await expect(gateway.sql('C', statement, [id])).rejects.toMatchObject({ code: 'L9SCP' });
    }
    const rows = await gateway.asSuperuser('select scope from public.packet_store where packet_id = $1', [id]);
    expect(rows).toStrictEqual([{ scope: 'developer' }]);
  });

  describe('queries of C', () => {
    it("compares the scope with the caller's in each policy of l9_agent on a table with a scope", async () => {
      const tables = await gateway.asSuperuser(`
        select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'scope' and not a.attisdropped
        where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and c.relkind in ('r', 'p')
          -- The scope of a rule is a condition; agents have no grant on rules.
          and (c.relname <> 'review_rules' or has_any_column_privilege('l9_agent', c.oid, 'select, insert, update'))`);
      expect(tables.length, 'packets, vectors, scopes and the audit log, if no more').toBeGreaterThanOrEqual(4);
      for (const { nspname, relname } of tables) {
        const policies = await gateway.asSuperuser(
          `select policyname, cmd, qual, with_check from pg_policies
           where schemaname = $1 and tablename = $2 and permissive = 'PERMISSIVE' and roles && array['l9_agent', 'public']::name[]`,
          [nspname, relname],
        );
        for (const { policyname, cmd, qual, with_check } of policies) {
          const name = `${relname}: ${policyname}`;
          // Normalised by PostgreSQL itself, so that there is one spelling.
          const sees = /^\(scope = ANY \(\(? ?\( ?SELECT identity\.current_scopes\(\) AS current_scopes\)/;
          const writes =
            /^\(scope = ANY \(\(? ?\( ?SELECT identity\.current_writable_scopes\(\) AS current_writable_scopes\)/;
          if (qual !== null)
            expect(qual === 'false' || conjuncts(qual).some((one) => sees.test(one)), `${name}: ${qual}`).toBe(true);
          if (cmd !== 'SELECT')
            expect(
              conjuncts(with_check ?? '').some((one) => writes.test(one)),
              `${name}: ${with_check}`,
            ).toBe(true);
        }
      }
    });

    it('gives C the scopes developer and global', async () => {
      const [row] = await gateway.sql(
        'C',
        'select identity.current_scopes() as r, identity.current_writable_scopes() as w',
      );
      expect(row).toStrictEqual({ r: ['developer', 'global'], w: ['developer', 'global'] });
    });

    it('returns rows of these scopes only, for every query of C', async () => {
      await write(apis[0]!, 'L', 'l-private');
      const { data } = await gateway.graphql('C', '{ memories(first: 1000) { nodes { scope } } }');
      expect([...new Set(data.memories.nodes.map(({ scope }: { scope: string }) => scope))].sort()).toStrictEqual([
        'developer',
        'global',
      ]);
      const { result } = await gateway.tool('C', 'search_memory', {
        query: 'memory',
        k: 100,
        mode: 'lexical',
        scopes: ['l-private', 'developer'],
      });
      expect(result.searched.scopes).toStrictEqual(['developer']);
      expect(result.hits.length).toBeGreaterThan(0);
      expect(result.hits.every(({ scope }: { scope: string }) => scope === 'developer')).toBeTruthy();
      for (const table of ['packet_store', 'memory_embeddings', 'scopes']) {
        const rows = await gateway.sql('C', `select distinct scope from public.${table} order by 1`);
        expect(
          rows.map(({ scope }) => scope),
          table,
        ).toStrictEqual(['developer', 'global']);
      }
    });
  });

  it('isolates the projects of a token that lists projects, by exact name', async () => {
    const names = ['l9', 'l9-more', 'future-x'];
    const ids: Record<string, string> = {};
    for (const name of names) ids[name] = (await write(apis[0]!, 'L', 'developer', name)).id;
    const everyone = (await write(apis[0]!, 'L', 'global')).id;
    for (const [projects, visible] of [
      [['l9'], ['l9']],
      [
        ['l9', 'future-x'],
        ['l9', 'future-x'],
      ],
      [['l'], []],
      [['L9'], []],
      [['l9%'], []],
      [[], []],
    ] as [string[], string[]][]) {
      const token = await gateway.token({ caller: 'C', projects });
      const claims = { 'jwt.claims.projects': JSON.stringify(projects) };
      const listed = await gateway.graphql({ token }, '{ memories(first: 1000) { nodes { packetId } } }');
      const found = await gateway.graphql(
        { token },
        '{ searchMemory(query: "memory", k: 100, mode: lexical) { hits { packetId } } }',
      );
      const rows = await gateway.sql('C', 'select packet_id from public.packet_store', [], claims);
      const seen = {
        GraphQL: listed.data.memories.nodes.map(({ packetId }: { packetId: string }) => packetId),
        search: found.data.searchMemory.hits.map(({ packetId }: { packetId: string }) => packetId),
        SQL: rows.map(({ packet_id }) => packet_id),
      };
      for (const [api, all] of Object.entries(seen)) {
        for (const name of names)
          expect(all.includes(ids[name]), `${api}, ${projects}: ${name}`).toBe(visible.includes(name));
        expect(api === 'search' || all.includes(everyone), 'global is for every project').toBeTruthy();
      }
      for (const name of names.filter((name) => !visible.includes(name))) {
        const { errors } = await gateway.graphql(
          { token },
          'mutation ($p: String) { saveMemory(input: { content: "elsewhere", projectId: $p }) { status } }',
          { p: name },
        );
        expect(errors?.[0]?.extensions?.code, name).toBe('SCOPE_DENIED');
        await expect(
          gateway.sql('C', "select public.save_memory('elsewhere', project_id => $1)", [name], claims),
        ).rejects.toMatchObject({ code: 'L9SCP' });
      }
    }
  });
});

/** What all have to hold of a condition: an `or` at its top is one of them, as a whole. */
function conjuncts(condition: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  const text = condition.startsWith('((') ? condition.slice(1, -1) : condition;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    else if (depth === 0 && text.startsWith(' OR ', at)) return [condition.replace('scope', 'or')];
    else if (depth === 0 && text.startsWith(' AND ', at)) {
      parts.push(text.slice(start, at));
      start = at + 5;
    }
  }
  return [...parts, text.slice(start)];
}
