// Clients of MCP that others wrote: each lists the tools, saves a memory and finds it, over both transports.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as AiStdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { Client as ClientOf2, StreamableHTTPClientTransport as HttpOf2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOf2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOf1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOf1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOf1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { useServer } from './server.ts';

const server = useServer();
const TRANSPORTS = ['http', 'stdio'] as const;
type Transport = (typeof TRANSPORTS)[number];

/** A connection of some client: the names of the tools, and what a call answers, as the client gives it to its user. */
interface Connection {
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  close(): Promise<unknown>;
}

const endpoint = () => new URL(`${server.url}/mcp`);
const requestInit = () => ({ headers: server.headers });
const me = { name: 'interop', version: '1' };

async function connectTo(client: ClientOf1 | ClientOf2, transport: object): Promise<Connection> {
  await (client as ClientOf1).connect(transport as never);
  return {
    tools: async () => (await (client as ClientOf1).listTools()).tools.map(({ name }) => name),
    call: (name, args) => (client as ClientOf1).callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

/** A client of the SDK 2.x that speaks the version of 2026-07-28 only. */
const modern = () =>
  new ClientOf2(me, { versionNegotiation: { mode: { pin: '2026-07-28' }, probe: { timeoutMs: 120_000 } } });

const inspector = join(
  import.meta.dirname,
  'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);

/** Each call of the Inspector is a process of its own. */
function inspect(transport: Transport): Connection {
  const target =
    transport === 'http'
      ? [endpoint().href, '--transport', 'http', '--header', `Authorization: ${server.headers.authorization}`]
      : [
          server.stdio.command,
          ...server.stdio.args,
          ...Object.entries(server.stdio.env).flatMap(([k, v]) => ['-e', `${k}=${v}`]),
        ];
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [inspector, '--cli', ...target, ...args], {
      env: { ...server.home.env },
      timeout: 120_000,
    });
    return JSON.parse(stdout);
  };
  return {
    tools: async () => (await run('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name),
    call: (name, args) =>
      run(
        '--method',
        'tools/call',
        '--tool-name',
        name,
        ...Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${v}`]),
      ),
    close: async () => {},
  };
}

async function connectAiSdk(transport: Transport): Promise<Connection> {
  const client = await createMCPClient({
    transport:
      transport === 'http'
        ? { type: 'http', url: endpoint().href, headers: server.headers }
        : new AiStdioTransport(server.stdio),
  });
  const tools = await client.tools();
  return {
    tools: async () => Object.keys(tools),
    call: async (name, args) =>
      tools[name]!.execute!(args as never, { toolCallId: '1', messages: [], context: {} } as never),
    close: () => client.close(),
  };
}

async function connectLangchain(transport: Transport): Promise<Connection> {
  const client = new MultiServerMCPClient({
    mcpServers: {
      memory:
        transport === 'http'
          ? { transport: 'http', url: endpoint().href, headers: server.headers }
          : { transport: 'stdio', ...server.stdio },
    },
  });
  const tools = await client.getTools();
  return {
    tools: async () => tools.map(({ name }) => name),
    call: async (name, args) => tools.find((tool) => tool.name === name)!.invoke(args),
    close: () => client.close(),
  };
}

const clients: Record<string, (transport: Transport) => Connection | Promise<Connection>> = {
  'the Inspector': inspect,
  'the SDK 1.x': (transport) =>
    connectTo(
      new ClientOf1(me),
      transport === 'http' ? new HttpOf1(endpoint(), { requestInit: requestInit() }) : new StdioOf1(server.stdio),
    ),
  'the SDK 2.x': (transport) =>
    connectTo(
      new ClientOf2(me),
      transport === 'http' ? new HttpOf2(endpoint(), { requestInit: requestInit() }) : new StdioOf2(server.stdio),
    ),
  'the SDK 2.x, without a handshake': (transport) =>
    connectTo(
      modern(),
      transport === 'http' ? new HttpOf2(endpoint(), { requestInit: requestInit() }) : new StdioOf2(server.stdio),
    ),
  LangChain: connectLangchain,
  'the AI SDK': connectAiSdk,
};

describe('a client of MCP', () => {
  it.each(
    Object.keys(clients).flatMap((name) => TRANSPORTS.map((transport) => [name, transport] as const)),
  )('saves and finds: %s over %s', async (name, transport) => {
    const connection = await clients[name]!(transport);
    try {
      expect(await connection.tools()).toEqual(expect.arrayContaining(['save_memory', 'search_memory']));
      const content = `${name} speaks MCP over ${transport}`;
      const saved = await connection.call('save_memory', { content, project_id: 'interop' });
      expect(JSON.stringify(saved)).toMatch(/Saved as [0-9a-f-]{36}/);
      const found = await connection.call('search_memory', { query: content, project_id: 'interop' });
      expect(JSON.stringify(found).replaceAll('**', '')).toContain(content);
    } finally {
      await connection.close();
    }
  });
});
