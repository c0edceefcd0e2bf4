import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerStarting } from '../http/starting.ts';

// The process ends within eight seconds, of which the database needs some.
const CLOSE_WITHIN_MS = 5_000;
const SWEEP_EVERY_MS = 50;
// Longer than proxies and clients keep idle connections, usually a minute: if the server closed first, a request that is
// already on its way would be lost.
const KEEP_ALIVE_MS = 65_000;

export interface ListenOptions {
  host: string;
  port: number;
  /** Take another port if this one is in use. */
  anyPort?: boolean | undefined;
}

export type HttpServer = ReturnType<typeof httpServer>;

/** Until it has an application to serve, it answers that it starts. */
export function httpServer() {
  let answer: RequestListener = answerStarting;
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => answer(request, response));
  return {
    server,
    serve(app: RequestListener) {
      answer = app;
    },
    /** Returns the URL. */
    async listen({ host, port, anyPort }: ListenOptions): Promise<string> {
      await listenOn(server, port, host).catch((error: NodeJS.ErrnoException) => {
        if (anyPort && error.code === 'EADDRINUSE') return listenOn(server, 0, host);
        throw error;
      });
      const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
      return `http://${shown.includes(':') ? `[${shown}]` : shown}:${(server.address() as AddressInfo).port}`;
    },
    /** Lets requests under way finish, then cuts the connections that remain. */
    close: () =>
      new Promise<void>((resolve) => {
        // A keep-alive connection becomes idle only after its last response was sent.
        const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_EVERY_MS);
        const cut = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          clearInterval(sweep);
          clearTimeout(cut);
          resolve();
        });
      }),
  };
}

const listenOn = (server: Server, port: number, host: string) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
