// An error repeats a name that a caller chose only if it can't be a secret: agents paste keys in the wrong place.

import { plantSecrets } from '../../../bench/eval/secrets/planted.ts';
import { PERSONAL, SECRETS, token } from '../../../db/tests/secrets/support.ts';
import { isPlainName } from '../../src/input/echo.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a name in an error', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  /** Secrets that could be names in GraphQL and JSON. */
  const tokens = Object.values(SECRETS).filter((secret) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(secret));

  it('is repeated if it is misspelled', async () => {
    const field = await gateway.tool('C', 'save_memory', { contnet: 'x', content: 'x', project_id: 'l9' });
    expect(field.text).toContain('contnet: not a field of this operation');
    expect((await gateway.tool('C', 'save_memroy')).text).toContain('there is no tool save_memroy');
    const { errors } = await gateway.graphql('C', '{ memroies { nodes { contnet } } }');
    expect(errors![0]!.message).toContain('Cannot query field "memroies" on type "Query"');
  });

  it('is not repeated over MCP if it is a secret, wherever it stands', async () => {
    for (const secret of tokens)
      for (const answer of [
        await gateway.tool('C', secret),
        await gateway.tool('C', 'save_memory', { content: 'x', project_id: 'l9', [secret]: 1 }),
        await gateway.tool('C', 'save_memory', { content: 'x', project_id: 'l9', metadata: { [secret]: '\0' } }),
        await gateway.tool('C', 'save_memory', { content: 'x', project_id: 'l9', [secret]: '\0' }),
      ]) {
        expect(answer.isError).toBe(true);
        expect(answer.text).toContain('L9VAL');
        expect(answer.text.toLowerCase()).not.toContain(secret.slice(4, 16).toLowerCase());
      }
  });

  it('is not repeated over GraphQL if it is a secret, wherever it stands', async () => {
    for (const secret of tokens)
      for (const [query, variables] of [
        [`{ ${secret} }`, {}],
        [`{ memories { nodes { ${secret} } } }`, {}],
        [`{ memories(${secret}: 1) { totalCount } }`, {}],
        [`{ memories(first: "${secret}") { totalCount } }`, {}],
        [`{ memories(first: ${secret}) { totalCount } }`, {}],
        [`query ($x: ${secret}) { memories { totalCount } }`, {}],
        [`{ memories(first: $${secret}) { totalCount } }`, {}],
        [`query ($${secret}: Int!) { memories(first: $${secret}) { totalCount } }`, {}],
        [`{ ...${secret} }`, {}],
        [`{ memories ${secret} "`, {}],
        ['query ($x: Int) { memories(first: $x) { totalCount } }', { x: secret }],
        ['query ($x: Int) { memories(first: $x) { totalCount } }', { x: { [secret]: 1 } }],
        ['mutation ($x: SaveMemoryInput!) { saveMemory(input: $x) { status } }', { x: { content: 'x', [secret]: 1 } }],
        ['query ($x: UUID!) { memoryByPacketId(packetId: $x) { content } }', { x: secret }],
      ] as const) {
        const answer = await gateway.graphql('C', query, variables);
        expect(answer.errors, query).toBeDefined();
        expect(JSON.stringify(answer).toLowerCase(), query).not.toContain(secret.slice(4, 16).toLowerCase());
      }
  });

  it('is taken for plain in no case in which the database finds a secret', async () => {
    const words = [...Object.values(SECRETS), ...Object.values(PERSONAL), ...plantSecrets(7).map(({ text }) => text)]
      .flatMap((text) => text.match(/[A-Za-z_][A-Za-z0-9_.]{5,}/g) ?? [])
      .filter(isPlainName);
    const rows = await gateway.sql(
      'C',
      'select w from unnest($1::text[]) as w where exists (select from public.find_secrets(w))',
      [words],
    );
    expect(rows).toStrictEqual([]);
    expect(isPlainName(token)).toBe(false);
    for (const name of ['project_id', 'contnet', 'setArchiveSettings', 'sha256', 'memoryByPacketId', 'envelope.steps'])
      expect(isPlainName(name), name).toBe(true);
  });
});
