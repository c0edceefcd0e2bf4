// The governance specification's own list, line by line, each through GraphQL, MCP and SQL. What each cell of the access
// matrix answers, down to the codes, is in matrix.test.ts.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { cheapEmbedder } from './attacker.ts';
import { type Door, doorsOf, isRefused } from './doors.ts';

type Caller = 'C' | 'L';
interface Saved {
  id: string;
  content: string;
}

const words = ['aspen', 'birch', 'cedar', 'date', 'elm', 'fir', 'ginkgo', 'hazel', 'ilex', 'juniper'];

describe('the governance of memories', () => {
  let house: House;
  let doors: Door[];
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
    doors = doorsOf(house);
  });
  after(() => house.close());

  let count = 0;
  const write = async (door: Door, caller: Caller, scope: string, project = 'l9'): Promise<Saved> => {
    const content = `memory of ${words[count % words.length]} number ${count++}`;
    const saved = await door.save(caller, { content, scope, ...(scope === 'global' ? {} : { project }) });
    assert.ok(!isRefused(saved), `${door.name}: ${JSON.stringify(saved)}`);
    return { id: saved.id, content };
  };
  /** By its id, by a search and in a list. */
  const reads = async (door: Door, caller: Caller, { id, content }: Saved) => {
    const answer = await door.read(caller, id);
    const found = await door.search(caller, content, 'lexical');
    const listed = await door.list(caller);
    return [isRefused(answer) ? answer.code : answer.content === content, found.includes(id), listed.includes(id)];
  };
  const throughEveryDoor = async (work: (door: Door, other: Door) => Promise<void>) => {
    // Written through each door, and read through all.
    for (const door of doors) for (const other of doors) await work(door, other);
  };

  const shared: [Caller, string, Caller][] = [
    ['C', 'developer', 'L'],
    ['L', 'developer', 'C'],
    ['C', 'global', 'L'],
    ['L', 'global', 'C'],
  ];
  for (const [writer, scope, reader] of shared) {
    it(`${writer} writes ${scope}: ${reader} reads it`, () =>
      throughEveryDoor(async (door, other) => {
        const saved = await write(door, writer, scope);
        assert.deepEqual(await reads(other, reader, saved), [true, true, true], `${door.name}, ${other.name}`);
      }));
  }

  it("L writes l-private: C can't read it", () =>
    throughEveryDoor(async (door, other) => {
      const saved = await write(door, 'L', 'l-private');
      assert.deepEqual(await reads(other, 'C', saved), ['L9OWN', false, false], `${door.name}, ${other.name}`);
      assert.deepEqual(await reads(other, 'L', saved), [true, true, true], 'L itself does');
    }));

  it("C can't write l-private: not by saving, nor by moving a memory there", async () => {
    for (const door of doors) {
      const content = `kept out ${count++}`;
      const saved = await door.save('C', { content, scope: 'l-private', project: 'l9' });
      assert.deepEqual([isRefused(saved) && saved.code], ['L9SCP'], door.name);
      assert.deepEqual(await house.asSuperuser('select 1 from public.packet_store where content = $1', [content]), []);
    }
    const { id } = await write(doors[0]!, 'C', 'developer');
    const { errors } = await house.graphql(
      'C',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, scope: "l-private" }) { status } }',
      { id },
    );
    assert.equal(errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
    assert.match((await house.tool('C', 'update_memory', { packet_id: id, scope: 'l-private' })).text, /L9SCP/);
    for (const statement of [
      "select public.update_memory($1, scope => 'l-private')",
      "update public.packet_store set scope = 'l-private' where packet_id = $1",
    ]) {
      await assert.rejects(house.sql('C', statement, [id]), { code: 'L9SCP' });
    }
    const rows = await house.asSuperuser('select scope from public.packet_store where packet_id = $1', [id]);
    assert.deepEqual(rows, [{ scope: 'developer' }]);
  });

  describe('confines every query of C to developer and global', () => {
    it("as pg_policies says: on each table with a scope, what opens a row to l9_agent compares its scope with the caller's", async () => {
      const tables = await house.asSuperuser(`
        select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'scope' and not a.attisdropped
        where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and c.relkind in ('r', 'p')`);
      assert.ok(tables.length >= 4, 'packets, vectors, scopes and the audit log, if no more');
      for (const { nspname, relname } of tables) {
        const policies = await house.asSuperuser(
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
            assert.ok(qual === 'false' || conjuncts(qual).some((one) => sees.test(one)), `${name}: ${qual}`);
          if (cmd !== 'SELECT')
            assert.ok(
              conjuncts(with_check ?? '').some((one) => writes.test(one)),
              `${name}: ${with_check}`,
            );
        }
      }
    });

    it('and C has exactly these scopes', async () => {
      const [row] = await house.sql(
        'C',
        'select identity.current_scopes() as r, identity.current_writable_scopes() as w',
      );
      assert.deepEqual(row, { r: ['developer', 'global'], w: ['developer', 'global'] });
    });

    it('as its queries show: whatever C asks for, every row is of these scopes', async () => {
      await write(doors[0]!, 'L', 'l-private');
      const { data } = await house.graphql('C', '{ memories { nodes { scope } } }');
      assert.deepEqual([...new Set(data.memories.nodes.map(({ scope }: { scope: string }) => scope))].sort(), [
        'developer',
        'global',
      ]);
      const { result } = await house.tool('C', 'search_memory', {
        query: 'memory',
        k: 100,
        mode: 'lexical',
        scopes: ['l-private', 'developer'],
      });
      assert.deepEqual(result.searched.scopes, ['developer']);
      assert.ok(result.hits.length > 0 && result.hits.every(({ scope }: { scope: string }) => scope === 'developer'));
      for (const table of ['packet_store', 'memory_embeddings', 'scopes']) {
        const rows = await house.sql('C', `select distinct scope from public.${table} order by 1`);
        assert.deepEqual(
          rows.map(({ scope }) => scope),
          ['developer', 'global'],
          table,
        );
      }
    });
  });

  it('isolates projects for tokens that list some, by exact name', async () => {
    const names = ['l9', 'l9-more', 'future-x'];
    const ids: Record<string, string> = {};
    for (const name of names) ids[name] = (await write(doors[0]!, 'L', 'developer', name)).id;
    const everyone = (await write(doors[0]!, 'L', 'global')).id;
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
      const token = await house.token({ caller: 'C', projects });
      const claims = { 'jwt.claims.projects': JSON.stringify(projects) };
      const listed = await house.graphql({ token }, '{ memories(first: 1000) { nodes { packetId } } }');
      const found = await house.graphql(
        { token },
        '{ searchMemory(query: "memory", k: 100, mode: lexical) { hits { packetId } } }',
      );
      const rows = await house.sql('C', 'select packet_id from public.packet_store', [], claims);
      const seen = {
        GraphQL: listed.data.memories.nodes.map(({ packetId }: { packetId: string }) => packetId),
        search: found.data.searchMemory.hits.map(({ packetId }: { packetId: string }) => packetId),
        SQL: rows.map(({ packet_id }) => packet_id),
      };
      for (const [door, all] of Object.entries(seen)) {
        for (const name of names)
          assert.equal(all.includes(ids[name]), visible.includes(name), `${door}, ${projects}: ${name}`);
        assert.ok(door === 'search' || all.includes(everyone), 'global is for every project');
      }
      for (const name of names.filter((name) => !visible.includes(name))) {
        const { errors } = await house.graphql(
          { token },
          'mutation ($p: String) { saveMemory(input: { content: "elsewhere", projectId: $p }) { status } }',
          { p: name },
        );
        assert.equal(errors?.[0]?.extensions?.code, 'SCOPE_DENIED', name);
        await assert.rejects(
          house.sql('C', "select public.save_memory('elsewhere', project_id => $1)", [name], claims),
          { code: 'L9SCP' },
        );
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
