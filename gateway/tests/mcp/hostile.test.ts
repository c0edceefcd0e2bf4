// Hostile requests to /mcp, and requests of browser pages to both APIs.
import { request } from 'node:http';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the MCP API', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const send = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': gateway.apiKey('C'),
        ...headers,
      },
      body,
    });
    return { status: response.status, text: await response.text() };
  };
  const call = (name: string, args: string) =>
    send(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${args}}}`,
    );

  it('accepts only the tools that it lists, and no property name of JavaScript objects', async () => {
    for (const name of [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'save_memory ',
      'SAVE_MEMORY',
      'save_memory\u0000',
      '../save_memory',
      "save_memory'; drop table x",
      '',
      'x'.repeat(100_000),
    ]) {
      const { status, text } = await call(name, '{"content":"x","project_id":"l9"}');
      expect(status).toBe(200);
      expect(text, name.slice(0, 40)).toMatch(/INVALID_INPUT \(L9VAL\): there is no tool/);
      expect(text.length).toBeLessThan(1_000);
    }
  });

  it('lets no argument change objects of the server', async () => {
    for (const args of [
      '{"content":"a","project_id":"l9","__proto__":{"polluted":1}}',
      '{"content":"b","project_id":"l9","constructor":{"prototype":{"polluted":1}}}',
      '{"content":"c","project_id":"l9","metadata":{"__proto__":{"polluted":1}}}',
      '{"content":"d","project_id":"l9","metadata":{"a":[{"__proto__":{"polluted":1}}]}}',
      '{"content":"e","project_id":"l9","metadata":{"constructor":{"prototype":{"polluted":1}}}}',
      '{"__proto__":{"content":"f","project_id":"l9"}}',
      '["content","g"]',
      'null',
      '"content"',
    ]) {
      const { status, text } = await call('save_memory', args);
      expect([200, 400], args).toContain(status);
      expect(text, `${args}: ${text}`).not.toMatch(/INTERNAL/);
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    }
    const refused = await call('save_memory', '{"content":"h","project_id":"l9","metadata":{"__proto__":{"a":1}}}');
    expect(refused.text, 'rather than dropped without a word').toMatch(/L9VAL\): metadata: __proto__/);
    const [{ kept }] = await gateway.sql(
      'C',
      "select metadata -> 'constructor' as kept from public.packet_store where content = 'e'",
    );
    expect(kept, 'a name like any other is kept').toStrictEqual({ prototype: { polluted: 1 } });
  });

  it('survives malformed messages, huge ids and batches', async () => {
    const cases: [string, Record<string, string>, number][] = [
      ['', {}, 400],
      ['null', {}, 400],
      ['"x"', {}, 400],
      ['{}', {}, 400],
      ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', {}, 400],
      ['{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}', {}, 400],
      ['{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/list"}', {}, 400],
      ['{"jsonrpc":"2.0","id":1,"method":"__proto__"}', {}, 200],
      ['{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', {}, 200],
      [`{"jsonrpc":"2.0","id":"${'x'.repeat(100_000)}","method":"ping"}`, {}, 200],
      [
        `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`,
        {},
        200,
      ],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { 'content-type': 'text/plain' }, 415],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { accept: 'text/html' }, 406],
    ];
    for (const [body, headers, status] of cases) {
      const answer = await send(body, headers);
      const what = `${body.slice(0, 80)} ${JSON.stringify(headers)}: ${answer.status} ${answer.text.slice(0, 300)}`;
      expect(
        answer.status === status || (status === 400 && answer.status === 200 && /"error"/.test(answer.text)),
        what,
      ).toBe(true);
      expect(answer.text, what).not.toMatch(/INTERNAL|node_modules|passwd:/);
    }
    const batch = JSON.stringify(
      ['C of a batch', 'L of a batch'].map((content, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: {
          name: 'save_memory',
          arguments: { content, scope: id ? 'l-private' : 'global', ...(id ? { project_id: 'l9' } : {}), caller: 'L' },
        },
      })),
    );
    const answers = (JSON.parse((await send(batch)).text) as { id: number; result: { isError?: boolean } }[]).toSorted(
      (a, b) => a.id - b.id,
    );
    expect(
      answers.map(({ result }) => result.isError === true),
      "each call of a batch is its caller's",
    ).toStrictEqual([false, true]);
  });

  it('says what is wrong with the parameters of a call', async () => {
    for (const [params, message] of [
      ['[1]', /^INVALID_INPUT \(L9VAL\): params: must be an object/],
      ['"x"', /params: must be an object/],
      ['null', /L9VAL\): name: Invalid input/],
      ['7', /params: must be an object/],
      ['{}', /L9VAL\): name: Invalid input/],
      ['{"name":7}', /L9VAL\): name: Invalid input/],
      ['{"name":"save_memory","arguments":"x"}', /L9VAL\): arguments: Invalid input/],
      ['{"name":"save_memory","arguments":[]}', /L9VAL\): arguments: Invalid input/],
      ['{"name":"save_memory","_meta":7}', /L9VAL\): _meta: must be an object/],
    ] as const) {
      for (const method of ['tools/call']) {
        const { text } = await send(`{"jsonrpc":"2.0","id":5,"method":"${method}","params":${params}}`);
        const { id, error } = JSON.parse(text);
        expect([id, error.code], `${params}: ${text}`).toStrictEqual([5, -32602]);
        expect(error.message).toMatch(message);
      }
    }
    const batch = await send(
      '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[]}]',
    );
    expect(JSON.parse(batch.text)).toMatchObject({ id: 2, error: { code: -32602 } });
  });

  it('answers deeply nested arguments with a documented error', async () => {
    for (const levels of [100, 5_000, 10_000, 100_000]) {
      const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      const { text } = await call('save_memory', `{"content":"deep","project_id":"l9","metadata":${deep}}`);
      expect(text, String(levels)).toMatch(/LIMIT_EXCEEDED \(L9LIM\): metadata: at most 64 levels deep/);
    }
  });
});

describe('a request of a browser page', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  /** fetch would not let Host be set. */
  const knock = (of: TestGateway, path: string, headers: Record<string, string>) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { port } = new URL(of.instance.url);
      const method = path === '/attach' ? 'GET' : 'POST';
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method,
          headers: {
            host: `127.0.0.1:${port}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => {
            text += part;
            if (path === '/attach') response.destroy();
          });
          response.on('close', () => resolve({ status: response.statusCode!, text }));
        },
      );
      asked.on('error', reject);
      asked.end(
        path === '/mcp'
          ? '{"jsonrpc":"2.0","id":1,"method":"ping"}'
          : path === '/graphql'
            ? '{"query":"{ __typename }"}'
            : '',
      );
    });
  const everyApi = async (of: TestGateway, headers: Record<string, string>, status: number) => {
    const token = await of.token({ caller: 'C' });
    for (const [path, key] of [
      ['/mcp', of.apiKey('C')],
      ['/graphql', token],
      ['/attach', of.apiKey('C')],
    ] as const) {
      const answer = await knock(of, path, { authorization: `Bearer ${key}`, ...headers });
      expect(answer.status, `${path} ${JSON.stringify(headers)}: ${answer.text}`).toBe(status);
      if (status === 403) expect(answer.text).toMatch(/SCOPE_DENIED|L9SCP/);
    }
  };
  const port = (of: TestGateway) => new URL(of.instance.url).port;

  it('is refused by every API if it comes from another site, even with a key', async () => {
    for (const origin of [
      'https://evil.example',
      'http://evil.example:9001',
      'null',
      'http://127.0.0.1.evil.example',
      'http://localhost.evil.example',
      'https://evil.example#127.0.0.1',
    ]) {
      await everyApi(gateway, { origin }, 403);
    }
  });

  it('is refused by every API after DNS rebinding', async () => {
    for (const name of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '192.168.0.7',
      '0.0.0.0',
      'evil.example@127.0.0.1',
      '169.254.169.254',
    ]) {
      const host = `${name}:${port(gateway)}`;
      await everyApi(gateway, { host }, 403);
      await everyApi(gateway, { host, origin: `http://${host}` }, 403);
    }
  });

  it('is accepted from this machine, as are editors and clients that are no browsers', async () => {
    for (const headers of [
      {},
      { host: `localhost:${port(gateway)}` },
      { host: `[::1]:${port(gateway)}` },
      { host: 'LOCALHOST' },
      { origin: gateway.instance.url },
      { host: `localhost:${port(gateway)}`, origin: `http://localhost:${port(gateway)}` },
      { origin: 'http://localhost:6274' },
      { origin: 'vscode-webview://1ab2c3' },
    ]) {
      await everyApi(gateway, headers as Record<string, string>, 200);
    }
  });

  it('is accepted if ALLOWED_HOSTS names its host, as behind a proxy', async () => {
    const open = await startTestGateway({
      embedder: cheapEmbedder,
      env: { ALLOWED_HOSTS: 'memory.example.com, Console.example.com, *.memory.example' },
    });
    try {
      await everyApi(open, { host: 'memory.example.com' }, 200);
      await everyApi(open, { host: 'memory.example.com', origin: 'https://memory.example.com' }, 200);
      await everyApi(open, { origin: 'https://memory.example.com' }, 200);
      await everyApi(open, { host: 'memory.example.com', origin: 'https://console.example.com' }, 200);
      await everyApi(open, { host: 'memory.example.com', origin: 'https://evil.example' }, 403);
      await everyApi(open, { host: 'evil.example' }, 403);
      await everyApi(open, { host: 'acme.memory.example', origin: 'https://acme.memory.example' }, 200);
      for (const host of ['memory.example', 'a.acme.memory.example', 'evil-memory.example', '*.example'])
        await everyApi(open, { host }, 403);
    } finally {
      await open.close();
    }
  });

  it('is accepted on a network address under any host name, but only from the same origin', async () => {
    const open = await startTestGateway({ embedder: cheapEmbedder, env: { HOST: '0.0.0.0' } });
    try {
      await everyApi(open, { host: 'memory.internal:9001' }, 200);
      await everyApi(open, { host: 'memory.internal:9001', origin: 'http://memory.internal:9001' }, 200);
      await everyApi(open, { host: 'memory.internal:9001', origin: 'http://evil.example' }, 403);
    } finally {
      await open.close();
    }
  });
});
