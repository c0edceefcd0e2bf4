import { Writable } from 'node:stream';
import { pino } from 'pino';
import { loadCredentials } from '../src/home/credentials.ts';
import { type House, openHouse } from './support/house.ts';

describe('the log, with everything written to it', () => {
  const lines: string[] = [];
  let house: House;
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
    house = await openHouse({ logger });
  });
  afterAll(() => house.close());

  it('holds no content, query, token or key', async () => {
    const token = await house.token({ caller: 'C' });
    await house.graphql(
      { token },
      'mutation { saveMemory(input: { content: "marzipan vault", projectId: "l9" }) { status } }',
    );
    await house.tool('C', 'save_memory', { content: 'marzipan cellar', project_id: 'l9' });
    await house.tool('C', 'save_memory', { content: 'marzipan attic', project_id: 'no spaces allowed marzipan' });
    await house.tool('C', 'search_memory', { query: 'marzipan' });
    await house.graphql({ token }, '{ searchMemory(query: "marzipan", k: 0) { hits { content } } }');
    await house.graphql({ token }, '{ marzipan }');
    for (const [path, key] of [
      ['graphql', token],
      ['mcp', house.apiKey('C')],
    ]) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
      await fetch(`${house.gateway.url}/${path}?q=marzipan`, { method: 'POST', headers, body: '{"marzipan' });
    }
    await house.embedded();
    const log = lines.join('');
    expect(lines.length).toBeGreaterThan(0);
    expect(log).not.toMatch(/marzipan/);
    const { jwtSecret, mcpApiKeys } = loadCredentials(house.config);
    for (const secret of [token, jwtSecret!, ...Object.values(mcpApiKeys).flat()]) expect(log).not.toContain(secret);
  });
});
