import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { eventually } from '../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { createRefusalLog } from '../src/audit/refusal-log.ts';
import { createLogger } from '../src/base/logger.ts';
import { loadCredentials } from '../src/home/credentials.ts';
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

describeOnEmbedded('the log at its most detailed level', () => {
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

describeOnEmbedded('the log of calls', () => {
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
    expect(save).toMatchObject({ level: 'warn', tool: 'save_memory', outcome: 'ok' });
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
      { level: 'warn', tool: 'search_memory', hits: 1, route: 'lexical' },
      { level: 'warn', tool: 'search_memory', hits: 1, route: 'hybrid' },
    ]);
    const homeless = told.filter(({ msg }) => /none could be inferred/.test(msg));
    expect(homeless).toMatchObject([{ level: 'info', request_id: few[0].request_id, tool: 'search_memory' }]);
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
      { level: 'info', tool: 'memory_find' },
      { level: 'debug', tool: 'memory_find' },
      { level: 'debug', tool: 'save_memory' },
    ]);
    await search('L');
    expect(homeless()).toStrictEqual([{ level: 'info', tool: 'memory_find' }]);
    const metrics = await gateway.metrics();
    expect(metrics).toContain('l9_calls_without_project_total{operation="memory_find"} 3\n');
    expect(metrics).toContain('l9_calls_without_project_total{operation="save_memory"} 1\n');
  });
});

describeOnEmbedded('the level of a line', () => {
  const { lines, stream } = kept();
  let gateway: TestGateway;
  const logged = () => lines.splice(0).map((line) => JSON.parse(line));
  const told = () =>
    logged().map(({ level, tool, api, outcome, status, times, msg }) => ({
      level,
      called: tool ?? api,
      outcome: outcome ?? status,
      times,
      msg,
    }));
  beforeAll(async () => {
    const env = { SLOW_QUERY_MS: '-1', NODE_ENV: 'staging' };
    gateway = await startTestGateway({ logger: createLogger('info', stream, 'staging'), env, embedder: standIn });
  });
  beforeEach(() => void lines.splice(0));
  afterAll(() => gateway.close());

  it('is a word, beside the time in ISO, the service and the environment', async () => {
    await gateway.save('C', 'We deploy on Tuesdays.');
    const [line] = logged();
    expect(line).toMatchObject({ level: 'info', service: 'l9-memory', environment: 'staging', pid: process.pid });
    expect(line.time).toBe(new Date(line.time).toISOString());
  });

  it('is info for calls that succeed, of operations and of lists, and warn beside it for few hits', async () => {
    await gateway.save('C', 'We drain the queue on Fridays.');
    await gateway.call('C', 'get_memory_stats');
    await gateway.query('C', '{ memories(first: 1) { totalCount } }');
    await gateway.query('C', '{ getMemoryStats { total } }');
    await gateway.query('L', 'mutation { admin { registerActor(caller: "ci") { caller } } }');
    await gateway.call('C', 'search_memory', { query: 'drain', project_id: 'l9', mode: 'lexical' });
    const answered = { level: 'info', outcome: 'ok', times: undefined, msg: 'a call was answered' };
    const list = {
      level: 'info',
      called: 'graphql',
      times: undefined,
      outcome: undefined,
      msg: 'a request was answered',
    };
    expect(told().filter(({ msg }) => !/none could be inferred/.test(msg))).toStrictEqual([
      { ...answered, called: 'save_memory' },
      { ...answered, called: 'get_memory_stats' },
      list,
      { ...answered, called: 'get_memory_stats' },
      list,
      { ...answered, called: 'search_memory' },
      {
        level: 'warn',
        called: 'search_memory',
        outcome: undefined,
        times: undefined,
        msg: 'a search found fewer than 3 hits',
      },
    ]);
  });

  it('is warn for what is refused, whatever refuses it', async () => {
    const project = { project_id: 'l9' };
    await gateway.tool('C', 'save_memory', { content: '', ...project });
    await gateway.tool('C', 'save_memory', { content: 'Not for C.', scope: 'l-private', ...project });
    await gateway.tool('C', 'delete_memory', { packet_id: '00000000-0000-7000-8000-000000000000' });
    await gateway.call('C', 'memory_store', { items: [{ kind: 'marzipan', data: {}, ...project }] });
    await gateway.tool('C', 'marzipan');
    await gateway.graphql('C', '{ marzipan }');
    await gateway.graphql('C', '{ searchMemory(query: "x", k: 0) { hits { content } } }');
    const { url } = gateway.instance;
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.apiKey('C')}` };
    await fetch(`${url}/mcp`, { method: 'POST', headers: { ...headers, authorization: 'Bearer wrong' }, body: '{}' });
    await fetch(`${url}/mcp`, { method: 'POST', headers, body: '{' });
    await fetch(`${url}/mcp`, { method: 'POST', headers, body: '[{"id": 1}]' });
    await fetch(`${url}/graphql`, { headers });
    await fetch(`${url}/marzipan`);
    // Requests that every client of MCP makes are not counted as refusals.
    await fetch(`${url}/mcp`, { headers });
    await fetch(`${url}/.well-known/oauth-protected-resource`, { headers });
    const refused = told();
    expect(refused.filter(({ level }) => level !== 'warn' && level !== 'info')).toStrictEqual([]);
    expect(
      refused.filter(({ level }) => level === 'warn').map(({ called, outcome, msg }) => [called, outcome, msg]),
    ).toStrictEqual([
      ['save_memory', 'INVALID_INPUT', 'a call was refused'],
      ['save_memory', 'SCOPE_DENIED', 'a call was refused'],
      ['delete_memory', 'NOT_YOURS', 'a call was refused'],
      ['memory_store', 'INVALID_INPUT', 'items of a call were refused'],
      ['mcp', 'INVALID_INPUT', 'a request was refused'],
      ['graphql', 'INVALID_INPUT', 'a request was refused'],
      ['search_memory', 'INVALID_INPUT', 'a call was refused'],
      ['mcp', 'UNAUTHENTICATED', 'a request was refused'],
      ['mcp', 'INVALID_INPUT', 'a request was refused'],
      ['mcp', 400, 'a request was refused'],
      ['graphql', 405, 'a request was refused'],
      ['other', 404, 'a request was refused'],
    ]);
  });

  it('is error for what fails, which has the id that its caller got', async () => {
    await gateway.asOwner('alter function public.get_memory_stats rename to get_memory_stats_gone');
    try {
      const { text } = await gateway.tool('C', 'get_memory_stats');
      const [line] = logged().filter(({ level }) => level === 'error');
      expect(line).toMatchObject({ tool: 'get_memory_stats', msg: 'unexpected error' });
      expect(text).toContain(line.errorId);
    } finally {
      await gateway.asOwner('alter function public.get_memory_stats_gone rename to get_memory_stats');
    }
  });

  it('sums up a burst of refusals of a kind in one line with their number', async () => {
    const { url } = gateway.instance;
    const wrong = { authorization: 'Bearer wrong' };
    for (let n = 0; n < 60; n += 1) {
      await gateway.tool('C', 'reflect', { lesson: '' });
      await fetch(`${url}/graphql`, { method: 'POST', headers: wrong });
    }
    const kinds = ({ called, outcome }: { called: string; outcome: string }) => `${called} ${outcome}`;
    const first = told();
    expect(
      first
        .filter(({ level }) => level === 'warn')
        .map(kinds)
        .sort(),
    ).toStrictEqual(['graphql UNAUTHENTICATED', 'reflect INVALID_INPUT']);
    await eventually(() => lines.filter((line) => line.includes('"times"')).length >= 2);
    const summed = told().filter(({ times }) => times > 1);
    expect(summed.map((line) => [line.level, kinds(line), line.times, line.msg]).sort()).toStrictEqual([
      ['warn', 'graphql UNAUTHENTICATED', 59, 'requests were refused'],
      ['warn', 'reflect INVALID_INPUT', 59, 'calls were refused'],
    ]);
  });

  it('tells at most a hundred kinds of refusals apart in ten seconds, and writes the rest when it closes', async () => {
    const { lines: written, stream: to } = kept();
    const log = createRefusalLog(createLogger('info', to));
    const error = { code: 'INVALID_INPUT', sqlstate: 'L9VAL', httpStatus: 400 };
    for (let n = 0; n < 1_000; n += 1) log.add({ called: { tool: `tool ${n}` }, error, requestId: undefined });
    log.add({ called: { tool: 'tool 0' }, error: { ...error, code: 'KEY_ERROR', httpStatus: 500 }, requestId: 'r' });
    await log.close();
    const all = written.map((line) => JSON.parse(line));
    expect(all.length).toBe(102);
    expect(all.slice(-2)).toMatchObject([
      { level: 'warn', api: 'several', outcome: 'INVALID_INPUT', times: 900, msg: 'requests were refused' },
      { level: 'error', api: 'several', outcome: 'KEY_ERROR', request_id: 'r', msg: 'a request failed' },
    ]);
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
