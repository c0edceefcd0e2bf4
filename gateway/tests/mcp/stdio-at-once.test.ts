// What `l9-memory mcp` answers while the server starts: the folder is locked, so that none can start until it is released.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  type CallToolResult,
  LATEST_PROTOCOL_VERSION,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config/config.ts';
import { examineHome } from '../../src/home/examine.ts';
import { type HomeLock, lockHome, readHolder } from '../../src/home/lock.ts';
import { callTool, cli, createProcessHome, kill, type ProcessHome } from '../home/processes.ts';

let home: ProcessHome;
let lock: HomeLock | null = null;
beforeAll(async () => {
  home = await createProcessHome();
  examineHome(loadConfig(home.env));
});
afterAll(async () => {
  lock?.release();
  await home.close();
});

// biome-ignore lint/suspicious/noExplicitAny: the tests look at what they asked for
type Message = any;

/** The process of an editor, line by line. */
function start(args: string[] = ['--caller', 'C'], env: Record<string, string> = {}) {
  const process = home.run([cli, 'mcp', ...args], env);
  const answers = (): Message[] =>
    process.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return {
    ...process,
    answers,
    send: (...messages: object[]) =>
      process.process.stdin!.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    answer: (id: number | string) => eventually(() => answers().find((message) => message.id === id)),
  };
}

const request = (id: number | string, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const initialize = (id: number, protocolVersion: string) =>
  request(id, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } });
const saved = (content: string) => ({ name: 'save_memory', arguments: { content, project_id: 'l9' } });

/** Nothing of this home runs any more. */
async function silence() {
  lock?.release();
  for (const pid of home.pids()) kill(pid);
  await eventually(() => home.pids().length === 0);
}

/** What the server itself answers. */
async function overHttp(url: string, message: object, tools = ''): Promise<Message> {
  const response = await fetch(`${url}/mcp${tools}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${home.key('C')}`, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  });
  return response.json();
}

describeOnEmbedded('l9-memory mcp, while the server starts', () => {
  it('answers all but calls as the server will, and calls once it has started', async () => {
    lock = await lockHome(home.home);
    const editor = start();
    const other = start(['--caller', 'L', '--tools', 'knowledge,archive']);
    const asked = [
      initialize(1, '2025-06-18'),
      initialize(2, '1999-01-01'),
      request('p', 'ping'),
      request(3, 'tools/list'),
      request(4, 'resources/templates/list'),
      request(5, 'prompts/list'),
      request(6, 'initialize', { capabilities: {} }),
      request(7, 'tools/list', { cursor: 5 }),
    ];
    editor.send(request(10, 'tools/call', saved('Saved before there was a server.')), ...asked);
    editor.send(request(11, 'tools/call', saved('Nobody waits for this.')));
    editor.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 11 } });
    other.send(request(1, 'tools/list'));
    for (const { id } of asked) await editor.answer(id);
    const others = await other.answer(1);
    expect(editor.answers()).toHaveLength(asked.length);
    expect((await editor.answer(1)).result.protocolVersion).toBe('2025-06-18');
    expect((await editor.answer(2)).result.protocolVersion).toBe(LATEST_PROTOCOL_VERSION);
    expect((await editor.answer('p')).result).toStrictEqual({});
    const codes = asked.map(({ id }) => editor.answers().find((answer) => answer.id === id).error?.code);
    expect(codes.slice(4)).toStrictEqual([undefined, undefined, -32602, -32602]);

    lock.release();
    const { result } = await editor.answer(10);
    expect(result.structuredContent.status).toBe('inserted');
    const { url } = readHolder(home.home)!;
    for (const message of asked) {
      expect(await editor.answer(message.id), message.method).toStrictEqual(await overHttp(url, message));
    }
    expect(others).toStrictEqual(await overHttp(url, request(1, 'tools/list'), '?tools=knowledge,archive'));
    const found = await callTool(url, home.key('C'), 'search_memory', { query: 'nobody waits', mode: 'lexical' });
    expect(found.hits).toStrictEqual([]);
    // The same answers as before, and nothing says that the list has changed.
    editor.send(request(20, 'tools/list'));
    expect((await editor.answer(20)).result).toStrictEqual((await editor.answer(3)).result);
    expect(editor.answers().filter(({ method }) => method)).toStrictEqual([]);
    for (const { process } of [editor, other]) process.stdin!.end();
    expect(await Promise.all([editor.exit, other.exit])).toStrictEqual([0, 0]);
  });

  it('says that the list has changed where its key is cut down to some sets', async () => {
    await silence();
    const server = await home.serve();
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${home.key('L')}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        query: 'mutation { admin { createApiKey(name: "narrow", caller: "C", toolSets: ["knowledge"]) { apiKey } } }',
      }),
    });
    const { data } = (await response.json()) as Message;
    const key = data.admin.createApiKey.apiKey as string;
    kill(server.pid, 'SIGTERM');
    await server.exit;

    lock = await lockHome(home.home);
    const client = new Client({ name: 'editor', version: '1' });
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
    const env = { ...home.env, MCP_API_KEY: key };
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [cli, 'mcp'], env, stderr: 'ignore' }) as never,
    );
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toContain('save_memory');
    lock.release();
    await eventually(() => changes > 0);
    expect(await names()).toContain('explore_graph');
    expect(await names()).not.toContain('save_memory');
    const refused = (await client.callTool({ name: 'save_memory', arguments: { content: 'x' } })) as CallToolResult;
    expect(refused.content[0]).toMatchObject({ text: expect.stringMatching(/^SCOPE_DENIED/) });
    await client.close();
  });

  it('answers the calls that wait with the reason of a start that fails', async () => {
    await silence();
    const client = new Client({ name: 'editor', version: '1' });
    const env = { ...home.env, DATABASE_URL: 'postgres://l9_gateway:hush-hush@127.0.0.1:1/nowhere' };
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [cli, 'mcp', '--caller', 'C'],
        env,
        stderr: 'ignore',
      }) as never,
    );
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    const calls = ['one', 'two'].map((content) => errorOf(client.callTool(saved(content))));
    for (const error of await Promise.all(calls)) {
      expect(error.message).toMatch(/the server did not start: .*ECONNREFUSED.*server\.log/s);
      expect(error.message).not.toMatch(/hush-hush/);
    }
    await client.close();
  });
});
