// The size of pages, and the cost of a request.
import { type GraphqlAnswer, useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a page', () => {
  const gateway = useTestGateway({ embedder: standIn });
  beforeAll(async () => {
    await gateway.sql(
      'C',
      `select save_memory(format('Page %s of the log.', n), kind => 'log', project_id => 'l9') from generate_series(1, 60) as n`,
    );
  });

  const refused = ({ status, errors, data }: GraphqlAnswer) => ({
    status,
    code: errors?.[0]?.extensions?.code,
    field: errors?.[0]?.extensions?.field,
    message: errors?.[0]?.message,
    data: data ?? null,
  });
  const limit = (field: string, message: unknown) => ({
    status: 400,
    code: 'LIMIT_EXCEEDED',
    field,
    message,
    data: null,
  });

  it('has 50 rows where none is asked for, by connection and by variable', async () => {
    const ask = async (query: string, variables?: object) =>
      (await gateway.query('C', query, variables)).memories.nodes.length;
    expect(await ask('{ memories { nodes { packetId } } }')).toBe(50);
    expect(await ask('query ($n: Int) { memories(first: $n) { nodes { packetId } } }')).toBe(50);
    expect(await ask('query ($n: Int) { memories(first: $n) { nodes { packetId } } }', { n: null })).toBe(50);
    expect(await ask('query ($n: Int = 7) { memories(first: $n) { nodes { packetId } } }')).toBe(7);
    expect(await ask('{ memories(first: 60) { nodes { packetId } } }')).toBe(60);
    expect(await ask('{ memories(last: 55) { nodes { packetId } } }')).toBe(55);
    expect(await ask('query ($n: Int) { memories(first: $n, last: 51) { nodes { packetId } } }')).toBe(51);
    const { memories } = await gateway.query(
      'C',
      '{ memories { totalCount pageInfo { hasNextPage } edges { cursor } } }',
    );
    expect([memories.totalCount, memories.pageInfo.hasNextPage, memories.edges.length]).toStrictEqual([60, true, 50]);
    const next = await gateway.query('C', 'query ($after: Cursor) { memories(after: $after) { nodes { packetId } } }', {
      after: memories.edges.at(-1).cursor,
    });
    expect(next.memories.nodes).toHaveLength(10);
  });

  it('has at most 1,000 rows, on every level', async () => {
    for (const [query, variables, field] of [
      ['{ memories(first: 2000000000) { nodes { packetId } } }', {}, 'first'],
      ['{ memories(last: 1001) { nodes { packetId } } }', {}, 'last'],
      ['query ($n: Int!) { memories(first: $n) { totalCount } }', { n: 2_000_000_000 }, 'first'],
      ['query ($n: Int = 2000000000) { memories(first: $n) { totalCount } }', {}, 'first'],
      ['{ memories(first: 1) { nodes { facts(first: 1001) { totalCount } } } }', {}, 'first'],
      ['{ factsAsOf(first: 1001) { fact { factId } } }', {}, 'first'],
    ] as const) {
      expect(refused(await gateway.graphql('C', query, variables)), query).toStrictEqual(
        limit(field, `${field}: at most 1000 rows a page`),
      );
    }
    expect(
      refused(await gateway.graphql('C', '{ memories(first: 1000) { nodes { packetId } } }')).code,
    ).toBeUndefined();
  });

  it('costs its fields times the rows of the pages around it', async () => {
    const nested = (outer: string, inner: string, innermost: string) =>
      `{ memories${outer} { nodes { facts${inner} { nodes { evidence${innermost} { nodes { factId packetId } } } } } } }`;
    for (const [query, cost] of [
      [nested('(first: 100)', '(first: 100)', '(first: 10)'), 100 * (100 * (10 * 2 + 2) + 2) + 2],
      [nested('', '', ''), 50 * (50 * (50 * 2 + 2) + 2) + 2],
      [nested('(first: 1000)', '(first: 1000)', '(first: 1000)'), 1000 * (1000 * (1000 * 2 + 2) + 2) + 2],
      [
        `query { memories(first: 1000) { ...page } } fragment page on MemoryConnection { edges { node { ...memory } } }
         fragment memory on Memory { ${'a b c d e f g h i j k'.replace(/\w/g, (alias) => `${alias}: facts(first: 9) { nodes { subject } }`)} }`,
        1000 * (11 * (9 + 2) + 1) + 2,
      ],
    ] as const) {
      expect(refused(await gateway.graphql('C', query)), query).toStrictEqual(
        limit('query', expect.stringMatching(new RegExp(`^query: costs ${cost}, at most 100000: `))),
      );
    }
    const affordable = nested('(first: 20)', '(first: 20)', '(first: 20)');
    expect((await gateway.graphql('C', affordable)).errors).toBeUndefined();
  });

  it('counts in the answer of an operation, too', async () => {
    const deep =
      '{ searchMemory(query: "page") { hits { memory { facts(first: 1000) { nodes { evidence { nodes { factId } } } } } } } }';
    expect(refused(await gateway.graphql('C', deep)).message).toMatch(/^query: costs \d+, at most 100000/);
  });

  it('says its size in the schema', async () => {
    const { __type: type } = await gateway.query(
      'C',
      '{ __type(name: "Query") { fields { name args { name description } } } }',
    );
    const memories = type.fields.find(({ name }: { name: string }) => name === 'memories');
    const described = Object.fromEntries(
      memories.args.map(({ name, description }: Record<string, string>) => [name, description]),
    );
    expect(described.first).toMatch(/50 by default, at most 1000\./);
    expect(described.last).toMatch(/at most 1000\./);
  });
});
