// What an editor does: it starts `l9-memory mcp` and speaks MCP with it over stdio.
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { readHolder } from '../../src/home/lock.ts';
import { cli, createProcessHome, kill, type ProcessHome, pidAt } from '../home/processes.ts';
import { eventually } from '../support/eventually.ts';

let home: ProcessHome;
before(async () => {
  home = await createProcessHome();
});
after(() => home.close());

const clients: Client[] = [];
// The server that a test leaves behind lives long enough for the next one, which is quicker than a new one each time.
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

/** Nothing of this home runs any more. */
async function silence() {
  for (const pid of home.pids()) kill(pid);
  await eventually(() => home.pids().length === 0);
}

interface Editor {
  pid: number;
  client: Client;
  // biome-ignore lint/suspicious/noExplicitAny: results differ by tool, and tests look at what they asked for
  tool(name: string, args: object): Promise<{ isError: boolean; text: string; result: any }>;
}

async function editor(args: string[], env: Record<string, string> = {}): Promise<Editor> {
  const client = new Client({ name: 'editor', version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli, 'mcp', ...args],
    env: { ...home.env, ...env },
    stderr: 'ignore',
  });
  clients.push(client);
  await client.connect(transport as never);
  return {
    pid: transport.pid as number,
    client,
    async tool(name, args) {
      const answer = (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;
      const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      return { isError: answer.isError === true, text, result: answer.structuredContent };
    },
  };
}

const holder = () => {
  const found = readHolder(home.home);
  assert.ok(found, 'a server runs');
  return found;
};
const isGone = (pid: number) => eventually(() => !home.pids().includes(pid));

const memory = { content: 'Stdio editors share one server.', scope: 'developer', project_id: 'l9' };

describe('l9-memory mcp', () => {
  it('lists tools, saves and finds, with structured content', async () => {
    const { client, tool } = await editor(['--caller', 'C']);
    assert.equal(client.getServerVersion()?.name, 'l9-memory');
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 7 && tools.every(({ inputSchema, outputSchema }) => inputSchema && outputSchema));

    const saved = await tool('save_memory', memory);
    assert.equal(saved.isError, false, saved.text);
    assert.equal(saved.result.status, 'inserted');
    assert.equal(saved.result.memory.creator ?? saved.result.memory.metadata.creator, 'Cursor-IDE');
    const found = await tool('search_memory', { query: 'editors share', mode: 'lexical' });
    assert.equal(found.result.hits[0].packet_id, saved.result.memory.packet_id);
    assert.match(found.text, /^1 memory, searched /);
  });

  it('is the caller whose key it has', async () => {
    const c = await editor(['--caller', 'C']);
    const l = await editor(['--caller', 'L']);
    const byKey = await editor([], { MCP_API_KEY: home.key('L') });
    const secret = { content: 'Only L may know.', scope: 'l-private', project_id: 'l9', caller: 'L' };
    const refused = await c.tool('save_memory', secret);
    assert.equal(refused.isError, true);
    assert.match(refused.text, /^SCOPE_DENIED \(L9SCP\)/);
    assert.equal((await l.tool('save_memory', secret)).result.status, 'inserted');
    assert.equal((await byKey.tool('save_memory', secret)).result.status, 'skipped_dedupe');
    const query = { query: 'only may know', mode: 'lexical' };
    assert.equal((await c.tool('search_memory', query)).result.hits.length, 0);
    assert.equal((await l.tool('search_memory', query)).result.hits.length, 1);
  });

  it('says what is wrong with a caller it can not be', async () => {
    await silence();
    const stranger = home.run([cli, 'mcp', '--caller', 'X']);
    assert.equal(await stranger.exit, 1);
    assert.match(stranger.stderr, /--caller X: there is no key for that name\. Known: C, L\n$/);
    const nobody = home.run([cli, 'mcp']);
    assert.equal(await nobody.exit, 1);
    assert.match(nobody.stderr, /Start with --caller C .*MCP_API_KEY/);
    for (const { stdout, stderr } of [stranger, nobody]) {
      assert.equal(stdout, '');
      for (const caller of ['C', 'L']) assert.ok(!stderr.includes(home.key(caller)));
    }
    assert.deepEqual(home.pids(), [], 'nothing was started for them');
  });

  it('answers with an error where its key is not accepted', async () => {
    await home.serve();
    await assert.rejects(
      editor([], { MCP_API_KEY: 'not-a-key-of-anybody' }),
      /UNAUTHENTICATED \(L9AUT\).*does not accept/,
    );
  });

  it('answers with the reason where no server can be started', async () => {
    await silence();
    const DATABASE_URL = 'postgres://l9_gateway:hush-hush@127.0.0.1:1/nowhere';
    await assert.rejects(editor(['--caller', 'C'], { DATABASE_URL }), (error: Error) => {
      assert.match(error.message, /the server did not start: .*ECONNREFUSED.*server\.log/s);
      assert.doesNotMatch(error.message, /hush-hush/);
      return true;
    });
    assert.equal(statSync(join(home.home, 'server.log')).mode & 0o777, 0o600);
  });

  it('started three times at once, shares one server, which ends after the last', async () => {
    await silence();
    const editors = await Promise.all(['C', 'L', 'C'].map((caller) => editor(['--caller', caller])));
    await Promise.all(editors.map(({ client }) => client.listTools()));
    const { pid, url, onDemand } = holder();
    assert.equal(onDemand, true);
    assert.equal(await pidAt(url), pid);
    await eventually(() => home.pids().length === 4);
    await editors[0]?.client.close();
    await editors[1]?.client.close();
    assert.equal((await editors[2]?.tool('get_memory_stats', {}))?.isError, false);
    await editors[2]?.client.close();
    await isGone(pid);
    assert.deepEqual(home.pids(), []);
    assert.equal(existsSync(join(home.home, 'server.json')), false);
  });

  it('leaves no server behind when all editors are killed', async () => {
    const editors = await Promise.all(['C', 'L'].map((caller) => editor(['--caller', caller])));
    const { pid } = holder();
    for (const { pid: editorPid } of editors) kill(editorPid);
    await isGone(pid);
    assert.deepEqual(home.pids(), []);
  });

  it('uses a server that runs already, and leaves it running', async () => {
    await silence();
    const server = await home.serve();
    const { client, tool } = await editor(['--caller', 'C']);
    assert.equal((await tool('get_memory_stats', {})).isError, false);
    assert.deepEqual(home.pids().length, 2);
    await client.close();
    // Longer than a server that was started for an editor would stay.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    assert.equal(await pidAt(server.url), server.pid);
    await silence();
  });

  it('goes over to a new server when the old one is killed', async () => {
    const { tool } = await editor(['--caller', 'C']);
    const { result } = await tool('save_memory', { ...memory, content: 'Written before the crash.' });
    const first = holder().pid;
    kill(first);
    const found = await tool('get_memory', { packet_id: result.memory.packet_id });
    assert.equal(found.text, 'Written before the crash.');
    assert.notEqual(holder().pid, first);
    // In the middle of requests: what is safe to repeat is repeated.
    const asked = Array.from({ length: 10 }, (_, n) =>
      tool('save_memory', { ...memory, content: `Amid it, number ${n}.` }),
    );
    kill(holder().pid);
    for (const saved of await Promise.all(asked)) assert.equal(saved.isError, false, saved.text);
    const all = await tool('search_memory', { query: 'amid', mode: 'lexical', k: 50 });
    assert.equal(all.result.hits.length, 10);
  });

  it('goes over to a server that a person starts in place of the old one', async () => {
    const { tool } = await editor(['--caller', 'C']);
    const { pid } = holder();
    kill(pid, 'SIGTERM');
    await isGone(pid);
    const server = await home.serve();
    assert.equal((await tool('get_memory_stats', {})).isError, false);
    assert.equal(holder().pid, server.pid);
  });

  it('ends when its input does, having answered, with nothing but JSON-RPC on its output', async () => {
    const proxy = home.run([cli, 'mcp', '--caller', 'C']);
    const messages = [
      {
        jsonrpc: '2.0',
        id: 'one',
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'no/such/method' },
    ];
    proxy.process.stdin?.end(`not json\n${messages.map((message) => `${JSON.stringify(message)}\n`).join('')}`);
    assert.equal(await proxy.exit, 0);
    const answers = proxy.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    assert.equal(answers.length, 2);
    assert.equal(byId.get('one').result.protocolVersion, '2025-06-18');
    assert.equal(byId.get(2).error.code, -32601);
  });
});
