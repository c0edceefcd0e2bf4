// Which tools MCP lists, in how many bytes, and which a key that is cut down to some sets can call.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { dataSchema } from '../../src/mcp/kind-schemas.ts';
import { leanSchema } from '../../src/mcp/lean-schema.ts';
import { operations } from '../../src/operations/index.ts';
import { toolSets } from '../../src/operations/operation.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { faultsOfSchema, faultsOfTool } from './accepted-by-hosts.ts';

const CORE = [
  'save_memory',
  'search_memory',
  'memory_store',
  'memory_find',
  'get_memory',
  'record_feedback',
  'update_memory',
  'delete_memory',
  'reflect',
  'recall_lessons',
];
const namesIn = (...sets: string[]) =>
  operations.filter(({ toolSet }) => sets.includes(toolSet)).map(({ name }) => name);

describe('tool sets', () => {
  const gateway = useTestGateway({ embedder: standIn });

  const listed = async (tools?: string, caller = 'C') => (await (await gateway.mcp(caller, tools)).listTools()).tools;
  const namesListed = async (tools?: string) => (await listed(tools)).map(({ name }) => name);

  it('lists the tools of every session by default, in less than 20 kB', async () => {
    const tools = await listed();
    expect(tools.map(({ name }) => name)).toStrictEqual(CORE);
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThan(20_000);
  });

  it('lists the sets that a client asks for', async () => {
    expect(await namesListed('core')).toStrictEqual(CORE);
    expect(await namesListed('knowledge')).toStrictEqual(namesIn('knowledge'));
    expect(await namesListed('core,%20archive')).toStrictEqual(namesIn('core', 'archive'));
    expect(await namesListed('core&tools=admin')).toStrictEqual(namesIn('core', 'admin'));
    const forReviewers = namesIn('review');
    const all = operations.map(({ name }) => name);
    expect(await namesListed('all')).toStrictEqual(all.filter((name) => !forReviewers.includes(name)));
    expect((await listed('all', 'L')).map(({ name }) => name)).toStrictEqual(all);
    for (const set of toolSets) expect((await listed(set, 'L')).length, set).toBeGreaterThan(0);
  });

  it.each(['', ...toolSets, 'all', 'core,archive'])('lists tools that all hosts accept (%s)', async (sets) => {
    const tools = await listed(sets, 'L');
    expect(tools.length).toBeGreaterThan(0);
    expect(tools.flatMap(faultsOfTool)).toStrictEqual([]);
  });

  it('makes schemas that all hosts accept of every form that an argument or a field of a kind may have', () => {
    const forms = {
      anything: z.unknown(),
      list: z.array(z.unknown()).min(1).max(9),
      lists: z.array(z.array(z.number())),
      one: z.literal('one').describe('Only this.'),
      several: z.union([z.string(), z.number().nullable(), z.array(z.unknown())]).describe('One of three.'),
      time: z.union([z.iso.datetime(), z.literal('infinity')]).nullish(),
      day: z.iso.date().nullish(),
      id: z.array(z.uuid()).nullish().describe('Ids.'),
      address: z.email().nullable().describe('Where to.'),
      map: z.record(z.string(), z.number()),
      choice: z.enum(['a', 'b']).default('a'),
      parts: z.array(z.strictObject({ inner: z.literal('x').nullish(), more: z.array(z.unknown()) })),
      safe: z.int().nullish(),
    };
    expect(faultsOfSchema(leanSchema(z.strictObject(forms)), 'forms')).toStrictEqual([]);
    const { properties } = leanSchema(z.strictObject(forms));
    expect([properties!.one, properties!.id]).toStrictEqual([
      { type: 'string', enum: ['one'], description: 'Only this.' },
      { type: 'array', items: { type: 'string' }, description: 'Ids.' },
    ]);
    const types = ['text', 'text[]', 'number', 'boolean', 'date', 'timestamp', 'uuid', 'object', 'object[]', 'url'];
    const fields = Object.fromEntries(types.map((type) => [`of ${type}`.replace(/\W/g, '_'), { type }]));
    const withParts = { type: 'object[]', parts: [{ field: 'name' }, { field: 'list', type: 'text[]' }] };
    const kind = { fields: { ...fields, chosen: { type: 'text', choices: ['a'] }, withParts } };
    const rules = { ...kind, order: Object.keys(kind.fields) };
    expect(faultsOfSchema(dataSchema([{ kind: 'every_type', rules }]), 'kind')).toStrictEqual([]);
  });

  it('refuses a set that does not exist, to those who have a key', async () => {
    await expect(gateway.mcp('C', 'core,secret')).rejects.toThrow(
      /INVALID_INPUT \(L9VAL\): tools: each must be one of core, knowledge, archive, review, admin, all/,
    );
    const response = await fetch(`${gateway.instance.url}/mcp?tools=secret`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
  });

  it('says a type once in the schemas, and takes null for what may be left out all the same', async () => {
    const text = JSON.stringify((await listed('all')).map(({ inputSchema }) => inputSchema));
    expect(text).not.toMatch(/"null"|\$schema|propertyNames|9007199254740991/);
    const saved = await gateway.call('C', 'save_memory', { content: 'x y z', project_id: 'l9', tags: null, ttl: null });
    expect(saved.status).toBe('inserted');
  });

  it('answers tools that are not listed', async () => {
    expect(await gateway.call('C', 'find_facts', { subject: 'nothing' })).toStrictEqual({
      facts: [],
      aliases: [],
    });
  });

  it.each([
    ['one item', { kind: 'todo', data: { text: 'a', status: 'open' } }],
    ['a list', { items: [{ kind: 'todo', data: { text: 'a', status: 'open' } }] }],
    ['a payload and a type', { items: [{ type: 'todo', payload: { text: 'a', status: 'open' } }] }],
    ['fields beside the kind', { items: [{ kind: 'todo', text: 'a', status: 'open' }] }],
    ['the content of a note', { content: 'a' }],
  ])('stores %s as older clients send it to memory.store, in their place', async (what, given) => {
    const text = `Paint the pier, ${what}`;
    const told = JSON.parse(JSON.stringify(given).replaceAll('"a"', JSON.stringify(text)));
    for (const [n, place] of [
      { scope: { org: 'acme', project: 'pier', branch: 'main' } },
      { scope: JSON.stringify({ project: 'pier', branch: 'main' }) },
      { projectId: 'pier', branch: 'main' },
      { project: 'pier', branch: 'main', scope: 'developer' },
    ].entries()) {
      const { stored, errors } = await gateway.call('C', 'memory.store', { ...told, ...place });
      expect([errors, stored[0]?.status], what).toStrictEqual([[], n === 0 ? 'inserted' : 'skipped_dedupe']);
      expect(stored[0]).toMatchObject({ project_id: 'pier', branch: 'main' });
    }
    const query = { query: text, mode: 'fast' };
    for (const asked of [
      { scope: { org: 'acme', project: 'pier', branch: 'main' }, top_k: 1 },
      { scope: '{"project": "pier"}', topK: '1' },
      { project: 'pier', scope: 'developer', limit: 1, types: ['todo', 'note'] },
      { project: 'pier', kind: 'content' in given ? 'note' : 'todo', top_k: 1 },
    ]) {
      const { hits } = await gateway.call('C', 'memory.find', { ...query, ...asked });
      expect(hits.map((hit: { snippet: string }) => hit.snippet.replaceAll('**', ''))).toStrictEqual([
        expect.stringContaining('Paint the pier'),
      ]);
    }
    const elsewhere = await gateway.call('C', 'memory.find', { ...query, scope: { project: 'elsewhere' }, top_k: 1 });
    expect(elsewhere.hits).toStrictEqual([]);
  });

  it('refuses what neither today nor then was an argument, and what the caller may not do there', async () => {
    const text = async (tool: string, args: object) => (await gateway.tool('C', tool, args)).text;
    expect(await text('memory.find', { query: 'x', scope: { repository: 'pier' } })).toMatch(/L9VAL.*repository/);
    expect(await text('memory.find', { query: 'x', top_k: 0 })).toMatch(/L9/);
    expect(await text('memory.find', { query: 'x', scope: 'l-private' })).toMatch(/searched no scope/);
    const { errors } = await gateway.call('C', 'memory.store', {
      items: [{ kind: 'note', content: 'hidden', scope: 'l-private', project: 'pier' }],
    });
    expect(errors).toMatchObject([{ sqlstate: 'L9SCP' }]);
  });

  it('answers the names of older clients, which are not listed', async () => {
    const older = [
      'saveMemory',
      'searchMemory',
      'memory.store',
      'memory.find',
      'getMemoryStats',
      'deleteExpiredMemories',
    ];
    const all = await namesListed('all');
    for (const name of older) expect(all).not.toContain(name);
    const saved = await gateway.call('C', 'saveMemory', { content: 'The harbour opens at six.', project_id: 'old' });
    const found = await gateway.call('C', 'searchMemory', { query: 'harbour', project_id: 'old', mode: 'lexical' });
    expect(found.hits.map((hit: { packet_id: string }) => hit.packet_id)).toStrictEqual([saved.memory.packet_id]);
    const item = { kind: 'note', data: { content: 'The lighthouse blinks.' }, project_id: 'old' };
    const { stored } = await gateway.call('C', 'memory.store', { items: [item] });
    expect(stored).toMatchObject([{ index: 0, status: 'inserted' }]);
    const { hits } = await gateway.call('C', 'memory.find', { query: 'lighthouse', project_id: 'old', mode: 'fast' });
    expect(hits.map((hit: { packet_id: string }) => hit.packet_id)).toStrictEqual([stored[0].packet_id]);
    expect((await gateway.call('C', 'getMemoryStats', { project_id: 'old' })).total).toBe(2);
    expect((await gateway.tool('C', 'deleteExpiredMemories')).text).toMatch(/^SCOPE_DENIED \(L9SCP\)/);
    expect(await gateway.call('L', 'deleteExpiredMemories')).toHaveProperty('deleted');
    expect((await gateway.tool('C', 'constructor')).text).toMatch(/there is no tool constructor/);
  });

  describe('a key with tool sets', () => {
    const create = async (toolSets: string[] | null, caller = 'C') => {
      const { admin } = await gateway.query(
        'L',
        `mutation ($caller: String, $toolSets: [String!]) {
          admin { createApiKey(name: "narrow", caller: $caller, toolSets: $toolSets) { apiKey keyId } } }`,
        { caller, toolSets },
      );
      const { apiKey, keyId } = admin.createApiKey as { apiKey: string; keyId: string };
      const connect = async (tools = '') => {
        const client = new Client({ name: 'narrow', version: '1' });
        const url = new URL(`${gateway.instance.url}/mcp${tools}`);
        const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
        await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
        return client;
      };
      await eventually(() =>
        connect().then(
          (client) => client.close().then(() => true),
          () => false,
        ),
      );
      const call = async (name: string, args: Record<string, unknown> = {}) => {
        const client = await connect();
        const { content, isError } = (await client.callTool({ name, arguments: args })) as CallToolResult;
        await client.close();
        return { isError: isError === true, text: content.map((part) => ('text' in part ? part.text : '')).join() };
      };
      const names = async (tools?: string) => {
        const client = await connect(tools);
        const { tools: all } = await client.listTools();
        await client.close();
        return all.map(({ name }) => name);
      };
      return { keyId, call, names };
    };

    it('lists its sets by default, and nothing else', async () => {
      const { names } = await create(['core', 'knowledge']);
      expect(await names()).toStrictEqual(namesIn('core', 'knowledge'));
      expect(await names('?tools=all')).toStrictEqual(namesIn('core', 'knowledge'));
      expect(await names('?tools=knowledge,admin')).toStrictEqual(namesIn('knowledge'));
      expect(await (await create(null)).names()).toStrictEqual(CORE);
    });

    it('can call nothing else, by whatever name, and the refusal is audited', async () => {
      const { call } = await create(['core'], 'L');
      expect((await call('save_memory', { content: 'by a narrow key', project_id: 'l9' })).isError).toBe(false);
      for (const name of ['get_memory_stats', 'getMemoryStats', 'find_facts', 'rotate_archive_keys']) {
        const { isError, text } = await call(name);
        expect([name, isError]).toStrictEqual([name, true]);
        expect(text).toMatch(/^SCOPE_DENIED \(L9SCP\): \w+: this key is limited to the tools of core/);
      }
      const audited = await gateway.sql(
        'L',
        "select caller, tool_name, sqlstate from audit_log where operation = 'DENIED' and tool_name = 'find_facts'",
      );
      expect(audited).toStrictEqual([{ caller: 'L', tool_name: 'find_facts', sqlstate: 'L9SCP' }]);
    });

    it('is limited by the database, too', async () => {
      const { keyId } = await create(['core', 'archive']);
      const callerIn = async (toolSet: string) => {
        const claims = { 'jwt.claims.key_id': keyId, 'l9.tool_set': toolSet };
        const [row] = await gateway.sql('C', 'select i.caller from identity.current_identity() i', [], claims);
        return row.caller;
      };
      expect(await Promise.all(['core', 'archive'].map(callerIn))).toStrictEqual(['C', 'C']);
      expect(await Promise.all(['admin', 'knowledge', '', 'core,admin', '{core}'].map(callerIn))).toStrictEqual(
        Array(5).fill(null),
      );
    });

    it('is refused with a set that does not exist', async () => {
      for (const [sets, reason] of [
        ["'{}'", /tool_sets: must name at least one, or be omitted/],
        ["'{core,all}'", /tool_sets: each must be one of core, knowledge, archive, review, admin/],
        ['array[null]', /tool_sets: each must be one of/],
      ] as const)
        await expect(gateway.sql('L', `select create_api_key('k', 'C', tool_sets => ${sets})`)).rejects.toThrow(reason);
    });
  });
});
