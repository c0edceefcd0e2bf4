// What a call leaves out is filled in from the working copy of its client.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the project of a working copy', () => {
  let gateway: TestGateway;
  const clients: Client[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await gateway.close();
  });

  /** A client in the working copy of a project. Its results are checked against the listed output schemas, as editors do. */
  async function editor(project: string | null, key = gateway.apiKey('C')) {
    const client = new Client({ name: 'editor', version: '1' });
    const headers = { authorization: `Bearer ${key}`, ...(project !== null && { 'x-l9-project': project }) };
    const url = new URL(`${gateway.instance.url}/mcp?tools=all`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
    clients.push(client);
    await client.listTools();
    return async (name: string, args: Record<string, unknown> = {}) => {
      // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
      const { isError, content, structuredContent } = (await client.callTool({ name, arguments: args })) as any;
      return { text: content[0].text as string, isError: isError === true, ...structuredContent };
    };
  }
  const projectsOf = (rows: { project_id: string | null }[]) => rows.map(({ project_id }) => project_id).sort();

  it('is where two editors of one server save and search, with no argument', async () => {
    const site = await editor('site');
    const shop = await editor('shop');
    for (const [tool, where] of [[site, 'site'] as const, [shop, 'shop'] as const]) {
      const saved = await tool('save_memory', { content: `The harbour gate of ${where} is blue.` });
      expect(saved).toMatchObject({ memory: { project_id: where }, inferred: { project_id: where } });
    }
    const all = await site('save_memory', { content: 'The harbour gate closes at ten.', scope: 'global' });
    expect(all).not.toHaveProperty('inferred');

    for (const [tool, where] of [[site, 'site'] as const, [shop, 'shop'] as const]) {
      const found = await tool('search_memory', { query: 'harbour gate', mode: 'lexical' });
      expect(projectsOf(found.hits)).toEqual([where, null].sort());
      expect(found).toMatchObject({ inferred: { project_id: where } });
      expect(found.text).toMatch(new RegExp(`Inferred from the working copy: project_id ${where}\\.$`));
    }
  });

  it('gives way to the project of the call, and to * for every project', async () => {
    const site = await editor('site');
    const shop = await site('search_memory', { query: 'harbour gate', mode: 'lexical', project_id: 'shop' });
    expect(projectsOf(shop.hits)).toEqual([null, 'shop'].sort());
    expect(shop).not.toHaveProperty('inferred');
    const all = await site('search_memory', { query: 'harbour gate', mode: 'lexical', project_id: '*' });
    expect(projectsOf(all.hits)).toEqual([null, 'shop', 'site'].sort());
    expect(all).not.toHaveProperty('inferred');
    const nowhere = await editor(null);
    const everything = await nowhere('search_memory', { query: 'harbour gate', mode: 'lexical', project_id: '*' });
    expect(everything.hits).toHaveLength(3);
  });

  it('counts for lessons, facts, statistics, summaries and worlds too', async () => {
    const site = await editor('site');
    const shop = await editor('shop');
    const inferred = { project_id: 'site' };
    const lesson = { content: 'Lower the gate before the tide turns.' };
    expect(await site('reflect', lesson)).toMatchObject({ reflection: { project_id: 'site' }, inferred });
    expect((await site('recall_lessons', { query: 'gate tide' })).lessons).toHaveLength(1);
    expect((await shop('recall_lessons', { query: 'gate tide' })).lessons).toHaveLength(0);

    const fact = { subject: 'gate', predicate: 'has colour', object: 'blue' };
    expect(await site('assert_fact', fact)).toMatchObject({ fact: { project_id: 'site' }, inferred });
    expect(await site('find_facts', { subject: 'gate' })).toMatchObject({ facts: [{ project_id: 'site' }], inferred });
    expect((await shop('find_facts', { subject: 'gate' })).facts).toEqual([]);

    const { by_project, ...counted } = await site('get_memory_stats');
    expect(Object.keys(by_project)).toEqual(['site']);
    expect(counted).toMatchObject({ inferred });
    expect(await site('summarize')).toMatchObject({ inferred });

    const entities = [{ entity_id: 'gate', entity_type: 'gate', attributes: { state: 'open' } }];
    const insight = { insight_type: 'observation', content: 'The gate is open.', entities };
    expect(await site('update_world_model', { insight })).toMatchObject({ isError: false, inferred });
    expect(await site('get_world_model')).toMatchObject({ project_id: 'site', entity_count: 1, inferred });
    expect(await shop('get_world_model')).toMatchObject({ project_id: 'shop', entity_count: 0 });
  });

  it('is no right: a project outside those of the key is ignored', async () => {
    const [{ api_key }] = await gateway.sql(
      'L',
      `select (public.create_api_key('two projects', 'C', projects => '{l9,l10}')).api_key`,
    );
    // The gateway reads new keys when it is notified of them.
    await eventually(async () => {
      const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' };
      return (await fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body: '{}' })).status !== 401;
    });
    const elsewhere = await editor('site', api_key);
    const found = await elsewhere('search_memory', { query: 'harbour gate', mode: 'lexical' });
    expect(projectsOf(found.hits)).toEqual([null]);
    expect(found).not.toHaveProperty('inferred');
    expect((await elsewhere('save_memory', { content: 'Mine.' })).text).toMatch(/project_id: required/);
  });

  it('narrows a search of GraphQL in the same way', async () => {
    const response = await fetch(`${gateway.instance.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await gateway.token({ caller: 'C' })}`,
        'content-type': 'application/json',
        'x-l9-project': 'shop',
      },
      body: JSON.stringify({
        query: '{ searchMemory(query: "harbour gate", mode: lexical) { hits { projectId } } }',
      }),
    });
    const { data } = (await response.json()) as { data: { searchMemory: { hits: { projectId: string | null }[] } } };
    expect(data.searchMemory.hits.map(({ projectId }) => projectId).sort()).toEqual([null, 'shop'].sort());
  });
});
