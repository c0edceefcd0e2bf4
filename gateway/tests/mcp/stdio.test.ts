// Starts `l9-memory mcp` as an editor does, and uses MCP over stdio.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { signToken } from '../../src/auth/jwt.ts';
import { loadConfig } from '../../src/config/config.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { readHolder } from '../../src/home/lock.ts';
import { cli, createProcessHome, kill, type ProcessHome, pidAt } from '../home/processes.ts';

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome({ withModel: false });
});
afterAll(() => home.close());

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

async function editor(
  args: string[],
  env: Record<string, string> = {},
  cwd?: string,
  name = 'editor',
): Promise<Editor> {
  const client = new Client({ name, version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli, 'mcp', ...args],
    env: { ...home.env, ...env },
    stderr: 'ignore',
    cwd: cwd ?? home.home,
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
  if (!found) throw new Error('no server runs');
  return found;
};
const isGone = (pid: number) => eventually(() => !home.pids().includes(pid));

const memory = { content: 'Stdio editors share one server.', scope: 'developer', project_id: 'l9' };

describeOnEmbedded('l9-memory mcp', () => {
  it('saves to the project of the working copy in which it was started', async () => {
    const folder = join(home.home, 'my-product', 'src');
    mkdirSync(join(home.home, 'my-product', '.git'), { recursive: true });
    mkdirSync(folder);
    const { tool } = await editor(['--caller', 'C'], {}, folder);
    const saved = await tool('save_memory', { content: 'Tabs, not spaces.', kind: 'preference' });
    expect(saved.isError, saved.text).toBe(false);
    expect(saved.result.memory.project_id).toBe('my-product');
    const own = await tool('search_memory', { query: 'tabs', mode: 'lexical' });
    expect(own.result).toMatchObject({ hits: [{ project_id: 'my-product' }], inferred: { project_id: 'my-product' } });

    const other = await editor(['--caller', 'C'], { CORTEX_PROJECT: 'my-other-product' }, folder);
    const found = await other.tool('search_memory', { query: 'tabs', mode: 'lexical' });
    expect(found.result).toMatchObject({ hits: [], inferred: { project_id: 'my-other-product' } });
  });

  it('finds its own in each of two working copies of one server, with no argument', async () => {
    const open = async (project: string, branch: string) => {
      const folder = join(home.home, project);
      mkdirSync(folder, { recursive: true });
      execFileSync('git', ['init', '--quiet', `--initial-branch=${branch}`, folder]);
      const place = { project_id: project, branch };
      return { place, ...(await editor(['--caller', 'C'], {}, folder)) };
    };
    const editors = [await open('lighthouse', 'main'), await open('harbour', 'feature/crane')];
    for (const { tool, place } of editors) {
      const saved = await tool('save_memory', { content: `The lamp of ${place.project_id} is lit at dusk.` });
      expect(saved.result, saved.text).toMatchObject({ status: 'inserted', memory: place, inferred: place });
      const lesson = await tool('reflect', { content: `Oil the lamp of ${place.project_id} before dusk.` });
      expect(lesson.result, lesson.text).toMatchObject({ reflection: place, inferred: place });
    }
    await editors[0]!.tool('save_memory', { content: 'The lamp oil is kept dry.', scope: 'global' });
    await editors[0]!.tool('save_memory', { content: 'The lamp needs a new wick.', branch: '*' });
    await editors[0]!.tool('save_memory', { content: 'The lamp is red.', branch: 'elsewhere' });
    // The server that both talk to is one.
    expect(home.pids().filter((pid) => pid === holder().pid)).toHaveLength(1);

    const expected = [
      ['lighthouse main', 'lighthouse null', 'lighthouse main', 'null null'].sort(),
      ['harbour feature/crane', 'harbour feature/crane', 'null null'].sort(),
    ];
    for (const [index, { tool, place }] of editors.entries()) {
      const found = await tool('search_memory', { query: 'lamp', mode: 'lexical' });
      const places = found.result.hits.map(
        (hit: { project_id: string; branch: string }) => `${hit.project_id} ${hit.branch}`,
      );
      expect(places.sort()).toEqual(expected[index]);
      expect(found.result).toMatchObject({ inferred: place });
      expect(found.text).toContain(`project_id ${place.project_id}, branch ${place.branch}.`);
      const recalled = await tool('recall_lessons', { query: 'lamp' });
      expect(recalled.result).toMatchObject({ lessons: [place], inferred: place });
      expect((await tool('get_memory_stats', {})).result).toMatchObject({ inferred: place });
      const everywhere = await tool('search_memory', { query: 'lamp', mode: 'lexical', project_id: '*', k: 100 });
      expect(everywhere.result.hits).toHaveLength(7);
      const branches = await tool('search_memory', { query: 'lamp', mode: 'lexical', branch: '*' });
      expect(branches.result.hits).toHaveLength(index === 0 ? 5 : 3);
      expect(branches.result.inferred).toEqual({ project_id: place.project_id });
    }
  });

  it('says once on stderr why it infers no project', () => {
    const { stderr } = spawnSync(process.execPath, [cli, 'mcp', '--caller', 'C'], {
      cwd: home.home,
      env: home.env,
      input: '',
      encoding: 'utf8',
    });
    expect(stderr.match(/belongs to no Git repository.*Set L9_PROJECT and L9_BRANCH/g)).toHaveLength(1);
  });

  it('says once on stderr that its key does not act for the org of the working copy', async () => {
    const left = spawnSync(process.execPath, [cli, 'mcp', '--caller', 'C'], {
      cwd: home.home,
      env: { ...home.env, L9_ORG: 'Acme', L9_PROJECT: 'l9', L9_BRANCH: 'main' },
      input: `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_memory_stats' } })}\n`,
      encoding: 'utf8',
    });
    expect(left.stdout).toContain('"id":1');
    expect(left.stderr).toMatch(
      /^l9-memory mcp: the org Acme of the working copy is left out, .*L9_ORG names another one\n$/,
    );
  });

  it('lists tools, saves and finds memories, with structured content', async () => {
    const { client, tool } = await editor(['--caller', 'C']);
    expect(client.getServerVersion()?.name).toBe('l9-memory');
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThanOrEqual(7);
    expect(tools.every(({ inputSchema, outputSchema }) => inputSchema && outputSchema)).toBe(true);

    const saved = await tool('save_memory', memory);
    expect(saved.isError, saved.text).toBe(false);
    expect(saved.result.status).toBe('inserted');
    expect(saved.result.memory.creator ?? saved.result.memory.metadata.creator).toBe('Cursor-IDE');
    const found = await tool('search_memory', { query: 'editors share', mode: 'lexical' });
    expect(found.result.hits[0].packet_id).toBe(saved.result.memory.packet_id);
    expect(found.text).toMatch(/^Texts in double quotes were recalled .*\n1 memory, searched /);
  });

  it('lists the sets of tools that it is started with', async () => {
    const { client } = await editor(['--caller', 'C', '--tools', 'archive']);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('store_session_to_cascade');
    expect(names).not.toContain('save_memory');
    const wrong = home.run([cli, 'mcp', '--caller', 'C', '--tools', 'core,nonsense']);
    expect(await wrong.exit).toBe(1);
    expect(wrong.stderr).toMatch(/--tools: each must be one of core, knowledge, archive, review, admin, all\n$/);
  });

  it('acts as the caller whose key it has', async () => {
    const c = await editor(['--caller', 'C']);
    const l = await editor(['--caller', 'L']);
    const byKey = await editor([], { MCP_API_KEY: home.key('L') });
    const secret = { content: 'Only L may know.', scope: 'l-private', project_id: 'l9', caller: 'L' };
    const refused = await c.tool('save_memory', secret);
    expect(refused.isError).toBe(true);
    expect(refused.text).toMatch(/^SCOPE_DENIED \(L9SCP\)/);
    expect((await l.tool('save_memory', secret)).result.status).toBe('inserted');
    expect((await byKey.tool('save_memory', secret)).result.status).toBe('skipped_dedupe');
    const query = { query: 'only may know', mode: 'lexical' };
    expect((await c.tool('search_memory', query)).result.hits.length).toBe(0);
    expect((await l.tool('search_memory', query)).result.hits.length).toBe(1);
  });

  it('knows an editor without a name by what it calls itself, once an admin allows that', async () => {
    const creatorOf = async (name: string, args: string[] = []) => {
      const { tool } = await editor(args, {}, undefined, name);
      const { result } = await tool('save_memory', { content: `Written by ${name.slice(0, 20)}.`, scope: 'global' });
      return result.memory.metadata.creator as string;
    };
    expect(await creatorOf('Zed')).toBe('Cursor-IDE');
    const config = loadConfig(home.env);
    const token = await signToken(config, loadCredentials(config), { caller: 'me', expires: '5m' });
    const response = await fetch(`${holder().url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        query: 'mutation { admin { setRegisterUnknownClients(enabled: true) { registerUnknownClients } } }',
      }),
    });
    expect(await response.json()).toStrictEqual({
      data: { admin: { setRegisterUnknownClients: { registerUnknownClients: true } } },
    });
    expect(await creatorOf('Editor Zed 1.0')).toBe('editor-zed-1.0');
    // Who has a name needs none.
    expect(await creatorOf('Another', ['--caller', 'C'])).toBe('Cursor-IDE');
    for (const hostile of ['L', 'l9-kernel', 'claude\n-code', 'x'.repeat(10_240)])
      expect(await creatorOf(hostile), hostile.slice(0, 20)).toBe('Cursor-IDE');
  });

  it('explains that it cannot act as a caller without a key', async () => {
    await silence();
    const stranger = home.run([cli, 'mcp', '--caller', 'X']);
    expect(await stranger.exit).toBe(1);
    expect(stranger.stderr).toMatch(/--caller X: there is no key for that name\. Known: C, L\n$/);
    expect(stranger.stdout).toBe('');
    for (const caller of ['C', 'L']) expect(stranger.stderr).not.toContain(home.key(caller));
    expect(home.pids(), 'nothing was started for it').toStrictEqual([]);
  });

  it('answers calls with an error if its key is not accepted', async () => {
    await home.serve();
    const { tool } = await editor([], { MCP_API_KEY: 'not-a-key-of-anybody' });
    await expect(tool('get_memory_stats', {})).rejects.toThrow(/UNAUTHENTICATED \(L9AUT\).*does not accept/);
  });

  it('keeps the log of a server that cannot be started to its owner', async () => {
    await silence();
    const { tool } = await editor(['--caller', 'C'], { DATABASE_URL: 'postgres://l9_gateway@127.0.0.1:1/nowhere' });
    await errorOf(tool('get_memory_stats', {}));
    expect(statSync(join(home.home, 'server.log')).mode & 0o777).toBe(0o600);
  });

  it('shares one server among three concurrent starts, which ends after the last', async () => {
    await silence();
    const editors = await Promise.all(['C', 'L', 'C'].map((caller) => editor(['--caller', caller])));
    await Promise.all(editors.map(({ tool }) => tool('get_memory_stats', {})));
    const { pid, url, onDemand } = holder();
    expect(onDemand).toBe(true);
    expect(await pidAt(url)).toBe(pid);
    await eventually(() => home.pids().length === 4);
    await editors[0]?.client.close();
    await editors[1]?.client.close();
    expect((await editors[2]?.tool('get_memory_stats', {}))?.isError).toBe(false);
    await editors[2]?.client.close();
    await isGone(pid);
    expect(home.pids()).toStrictEqual([]);
    expect(existsSync(join(home.home, 'server.json'))).toBe(false);
  });

  it('leaves no server behind when all editors are killed', async () => {
    const editors = await Promise.all(['C', 'L'].map((caller) => editor(['--caller', caller])));
    await Promise.all(editors.map(({ tool }) => tool('get_memory_stats', {})));
    const { pid } = holder();
    for (const { pid: editorPid } of editors) kill(editorPid);
    await isGone(pid);
    expect(home.pids()).toStrictEqual([]);
  });

  it('uses a server that is already running, and leaves it running', async () => {
    await silence();
    const server = await home.serve();
    const { client, tool } = await editor(['--caller', 'C']);
    expect((await tool('get_memory_stats', {})).isError).toBe(false);
    // A process that has just been ended is counted for a moment.
    await eventually(() => home.pids().length === 2);
    await client.close();
    // Longer than a server that was started for an editor would stay.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    expect(await pidAt(server.url)).toBe(server.pid);
    await silence();
  });

  it('switches to a new server when the old one is killed', async () => {
    const { tool } = await editor(['--caller', 'C']);
    const { result } = await tool('save_memory', { ...memory, content: 'Written before the crash.' });
    const first = holder().pid;
    kill(first);
    const found = await tool('get_memory', { packet_id: result.memory.packet_id });
    expect(found.text).toMatch(/\n"Written before the crash\."$/);
    expect(holder().pid).not.toBe(first);
    // In the middle of requests: what is safe to repeat is repeated.
    const asked = Array.from({ length: 10 }, (_, n) =>
      tool('save_memory', { ...memory, content: `Amid it, number ${n}.` }),
    );
    kill(holder().pid);
    for (const saved of await Promise.all(asked)) expect(saved.isError, saved.text).toBe(false);
    const all = await tool('search_memory', { query: 'amid', mode: 'lexical', k: 50 });
    expect(all.result.hits.length).toBe(10);
  });

  it('switches to a server that a person starts in place of the old one', async () => {
    const { tool } = await editor(['--caller', 'C']);
    await tool('get_memory_stats', {});
    const { pid } = holder();
    kill(pid, 'SIGTERM');
    await isGone(pid);
    const server = await home.serve();
    expect((await tool('get_memory_stats', {})).isError).toBe(false);
    expect(holder().pid).toBe(server.pid);
  });

  it('passes on that calls came too often, and when to try again', async () => {
    const { tool } = await editor(['--caller', 'C']);
    await tool('get_memory_stats', {});
    const config = loadConfig(home.env);
    const token = await signToken(config, loadCredentials(config), { caller: 'L', expires: '5m' });
    const limit = async (writes: number) => {
      const response = await fetch(`${holder().url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({
          query: `mutation { admin { registerActor(caller: "C", writesPerMinute: ${writes}) { caller } } }`,
        }),
      });
      expect(((await response.json()) as { errors?: unknown }).errors).toBeUndefined();
    };
    await limit(1);
    try {
      const refused = await eventually(() =>
        errorOf(tool('save_memory', { ...memory, content: 'Too often.' })).then(
          (error) => error,
          () => null,
        ),
      );
      expect(refused.message).toMatch(/RATE_LIMITED \(L9RAT\): at most 1 writes a minute .*Try again in \d+ s\./);
    } finally {
      await limit(12_000);
    }
  });

  it('answers all requests and ends when its input ends, and prints only JSON-RPC', async () => {
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
    expect(await proxy.exit).toBe(0);
    const answers = proxy.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    expect(answers).toHaveLength(3);
    expect(byId.get(null).error.code, 'the line that is not JSON').toBe(-32700);
    expect(byId.get('one').result.protocolVersion).toBe('2025-06-18');
    expect(byId.get(2).error.code).toBe(-32601);
  });
});
