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
  async function editor(project: string | null, key = gateway.apiKey('C'), branch: string | null = null) {
    const client = new Client({ name: 'editor', version: '1' });
    const headers = {
      authorization: `Bearer ${key}`,
      ...(project !== null && { 'x-l9-project': project }),
      // As a client sends it that writes UTF-8.
      ...(branch !== null && { 'x-l9-branch': Buffer.from(branch).toString('latin1') }),
    };
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

  it('has a branch too, in which the editor saves and searches', async () => {
    const gate = await editor('dock', undefined, 'feature/gate-ü');
    const main = await editor('dock', undefined, 'main');
    for (const [tool, branch] of [[gate, 'feature/gate-ü'] as const, [main, 'main'] as const]) {
      const inferred = { project_id: 'dock', branch };
      const same = { content: 'The dock has two gates.' };
      expect(await tool('save_memory', same)).toMatchObject({ status: 'inserted', memory: inferred, inferred });
      expect(await tool('save_memory', same)).toMatchObject({ status: 'skipped_dedupe', inferred });
    }
    const shared = await gate('save_memory', { content: 'The dock is wet.', branch: '*' });
    expect(shared).toMatchObject({ memory: { branch: null }, inferred: { project_id: 'dock' } });
    expect(shared.inferred).not.toHaveProperty('branch');
    const found = async (tool: typeof main, args: object = {}) => {
      const { hits, inferred } = await tool('search_memory', { query: 'dock', mode: 'lexical', ...args });
      return { branches: hits.map((hit: { branch: string | null }) => hit.branch).sort(), inferred };
    };
    const own = { project_id: 'dock', branch: 'main' };
    expect(await found(main)).toEqual({ branches: ['main', null], inferred: own });
    expect(await found(main, { project_id: 'dock' })).toEqual({
      branches: ['main', null],
      inferred: { branch: 'main' },
    });
    expect(await found(main, { branch: '*' })).toEqual({
      branches: ['feature/gate-ü', 'main', null],
      inferred: { project_id: 'dock' },
    });
    expect((await found(main, { branch: 'feature/gate-ü' })).branches).toEqual(['feature/gate-ü', null]);
    expect((await found(main, { project_id: '*' })).branches).toHaveLength(3);

    // Another project has other branches, also that of a key which works in one project only.
    const elsewhere = await main('save_memory', { content: 'The other dock.', project_id: 'other-dock' });
    expect(elsewhere).toMatchObject({ memory: { project_id: 'other-dock', branch: null } });
    expect(elsewhere).not.toHaveProperty('inferred');
    expect(await found(main, { project_id: 'other-dock' })).toEqual({ branches: [null], inferred: undefined });
    const [{ api_key }] = await gateway.sql(
      'L',
      `select (public.create_api_key('one project', 'C', projects => '{quay}')).api_key`,
    );
    await eventually(async () => {
      const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' };
      return (await fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body: '{}' })).status !== 401;
    });
    const quay = await editor('dock', api_key, 'main');
    expect(await quay('save_memory', { content: 'Mine.' })).toMatchObject({
      memory: { project_id: 'quay', branch: null },
    });

    // Facts hold for the project.
    const fact = { subject: 'dock', predicate: 'has gates', object: 2 };
    expect(await main('assert_fact', fact)).toMatchObject({ inferred: { project_id: 'dock' } });
    expect((await gate('find_facts', { subject: 'dock' })).facts).toHaveLength(1);
  });

  it.each([
    ['X-L9-Project', 'no project!'],
    ['X-L9-Project', 'x'.repeat(201)],
    ['X-L9-Project', 'l9, site'],
    ['X-L9-Branch', 'no branch..'],
    ['X-L9-Branch', 'b'.repeat(256)],
    ['X-L9-Branch', '\u00ff'],
  ])('refuses a malformed %s, in every API, rather than search every project: %s', async (header, value) => {
    const message = new RegExp(`${header}: must be 1 to `);
    const send = async (path: string, secret: string, body: object) => {
      const headers = {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        [header]: value,
      };
      const response = await fetch(`${gateway.instance.url}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    };
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_memory', arguments: { query: 'gate' } },
    };
    // A key that has a project of its own gets the error, too: what the client sends is wrong.
    const own = await gateway.token({ caller: 'C', defaultProject: 'site' });
    for (const answer of [
      await send('/mcp', gateway.apiKey('C'), call),
      await send('/graphql', await gateway.token({ caller: 'C' }), {
        query: '{ searchMemory(query: "gate") { hits { projectId } } }',
      }),
      await send('/graphql', own, { query: '{ searchMemory(query: "gate") { hits { projectId } } }' }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(message);
      expect(answer.text).toMatch(/L9VAL/);
    }
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
    const { data, extensions } = (await response.json()) as {
      data: { searchMemory: { hits: { projectId: string | null }[] } };
      extensions: object;
    };
    expect(extensions).toStrictEqual({ inferred: { searchMemory: { projectId: 'shop' } } });
    expect(data.searchMemory.hits.map(({ projectId }) => projectId).sort()).toEqual([null, 'shop'].sort());

    let inferred: object | undefined;
    const inBranch = async (query: string) => {
      const answer = await fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await gateway.token({ caller: 'C' })}`,
          'content-type': 'application/json',
          'x-l9-project': 'shop',
          'x-l9-branch': 'main',
        },
        body: JSON.stringify({ query }),
      });
      const { data, extensions } = (await answer.json()) as { data: unknown; extensions?: { inferred: object } };
      inferred = extensions?.inferred;
      return data;
    };
    expect(
      await inBranch(
        'mutation { saveMemory(input: { content: "A crane." }) { memory { packetId projectId branch } } }',
      ),
    ).toMatchObject({ saveMemory: { memory: { projectId: 'shop', branch: 'main' } } });
    expect(inferred).toStrictEqual({ saveMemory: { projectId: 'shop', branch: 'main' } });
    await inBranch('mutation { saveMemory(input: { content: "A quay.", projectId: "l9" }) { memory { branch } } }');
    expect(inferred).toBeUndefined();
    await inBranch('mutation { saveMemory(input: { content: "A crane.", branch: "other" }) { memory { branch } } }');
    const lists = `{
      here: searchMemory(query: "crane", mode: lexical) { hits { branch } }
      all: searchMemory(query: "crane", mode: lexical, branch: "*") { hits { branch } }
      one: memories(filter: { projectId: { equalTo: "shop" }, branch: { equalTo: "other" } }) { nodes { branch } }
      both: memories(filter: { branch: { in: ["main", "other"] }, projectId: { equalTo: "shop" } }, orderBy: [BRANCH_DESC]) {
        nodes { branch }
      }
    }`;
    expect(await inBranch(lists)).toMatchObject({
      here: { hits: [{ branch: 'main' }] },
      all: { hits: [{}, {}] },
      one: { nodes: [{ branch: 'other' }] },
      both: { nodes: [{ branch: 'other' }, { branch: 'main' }] },
    });
  });
});
