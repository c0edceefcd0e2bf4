// `npm start` as a user runs it, with the bundled model.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signToken } from '../../gateway/src/auth/jwt.ts';
import { loadConfig } from '../../gateway/src/config/config.ts';
import { loadCredentials } from '../../gateway/src/home/credentials.ts';
import { childrenOf, residentTogether } from './child.ts';
import { httpClient } from './http.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs `npm start` with this environment until /ready succeeds. */
export async function startRealGateway(env: Record<string, string>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const whole = { PATH: process.env.PATH!, HOME: process.env.HOME!, PORT: String(port), ...env };
  const began = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'gateway', 'src', 'main.ts')], {
    env: whole,
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const isReady = () =>
    fetch(`${url}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`);
    await sleep(20);
  }
  const seconds = (performance.now() - began) / 1_000;
  const client = httpClient(url);
  const config = loadConfig(whole);
  const credentials = loadCredentials(config);
  const tokenOf = (caller: string) => signToken(config, credentials, { caller, expires: '1h' });
  const token = await tokenOf('C');
  const headers = { authorization: `Bearer ${credentials.mcpApiKeys.L![0]}` };
  return {
    url,
    seconds,
    tokenOf,
    apiKey: (caller: string) => credentials.mcpApiKeys[caller]![0]!,
    /** Of the gateway and of the process of its model, if that runs. */
    memory: () => residentTogether([child.pid!, ...childrenOf(child.pid!)]),
    graphql: (query: string, variables: object = {}) => client.graphql(token, query, variables),
    /** Calls an MCP tool as C. */
    async tool(name: string, args: object) {
      const params = { name, arguments: args };
      const response = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${credentials.mcpApiKeys.C![0]}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      const { result } = (await response.json()) as { result?: { isError?: boolean } };
      if (!result || result.isError) throw new Error(`${name} failed: ${response.status}`);
    },
    metric: async (name: string) => {
      const text = await (await fetch(`${url}/metrics`, { headers })).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    async stop() {
      client.close();
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export type RunningGateway = Awaited<ReturnType<typeof startRealGateway>>;
