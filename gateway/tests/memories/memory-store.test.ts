// memory_store over MCP and GraphQL: typed memories in batches, an answer for each item.
import { type Fields, kindExamples } from '../../../db/tests/support/kinds.ts';
import { useMemoryStore } from './store-items.ts';

interface Item extends Fields {
  kind?: string;
  data: Fields;
}

describe('memory_store', () => {
  const api = useMemoryStore();
  const { store, storeByGraphql } = api;

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
    const { memory } = await api.gateway.call('C', 'get_memory', { packet_id: open.packet_id });
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
    expect((await api.gateway.call('C', 'get_memory', { packet_id: old.packet_id })).memory.envelope).toMatchObject({
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
    const rows = await api.gateway.sql(
      'C',
      'select round(extract(epoch from ttl - created_at) / 86400) as days from public.packet_store where packet_id = any ($1) order by packet_id',
      [stored.map(({ packet_id }: { packet_id: string }) => packet_id)],
    );
    expect(rows.map(({ days }) => days && Number(days)).sort()).toStrictEqual([1, 90, null, null]);
  });

  it('gives an item that names the policy default the ttl of its kind again', async () => {
    const item = (ttl_policy?: string) => ({
      kind: 'pr_context',
      data: {
        repository: 'acme/shop',
        pr_number: 5,
        title: 'Pay later',
        status: 'merged',
        merged_at: new Date().toISOString(),
      },
      project_id: 'policies',
      ttl_policy,
    });
    const first = item('permanent');
    const [{ packet_id }] = (await store([first])).stored;
    const again = async (ttl_policy?: string) => {
      const { stored } = await store([{ ...first, ttl_policy }]);
      const { memory } = await api.gateway.call('C', 'get_memory', { packet_id });
      const days = memory.ttl && (Date.parse(memory.ttl) - Date.parse(first.data.merged_at)) / 86_400_000;
      return [stored[0].status, days];
    };
    expect(await again()).toStrictEqual(['skipped_dedupe', null]);
    expect(await again('default')).toStrictEqual(['updated', 30]);
    expect(await again('default')).toStrictEqual(['skipped_dedupe', 30]);
  });

  it('stores an approved document with its text, which is then locked, over MCP and GraphQL', async () => {
    const item = (project_id: string, body_md: string) => ({
      kind: 'document',
      data: { title: 'Charter', approved_at: '2026-11-01T10:00:00Z', approved_by: 'Ann', body_md },
      project_id,
    });
    const locked = {
      index: 0,
      field: 'body_md',
      sqlstate: 'L9IMM',
      message: 'body_md: is locked in this document; store a new document under another title or link',
    };
    const [{ packet_id }] = (await store([item('charter', '# Charter\n')])).stored;
    expect((await api.gateway.call('C', 'get_document', { packet_id })).body_md).toBe('# Charter\n');
    expect((await store([item('charter', '# Another\n')])).errors).toMatchObject([locked]);
    const { project_id: _, ...rest } = item('', '# Charter\n');
    const [saved] = (await storeByGraphql([{ ...rest, projectId: 'charter-2' }])).stored;
    expect(saved).toMatchObject({ status: 'inserted', memory: { title: 'Charter' } });
    const changed = { ...rest, projectId: 'charter-2', data: { ...rest.data, body_md: '# Another\n' } };
    expect((await storeByGraphql([changed])).errors).toMatchObject([locked]);
    expect((await store([{ ...item('charter', 'x'), data: { title: 'Five', body_md: 5 } }])).errors).toMatchObject([
      { field: 'body_md', message: 'body_md: must be a text' },
    ]);
  });

  it('takes turns of a conversation with time, speaker, thread and language, over MCP and GraphQL', async () => {
    const turn = (n: number, timestamp: string) => ({
      kind: 'message',
      data: { content: 'Thanks!' },
      speaker: n % 2 ? 'Ben' : 'Ann',
      language: 'english',
      timestamp,
    });
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    const turns = [
      turn(0, '2026-05-12T09:30:00Z'),
      turn(0, '2026-05-12T09:31:00Z'),
      turn(0, ahead),
      { ...turn(0, 'yesterday') },
      { ...turn(1, '2026-05-12T09:31:00Z'), language: 'klingon' },
      turn(1, '2026-05-12T09:31:00Z'),
    ];
    const expected = {
      stored: [0, 1, 5].map((index) => ({ index, status: 'inserted' })),
      errors: [
        { index: 2, field: 'timestamp' },
        { index: 3, field: 'timestamp' },
        { index: 4, field: 'language' },
      ],
    };
    const byMcp = await store(turns.map((it) => ({ ...it, project_id: 'talk', thread_id: 'mcp' })));
    expect(byMcp).toMatchObject(expected);
    // GraphQL itself checks that a time is one.
    turns[3]!.timestamp = ahead;
    const byGraphql = await storeByGraphql(turns.map((it) => ({ ...it, projectId: 'talk', threadId: 'graphql' })));
    expect(byGraphql).toMatchObject(expected);
    // Sent again, they are the same turns.
    const again = await store(turns.slice(0, 2).map((it) => ({ ...it, project_id: 'talk', thread_id: 'mcp' })));
    expect(again.stored).toMatchObject([{ status: 'skipped_dedupe' }, { status: 'skipped_dedupe' }]);
    for (const thread of ['mcp', 'graphql']) {
      const rows = await api.gateway.sql(
        'C',
        `select speaker, language, "timestamp" from public.packet_store where thread_id = $1 order by "timestamp", speaker`,
        [thread],
      );
      expect(rows).toStrictEqual([
        { speaker: 'Ann', language: 'english', timestamp: new Date('2026-05-12T09:30:00Z') },
        { speaker: 'Ann', language: 'english', timestamp: new Date('2026-05-12T09:31:00Z') },
        { speaker: 'Ben', language: 'english', timestamp: new Date('2026-05-12T09:31:00Z') },
      ]);
    }
    // Other kinds have them, too, also those that are inserted together.
    const [decision] = (
      await store([
        {
          kind: 'decision',
          data: { title: 'Say thanks', status: 'proposed', rationale: 'It is kind.' },
          project_id: 'talk',
          thread_id: 'manners',
          speaker: 'Ann',
          language: 'none',
          timestamp: '2026-05-12T09:30:00Z',
        },
      ])
    ).stored;
    expect((await api.gateway.call('C', 'get_memory', { packet_id: decision.packet_id })).memory).toMatchObject({
      thread_id: 'manners',
      speaker: 'Ann',
      language: 'none',
      timestamp: expect.stringMatching(/^2026-05-12T09:30:00/),
    });
  });

  it('answers a repeated idempotency_key with the first answer, and refuses another item under it', async () => {
    const item = { data: { content: 'The tide turns at four.' }, scope: 'global', idempotency_key: 'tide' };
    const first = (await store([item])).stored[0];
    expect((await store([item])).stored[0]).toStrictEqual(first);
    expect((await store([{ ...item, data: { content: 'At five.' } }])).errors).toMatchObject([
      { field: 'idempotency_key' },
    ]);
  });

  it('takes another text of a document, or another approval, for another item', async () => {
    const data = { title: 'Tides', body_md: '# Tides\n\nAt four.\n' };
    const item = { kind: 'document', project_id: 'l9', idempotency_key: 'tides', data };
    const first = (await store([item])).stored[0];
    expect((await store([item])).stored[0]).toStrictEqual(first);
    for (const other of [{ body_md: '# Tides\n\nAt five.\n' }, { approved_at: '2026-11-01T10:00:00Z' }]) {
      const { stored, errors } = await store([{ ...item, data: { ...data, ...other } }]);
      expect([stored, errors]).toMatchObject([[], [{ field: 'idempotency_key' }]]);
    }
    const { body_md } = (await api.gateway.tool('C', 'get_document', { packet_id: first.packet_id })).result;
    expect(body_md).toBe(data.body_md);
  });

  it('answers a repeated item whose ttl counts from when it was stored', async () => {
    const item = {
      data: { content: 'The lamp is out.' },
      scope: 'global',
      idempotency_key: 'lamp',
      ttl_policy: 'short',
    };
    const first = (await store([item])).stored[0];
    expect((await store([item])).stored[0]).toStrictEqual(first);
  });

  it('has in save_memory a second way for one memory, which leaves the content out', async () => {
    const decision = {
      kind: 'decision',
      project_id: 'single',
      envelope: { title: 'One way', status: 'proposed', rationale: 'Less to learn.' },
    };
    const first = await api.gateway.call('C', 'save_memory', decision);
    expect(first).toMatchObject({
      status: 'inserted',
      memory: { title: 'One way', content: 'One way\n\nLess to learn.' },
    });
    const again = await api.gateway.call('C', 'save_memory', {
      ...decision,
      envelope: { ...decision.envelope, status: 'accepted' },
    });
    expect(again).toMatchObject({ status: 'updated', memory: { packet_id: first.memory.packet_id } });
    expect((await api.gateway.tool('C', 'save_memory', { ...decision, content: 'Long prose.' })).text).toMatch(
      /leave it out/,
    );
    expect((await api.gateway.tool('C', 'save_memory', { kind: 'note', project_id: 'single' })).text).toMatch(
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
    const { tools } = await (await api.gateway.mcp('C')).listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'memory_store')!;
    // biome-ignore lint/suspicious/noExplicitAny: a JSON schema
    const options = (inputSchema.properties as any).items.items.properties.data.anyOf;
    const dataOf = (kind: string) => options.find(({ description }: { description: string }) => description === kind);
    for (const { kind, fields, required } of kindExamples) {
      const { properties, required: listed } = dataOf(kind);
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(fields)));
      expect(listed).toEqual(expect.arrayContaining(required));
    }
    const [number, text] = [{ type: 'number' }, { type: 'string' }];
    expect(dataOf('runbook').properties.steps).toStrictEqual({
      type: 'array',
      items: {
        type: 'object',
        properties: { number, description: text, command: text, expected: text },
        required: ['description'],
      },
    });
    expect(dataOf('todo').properties).toMatchObject({ due_date: text, closed_at: { ...text, format: 'date-time' } });
  });
});
