// Items that memory_store refuses, over MCP and GraphQL: each is answered and audited, and the others are stored.
import { serverUrl } from '../../../db/tests/support/engine.ts';
import type { Fields } from '../../../db/tests/support/kinds.ts';
import { useMemoryStore } from './store-items.ts';

interface Item extends Fields {
  kind?: string;
  data: Fields;
}

const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

describe('memory_store', () => {
  const api = useMemoryStore();
  const { store, storeByGraphql, count } = api;

  // On a busy machine 500 take the embedded engine longer than the 30 seconds of a request.
  const size = serverUrl ? 500 : 200;
  describe(`a batch of ${size} with 7 bad items`, () => {
    const bad: [number, Item, string, string][] = [
      [0, { kind: 'todo', data: { text: 'no status' } }, 'status', 'L9VAL'],
      [17, { kind: 'decision', data: { title: 'a', status: 'perhaps', rationale: 'b' } }, 'status', 'L9VAL'],
      [18, { data: { content: 'not mine to write' }, scope: 'l-private' }, 'scope', 'L9SCP'],
      [
        99,
        { data: { content: 'the parent is missing' }, parent_ids: ['01900000-0000-7000-8000-000000000000'] },
        'parent_ids',
        'L9VAL',
      ],
      [size / 2, { data: { content: `key AKIA${'Z7Q4M2X6K3B5C4D5'}` } }, 'content', 'L9SEC'],
      [size - 2, { kind: 'note', data: {} }, 'content', 'L9VAL'],
      [size - 1, { data: { content: 'x' }, tags: Array.from({ length: 65 }, (_, n) => `t${n}`) }, 'tags', 'L9LIM'],
    ];
    const batch = (project: string) => {
      const items: Item[] = Array.from({ length: size }, (_, n) =>
        n % 2
          ? { data: { content: `note ${n} of ${project}` } }
          : { kind: 'issue', data: { tracker: 'jira', external_id: `X-${n}`, title: `Issue ${n}`, status: 'open' } },
      );
      for (const [index, item] of bad) items[index] = item;
      return items.map((item) => ({ project_id: project, ...item }));
    };
    const expected = bad.map(([index, , field, sqlstate]) => ({ index, field, sqlstate }));

    it('stores the others and answers 7 errors, each with its index and field', async () => {
      const { stored, errors } = await store(batch('batch'));
      expect(stored).toHaveLength(size - 7);
      expect(stored.map(({ index }: { index: number }) => index)).toStrictEqual(
        Array.from({ length: size }, (_, n) => n).filter((n) => !bad.some(([index]) => index === n)),
      );
      expect(new Set(stored.map(({ status }: { status: string }) => status))).toStrictEqual(new Set(['inserted']));
      expect(errors).toMatchObject(expected);
      expect(await count('batch')).toBe(size - 7);
      const [row] = await api.gateway.sql(
        'C',
        "select envelope ->> 'external_id' as id from public.packet_store where packet_id = $1",
        [stored.find(({ index }: { index: number }) => index === 42).packet_id],
      );
      expect(row.id).toBe('X-42');
    });

    it('stores none with all_or_nothing, and answers the same 7 errors', async () => {
      const { stored, errors } = await store(batch('nothing'), { all_or_nothing: true });
      expect(stored).toStrictEqual([]);
      expect(errors).toMatchObject(expected);
      expect(await count('nothing')).toBe(0);
    });

    it('answers a second time that it knows the others', async () => {
      const { stored } = await store(batch('batch'));
      expect(new Set(stored.map(({ status }: { status: string }) => status))).toStrictEqual(
        new Set(['skipped_dedupe']),
      );
      expect(await count('batch')).toBe(size - 7);
    });

    it('audits each refused item, without its text', async () => {
      const rows = await api.gateway.asSuperuser(
        `select details from public.audit_log where sqlstate in ('L9SEC', 'L9SCP') and details -> 'items' in ('[18]', '[${size / 2}]')`,
      );
      expect(rows.length).toBeGreaterThanOrEqual(2);
      expect(JSON.stringify(rows)).not.toContain('AKIA');
    });
  });

  describe('with an item that cannot be stored as it is', () => {
    const bad: [data: unknown, field: string, sqlstate: string, reason: RegExp][] = [
      [{ content: 'a\0b' }, 'content', 'L9VAL', /must not hold the character NUL/],
      [{ content: 'half \ud83d' }, 'content', 'L9VAL', /must not hold half of a surrogate pair/],
      [JSON.parse('{ "content": "x", "a": { "__proto__": 1 } }'), 'a', 'L9VAL', /__proto__ is no name for a field/],
      [{ content: 'x', deep: deep(70) }, 'deep', 'L9LIM', /at most 64 levels deep/],
      [{ content: 'x', 'a\0b': 1 }, 'data', 'L9VAL', /must not hold the character NUL/],
    ];
    const items = (project: string) => [
      { data: { content: 'before' }, project_id: project },
      ...bad.map(([data]) => ({ data, project_id: project, scope: 'developer', kind: 'note' })),
      { kind: 'todo', data: { text: 'no status' }, project_id: project },
      { data: { content: 'tagged' }, tags: ['a\0'], project_id: project },
      { data: { content: 'after' }, project_id: project },
    ];
    const expected = [
      ...bad.map(([, field, sqlstate, reason], n) => ({
        index: n + 1,
        field,
        sqlstate,
        message: expect.stringMatching(new RegExp(`^${field}: ${reason.source}`)),
      })),
      { index: bad.length + 1, field: 'status', sqlstate: 'L9VAL' },
      { index: bad.length + 2, field: 'tags', sqlstate: 'L9VAL' },
    ];

    it('stores the others, over MCP and GraphQL, and audits each that is refused', async () => {
      const { stored, errors } = await store(items('unstorable'));
      expect(errors).toMatchObject(expected);
      expect(stored).toMatchObject([
        { index: 0, status: 'inserted' },
        { index: items('x').length - 1, status: 'inserted' },
      ]);
      const audited = await api.gateway.sql(
        'L',
        `select sqlstate, i.place::integer as index, details ->> 'field' as field
         from public.audit_log, jsonb_array_elements(details -> 'items') as i (place)
         where project_id = 'unstorable' and status = 'error' order by 2`,
      );
      expect(audited).toStrictEqual(expected.map(({ index, field, sqlstate }) => ({ sqlstate, index, field })));
      const byGraphql = await storeByGraphql(
        items('unstorable-too').map(({ project_id, ...item }) => ({ ...item, projectId: project_id })),
      );
      expect(byGraphql.errors).toMatchObject(expected);
      expect(byGraphql.stored).toHaveLength(2);
      expect([await count('unstorable'), await count('unstorable-too')]).toStrictEqual([2, 2]);
    });

    it('refuses an item that is nested too deeply, and no other, at each depth', async () => {
      const depths = [59, 60, 61, 62, 63, 64, 65, 66];
      const { stored, errors } = await store(
        depths.map((n) => ({ data: { content: `depth ${n}`, deep: deep(n) }, project_id: 'depths' })),
      );
      expect(stored.length + errors.length).toBe(depths.length);
      expect(errors.map(({ index }: { index: number }) => index)).toStrictEqual([2, 3, 4, 5, 6, 7]);
      expect(new Set(errors.map((it: Fields) => `${it.sqlstate} ${it.field}`))).toStrictEqual(new Set(['L9LIM deep']));
    });

    it('stores none with all_or_nothing, and answers all errors', async () => {
      const { stored, errors } = await store(items('unstorable-whole'), { all_or_nothing: true });
      expect(stored).toStrictEqual([]);
      expect(errors).toMatchObject(expected);
      expect(await count('unstorable-whole')).toBe(0);
    });

    it('names the item with a number that is not kept exactly', async () => {
      const response = await fetch(`${api.gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await api.gateway.token({ caller: 'C' })}`,
          'content-type': 'application/json',
        },
        body: `{"query": ${JSON.stringify(api.mutation)}, "variables": {"items": [
          {"projectId": "exact", "data": {"content": "one", "n": 9007199254740993}}, {"projectId": "exact", "data": {"content": "two"}}]}}`,
      });
      // biome-ignore lint/suspicious/noExplicitAny: an answer of GraphQL
      const { data } = (await response.json()) as any;
      expect(data.memoryStore).toMatchObject({
        stored: [{ index: 1 }],
        errors: [{ index: 0, field: 'n', message: expect.stringMatching(/^n: has more digits/) }],
      });
    });
  });

  it('names the fields of data as the caller gave them', async () => {
    const { errors } = await store([
      { kind: 'event', data: { content: 'It rang.', event_type: 5 }, project_id: 'events' },
      { data: { content: 'large', more: 'x'.repeat(300_000) }, project_id: 'events' },
    ]);
    expect(errors).toMatchObject([
      { field: 'event_type', message: 'event_type: must be a text that is not blank' },
      { field: 'data', message: expect.stringMatching(/^data: at most 262144 bytes/) },
    ]);
    const note = { kind: 'release_note', data: { version: '1', release_date: '2026-01-01' }, project_id: 'events' };
    await store([note], {}, 'L');
    const [error] = (await store([{ ...note, data: { ...note.data, summary: 'Mine' } }])).errors;
    expect(error).toMatchObject({ sqlstate: 'L9OWN', field: null });
  });

  it('records refusals of one kind in one row for each hundred items, with their number and places', async () => {
    await store(Array.from({ length: 400 }, () => ({ kind: 'todo', data: { text: 'Paint' }, project_id: 'refused' })));
    const rows = await api.gateway.sql(
      'L',
      "select sqlstate, details from public.audit_log where project_id = 'refused' order by details -> 'items' -> 0",
    );
    const items = (from: number) => Array.from({ length: 100 }, (_, place) => from + place);
    expect(rows).toStrictEqual(
      [0, 100, 200, 300].map((from) => ({
        sqlstate: 'L9VAL',
        details: expect.objectContaining({ times: 100, items: items(from) }),
      })),
    );
  });

  it('refuses what is there already in a scope where the caller may not write', async () => {
    const item = { kind: 'todo', data: { text: 'Trim the wick', status: 'open' }, scope: 'global' };
    await store([item], {}, 'L');
    await api.gateway.asSuperuser(
      "select public.register_actor('Visitor', 'Visitor', 'l9_agent', readable_scopes => '{global}', writable_scopes => '{}')",
    );
    for (const more of [{}, { idempotency_key: 'wick' }]) {
      const values = [JSON.stringify([{ ...item, ...more }])];
      const claims = { 'jwt.claims.caller': 'Visitor' };
      expect(await api.gateway.sql('C', 'select * from public.memory_store($1)', values, claims)).toMatchObject([
        { sqlstate: 'L9SCP', field: 'scope' },
      ]);
    }
  });

  it('refuses an empty list, more than 500 items and what is no item', async () => {
    expect((await api.gateway.tool('C', 'memory_store', { items: [] })).text).toMatch(/1 to 500/);
    expect((await api.gateway.tool('C', 'memory_store', { items: Array(501).fill({ data: {} }) })).text).toMatch(
      /at most 500/,
    );
    const { errors } = await store([
      'text',
      { data: [] },
      { data: { content: 'x' }, colour: 'red' },
      { kind: 7, data: {} },
    ]);
    expect(errors).toMatchObject([{ field: 'items' }, { field: 'data' }, { field: 'colour' }, { field: 'kind' }]);
  });
});
