// A server as users run it, in a process of its own, on the engine of this run.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cli, createProcessHome, type ProcessHome } from '../gateway/tests/home/processes.ts';

export interface Server {
  home: ProcessHome;
  url: string;
  /** The headers of caller C. */
  headers: { authorization: string };
  /** How an editor starts the product, as caller C. */
  stdio: { command: string; args: string[]; env: Record<string, string> };
}

/** A server that starts before the tests of the file, and ends after them. */
export function useServer(): Server {
  const server = {} as Server;
  beforeAll(async () => {
    const home = await createProcessHome();
    server.home = home;
    const { url } = await home.serve();
    Object.assign(server, {
      url,
      headers: { authorization: `Bearer ${home.key('C')}` },
      stdio: { command: process.execPath, args: [cli, 'mcp', '--caller', 'C'], env: home.env },
    });
  });
  afterAll(() => server.home?.close());
  return server;
}

/** A port that passes every request on with these headers added, for suites that can send no key. */
export async function startRelay(url: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(url);
  const relay = createServer((asked, answer) => {
    const passedOn = request(
      { hostname, port, path: asked.url, method: asked.method, headers: { ...asked.headers, ...headers } },
      (got) => {
        answer.writeHead(got.statusCode!, got.headers);
        got.pipe(answer);
      },
    );
    passedOn.on('error', () => answer.destroy());
    asked.pipe(passedOn);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    close() {
      relay.close();
      relay.closeAllConnections();
    },
  };
}
