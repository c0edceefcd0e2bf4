// A session named by a path or an id is read by the stdio process alone, on the machine of the user.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { loadConfig } from '../../src/config/config.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { readHolder } from '../../src/home/lock.ts';
import { cli, createProcessHome, type ProcessHome } from '../home/processes.ts';
import { codexSession, lines } from './sessions.ts';

describe('a session named by a path', () => {
  let home: ProcessHome;
  const clients: Client[] = [];
  beforeAll(async () => {
    home = await createProcessHome();
    writeFileSync(join(home.home, 'codex.jsonl'), lines(codexSession));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await home.close();
  });

  async function connected(transport: object): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    clients.push(client);
    await client.connect(transport as never);
    return client;
  }

  it('is read over stdio and refused over HTTP, and what cannot be read is refused without a word of what it holds', async () => {
    const env = { ...home.env, ARCHIVE_KEY: `first:${Buffer.alloc(32, 7).toString('base64')}` };
    const args = [cli, 'mcp', '--caller', 'C'];
    const stdio = await connected(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
    const store = (client: Client, named: object) =>
      client.callTool({ name: 'store_session_to_cascade', arguments: { project_id: 'app', ...named } });
    expect(await store(stdio, { path: join(home.home, 'codex.jsonl') })).toMatchObject({
      structuredContent: { status: 'inserted' },
    });
    expect(await store(stdio, { path: import.meta.filename })).toMatchObject({
      isError: true,
      content: [{ text: 'INVALID_INPUT (L9VAL): session: it holds no JSON object' }],
    });
    const key = loadCredentials(loadConfig(env)).mcpApiKeys.C![0]!;
    const http = await connected(
      new StreamableHTTPClientTransport(new URL(`${readHolder(home.home)!.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      }),
    );
    for (const named of [{ path: join(home.home, 'codex.jsonl') }, { session_id: 's-1' }])
      expect(await store(http, named)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('the server reads no files') }],
      });
  });
});
