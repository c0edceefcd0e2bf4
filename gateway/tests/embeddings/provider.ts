import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Asked {
  url: string;
  headers: IncomingHttpHeaders;
  body: { model: string; input: string[]; encoding_format: string; dimensions?: number };
}

export interface Reply {
  status?: number;
  body?: unknown;
  /** Leave the client waiting: for everything, or for the rest of the body. */
  hang?: 'all' | 'body';
  /** Think first. */
  afterMs?: number;
}

export interface Provider {
  baseUrl: string;
  asked: Asked[];
  /** How the next requests are answered; the last goes on for ever. Without any: with vectors. */
  script: Array<Reply | ((asked: Asked) => Reply)>;
  close(): Promise<void>;
}

/** Tells whose vector it is; not of length 1. */
export const vectorFor = (text: string, dimensions: number): number[] =>
  Array.from({ length: dimensions }, (_, at) => 1 + (text.charCodeAt(at) || 0));

/** Vectors in the wrong order, each with its index: only the index counts. */
export const vectors = (asked: Asked, dimensions: number): Reply => ({
  body: {
    object: 'list',
    data: asked.body.input
      .map((text, index) => ({ object: 'embedding', index, embedding: vectorFor(text, dimensions) }))
      .reverse(),
  },
});

/** A server on this machine that speaks the `/embeddings` of OpenAI. */
export async function startProvider(dimensions: number): Promise<Provider> {
  const asked: Asked[] = [];
  const script: Provider['script'] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const call: Asked = { url: request.url!, headers: request.headers, body: JSON.parse(text) };
    asked.push(call);
    const next = (script.length > 1 ? script.shift() : script[0]) ?? ((it: Asked) => vectors(it, dimensions));
    const { status = 200, body, hang, afterMs } = typeof next === 'function' ? next(call) : next;
    if (afterMs) await sleep(afterMs);
    if (hang === 'all') return;
    // A short pause between the client's attempts, or every retry would cost the test a second.
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    if (hang === 'body') return void response.write('{"data": [');
    response.end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    script,
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
