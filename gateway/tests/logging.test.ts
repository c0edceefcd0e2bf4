import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { loadCredentials } from '../src/home/credentials.ts';
import { createLogger } from '../src/logger.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { standIn } from './support/stand-in.ts';

/** A stream that keeps the lines written to it. */
function kept() {
  const lines: string[] = [];
  const stream = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line));
      done();
    },
  });
  return { lines, stream };
}

describe('the log at its most detailed level', () => {
  const { lines, stream } = kept();
  let gateway: TestGateway;
  beforeAll(async () => {
    const logger = pino({ level: 'trace' }, stream);
    // Every call is logged as slow, with all that is told about slow ones.
    gateway = await startTestGateway({ logger, env: { SLOW_QUERY_MS: '0' } });
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
    await gateway.save('C', 'marzipan loft', { idempotency_key: 'marzipan-1', kind: 'marzipan', speaker: 'marzipan' });
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

describe('the log of calls', () => {
  const { lines, stream } = kept();
  let gateway: TestGateway;
  const start = async (env: Record<string, string>, logger: Logger = createLogger('debug', stream)) => {
    gateway = await startTestGateway({ logger, env, embedder: standIn });
  };
  /** What was logged since the last look, without what differs from run to run. */
  const logged = (text: RegExp) =>
    lines
      .splice(0)
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => text.test(msg));
  afterEach(() => gateway.close());

  it('warns of calls whose SQL was slow, with the request, the tool, the route and numbers', async () => {
    await start({ SLOW_QUERY_MS: '0' });
    await gateway.save('C', 'We deploy on Tuesdays.');
    const [save, ...others] = logged(/SQL of a call was slow/);
    expect(others).toStrictEqual([]);
    expect(save).toMatchObject({ level: 40, tool: 'save_memory', outcome: 'ok' });
    expect(save.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(save.sql_duration_ms).toBeGreaterThan(0);

    // Both APIs, and what is refused.
    const token = await gateway.token({ caller: 'C' });
    const response = await fetch(`${gateway.instance.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: '{ searchMemory(query: "deploy", mode: lexical) { hits { packetId } } }' }),
    });
    await response.json();
    const [search] = logged(/SQL of a call was slow/);
    expect(search).toMatchObject({ tool: 'search_memory', outcome: 'ok', route: 'lexical', hits: 1 });
    expect(search.request_id).toBe(response.headers.get('x-request-id'));
    await gateway.tool('C', 'save_memory', { content: 'Not for C.', scope: 'l-private', project_id: 'l9' });
    expect(logged(/SQL of a call was slow/)).toMatchObject([{ tool: 'save_memory', outcome: 'SCOPE_DENIED' }]);
  });

  it('tells of searches that find fewer than three hits, and of calls without a project', async () => {
    await start({ SLOW_QUERY_MS: '-1' });
    await gateway.save('C', 'We deploy on Tuesdays.');
    await gateway.call('C', 'search_memory', { query: 'deploy', mode: 'lexical' });
    await gateway.call('C', 'search_memory', { query: 'deploy', project_id: 'l9' });
    const told = logged(/./);
    const few = told.filter(({ msg }) => /fewer than 3 hits/.test(msg));
    expect(few).toMatchObject([
      { level: 30, tool: 'search_memory', hits: 1, route: 'lexical' },
      { level: 30, tool: 'search_memory', hits: 1, route: 'hybrid' },
    ]);
    const homeless = told.filter(({ msg }) => /none could be inferred/.test(msg));
    expect(homeless).toMatchObject([{ level: 30, request_id: few[0].request_id, tool: 'search_memory' }]);
    expect(told.filter(({ msg }) => /was slow/.test(msg))).toStrictEqual([]);
  });

  it('tells of each client without a project once, and counts all of its calls without one', async () => {
    await start({ SLOW_QUERY_MS: '-1' });
    const homeless = () => logged(/none could be inferred/).map(({ level, tool }) => ({ level, tool }));
    const search = (caller: string) => gateway.call(caller, 'memory_find', { query: 'deploy', mode: 'fast' });
    await search('C');
    await search('C');
    await gateway.tool('C', 'save_memory', { content: 'We deploy on Tuesdays.' });
    expect(homeless()).toStrictEqual([
      { level: 30, tool: 'memory_find' },
      { level: 20, tool: 'memory_find' },
      { level: 20, tool: 'save_memory' },
    ]);
    await search('L');
    expect(homeless()).toStrictEqual([{ level: 30, tool: 'memory_find' }]);
    const metrics = await gateway.metrics();
    expect(metrics).toContain('l9_calls_without_project_total{operation="memory_find"} 3\n');
    expect(metrics).toContain('l9_calls_without_project_total{operation="save_memory"} 1\n');
  });
});

it('cuts idempotency keys and names of those who act out of the log', () => {
  const { lines, stream } = kept();
  const secret = 'marzipan';
  const names = ['idempotency_key', 'idempotencyKey', 'caller', 'creator', 'user_id', 'key_id', 'token', 'content'];
  const fields = Object.fromEntries(names.map((name) => [name, secret]));
  createLogger('info', stream)
    .child({ tool: 'save_memory' })
    .info({ ...fields, call: fields, hits: 1 }, 'a line');
  expect(lines.join('')).not.toContain(secret);
  expect(JSON.parse(lines[0]!)).toMatchObject({ tool: 'save_memory', hits: 1, caller: '[redacted]' });
});
