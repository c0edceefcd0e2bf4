import { operations } from '../../src/operations/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('MCP over HTTP', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const post = (headers: Record<string, string>, body: object = { jsonrpc: '2.0', id: 1, method: 'tools/list' }) =>
    fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify(body),
    });

  it('lists every operation as a tool with schemas, and says by its hints what it may do', async () => {
    const { tools } = await (await gateway.mcp('L', 'all')).listTools();
    const hints = tools.map(({ name, annotations: { readOnlyHint = false, destructiveHint = false } = {} }) => [
      name,
      readOnlyHint,
      destructiveHint,
    ]);
    // The verb says what a caller may expect of it.
    const reads = /^(get|search|preview|find|explore|recall|estimate|query|retrieve)_|^(memory_find|review_queue)$/;
    const replacesOrRemoves = /^(update|delete|summarize|reject|merge|undo)/;
    expect(hints).toStrictEqual(operations.map(({ name }) => [name, reads.test(name), replacesOrRemoves.test(name)]));
    expect(hints.length).toBeGreaterThanOrEqual(16);
    for (const tool of tools) {
      expect(tool.inputSchema.type).toBe('object');
      expect(tool.outputSchema?.type).toBe('object');
      expect((tool.description ?? '').length).toBeGreaterThan(20);
    }
  });

  it('names inputs like the parameters of the SQL functions', async () => {
    const { tools } = await (await gateway.mcp('C', 'all')).listTools();
    const called: Record<string, string> = { update_world_model: 'apply_world_update' };
    // Bytes are encrypted and stored outside the database, so no function of it does the whole.
    const severalSteps = /^(store_session|retrieve_session|verify_archives|rotate_archive)/;
    for (const { name, inputSchema } of tools.filter(({ name }) => !severalSteps.test(name))) {
      const [{ names }] = await gateway.sql(
        'C',
        "select proargnames as names from pg_proc where proname = $1 and pronamespace = 'public'::regnamespace",
        [called[name] ?? name],
      );
      for (const field of Object.keys(inputSchema.properties ?? {}))
        expect(names, `${name}(${field})`).toContain(field);
    }
  });

  it('answers with structured content and a short text', async () => {
    const { text, result } = await gateway.tool('C', 'save_memory', {
      content: 'Use Node 24.',
      project_id: 'l9',
      kind: 'finding',
    });
    expect(result.status).toBe('inserted');
    expect(text).toMatch(/^Saved as [0-9a-f-]{36} in scope developer, project l9\.$/);
  });

  it('accepts the key as a bearer token or in X-API-Key', async () => {
    const key = gateway.apiKey('C');
    expect((await post({ authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await post({ 'x-api-key': key })).status).toBe(200);
  });

  it('refuses a request without a key, or with a wrong one', async () => {
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { 'x-api-key': gateway.apiKey('C').slice(1) },
      { authorization: `Bearer ${(await gateway.token({ caller: 'L' })).slice(0, -2)}` },
    ]) {
      const response = await post(headers as Record<string, string>);
      expect(response.status).toBe(401);
      expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(
        /UNAUTHENTICATED \(L9AUT\)/,
      );
    }
  });

  it('determines the caller by the key, whatever else is sent', async () => {
    const forged = { caller: 'L', creator: 'L-CTO', source: 'l9-kernel' };
    const { isError, text } = await gateway.tool('C', 'save_memory', {
      content: 'x',
      scope: 'l-private',
      project_id: 'l9',
      ...forged,
    });
    expect([isError, text.startsWith('SCOPE_DENIED (L9SCP)')]).toStrictEqual([true, true]);
    const response = await post(
      { authorization: `Bearer ${gateway.apiKey('C')}`, 'x-caller': 'L' },
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_memory_stats', arguments: {}, _meta: forged },
      },
    );
    expect(await response.text()).not.toContain('l-private');
  });

  it('answers unknown tools and invalid arguments with an error that says what to change', async () => {
    expect((await gateway.tool('C', 'drop_tables')).text).toMatch(/there is no tool drop_tables/);
    expect((await gateway.tool('C', 'save_memory', { content: 'x', projectId: 'l9' })).text).toMatch(
      /INVALID_INPUT \(L9VAL\): projectId: not a field/,
    );
    expect((await gateway.tool('C', 'save_memory', { content: 'x', project_id: 'a b' })).text).toMatch(
      /project_id: must be 1 to 200 letters/,
    );
  });

  it('answers a body that is too large or not JSON without a stack trace', async () => {
    const send = async (body: string) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': gateway.apiKey('C') };
      const response = await fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body });
      return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
    };
    expect(await send('{"a memory')).toStrictEqual([400, 'INVALID_INPUT (L9VAL): body: not valid JSON']);
    expect(await send(`"${'x'.repeat(42_000_000)}"`)).toStrictEqual([
      413,
      'LIMIT_EXCEEDED (L9LIM): body: at most 40 MiB',
    ]);
    const nowhere = await fetch(`${gateway.instance.url}/nowhere`);
    expect([nowhere.status, await nowhere.json()]).toStrictEqual([
      404,
      { errors: [{ message: expect.stringMatching(/^path: this server has/), extensions: { code: 'NOT_FOUND' } }] },
    ]);
  });

  it('keeps idle connections open for longer than a proxy in front of it', async () => {
    const { headers } = await fetch(`${gateway.instance.url}/mcp`);
    expect(headers.get('keep-alive')).toBe('timeout=65');
  });

  it('keeps no sessions, so it refuses GET and DELETE', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await fetch(`${gateway.instance.url}/mcp`, { method })).status).toBe(405);
    }
  });

  it('finds a memory in another conversation, saved by another agent', async () => {
    await gateway.save('L', 'Deploys happen on Tuesdays.');
    const { result } = await gateway.tool('C', 'search_memory', { query: 'deploys' });
    expect(result.hits[0].content).toBe('Deploys happen on Tuesdays.');
    expect(result.hits[0].creator).toBe('L-CTO');
  });
});
