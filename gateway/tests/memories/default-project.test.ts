// The project of what is saved without naming one.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { inferProject } from '../../src/mcp/working-copy.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the default project', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const preference = () => ({ content: `likes tea number ${serial++}`, kind: 'preference' });
  const administer = (statement: string, values: unknown[] = []) => gateway.sql('L', statement, values);

  /** Saves over MCP with this key, and returns the project, or the text of the error. */
  async function saveWith(key: string, headers: Record<string, string> = {}, args: object = {}): Promise<string> {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${key}`, ...headers } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.instance.url}/mcp`), { requestInit }) as never,
    );
    const { content, isError, structuredContent } = (await client.callTool({
      name: 'save_memory',
      arguments: { ...preference(), ...args },
      // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
    })) as any;
    await client.close();
    return isError ? content[0].text : structuredContent.memory.project_id;
  }
  const keyOf = async (args: string): Promise<string> => {
    const [{ api_key }] = await administer(`select (public.create_api_key('a key', 'C', ${args})).api_key`);
    await eventually(async () => {
      const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' };
      return (await fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body: '{}' })).status !== 401;
    });
    return api_key;
  };
  const tokenSave = async (token: string) => {
    const { data, errors } = await gateway.graphql(
      { token },
      'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { memory { projectId } } }',
      { input: preference() },
    );
    return data?.saveMemory?.memory.projectId ?? errors?.[0]?.message;
  };

  it('is named default where nothing else says it, so that a first save needs no set-up', async () => {
    expect(await saveWith(gateway.apiKey('C'))).toBe('default');
    expect(await tokenSave(await gateway.token({ caller: 'L' }))).toBe('default');
    const { stored } = await gateway.call('C', 'memory_store', { items: [{ kind: 'note', data: { content: 'tea' } }] });
    expect(stored[0].project_id).toBe('default');
    expect(await saveWith(gateway.apiKey('C'), {}, { scope: 'global' })).toBeNull();
  });

  it('is that of the key, or the only project to which a key is cut', async () => {
    expect(await saveWith(await keyOf("projects => '{l9,site}', default_project => 'site'"))).toBe('site');
    expect(await saveWith(await keyOf("default_project => 'site'"))).toBe('site');
    const only = await keyOf("projects => '{l9}'");
    expect(await saveWith(only)).toBe('l9');
    expect(await saveWith(only, { 'x-l9-project': 'site' })).toBe('l9');
    await expect(keyOf("projects => '{l9}', default_project => 'site'")).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('is that of the token, or its only project', async () => {
    expect(await tokenSave(await gateway.token({ caller: 'C', projects: ['l9'] }))).toBe('l9');
    expect(await tokenSave(await gateway.token({ caller: 'C', defaultProject: 'site' }))).toBe('site');
    const outside = await gateway.token({ caller: 'C', projects: ['l9', 'l10'], defaultProject: 'site' });
    expect(await tokenSave(outside), 'a default is no permission').toMatch(
      /projectId: required in scope developer; name one, or set a default with register_actor\(\)/,
    );
  });

  it('is that of the working copy, if neither key nor token has one', async () => {
    const key = gateway.apiKey('C');
    expect(await saveWith(key, { 'x-l9-project': 'site' })).toBe('site');
    expect(await saveWith(key, { 'x-l9-project': 'site' }, { project_id: 'l9' })).toBe('l9');
    expect(await saveWith(key, { 'x-l9-project': 'site' }, { scope: 'global' })).toBeNull();

    const folder = await mkdtemp(join(tmpdir(), 'l9-working-copy-'));
    try {
      await mkdir(join(folder, 'my-product', 'src', 'deep'), { recursive: true });
      expect(inferProject(null, join(folder, 'my-product', 'src'))).toBeNull();
      await writeFile(join(folder, 'my-product', '.git'), 'gitdir: elsewhere');
      const inside = join(folder, 'my-product', 'src', 'deep');
      expect(inferProject(null, inside)).toBe('my-product');
      expect(inferProject('acme/site', inside)).toBe('acme/site');
      await mkdir(join(folder, 'two words', '.git'), { recursive: true });
      expect(inferProject(null, join(folder, 'two words'))).toBeNull();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is at last that of the actor, also for lessons, tasks and facts', async () => {
    await administer("select public.register_actor('C', default_project => 'home')");
    expect(await saveWith(gateway.apiKey('C'))).toBe('home');
    expect(await saveWith(gateway.apiKey('C'), { 'x-l9-project': 'site' })).toBe('site');
    const { reflection } = await gateway.call('C', 'reflect', { content: 'Boil the water first.' });
    expect(reflection.project_id).toBe('home');
    const { fact } = await gateway.call('C', 'assert_fact', { subject: 'tea', predicate: 'is', object: 'hot' });
    expect(fact.project_id).toBe('home');
    const { reflectOnTask } = await gateway.query(
      'C',
      'mutation { reflectOnTask(input: { taskId: "tea", description: "Make tea" }) { taskReflection { projectId } } }',
    );
    expect(reflectOnTask.taskReflection.projectId).toBe('home');
    expect(
      await gateway
        .sql('C', "select (public.save_memory('only there')).memory.project_id", [], {
          'jwt.claims.projects': '["l9","l10"]',
        })
        .catch((error: { code: string }) => error.code),
      'it may not work there',
    ).toBe('L9VAL');
    await administer("select public.register_actor('C', default_project => '')");
    expect(await saveWith(gateway.apiKey('C'))).toBe('default');
    await expect(administer("select public.register_actor('C', default_project => 'a b')")).rejects.toMatchObject({
      code: 'L9VAL',
    });
  });
});
