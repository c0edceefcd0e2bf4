// A server that keeps bytes under their hash, as the store `http:` expects, and misbehaves on request.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = 'honest' | 'lying' | 'endless' | 'silent' | 'full' | 'down';

export interface BlobServer {
  url: string;
  token: string;
  kept: Map<string, Buffer>;
  behaviour: Behaviour;
  /** Open requests that it does not answer. */
  unanswered: number;
  /** How much it sent while it was endless. */
  sentMegabytes: number;
  /** Runs before a PUT is answered. */
  onPut: () => Promise<unknown>;
  close(): Promise<void>;
}

export async function startBlobServer(): Promise<BlobServer> {
  const token = 'token-of-the-tests';
  const server = createServer((request, response) => {
    const name = request.url!.split('/').at(-1)!;
    const end = (status: number, body?: Buffer) => response.writeHead(status).end(body);
    if (blobs.behaviour === 'down') return end(503);
    if (request.headers.authorization !== `Bearer ${token}`) return end(401);
    if (blobs.behaviour === 'silent') {
      blobs.unanswered += 1;
      response.on('close', () => {
        blobs.unanswered -= 1;
      });
      return undefined;
    }
    if (blobs.behaviour === 'endless' && request.method === 'GET') {
      const part = Buffer.alloc(1 << 20);
      const send = () => {
        do blobs.sentMegabytes += 1;
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', send);
      send();
      return undefined;
    }
    const found = blobs.kept.get(name);
    if (request.method === 'PUT') {
      if (blobs.behaviour === 'full') return end(507);
      const parts: Buffer[] = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', async () => {
        blobs.kept.set(name, Buffer.concat(parts));
        await blobs.onPut();
        end(201);
      });
    } else if (request.method === 'DELETE') {
      blobs.kept.delete(name);
      end(204);
    } else if (!found) end(404);
    else end(200, blobs.behaviour === 'lying' ? Buffer.from('something else') : found);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const blobs: BlobServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/blobs`,
    token,
    kept: new Map(),
    behaviour: 'honest',
    unanswered: 0,
    sentMegabytes: 0,
    onPut: async () => {},
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return blobs;
}
