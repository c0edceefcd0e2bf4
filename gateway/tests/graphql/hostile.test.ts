// Hostile requests.
import { getIntrospectionQuery } from 'postgraphile/graphql';
import { assertDocumented, assertNoTrace, cheapEmbedder, plantHidden } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the GraphQL API', () => {
  let gateway: TestGateway;
  let traces: string[];
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
    ({ traces } = await plantHidden(gateway));
    await gateway.save('C', 'what C may see');
    token = await gateway.token({ caller: 'C' });
  });
  afterAll(() => gateway.close());

  const send = async (path: string, init: RequestInit, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway.instance.url}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const refused = async (query: string, what: RegExp) => {
    const { status, errors } = await gateway.graphql({ token }, query);
    expect(status).toBe(400);
    expect(errors?.[0]?.message ?? '').toMatch(what);
  };

  it('shows every caller the same schema, without any data', async () => {
    const [ofC, ofL] = [
      await gateway.graphql('C', getIntrospectionQuery()),
      await gateway.graphql('L', getIntrospectionQuery()),
    ];
    expect(ofC).toStrictEqual(ofL);
    assertNoTrace(JSON.stringify(ofC), traces, 'the schema');
    expect(JSON.stringify(ofC.data.__schema.types.filter(({ kind }: { kind: string }) => kind === 'ENUM'))).not.toMatch(
      /l-private/,
    );
    // A misspelt name brings names of the schema to mind, which is the same for all; never of rows.
    const { errors } = await gateway.graphql(
      'C',
      '{ memorys(filter: { projectid: { equalTo: "quincunx" } }) { nodes { contents } } }',
    );
    assertNoTrace(
      JSON.stringify(errors),
      traces.filter((trace) => !trace.startsWith('quincunx')),
      'a suggestion',
    );
  });

  it('refuses requests at once that are too long or repeat a field a thousand times', async () => {
    const times = (n: number, field: (n: number) => string) =>
      Array.from({ length: n }, (_, at) => field(at)).join(' ');
    await refused(`{ ${times(101, (n) => `a${n}: getMemoryStats { total }`)} }`, /at most 100 fields at the top/);
    await refused(
      `query { ...F } fragment F on Query { ${times(101, (n) => `a${n}: getMemoryStats { total }`)} }`,
      /at most 100 fields at the top/,
    );
    await refused(`{ memories { nodes { ${times(3_000, (n) => `a${n}: content`)} } } }`, /at most \d+ (fields|tokens)/);
    const tooLong = `{ ${times(60_000, () => 'memories { totalCount }')} }`;
    await refused(tooLong, /at most 4000 tokens/);
    const { status, errors } = await gateway.graphql('C', tooLong);
    expect([status, errors![0]!.extensions]).toStrictEqual([400, { code: 'LIMIT_EXCEEDED', sqlstate: 'L9LIM' }]);
    // Each fragment asks ten times for the one below it.
    const bomb = times(
      7,
      (n) =>
        `fragment F${n} on Memory { ${times(10, (k) => `x${k}_${n}: content`)} ${n < 6 ? times(10, () => `... on Memory { ...F${n + 1} }`) : ''} }`,
    );
    await refused(`{ memories { nodes { ...F0 } } } ${bomb}`, /at most 2000 fields/);
  });

  it('refuses requests at once that nest too deeply or contain cycles', async () => {
    for (const [open, close] of ['{}', '[]', '()'].map((pair) => [...pair] as [string, string])) {
      await refused(
        `{ memories(filter: { projectId: ${open.repeat(50_000)}${close.repeat(50_000)} }) { totalCount } }`,
        /brackets deep|tokens|Syntax/,
      );
    }
    await refused(`{ ${'a { '.repeat(200)}b${' }'.repeat(200)} }`, /brackets deep/);
    await refused('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }', /spread fragment/i);
    await refused('{ ...A } fragment A on Query { ...A }', /spread fragment/i);
  });

  it('answers deeply nested variables with a documented error', async () => {
    for (const levels of [100, 5_000, 10_000, 100_000]) {
      const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      const query =
        'mutation ($m: JSON) { saveMemory(input: { content: \\"deep\\", projectId: \\"l9\\", metadata: $m }) { status } }';
      const { text } = await send('/graphql', {
        method: 'POST',
        body: `{"query":"${query}","variables":{"m":${deep}}}`,
      });
      const { errors } = JSON.parse(text);
      expect(errors[0].extensions.code, `${levels}: ${text.slice(0, 200)}`).toBe('LIMIT_EXCEEDED');
    }
  });

  it('explains what is wrong with a cursor of another list, or an invalid one', async () => {
    for (const cursor of [
      'nonsense',
      Buffer.from('["natural",1]').toString('base64'),
      Buffer.from('{"a":').toString('base64'),
    ]) {
      for (const place of ['after', 'before']) {
        const { errors } = await gateway.graphql(
          { token },
          `{ memories(${place}: "${cursor}", orderBy: SCOPE_ASC) { nodes { packetId } } }`,
        );
        expect(errors?.[0]?.extensions?.code, cursor).toBe('INVALID_INPUT');
        expect(errors![0]!.message).toMatch(/cursor/);
      }
    }
    for (const page of [
      'first: -1',
      'last: -1',
      'offset: -1',
      'first: 2147483647, offset: 2147483647',
      'first: 1, last: 1',
    ]) {
      const { errors } = await gateway.graphql({ token }, `{ memories(${page}) { totalCount nodes { packetId } } }`);
      if (errors) assertDocumented(errors[0]?.extensions?.code, page);
    }
  });

  it('answers a body that is not JSON with a documented error, which does not repeat it', async () => {
    const notJson = 'body: not valid JSON';
    const noObject = 'body: must be an object or a list';
    for (const [body, message] of [
      ['{"query": "{ a secret', notJson],
      ['"a text"', noObject],
      ['null', noObject],
      ['', notJson],
    ] as const) {
      const { status, text } = await send('/graphql', { method: 'POST', body });
      expect([status, JSON.parse(text)], body).toStrictEqual([
        400,
        {
          errors: [
            {
              message,
              extensions: { code: 'INVALID_INPUT', sqlstate: 'L9VAL', field: 'body' },
            },
          ],
        },
      ]);
    }
  });

  it('accepts no batches, persisted operations, GET requests or HTML forms', async () => {
    const query = JSON.stringify({ query: '{ memories { totalCount } }' });
    const cases: [string, RequestInit, Record<string, string>, number][] = [
      ['/graphql', { method: 'POST', body: `[${query},${query}]` }, {}, 400],
      ['/graphql', { method: 'POST', body: JSON.stringify({ id: 'x' }) }, {}, 400],
      [
        '/graphql',
        {
          method: 'POST',
          body: JSON.stringify({
            documentId: 'x',
            extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } },
          }),
        },
        // Clients that send a hash first expect this status, and then send the document.
        {},
        200,
      ],
      ['/graphql', { method: 'POST', body: JSON.stringify({ query: { toString: '{a}' } }) }, {}, 400],
      ['/graphql', { method: 'POST', body: '{"query":"{__typename}","variables":[1]}' }, {}, 400],
      ['/graphql', { method: 'POST', body: '{"__proto__":{"query":"{__typename}"}}' }, {}, 400],
      ['/graphql', { method: 'POST', body: query }, { 'content-type': 'text/plain' }, 415],
      ['/graphql', { method: 'POST', body: query }, { 'content-type': 'multipart/form-data; boundary=x' }, 415],
      [
        '/graphql',
        { method: 'POST', body: 'query={__typename}' },
        { 'content-type': 'application/x-www-form-urlencoded' },
        415,
      ],
      ['/graphql?query={__typename}', { method: 'GET' }, {}, 405],
      [
        `/graphql?query=${encodeURIComponent('mutation { deleteExpiredMemories(input: {}) { deleted } }')}`,
        { method: 'GET' },
        {},
        405,
      ],
      ['/graphql', { method: 'PUT', body: query }, {}, 405],
      ['/graphql', { method: 'POST', body: query }, { accept: 'text/event-stream' }, 406],
    ];
    for (const [path, init, headers, status] of cases) {
      const answer = await send(path, init, headers);
      expect(
        answer.status,
        `${init.method} ${path} ${init.body} ${JSON.stringify(headers)}: ${answer.text.slice(0, 200)}`,
      ).toBe(status);
      expect(answer.text).not.toMatch(/"data":\{/);
    }
    for (const path of [
      '/graphql/',
      '/GraphQL',
      '/graphql/stream',
      '/graphql/x',
      '//graphql',
      '/x/../graphql',
      '/graphql%2f',
      '/%67raphql',
    ]) {
      const { status } = await send(path, { method: 'POST', body: query }, { authorization: '' });
      expect([401, 404], `${path} without a token: ${status}`).toContain(status);
    }
    const socket = await fetch(`${gateway.instance.url}/graphql`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    expect(socket.status).not.toBe(200);
  });
});
