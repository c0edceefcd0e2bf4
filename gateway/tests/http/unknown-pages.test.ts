// Paths that the server does not have, and how answers of JSON end.
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a path that the server does not have', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const get = (path: string, accept?: string, method = 'GET') =>
    fetch(`${gateway.instance.url}${path}`, { method, ...(accept && { headers: { accept } }) });

  it.each([
    '/nowhere',
    '/favicon.ico',
    '/mcp/nowhere',
    '/console/assets/none.js',
  ])('answers a browser at %s with a page that leads on', async (path) => {
    const answer = await get(path, 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    expect([answer.status, answer.headers.get('content-type')]).toStrictEqual([404, 'text/html; charset=utf-8']);
    const page = await answer.text();
    expect(page).toContain('There is no such page');
    expect(page).toContain('href="/console"');
    expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
  });

  it.each([
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
  ])('answers a program (%s) with NOT_FOUND', async (accept) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await get('/nowhere?key=hush', accept, method);
      expect(answer.status).toBe(404);
      const text = await answer.text();
      expect(JSON.parse(text).errors[0].extensions).toStrictEqual({ code: 'NOT_FOUND' });
      expect(text).not.toMatch(/hush/);
    }
  });

  it('is told with a line feed at the end, as every answer of JSON', async () => {
    const { url } = gateway.instance;
    const authorization = `Bearer ${gateway.apiKey('C')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const post = (path: string, body: object | string) =>
      fetch(`${url}${path}`, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const answer of [
      await get('/nowhere'),
      await get('/health'),
      await get('/ready'),
      await get('/mcp'),
      await get('/register'),
      await post('/graphql', { query: '{ __typename }' }),
      await post('/graphql', { query: '{ nothing }' }),
      await post('/graphql', { query: '{ memories(first: 1) { nodes { content } } }' }),
      await post('/graphql', 'no json'),
      await post('/mcp', ping),
      await post('/mcp', { ...ping, method: 'tools/list' }),
      await post('/mcp', 'no json'),
      await fetch(`${url}/mcp`, { method: 'POST', body: JSON.stringify(ping) }),
    ]) {
      const text = await answer.text();
      expect([answer.url, text.at(-1)]).toStrictEqual([answer.url, '\n']);
      expect(text.at(-2)).not.toBe('\n');
      expect(() => JSON.parse(text)).not.toThrow();
      const length = answer.headers.get('content-length');
      if (length !== null) expect(Number(length)).toBe(Buffer.byteLength(text));
    }
    const head = await get('/health', undefined, 'HEAD');
    expect([head.status, await head.text()]).toStrictEqual([200, '']);
  });
});
