// Requests that no well-meaning client sends.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getIntrospectionQuery } from 'postgraphile/graphql';
import { assertDocumented, assertNoTrace, cheapEmbedder, plantHidden } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

describe('the GraphQL door', () => {
  let house: House;
  let traces: string[];
  let token: string;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
    ({ traces } = await plantHidden(house));
    await house.tool('C', 'save_memory', { content: 'what C may see', project_id: 'l9' });
    token = await house.token({ caller: 'C' });
  });
  after(() => house.close());

  const send = async (path: string, init: RequestInit, headers: Record<string, string> = {}) => {
    const response = await fetch(`${house.gateway.url}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const refused = async (query: string, what: RegExp) => {
    const { status, errors } = await house.graphql({ token }, query);
    assert.equal(status, 400);
    assert.match(errors?.[0]?.message ?? '', what);
  };

  it('says in its schema nothing of anybody, to any caller the same', async () => {
    const [ofC, ofL] = [
      await house.graphql('C', getIntrospectionQuery()),
      await house.graphql('L', getIntrospectionQuery()),
    ];
    assert.deepEqual(ofC, ofL);
    assertNoTrace(JSON.stringify(ofC), traces, 'the schema');
    assert.ok(
      !/l-private/.test(
        JSON.stringify(ofC.data.__schema.types.filter(({ kind }: { kind: string }) => kind === 'ENUM')),
      ),
    );
    // A misspelt name brings names of the schema to mind, which is the same for all; never of rows.
    const { errors } = await house.graphql(
      'C',
      '{ memorys(condition: { projectid: "quincunx" }) { nodes { contents } } }',
    );
    assertNoTrace(
      JSON.stringify(errors),
      traces.filter((trace) => !trace.startsWith('quincunx')),
      'a suggestion',
    );
  });

  it('answers a request as long as a book, or that asks for the same a thousand times, by refusing it at once', async () => {
    const times = (n: number, field: (n: number) => string) =>
      Array.from({ length: n }, (_, at) => field(at)).join(' ');
    await refused(`{ ${times(101, (n) => `a${n}: getMemoryStats { total }`)} }`, /at most 100 fields at the top/);
    await refused(
      `query { ...F } fragment F on Query { ${times(101, (n) => `a${n}: getMemoryStats { total }`)} }`,
      /at most 100 fields at the top/,
    );
    await refused(`{ memories { nodes { ${times(3_000, (n) => `a${n}: content`)} } } }`, /at most \d+ (fields|words)/);
    await refused(`{ ${times(100_000, () => 'memories { totalCount }')} }`, /at most 4000 words/);
    // Each fragment asks ten times for the one below it.
    const bomb = times(
      7,
      (n) =>
        `fragment F${n} on Memory { ${times(10, (k) => `x${k}_${n}: content`)} ${n < 6 ? times(10, () => `... on Memory { ...F${n + 1} }`) : ''} }`,
    );
    await refused(`{ memories { nodes { ...F0 } } } ${bomb}`, /at most 2000 fields/);
  });

  it('answers one that nests without end, or leads in circles, the same way', async () => {
    for (const [open, close] of ['{}', '[]', '()'].map((pair) => [...pair] as [string, string])) {
      await refused(
        `{ memories(condition: { projectId: ${open.repeat(50_000)}${close.repeat(50_000)} }) { totalCount } }`,
        /brackets deep|tokens|Syntax/,
      );
    }
    await refused(`{ ${'a { '.repeat(200)}b${' }'.repeat(200)} }`, /brackets deep/);
    await refused('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }', /spread fragment/i);
    await refused('{ ...A } fragment A on Query { ...A }', /spread fragment/i);
  });

  it('answers variables that nest without end in documented words', async () => {
    for (const levels of [100, 5_000, 100_000]) {
      const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      const query =
        'mutation ($m: JSON) { saveMemory(input: { content: \\"deep\\", projectId: \\"l9\\", metadata: $m }) { status } }';
      const { text } = await send('/graphql', {
        method: 'POST',
        body: `{"query":"${query}","variables":{"m":${deep}}}`,
      });
      const { errors } = JSON.parse(text);
      assert.equal(errors[0].extensions.code, 'LIMIT_EXCEEDED', `${levels}: ${text.slice(0, 200)}`);
    }
  });

  it('says what is wrong with a cursor of another list, or of none', async () => {
    for (const cursor of [
      'nonsense',
      Buffer.from('["natural",1]').toString('base64'),
      Buffer.from('{"a":').toString('base64'),
    ]) {
      for (const place of ['after', 'before']) {
        const { errors } = await house.graphql(
          { token },
          `{ memories(${place}: "${cursor}", orderBy: SCOPE_ASC) { nodes { packetId } } }`,
        );
        assert.equal(errors?.[0]?.extensions?.code, 'INVALID_INPUT', cursor);
        assert.match(errors![0]!.message, /cursor/);
      }
    }
    for (const page of [
      'first: -1',
      'last: -1',
      'offset: -1',
      'first: 2147483647, offset: 2147483647',
      'first: 1, last: 1',
    ]) {
      const { errors } = await house.graphql({ token }, `{ memories(${page}) { totalCount nodes { packetId } } }`);
      if (errors) assertDocumented(errors[0]?.extensions?.code, page);
    }
  });

  it('takes no batch, no stored operation, no GET, and no form that a page could send by itself', async () => {
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
        {},
        400,
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
      assert.equal(
        answer.status,
        status,
        `${init.method} ${path} ${init.body} ${JSON.stringify(headers)}: ${answer.text.slice(0, 200)}`,
      );
      assert.ok(!/"data":\{/.test(answer.text));
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
      assert.ok([401, 404].includes(status), `${path} without a token: ${status}`);
    }
    const socket = await fetch(`${house.gateway.url}/graphql`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    assert.notEqual(socket.status, 200);
  });
});
