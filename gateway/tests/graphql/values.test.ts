// Values that do not fit the schema: every error has a code and names the field, whether the value is in a variable or in the
// document.
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('a value that does not fit its type', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const refusal = async (query: string, variables = {}) => {
    const { errors } = await gateway.graphql('C', query, variables);
    expect(errors, query).toBeDefined();
    return { ...errors![0]!.extensions, message: errors![0]!.message };
  };
  const reflectOnTask = (value: string) =>
    `mutation { reflectOnTask(input: { taskId: "t", description: "d", outcome: "success", projectId: "l9", executionTimeMs: ${value} }) { clientMutationId } }`;
  const withVariable = 'mutation ($input: ReflectOnTaskInput!) { reflectOnTask(input: $input) { clientMutationId } }';

  it('is refused for its depth, also in an argument below an operation', async () => {
    let deep: unknown = 1;
    for (let n = 0; n < 3000; n++) deep = { a: deep };
    for (const query of [
      'query ($where: JSON) { memories(where: $where) { totalCount } }',
      'query ($where: JSON) { searchMemory(query: "x") { hits { memory { relationships { nodes { memories(where: $where) { totalCount } } } } } } }',
    ])
      expect(await refusal(query, { where: deep })).toMatchObject({
        code: 'LIMIT_EXCEEDED',
        message: expect.stringMatching(/at most 64 levels deep$/),
      });
  });

  it.each([
    'soon',
    '12:30',
    {},
    [[]],
    true,
  ])('names the field of a time of execution of %j', async (executionTimeMs) => {
    const input = { taskId: 't', description: 'd', outcome: 'success', projectId: 'l9', executionTimeMs };
    for (const refused of [
      await refusal(withVariable, { input }),
      await refusal(reflectOnTask(JSON.stringify(executionTimeMs))),
    ]) {
      expect(refused).toMatchObject({ code: 'INVALID_INPUT', sqlstate: 'L9VAL', field: 'executionTimeMs' });
    }
  });

  it.each([
    ['Datetime', '2026-02-30T00:00:00Z'],
    ['Datetime', '2026-13-01'],
    ['Datetime', '0000-01-01T00:00:00Z'],
    ['Datetime', 'tomorrow'],
    ['Datetime', '2026-12-31T23:59:59+99:99'],
    ['UUID', 'not an id'],
  ])('names the field of the %s %s in a filter and in a function', async (type, value) => {
    const filter = type === 'UUID' ? 'packetId' : 'timestamp';
    for (const variables of [{ filter: { [filter]: { equalTo: value } } }]) {
      expect(
        await refusal('query ($filter: MemoryFilter) { memories(filter: $filter) { totalCount } }', variables),
      ).toMatchObject({ code: 'INVALID_INPUT', field: `${filter}.equalTo` });
    }
    if (type === 'UUID') return;
    const { errors } = await gateway.graphql('C', `{ factsAsOf(knownAt: "${value}") { totalCount } }`);
    expect(errors![0]!.extensions).toMatchObject({ code: 'INVALID_INPUT', field: 'knownAt' });
  });

  it('accepts the times that PostgreSQL writes', async () => {
    for (const value of [
      '2026-12-31',
      '2026-12-31T23:59:59.123456+00:00',
      '2026-12-31 23:59:59+05:30',
      '2028-02-29T00:00:00Z',
      'infinity',
    ]) {
      const query = 'query ($filter: MemoryFilter) { memories(filter: $filter) { totalCount } }';
      const { errors } = await gateway.graphql('C', query, { filter: { timestamp: { lessThan: value } } });
      expect(errors, value).toBeUndefined();
    }
  });

  it('is refused with the field, but without repeating a long value', async () => {
    const query = 'query ($k: Int) { memories(first: $k) { totalCount } }';
    const refused = await refusal(query, { k: 'x'.repeat(100_000) });
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', field: 'k' });
    expect(refused.message.length).toBeLessThan(600);
    for (const page of ['first', 'last', 'offset'])
      expect(await refusal(`{ memories(${page}: -1) { totalCount } }`)).toMatchObject({
        code: 'INVALID_INPUT',
        field: page,
      });
    expect(await refusal('{ memories { totalCount nothing } }')).toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('is refused with the field that the schema knows, where it is a number that is not kept exactly', async () => {
    const tooExact = '9007199254740993';
    const assertFact = `mutation { assertFact(input: { subject: "s", predicate: "p", object: { inside: [{ n: ${tooExact} }] }, projectId: "l9" }) { clientMutationId } }`;
    const cases: [string, string][] = [
      [assertFact, 'object'],
      [reflectOnTask(tooExact), 'executionTimeMs'],
      [
        `{ entityRelationships(filter: { confidence: { greaterThan: 0.12345678901234567890 } }) { totalCount } }`,
        'confidence.greaterThan',
      ],
      [`{ memories(first: ${tooExact}) { totalCount } }`, 'first'],
      [`query ($n: Int = ${tooExact}) { memories(first: $n) { totalCount } }`, 'n'],
    ];
    for (const [query, field] of cases) {
      const { status, errors } = await gateway.graphql('C', query);
      expect(status).toBe(400);
      expect(errors![0]!.message).toMatch(/^[\w.]+: has more digits than a number keeps/);
      expect(errors![0]!.extensions).toStrictEqual({ code: 'INVALID_INPUT', sqlstate: 'L9VAL', field });
    }
  });

  it('is refused with the field where it can not be stored', async () => {
    const query = 'query ($f: EntityAliasFilter) { entityAliases(filter: $f) { totalCount } }';
    expect(await refusal(query, { f: { aliasNormalized: { equalTo: 'a\0b' } } })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'aliasNormalized',
    });
  });
});

describe('a cursor of a list', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('leads through rows that have null in the ordered column', async () => {
    for (let n = 0; n < 6; n++) await gateway.save('C', `note ${n} about apples`);
    const { hits } = await gateway.call('C', 'search_memory', { query: 'apples' });
    await gateway.call('C', 'record_feedback', { access_id: hits[0].access_id, was_useful: true });
    await gateway.call('C', 'record_feedback', { access_id: hits[1].access_id, was_useful: false });
    for (const order of ['WAS_USEFUL_DESC', 'WAS_USEFUL_ASC']) {
      const list = async (page: string) =>
        (
          await gateway.query(
            'C',
            `{ memoryAccesses(orderBy: [${order}, ACCESS_ID_ASC], ${page}) { edges { cursor node { accessId wasUseful } } } }`,
          )
        ).memoryAccesses.edges as { cursor: string; node: { accessId: string; wasUseful: boolean | null } }[];
      const all = await list('first: 100');
      expect(all.some(({ node }) => node.wasUseful === null)).toBe(true);
      const paged: string[] = [];
      for (let after = ''; ; ) {
        const page = await list(`first: 2${after && `, after: "${after}"`}`);
        paged.push(...page.map(({ node }) => node.accessId));
        if (page.length < 2) break;
        after = page.at(-1)!.cursor;
      }
      expect(paged, order).toStrictEqual(all.map(({ node }) => node.accessId));
    }
  });
});
