// What a client fills in for what it leaves out, and what it encodes twice, in every optional field of every operation and on every API.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type buildSchema as Build, buildSchema, getNamedType, isInputObjectType } from 'postgraphile/graphql';
import { z } from 'zod';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { camelCase } from '../../src/operations/graphql-types.ts';
import { operations } from '../../src/operations/index.ts';
import type { AnyOperation } from '../../src/operations/operation.ts';
import { isOptionalField, readInput } from '../../src/operations/read-input.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

type Fields = Record<string, unknown>;

const schema: ReturnType<typeof Build> = buildSchema(
  readFileSync(join(import.meta.dirname, '..', '..', 'schema.graphql'), 'utf8'),
);
const LEFT_OUT = [null, '', ' \n', []];

describeOnEmbedded('an empty value', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const place = { project_id: 'shop' };
  /** Arguments with which each operation finds or writes something. */
  const bases: Record<string, Fields> = {
    save_memory: { content: 'Ann: the kiln is lit at six.' },
    search_memory: { query: 'kiln', mode: 'lexical' },
    memory_store: { items: [{ kind: 'note', data: { content: 'The glaze is blue.' }, ...place }] },
    memory_find: { query: 'kiln', mode: 'fast' },
    get_memory: {},
    get_document: {},
    record_feedback: { was_useful: true },
    update_memory: { content: 'Ann: the kiln is lit at seven.', importance: 0.4 },
    delete_memory: {},
    get_memory_stats: {},
    preview_search: { query: 'kiln' },
    delete_expired_memories: {},
    assert_fact: { subject: 'kiln', predicate: 'burns', object: 'wood' },
    find_facts: { subject: 'kiln' },
    explore_graph: { entity: 'kiln' },
    reflect: { content: 'Clay shrinks when it dries.' },
    recall_lessons: { query: 'clay' },
    update_world_model: { insight: { insight_type: 'observation', content: 'The kiln cools for a day.' } },
    get_world_model: {},
    summarize: {},
    store_session_to_cascade: { session: { session_id: 's', messages: [{ role: 'user', text: 'hello' }] } },
    query_cascade_memories: {},
    retrieve_session_from_cascade: { pointer: 'cascade://none' },
    verify_archives: {},
    rotate_archive_keys: {},
    estimate_storage_cost: { bytes: 1000 },
  };
  const callerOf = ({ toolSet }: AnyOperation) => (toolSet === 'admin' ? 'L' : 'C');
  const fieldsOf = ({ input }: AnyOperation): Record<string, z.ZodType> => (input as z.ZodObject).shape as never;
  const baseOf = (operation: AnyOperation): Fields => ({
    ...('project_id' in fieldsOf(operation) && place),
    ...bases[operation.name],
  });

  let packetId: string;
  beforeAll(async () => {
    packetId = (await gateway.call('C', 'save_memory', { ...bases.save_memory, ...place })).memory.packet_id;
    for (const name of ['reflect', 'assert_fact', 'update_world_model'])
      await gateway.call('C', name, { ...bases[name], ...place });
    const { hits } = await gateway.call('C', 'search_memory', { ...bases.search_memory, ...place });
    for (const name of ['get_memory', 'update_memory', 'get_document']) bases[name]!.packet_id = packetId;
    bases.delete_memory!.packet_id = '01900000-0000-7000-8000-000000000000';
    bases.record_feedback!.access_id = hits[0].access_id;
  });

  /** What an answer says besides times, scores and the ids of accesses. */
  const gist = (answer: { isError: boolean; text: string; result: unknown }) =>
    answer.isError
      ? answer.text
      : JSON.stringify(
          [
            ...JSON.stringify(answer.result).matchAll(
              /"(packet_id|fact_id|reflection_id|pointer|entity_id|tags)":("[^"]*"|\[[^\]]*\])/g,
            ),
          ].map(([all]) => all),
        );

  it.each(
    operations.map((operation) => [operation.name, operation] as const),
  )('is left out of %s over MCP', async (name, operation) => {
    const optional = Object.entries(fieldsOf(operation)).filter(([, field]) => isOptionalField(field));
    for (const [field] of optional) {
      const { [field]: _, ...base } = baseOf(operation);
      const without = await gateway.tool(callerOf(operation), name, base);
      for (const value of LEFT_OUT) {
        const given = await gateway.tool(callerOf(operation), name, { ...base, [field]: value });
        expect(gist(given), `${name}(${field}: ${JSON.stringify(value)})`).toBe(gist(without));
      }
    }
  });

  it.each(
    operations.map((operation) => [operation.name, operation] as const),
  )('is left out of %s over GraphQL, in a variable and in the document', async (name, operation) => {
    const root = operation.isReadOnly ? 'query' : 'mutation';
    const field = camelCase(name);
    const args = (operation.isReadOnly ? schema.getQueryType() : schema.getMutationType())!.getFields()[field]!.args;
    const input = args.find((argument) => argument.name === 'input');
    const inputType = input && getNamedType(input.type);
    const types = isInputObjectType(inputType)
      ? Object.fromEntries(Object.values(inputType.getFields()).map((one) => [one.name, String(one.type)]))
      : Object.fromEntries(args.map((one) => [one.name, String(one.type)]));
    const ask = async (given: Fields, literals: Fields = {}) => {
      const names = Object.keys(given).map(camelCase);
      const written = [
        ...names.map((one) => `${one}: $${one}`),
        ...Object.entries(literals).map(([one, value]) => `${camelCase(one)}: ${JSON.stringify(value)}`),
      ].join(', ');
      const put = input ? `(input: { ${written} })` : written && `(${written})`;
      const declared = names.length > 0 ? `(${names.map((one) => `$${one}: ${types[one]}`).join(', ')})` : '';
      const variables = Object.fromEntries(Object.entries(given).map(([one, value]) => [camelCase(one), value]));
      const query = `${root} ${declared} { ${field}${put} { __typename } }`;
      const { errors = [], data } = await gateway.graphql(callerOf(operation), query, variables);
      return JSON.stringify([errors.map(({ message }) => message), data]);
    };
    const optional = Object.entries(fieldsOf(operation)).filter(([, one]) => isOptionalField(one));
    for (const [one] of optional) {
      const { [one]: _, ...base } = baseOf(operation);
      const without = await ask(base);
      for (const value of LEFT_OUT) {
        const given = await ask({ ...base, [one]: value });
        expect(given, `${name}(${one}: ${JSON.stringify(value)})`).toBe(without);
      }
      expect(await ask(base, { [one]: '' }), `${name}(${one}: "") in the document`).toBe(without);
    }
  });

  it('is left out of an item of a batch, over MCP and in SQL, but not of its data', async () => {
    const item = {
      kind: 'issue',
      ...place,
      data: { tracker: 't', external_id: '1', title: 'A crack', status: 'open' },
    };
    const empty = {
      tags: [],
      thread_id: '',
      speaker: ' ',
      language: '',
      timestamp: '',
      idempotency_key: '',
      ttl_policy: '',
    };
    const more = { ...empty, branch: '', parent_ids: null, citations: [] };
    const [first] = (await gateway.call('C', 'memory_store', { items: [item] })).stored;
    const again = await gateway.call('C', 'memory_store', { items: [{ ...item, ...more }] });
    expect(again).toMatchObject({ errors: [], stored: [{ packet_id: first.packet_id, status: 'skipped_dedupe' }] });
    const [row] = await gateway.sql('C', 'select packet_id, sqlstate, message from memory_store($1)', [
      JSON.stringify([{ ...item, ...more }]),
    ]);
    expect(row).toStrictEqual({ packet_id: first.packet_id, sqlstate: null, message: null });
    const assigned = { ...item, data: { ...item.data, assignee: 'Ann' } };
    await gateway.call('C', 'memory_store', { items: [assigned] });
    await gateway.call('C', 'memory_store', { items: [{ ...item, data: { ...item.data, assignee: null } }] });
    const { memory } = await gateway.call('C', 'get_memory', { packet_id: first.packet_id });
    expect(memory.envelope.assignee ?? null, 'null removes a field of the kind').toBeNull();
  });

  it('is left out of searches in SQL', async () => {
    const ids = async (call: string) =>
      (await gateway.sql('C', `select h.packet_id from unnest((${call}).hits) as h order by 1`)).map(
        (row: { packet_id: string }) => row.packet_id,
      );
    const all = await ids(`search_memory('kiln', 100, 'lexical')`);
    expect(all.length).toBeGreaterThan(0);
    for (const [argument, value] of [
      ...['tags', 'kinds', 'scopes'].map((name) => [name, "'{}'"]),
      ...['thread_id', 'creator', 'speaker', 'language', 'project_id'].map((name) => [name, "' '"]),
    ])
      expect(await ids(`search_memory('kiln', 100, 'lexical', ${argument} => ${value})`), argument).toStrictEqual(all);
    expect(await ids(`memory_find('kiln', k => 100, mode => 'fast', kinds => '{}', scopes => '{}')`)).toStrictEqual(
      await ids(`memory_find('kiln', k => 100, mode => 'fast')`),
    );
    const counted = async (call: string) => (await gateway.sql('C', `select count(*) as n from ${call}`))[0].n;
    expect(await counted(`find_facts('kiln', predicate => '', scope => '')`)).toBe(await counted(`find_facts('kiln')`));
    const lessons = async (more: string) =>
      (await gateway.sql('C', `select cardinality((recall_lessons('clay'${more})).lessons) as n`))[0].n;
    expect(await lessons(`, types => '{}', tags => '{}', scopes => '{}', priority => ''`)).toBe(await lessons(''));
  });

  it('keeps what an update does not name, and empties what it names in clear', async () => {
    const full = { tags: ['a', 'b'], thread_id: 'kiln', parent_ids: [packetId] };
    const id = await gateway.save('C', 'Stoneware is fired twice.', { ...full, ...place });
    const now = async () => {
      const { memory } = await gateway.call('C', 'get_memory', { packet_id: id });
      return { tags: memory.tags, thread_id: memory.thread_id, parent_ids: memory.parent_ids };
    };
    await gateway.call('C', 'update_memory', { packet_id: id, tags: [], thread_id: '', parent_ids: null, kind: '' });
    expect(await now()).toStrictEqual(full);
    await gateway.call('C', 'update_memory', { packet_id: id, clear: ['tags', 'thread_id'] });
    expect(await now()).toStrictEqual({ ...full, tags: [], thread_id: null });
    await gateway.query('C', 'mutation ($input: UpdateMemoryInput!) { updateMemory(input: $input) { status } }', {
      input: { packetId: id, clear: ['parent_ids'], tags: ['c'] },
    });
    expect(await now()).toStrictEqual({ tags: ['c'], thread_id: null, parent_ids: [] });
    expect((await gateway.tool('C', 'update_memory', { packet_id: id, clear: ['content'] })).text).toMatch(
      /L9VAL.*clear/,
    );
    await expect(gateway.sql('C', "select update_memory($1, clear => '{content}')", [id])).rejects.toThrow(/^clear: /);
  });

  it('may be the parameters or the arguments of a call', async () => {
    const post = async (body: object) => {
      const response = await fetch(`${gateway.instance.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'x-api-key': gateway.apiKey('L'),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
      });
      return response.json() as Promise<{ result?: { tools?: unknown[]; isError?: boolean } }>;
    };
    expect((await post({ method: 'ping', params: null })).result).toStrictEqual({});
    expect((await post({ method: 'tools/list', params: null })).result?.tools?.length).toBeGreaterThan(0);
    expect((await post({ method: 'tools/list', params: { cursor: null, _meta: null } })).result).toHaveProperty(
      'tools',
    );
    for (const given of [null, '{}', '{"project_id":""}']) {
      const { result } = await post({ method: 'tools/call', params: { name: 'get_memory_stats', arguments: given } });
      expect(result?.isError ?? false, String(given)).toBe(false);
    }
  });
});

describeOnEmbedded('a value that is encoded twice', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('is decoded in whatever a schema wants as a list, object, number or boolean', () => {
    const wanted = z.strictObject({
      list: z.array(z.string()).nullish(),
      objects: z.array(z.strictObject({ n: z.number(), tags: z.array(z.string()).nullish() })).nullish(),
      object: z.record(z.string(), z.unknown()).nullish(),
      number: z.number().default(1),
      boolean: z.boolean().nullish(),
      text: z.string().nullish(),
      any: z.union([z.string(), z.number(), z.array(z.unknown())]).nullish(),
    });
    for (const [given, read] of [
      [{ list: '["a","b"]' }, { list: ['a', 'b'] }],
      [{ list: 'a' }, { list: ['a'] }],
      [{ list: '[a, b' }, { list: ['[a, b'] }],
      [{ list: '[]' }, {}],
      [{ list: 'null' }, {}],
      [{ objects: '[{"n":"1","tags":"[\\"x\\"]"}]' }, { objects: [{ n: 1, tags: ['x'] }] }],
      [{ objects: { n: 2 } }, { objects: [{ n: 2 }] }],
      [{ objects: ['{"n":3}'] }, { objects: [{ n: 3 }] }],
      [{ object: '{"a":{"b":"[1]"}}' }, { object: { a: { b: '[1]' } } }],
      [{ object: '[1]' }, { object: '[1]' }],
      [{ number: '3' }, { number: 3 }],
      [{ number: '-1.5e2' }, { number: -150 }],
      [{ number: '3 apples' }, { number: '3 apples' }],
      [{ number: '0x10' }, { number: '0x10' }],
      [{ number: 'true' }, { number: 'true' }],
      [{ boolean: 'true' }, { boolean: true }],
      [{ boolean: 'yes' }, { boolean: 'yes' }],
      [{ boolean: 1 }, { boolean: 1 }],
      [{ text: '["a"]' }, { text: '["a"]' }],
      [{ text: '3' }, { text: '3' }],
      [{ any: '[1]' }, { any: '[1]' }],
      [{ unknown: '' }, { unknown: '' }],
    ] as const)
      expect(readInput(wanted, given), JSON.stringify(given)).toStrictEqual(read);
    expect(readInput(wanted, JSON.stringify({ number: '3' }))).toStrictEqual({ number: 3 });
    const digits = readInput(wanted, { number: '9007199254740993' }) as { number: unknown };
    expect(digits.number, 'a number that is not kept is no number').not.toBe(9007199254740992);
  });

  it('is decoded over MCP, GraphQL and in batches', async () => {
    const id = await gateway.save('C', 'The wheel turns left.', { tags: '["wheel"]', metadata: '{"notes":{"a":1}}' });
    const { memory } = await gateway.call('C', 'get_memory', { packet_id: id });
    expect([memory.tags, memory.metadata.notes]).toStrictEqual([['wheel'], { a: 1 }]);
    const args = { query: 'wheel', mode: 'lexical', tags: 'wheel', k: '3', explain: 'true', scopes: '["developer"]' };
    const { hits } = await gateway.call('C', 'search_memory', { ...args, where: '{}' });
    expect(hits).toMatchObject([{ packet_id: id, explanation: expect.any(Object) }]);
    const rated = await gateway.call('C', 'record_feedback', { access_id: hits[0].access_id, was_useful: 'true' });
    expect(rated.was_useful).toBe(true);
    const items = JSON.stringify([
      { kind: 'todo', data: '{"text":"Glaze it","status":"open"}', project_id: 'l9', tags: 'x' },
    ]);
    const { stored } = await gateway.call('C', 'memory_store', { items });
    expect(stored).toMatchObject([{ status: 'inserted', kind: 'todo' }]);
    const { searchMemory } = await gateway.query(
      'C',
      `query ($k: Int, $tags: [String!], $where: JSON, $explain: Boolean) {
        searchMemory(query: "wheel", mode: lexical, k: $k, tags: $tags, where: $where, explain: $explain) {
          hits { packetId } searched { k }
        } }`,
      { k: '3', tags: '["wheel"]', where: '{}', explain: 'true' },
    );
    expect(searchMemory).toStrictEqual({ hits: [{ packetId: id }], searched: { k: 3 } });
    const { saveMemory } = await gateway.query(
      'C',
      'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { memory { tags importanceScore } } }',
      { input: { content: 'The bat is dry.', projectId: 'l9', tags: '["bat"]', importance: '0.5' } },
    );
    expect(saveMemory.memory).toStrictEqual({ tags: ['bat'], importanceScore: 0.5 });
    const refused = await gateway.tool('C', 'search_memory', { query: 'x', k: '12345678901234567890' });
    expect(refused.text).toMatch(/L9VAL\): k: has more digits/);
  });

  it('is decoded in the fields of a kind, also one of the tenant, where the kind wants no text', async () => {
    await gateway.sql(
      'L',
      `select public.register_memory_kind('firing', purpose => 'A firing of the kiln.', text_fields => '{clay}', fields => $1)`,
      [
        JSON.stringify([
          { field: 'clay', type: 'text', is_required: true, meaning: 'The clay.' },
          { field: 'cone', type: 'number', meaning: 'The cone.' },
          { field: 'is_glazed', type: 'boolean', meaning: 'Whether it is glazed.' },
          { field: 'pots', type: 'text[]', meaning: 'The pots.' },
          { field: 'curve', type: 'object[]', meaning: 'The steps.', parts: [{ field: 'degrees', type: 'number' }] },
          { field: 'kiln', type: 'object', meaning: 'The kiln.' },
        ]),
      ],
    );
    const items = [
      { kind: 'decision', data: { title: '[1]', rationale: '5', status: 'accepted', alternatives: '["one","two"]' } },
      { kind: 'section', data: { heading: 'true', body_md: '{"a":1}', level: '2' } },
      { kind: 'pr_context', data: { repository: 'a/b', pr_number: '17', title: 'x', status: 'open' } },
      {
        kind: 'firing',
        data: {
          ...{ clay: '["red"]', cone: ' -6.5', is_glazed: 'true', pots: '["cup"]', kiln: '{"fuel":"wood"}' },
          curve: '[{"degrees":"900"}]',
        },
      },
      { kind: 'firing', data: { clay: 'white', pots: 'jug', curve: [{ degrees: '1000' }] } },
      { kind: 'firing', data: { clay: 'grey', pots: 'vase' } },
      { kind: 'firing', data: { clay: 'a', cone: '6 or 7' } },
      { kind: 'firing', data: { clay: 'b', cone: '12345678901234567890' } },
      { kind: 'firing', data: { clay: 'c', kiln: '{"fuel":"a\\u0000b"}' } },
      { kind: 'glaze', data: { content: '["free"]' } },
    ].map((item) => ({ ...item, project_id: 'l9' }));
    const { stored, errors } = await gateway.call('C', 'memory_store', { items });
    expect(errors.map(({ index, field }: Fields) => [index, field])).toStrictEqual([
      [6, 'cone'],
      [7, 'cone'],
      [8, 'kiln'],
    ]);
    const envelopes = await gateway.sql(
      'C',
      'select envelope - $2 as data from public.packet_store where packet_id = any ($1::uuid[]) order by array_position($1::uuid[], packet_id)',
      [stored.map(({ packet_id }: { packet_id: string }) => packet_id), 'content'],
    );
    expect(envelopes.map(({ data }) => data)).toStrictEqual([
      { title: '[1]', rationale: '5', status: 'accepted', alternatives: ['one', 'two'] },
      { heading: 'true', body_md: '{"a":1}', level: 2 },
      { repository: 'a/b', pr_number: 17, title: 'x', status: 'open' },
      {
        ...{ clay: '["red"]', cone: -6.5, is_glazed: true, pots: ['cup'], kiln: { fuel: 'wood' } },
        curve: [{ degrees: 900 }],
      },
      { clay: 'white', pots: ['jug'], curve: [{ degrees: 1000 }] },
      { clay: 'grey', pots: ['vase'] },
      {},
    ]);
  });
});
