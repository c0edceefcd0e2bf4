// What clients of many kinds send: pages of other hosts, headers that are not as the specification wants them, hashes of documents.
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a client', () => {
  const gateway = useTestGateway({ embedder: standIn, env: { ALLOWED_HOSTS: 'app.example.com' } });
  const ORIGIN = 'https://app.example.com';

  const ask = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`${gateway.instance.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${gateway.apiKey('C')}`, 'content-type': 'application/json', ...init.headers },
    });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

  it('may be a page of a host that is allowed, and of no other', async () => {
    for (const [path, body] of [
      ['/mcp', ping],
      ['/graphql', { query: '{ __typename }' }],
    ] as const) {
      const asked = {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-api-key',
      };
      const preflight = await fetch(`${gateway.instance.url}${path}`, { method: 'OPTIONS', headers: asked });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toStrictEqual([204, ORIGIN]);
      expect(preflight.headers.get('access-control-allow-headers')).toMatch(/Authorization.*Content-Type.*X-API-Key/);
      expect(preflight.headers.get('access-control-allow-methods')).toMatch(/POST/);
      const answer = await post(path, body, { origin: ORIGIN });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toStrictEqual([200, ORIGIN]);
      expect(answer.headers.get('access-control-expose-headers')).toMatch(/Retry-After.*X-Request-Id/);
      const refused = await fetch(`${gateway.instance.url}${path}`, {
        method: 'OPTIONS',
        headers: { ...asked, origin: 'https://evil.example.org' },
      });
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toStrictEqual([403, null]);
    }
  });

  it('is served over MCP whichever of the usual types it accepts', async () => {
    for (const accept of [
      '*/*',
      'application/json',
      'application/*',
      'application/json, text/event-stream',
      'text/html, */*;q=0.1',
    ])
      expect((await post('/mcp', ping, { accept })).status, accept).toBe(200);
    expect((await post('/mcp', ping, { accept: 'text/html' })).status).toBe(406);
  });

  it('gets the codes of JSON-RPC', async () => {
    const codeOf = async (body: unknown, path = '/mcp') =>
      ((await (await post(path, body)).json()) as { error: { code: number } }).error.code;
    expect(await codeOf('{"jsonrpc":')).toBe(-32700);
    expect(await codeOf({ id: 1, method: 'ping' })).toBe(-32600);
    expect(await codeOf({ ...ping, params: [1] })).toBe(-32602);
    expect(await codeOf({ ...ping, id: {} })).toBe(-32600);
    expect(await codeOf({ ...ping, method: 5 })).toBe(-32600);
    expect(await codeOf('"a text"')).toBe(-32600);
    expect(await codeOf([])).toBe(-32600);
    expect(await codeOf({ ...ping, params: { _meta: { progressToken: [] } } })).toBe(-32602);
    expect(await codeOf({ ...ping, method: 'tools/call', params: {} })).toBe(-32602);
    expect(await codeOf({ ...ping, method: 'tools/call', params: { name: 5 } })).toBe(-32602);
    expect(await codeOf({ ...ping, method: 'initialize', params: {} })).toBe(-32602);
    expect(await codeOf({ ...ping, method: 'resources/subscribe' })).toBe(-32601);
    expect((await post('/mcp', { ...ping, of: 'another protocol' })).status).toBe(200);
    expect(await codeOf({ ...ping, method: 'no/such' })).toBe(-32601);
    expect(await codeOf(ping, '/mcp?tools=secret')).toBe(-32602);
  });

  it('is told on every API how to say who it is, and what is wrong with its key', async () => {
    const asked = { method: 'POST', body: '{}' };
    const challengeOf = async (path: string, headers: Record<string, string>) => {
      const response = await fetch(`${gateway.instance.url}${path}`, {
        ...(path === '/mcp' || path === '/graphql' ? asked : {}),
        headers: { 'content-type': 'application/json', ...headers },
      });
      expect(response.status, path).toBe(401);
      return response.headers.get('www-authenticate');
    };
    const expired = await gateway.token({ caller: 'C', expires: '-1h' });
    for (const path of ['/mcp', '/graphql', '/attach', '/metrics']) {
      expect(await challengeOf(path, {}), path).toBe('Bearer realm="l9-memory"');
      expect(await challengeOf(path, { authorization: 'Basic Qzpj' }), path).toBe('Bearer realm="l9-memory"');
      const wrong = /^Bearer realm="l9-memory", error="invalid_token", error_description="[^"\\]+"$/;
      expect(await challengeOf(path, { authorization: `Bearer ${expired}` }), path).toMatch(wrong);
      expect(await challengeOf(path, { 'x-api-key': 'a-key-of-nobody-at-all' }), path).toMatch(wrong);
      const both = { authorization: `Bearer ${gateway.apiKey('C')}`, 'x-api-key': gateway.apiKey('L') };
      expect(await challengeOf(path, both), path).toMatch(/^Bearer realm="l9-memory", error="invalid_request", /);
    }
  });

  it('is told to post the document if it sends its hash, or a GET', async () => {
    const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };
    const errorsOf = async (response: Response) => (await response.json()) as { errors: object[] };
    expect(await errorsOf(await post('/graphql', { extensions: { persistedQuery } }))).toMatchObject({
      errors: [{ extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }],
    });
    const got = await ask('/graphql?query=%7B__typename%7D');
    expect([got.status, got.headers.get('allow')]).toStrictEqual([405, 'POST']);
    const hash = await ask(`/graphql?extensions=${encodeURIComponent(JSON.stringify({ persistedQuery }))}`);
    expect(await errorsOf(hash)).toMatchObject({ errors: [{ extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }] });
  });

  it('is told what it did wrong where its request cannot be planned', async () => {
    for (const query of [
      'subscription { anything }',
      '{ searchMemory(query: "a", where: { status: OPEN }) { hits { packetId } } }',
      'mutation { saveMemory(input: { content: "a", metadata: { a: [B] } }) { status } }',
    ]) {
      const { errors } = await gateway.graphql('C', query);
      expect(errors?.[0]?.extensions, query).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  it('learns that OAuth is not offered', async () => {
    for (const [method, path] of [
      ['POST', '/register'],
      ['GET', '/.well-known/oauth-authorization-server'],
      ['GET', '/.well-known/oauth-protected-resource/mcp'],
    ] as const) {
      const response = await fetch(`${gateway.instance.url}${path}`, { method });
      expect([response.status, await response.json()]).toStrictEqual([
        404,
        { error: 'invalid_request', error_description: expect.stringMatching(/Authorization: Bearer/) },
      ]);
    }
  });
});
