import fc from 'fast-check';
import { INEXACT_NUMBER, isExactNumber, markInexactNumbers } from '../../src/input/exact-json.ts';
import { createTimeReader } from '../../src/input/times.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const inexact = [
  '9007199254740993',
  '-12345678901234567890',
  '0.12345678901234567890',
  '1e400',
  '1e-400',
  '1.00000000000000001',
];
const exact = [
  '9007199254740992',
  '-9007199254740991',
  '0.1',
  '1e22',
  '-0',
  '1.50',
  '12345.678',
  '1e-7',
  '5e-324',
  '100000000000000000000',
];

describe('markInexactNumbers', () => {
  it('marks the numbers that a double does not hold, and no others', () => {
    for (const number of inexact) {
      expect(isExactNumber(number), number).toBe(false);
      expect(JSON.parse(markInexactNumbers(`{"a":[${number}]}`)), number).toStrictEqual({ a: [INEXACT_NUMBER] });
    }
    for (const number of exact) {
      expect(isExactNumber(number), number).toBe(true);
      expect(markInexactNumbers(`[${number}]`)).toBe(`[${number}]`);
    }
    expect(isExactNumber(`1${'0'.repeat(10_000)}`)).toBe(false);
  });

  it('changes no text, wherever its quotes and backslashes are', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', '9007199254740993', '\\"9007199254740993', '\\\\'), (json, text) => {
        const whole = JSON.stringify([text, json, JSON.parse(json)]);
        expect(JSON.parse(markInexactNumbers(whole))).toStrictEqual(JSON.parse(whole));
      }),
    );
  });

  it('keeps every number that JavaScript writes', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(isExactNumber(JSON.stringify(number))).toBe(true);
      }),
    );
  });
});

describe('a number with more digits than are kept', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const post = async (path: string, body: string, headers: Record<string, string>) => {
    const response = await fetch(`${gateway.instance.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body,
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers differ by request, and tests look at what they asked for
    return (await response.json()) as any;
  };
  const tool = async (name: string, args: string) =>
    (
      await post(
        '/mcp',
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
        { 'x-api-key': gateway.apiKey('C') },
      )
    ).result;
  const graphql = async (query: string, variables = '{}') =>
    post('/graphql', `{"query":${JSON.stringify(query)},"variables":${variables}}`, {
      authorization: `Bearer ${await gateway.token({ caller: 'C' })}`,
    });

  it('is refused over MCP with the name of its field', async () => {
    const fact = (object: string) => `{"subject":"pi","predicate":"is","object":${object},"project_id":"l9"}`;
    for (const number of inexact) {
      for (const [name, args, field] of [
        ['save_memory', `{"content":"a","project_id":"l9","metadata":{"n":{"deep":[${number}]}}}`, 'metadata'],
        ['save_memory', `{"content":"a","project_id":"l9","envelope":{"n":${number}}}`, 'envelope'],
        ['assert_fact', fact(number), 'object'],
        ['assert_fact', fact(`{"n":${number}}`), 'object'],
      ]) {
        const { isError, content } = await tool(name!, args!);
        expect([isError, content[0].text], `${name} ${number}`).toStrictEqual([
          true,
          expect.stringMatching(new RegExp(`^INVALID_INPUT \\(L9VAL\\): ${field}: has more digits than`)),
        ]);
      }
    }
    for (const number of exact) {
      const { isError, structuredContent } = await tool('assert_fact', fact(number));
      expect([isError, structuredContent.fact.object], number).toStrictEqual([undefined, JSON.parse(number) + 0]);
    }
  });

  it('is refused over GraphQL, in a variable and in the document', async () => {
    const save = (metadata: string) =>
      `mutation { saveMemory(input: { content: "a", projectId: "l9", metadata: ${metadata} }) { status } }`;
    const withVariable =
      'mutation ($m: JSON) { saveMemory(input: { content: "a", projectId: "l9", metadata: $m }) { status } }';
    for (const number of inexact) {
      for (const { errors } of [
        await graphql(withVariable, `{"m":{"n":${number}}}`),
        await graphql(save(`{ metadata: [${number}] }`)),
      ]) {
        expect(errors[0].extensions, number).toMatchObject({ code: 'INVALID_INPUT', field: 'metadata' });
        expect(errors[0].message).toMatch(/^metadata: has more digits/);
      }
    }
    const { data } = await graphql(
      'mutation ($m: JSON) { saveMemory(input: { content: "exact", projectId: "l9", metadata: $m }) { memory { metadata } } }',
      '{"m":{"notes":{"n":9007199254740992,"d":0.1}}}',
    );
    expect(data.saveMemory.memory.metadata.notes).toStrictEqual({ n: 9007199254740992, d: 0.1 });
  });

  it('is refused in SQL, where it would be read otherwise than it was written', async () => {
    for (const number of inexact) {
      for (const [field, args] of [
        ['metadata', "metadata => jsonb_build_object('n', array[$1::numeric])"],
        ['envelope', "envelope => jsonb_build_object('n', $1::numeric)"],
        ['routing', "routing => jsonb_build_object('n', $1::numeric)"],
        ['provenance', "provenance => jsonb_build_object('n', $1::numeric)"],
      ]) {
        await expect(
          gateway.sql('C', `select public.save_memory('a', project_id => 'l9', ${args})`, [number]),
        ).rejects.toMatchObject({ code: 'L9VAL', column: field });
      }
      await expect(
        gateway.sql('C', "select public.assert_fact('pi', 'is', to_jsonb($1::numeric), project_id => 'l9')", [number]),
      ).rejects.toMatchObject({ code: 'L9VAL', column: 'object' });
    }
    for (const number of exact)
      await gateway.sql('C', "select public.assert_fact('e', 'is', to_jsonb($1::numeric), project_id => 'l9')", [
        number,
      ]);
  });

  it('is reported by the import with its line', async () => {
    const { toCandidate } = await import('../../src/commands/import.ts');
    const { parseObject } = await import('../../src/commands/imports/objects.ts');
    const read = parseObject('{"content":"second","envelope":{"n":9007199254740993}}') as {
      object: Record<string, unknown>;
    };
    expect(toCandidate(read.object, { project: 'l9' }, createTimeReader())).toStrictEqual({
      problem: expect.stringMatching(/^envelope: has more digits/),
    });
  });
});
