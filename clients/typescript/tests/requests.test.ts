// What the client does with requests that fail, against a server that answers as it is told.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { L9Memory, type L9MemoryError, type L9MemoryOptions } from '../src/index.ts';

interface Given {
  status?: number;
  headers?: Record<string, string>;
  body?: object | string;
}

const BUSY = { errors: [{ message: 'busy', extensions: { code: 'BUSY', sqlstate: 'L9BSY', retryAfterSeconds: 0 } }] };
const READ = { data: { getMemory: { packetId: 'p' } } };

describeOnEmbedded('a request of the TypeScript client', () => {
  let server: Server;
  let answers: (Given | 'silence')[];
  let asked: { request: IncomingMessage; body: { query: string; variables: object } }[];
  beforeEach(async () => {
    asked = [];
    server = createServer(async (request, response) => {
      request.setEncoding('utf8');
      let text = '';
      for await (const part of request) text += part;
      asked.push({ request, body: JSON.parse(text) });
      const given = answers.shift() ?? {};
      if (given === 'silence') return;
      const { status = 200, headers = {}, body = READ } = given;
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const clientOf = (options: L9MemoryOptions = {}) =>
    new L9Memory({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, key: 'k', ...options });
  const read = (options: L9MemoryOptions = {}, signal?: AbortSignal) => clientOf(options).get('p', { signal });
  const failure = (call: Promise<unknown>) =>
    call.then(
      () => {
        throw new Error('it did not fail');
      },
      (error: L9MemoryError) => error,
    );

  it.each([301, 307, 308])('follows no redirection (%i), which would send it elsewhere', async (status) => {
    answers = [{ status, headers: { location: '/elsewhere' }, body: '' }];
    expect(await failure(read())).toMatchObject({ code: 'UNREACHABLE', status });
    expect(asked.map(({ request }) => request.url)).toStrictEqual(['/graphql']);
  });

  it('names its key, project and branch', async () => {
    answers = [{}];
    expect(await read({ projectId: 'shop', branch: 'main' })).toStrictEqual({ packetId: 'p' });
    const [{ request, body }] = asked as [(typeof asked)[0]];
    expect([request.method, request.url]).toStrictEqual(['POST', '/graphql']);
    expect(request.headers).toMatchObject({ authorization: 'Bearer k', 'x-l9-project': 'shop', 'x-l9-branch': 'main' });
    expect(body.variables).toStrictEqual({ packetId: 'p' });
  });

  it('is sent again after 429 and 503, when the server says', async () => {
    const soon = new Date(Date.now() - 1_000).toUTCString();
    answers = [
      { status: 503, headers: { 'retry-after': '0' }, body: BUSY },
      { status: 429, headers: { 'retry-after': soon }, body: BUSY },
      { status: 503, body: BUSY },
      { status: 503, headers: { 'retry-after': '0' }, body: '<html>a proxy</html>' },
      {},
    ];
    expect(await read()).toStrictEqual({ packetId: 'p' });
    expect(asked).toHaveLength(5);
    expect(new Set(asked.map(({ body }) => JSON.stringify(body))).size, 'the same request').toBe(1);
  });

  it('waits as many seconds as the server asks for', async () => {
    answers = [{ status: 429, headers: { 'retry-after': '1' }, body: BUSY }, {}];
    const began = performance.now();
    await read();
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  it('fails with what the server said when it has been tried often enough, or the wait would be too long', async () => {
    answers = Array(3).fill({ status: 503, headers: { 'retry-after': '0' }, body: BUSY });
    const often = await failure(read({ retries: 2 }));
    expect([often.code, often.sqlstate, often.status, often.retryAfterSeconds]).toStrictEqual([
      'BUSY',
      'L9BSY',
      503,
      0,
    ]);
    expect(asked).toHaveLength(3);
    answers = [{ status: 429, headers: { 'retry-after': '3600' }, body: BUSY }];
    expect((await failure(read())).retryAfterSeconds).toBe(3600);
    expect(asked).toHaveLength(4);
  });

  it('is not sent again after any other failure', async () => {
    answers = [{ status: 500, body: 'oops' }, { status: 502, body: '<html></html>' }, { body: '[1]' }];
    for (const status of [500, 502, 200]) {
      const error = await failure(read());
      expect([error.code, error.status]).toStrictEqual(['UNREACHABLE', status]);
      expect(error.message).not.toContain('oops');
    }
    expect(asked).toHaveLength(3);
  });

  it('holds a part of a batch that the server takes, in the order of the items', async () => {
    const items = [
      ...Array.from({ length: 501 }, (_, number) => ({ content: `note ${number}` })),
      ...Array.from({ length: 2 }, () => ({ content: 'é'.repeat(500_000) })),
    ];
    const stored = { data: { memoryStore: { stored: [{ index: 0 }], errors: [{ index: 1 }] } } };
    answers = Array(3).fill({ body: stored });
    const result = await clientOf().saveMany(items);
    const sent = asked.map(({ body }) => (body.variables as { input: { items: { data: object }[] } }).input.items);
    expect(sent.map(({ length }) => length)).toStrictEqual([500, 2, 1]);
    expect(sent.flat().map(({ data }) => data)).toStrictEqual(items);
    expect(result.stored.map(({ index }) => index)).toStrictEqual([0, 500, 502]);
    expect(result.errors.map(({ index }) => index)).toStrictEqual([1, 501, 503]);
    expect(await clientOf().saveMany([])).toStrictEqual({ stored: [], errors: [] });
  });

  it('ends when its signal is aborted: before, while the server is silent, and while it waits', async () => {
    answers = ['silence', { status: 503, headers: { 'retry-after': '30' }, body: BUSY }];
    const reason = new Error('the user left');
    expect(await failure(read({}, AbortSignal.abort(reason)))).toBe(reason);
    expect(asked).toHaveLength(0);
    for (const count of [1, 2]) {
      const aborting = new AbortController();
      const failed = failure(read({}, aborting.signal));
      while (asked.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
      aborting.abort(reason);
      expect(await failed).toBe(reason);
    }
  });

  it('ends after its time limit, or at once where nothing listens', async () => {
    answers = ['silence'];
    expect((await failure(read({ timeoutMs: 50 }))).code).toBe('TIMEOUT');
    const nobody = await failure(new L9Memory({ url: 'http://127.0.0.1:1', key: 'k' }).get('p'));
    expect([nobody.code, nobody.status]).toStrictEqual(['UNREACHABLE', null]);
    expect(nobody.cause).toBeInstanceOf(Error);
  });

  it('never has its key in an error', async () => {
    answers = [{ status: 401, body: { errors: [{ message: 'no', extensions: { code: 'UNAUTHENTICATED' } }] } }];
    const error = await failure(read({ key: 'the-secret-key' }));
    expect(error.code).toBe('UNAUTHENTICATED');
    expect(`${error.stack}${JSON.stringify(error)}`).not.toContain('the-secret-key');
  });
});
