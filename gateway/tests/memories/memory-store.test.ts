// memory_store over MCP and GraphQL: typed memories in batches, an answer for each item.
import { type Fields, kindExamples } from '../../../db/tests/support/kinds.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

interface Item extends Fields {
  kind?: string;
  data: Fields;
}

const MUTATION = `mutation ($items: [MemoryStoreItem!]!, $whole: Boolean) {
  memoryStore(input: { items: $items, allOrNothing: $whole }) {
    stored { index status packetId kind memory { title content } }
    errors { index code sqlstate field message }
  }
}`;

describe('memory_store', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const store = (items: unknown[], more: Fields = {}, caller = 'C') =>
    gateway.call(caller, 'memory_store', { items, ...more });
  const storeByGraphql = async (items: unknown[], caller = 'C') =>
    (await gateway.query(caller, MUTATION, { items })).memoryStore;
  const count = async (project: string) =>
    (
      await gateway.sql('L', 'select count(*)::integer as n from public.packet_store where project_id = $1', [project])
    )[0].n;

  it.each(kindExamples)('stores, updates and refuses a $kind, over MCP and over GraphQL', async ({
    kind,
    fields,
    same,
    bad,
    locks,
  }) => {
    const project = `store-${kind.replaceAll('_', '-')}`;
    const item = (data: Fields): Item => ({ kind, data: { ...fields, ...data }, project_id: project });
    const first = (await store([item({})])).stored[0];
    expect(first).toMatchObject({ index: 0, status: 'inserted', kind });
    const projectId = project;
    expect((await storeByGraphql([{ kind, data: fields, projectId }])).stored[0]).toMatchObject({
      status: 'skipped_dedupe',
      packetId: first.packet_id,
    });
    if (same)
      expect((await storeByGraphql([{ kind, data: { ...fields, ...same }, projectId }])).stored[0]).toMatchObject({
        status: 'updated',
        packetId: first.packet_id,
      });
    for (const [field, wrong] of bad) {
      const { stored, errors } = await store([item(wrong)]);
      expect(stored).toStrictEqual([]);
      expect(errors).toMatchObject([{ index: 0, field, message: expect.stringMatching(`^${field}: `) }]);
    }
    if (locks) {
      const [field, refused] = locks.refused.at(-1)!;
      await store([item({ ...same, ...locks.by })]);
      expect(
        (await storeByGraphql([{ kind, data: { ...fields, ...same, ...locks.by, ...refused }, projectId }])).errors,
      ).toMatchObject([{ index: 0, code: 'IMMUTABLE', sqlstate: 'L9IMM', field }]);
    }
  });

  it('tries items that are the same in their order, also where the first is refused', async () => {
    const decision = (rationale: string, more: object) => ({
      kind: 'decision',
      data: { title: 'One tide table', status: 'accepted', rationale },
      project_id: 'tides',
      ...more,
    });
    const missing = ['01900000-0000-7000-8000-000000000000'];
    const { stored, errors } = await store([
      decision('The first.', { citations: missing }),
      decision('The second.', {}),
    ]);
    expect(errors).toMatchObject([{ index: 0, sqlstate: 'L9VAL', field: 'citations' }]);
    expect(stored).toMatchObject([{ index: 1, status: 'inserted' }]);
  });

  it('names the list that the caller gave if a memory in it is not found', async () => {
    const missing = ['01900000-0000-7000-8000-000000000000'];
    const [parent] = (await store([{ data: { content: 'a memory to rest on' }, project_id: 'cites' }])).stored;
    const item = (n: number, lists: object) => ({ data: { content: `rests on ${n}` }, project_id: 'cites', ...lists });
    const { errors } = await store([
      item(1, { citations: missing }),
      item(2, { parent_ids: missing, citations: [] }),
      item(3, { parent_ids: [parent.packet_id], citations: missing }),
    ]);
    expect(errors).toMatchObject([
      { field: 'citations', message: 'citations: at least one of these memories was not found' },
      { field: 'parent_ids', message: 'parent_ids: at least one of these memories was not found' },
      { field: 'parent_ids', message: 'parent_ids, citations: at least one of these memories was not found' },
    ]);
  });

  describe('a batch of 500 with 7 bad items', () => {
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
      [250, { data: { content: `key AKIA${'Z7Q4M2X6K3B5C4D5'}` } }, 'content', 'L9SEC'],
      [498, { kind: 'note', data: {} }, 'content', 'L9VAL'],
      [499, { data: { content: 'x' }, tags: Array.from({ length: 65 }, (_, n) => `t${n}`) }, 'tags', 'L9LIM'],
    ];
    const batch = (project: string) => {
      const items: Item[] = Array.from({ length: 500 }, (_, n) =>
        n % 2
          ? { data: { content: `note ${n} of ${project}` } }
          : { kind: 'issue', data: { tracker: 'jira', external_id: `X-${n}`, title: `Issue ${n}`, status: 'open' } },
      );
      for (const [index, item] of bad) items[index] = item;
      return items.map((item) => ({ project_id: project, ...item }));
    };
    const expected = bad.map(([index, , field, sqlstate]) => ({ index, field, sqlstate }));

    it('stores 493 and answers 7 errors, each with its index and field', async () => {
      const { stored, errors } = await store(batch('batch'));
      expect(stored).toHaveLength(493);
      expect(stored.map(({ index }: { index: number }) => index)).toStrictEqual(
        Array.from({ length: 500 }, (_, n) => n).filter((n) => !bad.some(([index]) => index === n)),
      );
      expect(new Set(stored.map(({ status }: { status: string }) => status))).toStrictEqual(new Set(['inserted']));
      expect(errors).toMatchObject(expected);
      expect(await count('batch')).toBe(493);
      const [row] = await gateway.sql(
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

    it('answers a second time that it knows the 493', async () => {
      const { stored } = await store(batch('batch'));
      expect(new Set(stored.map(({ status }: { status: string }) => status))).toStrictEqual(
        new Set(['skipped_dedupe']),
      );
      expect(await count('batch')).toBe(493);
    });

    it('leaves one audit row for each refused item, without its text', async () => {
      const rows = await gateway.asSuperuser(
        "select details from public.audit_log where sqlstate in ('L9SEC', 'L9SCP') and details ->> 'item' in ('18', '250')",
      );
      expect(rows.length).toBeGreaterThanOrEqual(2);
      expect(JSON.stringify(rows)).not.toContain('AKIA');
    });
  });

  it('lets a later item of a batch build on an earlier one that is the same', async () => {
    const todo = { kind: 'todo', data: { text: 'Paint the fence', status: 'open' }, project_id: 'later' };
    const { stored } = await store([todo, todo, { ...todo, data: { ...todo.data, status: 'done' } }]);
    expect(stored.map(({ status }: { status: string }) => status)).toStrictEqual([
      'inserted',
      'skipped_dedupe',
      'updated',
    ]);
    expect(new Set(stored.map(({ packet_id }: { packet_id: string }) => packet_id)).size).toBe(1);
  });

  it('stores items that are the same in their order, whatever they need to be stored', async () => {
    const todo = (status: string, more: Fields = {}) => ({
      kind: 'todo',
      data: { text: 'Wind the clock', status },
      project_id: 'in-order',
      ...more,
    });
    const { stored } = await store([todo('done'), todo('open', { idempotency_key: 'wind' }), todo('blocked')]);
    const [done, open, blocked] = stored;
    expect([done, open, blocked].map(({ status }) => status)).toStrictEqual(['inserted', 'inserted', 'updated']);
    expect(blocked.packet_id).toBe(open.packet_id);
    const { memory } = await gateway.call('C', 'get_memory', { packet_id: open.packet_id });
    expect(memory.envelope.status).toBe('blocked');
  });

  it('replaces a decision by another of the same name', async () => {
    const decision = (rationale: string, more: Fields = {}) => ({
      kind: 'decision',
      data: { title: 'One clock for the tower', status: 'accepted', rationale, ...more },
      project_id: 'replaced',
    });
    const [old] = (await store([decision('Two never agreed.')])).stored;
    const successor = decision('It keeps time.', { supersedes: old.packet_id });
    const { stored, errors } = await store([successor]);
    expect(errors).toStrictEqual([]);
    expect(stored[0].status).toBe('inserted');
    expect((await gateway.call('C', 'get_memory', { packet_id: old.packet_id })).memory.envelope).toMatchObject({
      status: 'superseded',
      superseded_by: stored[0].packet_id,
    });
    expect((await store([successor])).stored[0]).toMatchObject({ ...stored[0], status: 'skipped_dedupe' });
  });

  it('answers that nothing differs where a memory that does not expire is stored again for good', async () => {
    const item = { kind: 'todo', data: { text: 'Oil the clock', status: 'open' }, project_id: 'for-good' };
    expect((await store([{ ...item, ttl_policy: 'permanent' }])).stored[0].status).toBe('inserted');
    expect((await store([{ ...item, ttl_policy: 'permanent' }])).stored[0].status).toBe('skipped_dedupe');
  });

  it('keeps an item as long as its ttl_policy says', async () => {
    const note = (content: string, ttl_policy?: string) => ({ data: { content }, scope: 'global', ttl_policy });
    const { stored } = await store([
      note('day', 'short'),
      note('season', 'long'),
      note('good', 'permanent'),
      note('kind'),
    ]);
    const rows = await gateway.sql(
      'C',
      'select round(extract(epoch from ttl - created_at) / 86400) as days from public.packet_store where packet_id = any ($1) order by packet_id',
      [stored.map(({ packet_id }: { packet_id: string }) => packet_id)],
    );
    expect(rows.map(({ days }) => days && Number(days)).sort()).toStrictEqual([1, 90, null, null]);
  });

  it('answers a repeated idempotency_key with the first answer, and refuses another item under it', async () => {
    const item = { data: { content: 'The tide turns at four.' }, scope: 'global', idempotency_key: 'tide' };
    const first = (await store([item])).stored[0];
    expect((await store([item])).stored[0]).toStrictEqual(first);
    expect((await store([{ ...item, data: { content: 'At five.' } }])).errors).toMatchObject([
      { field: 'idempotency_key' },
    ]);
  });

  it('refuses what is there already in a scope where the caller may not write', async () => {
    const item = { kind: 'todo', data: { text: 'Trim the wick', status: 'open' }, scope: 'global' };
    await store([item], {}, 'L');
    await gateway.asSuperuser(
      "select public.register_actor('Visitor', 'Visitor', 'l9_agent', readable_scopes => '{global}', writable_scopes => '{}')",
    );
    for (const more of [{}, { idempotency_key: 'wick' }]) {
      const values = [JSON.stringify([{ ...item, ...more }])];
      const claims = { 'jwt.claims.caller': 'Visitor' };
      expect(await gateway.sql('C', 'select * from public.memory_store($1)', values, claims)).toMatchObject([
        { sqlstate: 'L9SCP', field: 'scope' },
      ]);
    }
  });

  it('refuses an empty list, more than 500 items and what is no item', async () => {
    expect((await gateway.tool('C', 'memory_store', { items: [] })).text).toMatch(/1 to 500/);
    expect((await gateway.tool('C', 'memory_store', { items: Array(501).fill({ data: {} }) })).text).toMatch(
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

  it('has in save_memory a second way for one memory, which leaves the content out', async () => {
    const decision = {
      kind: 'decision',
      project_id: 'single',
      envelope: { title: 'One way', status: 'proposed', rationale: 'Less to learn.' },
    };
    const first = await gateway.call('C', 'save_memory', decision);
    expect(first).toMatchObject({
      status: 'inserted',
      memory: { title: 'One way', content: 'One way\n\nLess to learn.' },
    });
    const again = await gateway.call('C', 'save_memory', {
      ...decision,
      envelope: { ...decision.envelope, status: 'accepted' },
    });
    expect(again).toMatchObject({ status: 'updated', memory: { packet_id: first.memory.packet_id } });
    expect((await gateway.tool('C', 'save_memory', { ...decision, content: 'Long prose.' })).text).toMatch(
      /leave it out/,
    );
    expect((await gateway.tool('C', 'save_memory', { kind: 'note', project_id: 'single' })).text).toMatch(
      /content: a text is required/,
    );
  });

  it('tells branches apart, and says which were inferred from the working copy', async () => {
    const item = (branch?: string) => ({
      kind: 'release_note',
      data: { version: '9.9', release_date: '2026-11-20' },
      project_id: 'branches',
      branch,
    });
    const first = (await store([item('main'), item('fix/9'), item('*'), item('main')])).stored;
    expect(first.map(({ status, branch }: Fields) => [status, branch])).toStrictEqual([
      ['inserted', 'main'],
      ['inserted', 'fix/9'],
      ['inserted', null],
      ['skipped_dedupe', 'main'],
    ]);
  });

  it('lists the fields of each kind in its input schema, from the rows', async () => {
    const { tools } = await (await gateway.mcp('C')).listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'memory_store')!;
    // biome-ignore lint/suspicious/noExplicitAny: a JSON schema
    const options = (inputSchema.properties as any).items.items.anyOf;
    for (const { kind, fields, required } of kindExamples) {
      const { data } = options.find(
        (it: { properties: { kind: { const?: string } } }) => it.properties.kind.const === kind,
      ).properties;
      expect(Object.keys(data.properties)).toEqual(expect.arrayContaining(Object.keys(fields)));
      expect(data.required).toEqual(expect.arrayContaining(required));
    }
  });
});
