// Traces of OpenTelemetry, as a collector gets them over OTLP/HTTP.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { openTracer } from '../../src/base/opentelemetry.ts';
import { loadConfig } from '../../src/config/config.ts';
import { describeStatement } from '../../src/database/trace-queries.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

interface SpanSent {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  status: { code?: number; message?: string };
}
interface Sent {
  resourceSpans: { resource: { attributes: SpanSent['attributes'] }; scopeSpans: { spans: SpanSent[] }[] }[];
}

/** What a collector does with a request: it keeps it and says that all is well. */
function startCollector() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      bodies.push(Buffer.concat(parts).toString());
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return new Promise<{ url: string; bodies: string[]; server: Server }>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, server });
    });
  });
}

const silent = pino({ level: 'silent' });
const MEMORY = 'The quokka colony of Rottnest is counted in the marzipan ledger.';
const QUERY = 'quokka marzipan ledger';
const PRIVATE = 'The heliotrope vault opens with the walrus code.';
const trace = (digit: string) => digit.repeat(32);
const traceparent = (digit: string) => `00-${trace(digit)}-00f067aa0ba902b7-01`;

describe('with OTEL_EXPORTER_OTLP_ENDPOINT the gateway', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let gateway: TestGateway;
  let audited: Record<string, unknown>[];
  let spans: SpanSent[];

  // biome-ignore lint/suspicious/noExplicitAny: answers differ by call, and tests look at what they asked for
  const post = async (caller: string, path: string, body: object, parent?: string): Promise<any> => {
    const token = path === '/mcp' ? gateway.apiKey(caller) : await gateway.token({ caller });
    const response = await fetch(`${gateway.instance.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        ...(parent && { traceparent: parent }),
      },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const tool = (caller: string, name: string, args: object, parent?: string) =>
    post(caller, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }, parent);
  const graphql = (query: string, variables: object, parent?: string) =>
    post('C', '/graphql', { query, variables }, parent);

  // All calls at once, so that one gateway and one export serve all tests.
  beforeAll(async () => {
    collector = await startCollector();
    gateway = await startTestGateway({
      embedder: standIn,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    });
    const saved = await tool('C', 'save_memory', { content: MEMORY, project_id: 'l9' }, traceparent('a'));
    expect(saved.result.structuredContent.status).toBe('inserted');
    await gateway.embedded();
    const found = await tool('C', 'search_memory', { query: QUERY, project_id: 'l9' }, traceparent('b'));
    expect(found.result.structuredContent.hits).toHaveLength(1);
    const save = 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status } }';
    const input = { content: `${MEMORY} Twice.`, projectId: 'l9', scope: 'developer' };
    expect(await graphql(save, { input }, traceparent('c'))).toMatchObject({
      data: { saveMemory: { status: 'inserted' } },
    });
    const search = 'query ($query: String!) { searchMemory(query: $query) { hits { content } } }';
    expect((await graphql(search, { query: QUERY }, traceparent('d'))).data.searchMemory.hits).not.toHaveLength(0);
    expect(
      (await graphql('{ memories(first: 5) { nodes { content } } }', {}, traceparent('e'))).errors,
    ).toBeUndefined();
    // L writes what C may not read, C is refused when it tries, and a call without a header begins a trace.
    await tool('L', 'save_memory', { content: PRIVATE, project_id: 'l9', scope: 'l-private' });
    await tool('C', 'save_memory', { content: PRIVATE, project_id: 'l9', scope: 'l-private' }, traceparent('f'));
    await tool('C', 'search_memory', { query: 'walrus code', project_id: 'l9' });
    await fetch(`${gateway.instance.url}/ready`);
    audited = await gateway.asSuperuser('select operation, status, trace_id from public.audit_log order by audit_id');
    await gateway.close();
    spans = collector.bodies
      .flatMap((body) => (JSON.parse(body) as Sent).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap((scope) => scope.spans);
  });
  afterAll(() => void collector.server.close());

  const of = (digit: string) => spans.filter(({ traceId }) => traceId === trace(digit));
  const attribute = ({ attributes }: SpanSent, name: string) => {
    const value = attributes.find(({ key }) => key === name)?.value;
    return value?.stringValue ?? (value?.intValue === undefined ? undefined : Number(value.intValue));
  };

  it.each([
    ['a', 'POST /mcp', 'save_memory'],
    ['b', 'POST /mcp', 'search_memory'],
    ['c', 'POST /graphql', 'save_memory'],
    ['d', 'POST /graphql', 'search_memory'],
  ])('sends connected spans of request, operation and SQL (trace %s, %s, %s)', (digit, request, operation) => {
    const ours = of(digit);
    const root = ours.find(({ name }) => name === request)!;
    expect(root).toMatchObject({ parentSpanId: '00f067aa0ba902b7', kind: 2 });
    expect(attribute(root, 'http.response.status_code')).toBe(200);
    expect(attribute(root, 'l9.request_id')).toMatch(/^[0-9a-f-]{36}$/);
    const called = ours.find(({ name }) => name === `operation ${operation}`)!;
    expect(attribute(called, 'l9.operation')).toBe(operation);
    const sql = ours.filter(({ name }) => name === `select public.${operation}`);
    expect(sql.map(({ parentSpanId }) => parentSpanId)).toContain(called.spanId);
    // Every span has a parent in its trace, or is that of the request.
    const ids = new Set(ours.map(({ spanId }) => spanId));
    expect(ours.filter((one) => one !== root && !ids.has(one.parentSpanId!))).toStrictEqual([]);
  });

  it('sends a span of the embedding of a query, and of the lists of GraphQL', () => {
    const embedding = of('b').find(({ name }) => name === 'embed')!;
    expect(attribute(embedding, 'gen_ai.request.model')).toBe(standIn.model);
    expect(attribute(embedding, 'l9.texts')).toBe(1);
    expect(of('e').filter(({ name }) => /^select /.test(name))).not.toHaveLength(0);
  });

  it('writes the id of the trace into the audit rows, those of a refused call too', () => {
    const rows = (digit: string) => audited.filter((row) => row.trace_id === trace(digit));
    expect(rows('a').map(({ operation }) => operation)).toContain('INSERT');
    expect(rows('b').map(({ operation }) => operation)).toContain('SEARCH');
    expect(rows('c').map(({ operation }) => operation)).toContain('INSERT');
    expect(rows('d').map(({ operation }) => operation)).toContain('SEARCH');
    expect(rows('e').map(({ operation }) => operation)).toContain('READ');
    expect(rows('f').map(({ status }) => status)).toContain('error');
    const refused = of('f').find(({ name }) => name === 'operation save_memory')!;
    expect(refused.status).toMatchObject({ code: 2, message: 'SCOPE_DENIED' });
    // A call without the header has a trace of its own, in its audit rows as well.
    const given = new Set([...'abcdef'].map(trace));
    const own = new Set(spans.filter(({ name }) => name === 'POST /mcp').map(({ traceId }) => traceId));
    const found = audited.filter(({ trace_id: id }) => own.has(String(id)) && !given.has(String(id)));
    expect(found.map(({ operation }) => operation)).toStrictEqual(expect.arrayContaining(['INSERT', 'SEARCH']));
  });

  it('sends jobs as traces of their own, and no requests of monitors', () => {
    const job = spans.find(({ name, parentSpanId }) => name.startsWith('job ') && !parentSpanId)!;
    expect([...'abcdef'].map(trace)).not.toContain(job.traceId);
    expect(spans.filter(({ name }) => /ready|metrics|health/.test(name))).toStrictEqual([]);
  });

  it('sends no text of a memory, a query or a statement', () => {
    const sent = collector.bodies.join('\n');
    expect(sent).toContain('"service.name"');
    for (const word of [
      'quokka',
      'marzipan',
      'Rottnest',
      'heliotrope',
      'walrus',
      'l-private',
      'packet_id',
      '$1',
      'set_config',
    ])
      expect(sent.toLowerCase().includes(word.toLowerCase()), word).toBe(false);
    for (const secret of [gateway.apiKey('C'), gateway.apiKey('L')]) expect(sent.includes(secret)).toBe(false);
  });
});

describe('the description of a statement', () => {
  it.each([
    ['select to_jsonb(r) as row from public.save_memory("content" => $1) as r', 'select public.save_memory'],
    ['select search.words_for_vector($1, $2) as words', 'select search.words_for_vector'],
    ['select a."x" from "public"."packet_store" as a where a."scope" = $1', 'select public.packet_store'],
    ["begin; select set_config('jwt.claims.caller', 'C from hush', true)", 'begin'],
    ["select f('update hush')", 'select'],
    ['commit', 'commit'],
    ['hush', 'statement'],
  ])('names the verb and the table or function of %s', (text, name) => {
    expect(describeStatement(text).name).toBe(name);
  });
});

describe('a start', () => {
  const tracing = (env: Record<string, string>) => loadConfig(env).tracing;

  it('asks for traces only where a variable of OpenTelemetry does', () => {
    expect(tracing({})).toBeNull();
    expect(tracing({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBeNull();
    expect(tracing({ OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'otlp' })).toBeNull();
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' })?.url).toBe('http://c:4318/v1/traces');
    expect(tracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/own' })?.url).toBe('http://c/own');
    expect(tracing({ OTEL_TRACES_EXPORTER: 'otlp' })?.url).toBe('http://localhost:4318/v1/traces');
    expect(() => loadConfig({ OTEL_TRACES_SAMPLER_ARG: '2' })).toThrow(
      'OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1',
    );
  });

  it('names the packages that are missing, and goes on where the variable may be meant for other programs', async () => {
    const missing = ['@opentelemetry/nowhere', '@opentelemetry/api'];
    const command = /needs? @opentelemetry\/nowhere, not installed: run `npm install @opentelemetry\/nowhere`/;
    await expect(openTracer(tracing({ OTEL_TRACES_EXPORTER: 'otlp' }), silent, missing)).rejects.toThrow(command);
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => void lines.push(line) });
    expect(await openTracer(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }), logger, missing)).toBeNull();
    expect(lines.join()).toMatch(command);
  });

  it('loads nothing of OpenTelemetry without such a variable, but the interface that the metrics rest on', async () => {
    const { execFileSync } = await import('node:child_process');
    const script = `
      import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) { if (/@opentelemetry\\/(?!api)/.test(name)) throw new Error(name); return next(name, context); } });
      await import('./gateway/src/gateway.ts');
      const { openTracer } = await import('./gateway/src/base/opentelemetry.ts');
      console.log(await openTracer(null, null));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(said.trim()).toBe('null');
  });
});
