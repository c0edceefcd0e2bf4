// `l9-memory mcp` with clients of both eras of the protocol: prompts and resources, the folders of the client, and lists that change.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as ClientOf2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOf2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { cli, createProcessHome, type ProcessHome } from '../home/processes.ts';

const MODERN = '2026-07-28';
// A machine may need long to start the process.
const versionNegotiation = { mode: { pin: MODERN }, probe: { timeoutMs: 240_000 } };

// What differs by engine is tested over HTTP.
describeOnEmbedded('l9-memory mcp', () => {
  let home: ProcessHome;
  let url: string;
  beforeAll(async () => {
    home = await createProcessHome();
    url = (await home.serve()).url;
  });
  afterAll(() => home.close());

  const clients: { close(): Promise<void> }[] = [];
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  const start = (cwd = home.home, env: Record<string, string> = {}, args = ['--caller', 'C']) => ({
    ...{ command: process.execPath, args: [cli, 'mcp', ...args], cwd, stderr: 'ignore' as const },
    env: { ...home.env, ...env },
  });

  const saved = async (client: Client, content: string) => {
    const { structuredContent } = await client.callTool({ name: 'save_memory', arguments: { content } });
    // biome-ignore lint/suspicious/noExplicitAny: the tests look at what they asked for
    return (structuredContent as any).memory as { packet_id: string; project_id: string };
  };

  const admin = async (query: string) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${home.key('L')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { data, errors } = (await response.json()) as any;
    expect(errors).toBeUndefined();
    return data.admin;
  };

  it('serves a client of 2026-07-28 without a handshake', async () => {
    const client = new ClientOf2({ name: 'modern', version: '1' }, { versionNegotiation });
    clients.push(client);
    await client.connect(new StdioOf2(start(home.home, { L9_PROJECT: 'pier' })));
    expect(client.getNegotiatedProtocolVersion()).toBe(MODERN);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('save_memory');
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toStrictEqual(['recall', 'remember']);
    // The address has letters that a header can't hold.
    const { packet_id: id } = await saved(client as unknown as Client, 'The pier is lit.');
    const { contents } = await client.readResource({ uri: `memory://${id}` });
    expect(contents).toMatchObject([{ text: expect.stringContaining('"The pier is lit."') }]);
    const missing = await errorOf(client.readResource({ uri: 'memory://project/ñandú/brief' }));
    expect(missing.message).toMatch(/L9VAL/);
    const { messages } = await client.getPrompt({ name: 'recall', arguments: { about: 'pier' } });
    expect(messages).toMatchObject([{ content: { text: expect.stringContaining(id) } }]);
  });

  it('saves to the project of the folders that its client names, and follows them', async () => {
    const [site, shop] = ['site', 'shop'].map((name) => {
      mkdirSync(join(home.home, name, '.git'), { recursive: true });
      return pathToFileURL(join(home.home, name)).href;
    });
    let roots = [site!];
    const client = new Client({ name: 'editor', version: '1' }, { capabilities: { roots: { listChanged: true } } });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((uri) => ({ uri })) }));
    clients.push(client);
    mkdirSync(join(home.home, 'elsewhere'), { recursive: true });
    await client.connect(new StdioClientTransport(start(join(home.home, 'elsewhere'))) as never);
    expect((await saved(client, 'The site is white.')).project_id).toBe('site');
    roots = [shop!];
    await client.sendRootsListChanged();
    expect((await saved(client, 'The shop is red.')).project_id).toBe('shop');
    const { messages } = await client.getPrompt({ name: 'recall', arguments: { about: 'white site' } });
    expect(JSON.stringify(messages)).not.toContain('The site is white.');
  });

  it('goes on without the folders of a client that does not answer', async () => {
    const client = new Client({ name: 'silent', version: '1' }, { capabilities: { roots: {} } });
    client.setRequestHandler(ListRootsRequestSchema, () => new Promise(() => {}));
    clients.push(client);
    await client.connect(new StdioClientTransport(start(home.home, { L9_PROJECT: 'quiet' })) as never);
    expect((await saved(client, 'Nobody says where.')).project_id).toBe('quiet');
  });

  it('tells its client when its key is offered other tools', async () => {
    await admin(
      'mutation { admin { registerActor(caller: "R", creator: "Reviewer", source: "r", agent: "r") { caller } } }',
    );
    const key = (await admin('mutation { admin { createApiKey(name: "r", caller: "R") { apiKey } } }')).createApiKey;
    const env = { MCP_API_KEY: key.apiKey };
    const modern = new ClientOf2({ name: 'modern', version: '1' }, { versionNegotiation });
    const older = new Client({ name: 'older', version: '1' });
    clients.push(modern, older);
    const args = ['--tools', 'core,review'];
    await modern.connect(new StdioOf2(start(home.home, env, args)));
    await older.connect(new StdioClientTransport(start(home.home, env, args)) as never);
    const told = { modern: 0, older: 0 };
    older.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told.older += 1;
    });
    modern.setNotificationHandler('notifications/tools/list_changed', () => {
      told.modern += 1;
    });
    await modern.listen({ toolsListChanged: true });
    for (const client of [modern, older] as Client[]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('review_queue');
      // From now on it is attached to the server.
      await client.callTool({ name: 'search_memory', arguments: {} });
    }
    await admin('mutation { admin { registerActor(caller: "R", role: "l9_admin") { caller } } }');
    await eventually(() => told.modern > 0 && told.older > 0);
    for (const client of [modern, older] as Client[]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('review_queue');
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('review');
    }
  });
});
