import { Writable } from 'node:stream';
import { pino } from 'pino';
import { loadCredentials } from '../src/home/credentials.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';

describe('the log at its most detailed level', () => {
  const lines: string[] = [];
  let gateway: TestGateway;
  beforeAll(async () => {
    const logger = pino(
      { level: 'trace' },
      new Writable({
        write: (line, _encoding, done) => {
          lines.push(String(line));
          done();
        },
      }),
    );
    gateway = await startTestGateway({ logger });
  });
  afterAll(() => gateway.close());

  it('contains no content, query, token or key', async () => {
    const token = await gateway.token({ caller: 'C' });
    await gateway.graphql(
      { token },
      'mutation { saveMemory(input: { content: "marzipan vault", projectId: "l9" }) { status } }',
    );
    await gateway.save('C', 'marzipan cellar');
    await gateway.tool('C', 'save_memory', { content: 'marzipan attic', project_id: 'no spaces allowed marzipan' });
    await gateway.tool('C', 'search_memory', { query: 'marzipan' });
    await gateway.graphql({ token }, '{ searchMemory(query: "marzipan", k: 0) { hits { content } } }');
    await gateway.graphql({ token }, '{ marzipan }');
    for (const [path, key] of [
      ['graphql', token],
      ['mcp', gateway.apiKey('C')],
    ]) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
      await fetch(`${gateway.instance.url}/${path}?q=marzipan`, { method: 'POST', headers, body: '{"marzipan' });
    }
    await gateway.embedded();
    const log = lines.join('');
    expect(lines.length).toBeGreaterThan(0);
    expect(log).not.toMatch(/marzipan/);
    const { jwtSecret, mcpApiKeys } = loadCredentials(gateway.config);
    for (const secret of [token, jwtSecret!, ...Object.values(mcpApiKeys).flat()]) expect(log).not.toContain(secret);
  });
});
