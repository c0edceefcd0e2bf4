import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';

describe('MCP over HTTP', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  const post = (headers: Record<string, string>, body: object = { jsonrpc: '2.0', id: 1, method: 'tools/list' }) =>
    fetch(`${house.gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify(body),
    });

  it('lists the tools with schemas in and out, and what they may do', async () => {
    const { tools } = await (await house.mcp('C')).listTools();
    const told = Object.fromEntries(
      tools.map(({ name, annotations }) => [name, [annotations?.readOnlyHint, annotations?.destructiveHint]]),
    );
    assert.deepEqual(told, {
      save_memory: [false, false],
      search_memory: [true, false],
      get_memory: [true, false],
      record_feedback: [false, false],
      update_memory: [false, true],
      delete_memory: [false, true],
      get_memory_stats: [true, false],
      delete_expired_memories: [false, true],
      reflect: [false, false],
      recall_lessons: [true, false],
      assert_fact: [false, false],
      find_facts: [true, false],
      explore_graph: [true, false],
      summarize: [false, true],
      update_world_model: [false, true],
      get_world_model: [true, false],
    });
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, 'object');
      assert.equal(tool.outputSchema?.type, 'object');
      assert.ok((tool.description ?? '').length > 20);
    }
  });

  it('names its inputs as the parameters of the SQL functions', async () => {
    const { tools } = await (await house.mcp('C')).listTools();
    const called: Record<string, string> = { update_world_model: 'apply_world_update' };
    for (const { name, inputSchema } of tools) {
      const [{ names }] = await house.sql(
        'C',
        "select proargnames as names from pg_proc where proname = $1 and pronamespace = 'public'::regnamespace",
        [called[name] ?? name],
      );
      for (const field of Object.keys(inputSchema.properties ?? {}))
        assert.ok(names.includes(field), `${name}(${field})`);
    }
  });

  it('answers with structured content and a short text', async () => {
    const { text, result } = await house.tool('C', 'save_memory', {
      content: 'Use Node 24.',
      project_id: 'l9',
      kind: 'decision',
    });
    assert.equal(result.status, 'inserted');
    assert.match(text, /^Saved as [0-9a-f-]{36} in scope developer, project l9\.$/);
  });

  it('takes the key as a bearer token or in X-API-Key', async () => {
    const key = house.apiKey('C');
    assert.equal((await post({ authorization: `Bearer ${key}` })).status, 200);
    assert.equal((await post({ 'x-api-key': key })).status, 200);
  });

  it('turns away whoever has no key, or a wrong one', async () => {
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { 'x-api-key': house.apiKey('C').slice(1) },
      { authorization: `Bearer ${await house.token({ caller: 'L' })}` },
    ]) {
      const response = await post(headers as Record<string, string>);
      assert.equal(response.status, 401);
      assert.match(
        ((await response.json()) as { error: { message: string } }).error.message,
        /UNAUTHENTICATED \(L9AUT\)/,
      );
    }
  });

  it('lets the key decide who calls, whatever else is sent', async () => {
    const forged = { caller: 'L', creator: 'L-CTO', source: 'l9-kernel' };
    const { isError, text } = await house.tool('C', 'save_memory', {
      content: 'x',
      scope: 'l-private',
      project_id: 'l9',
      ...forged,
    });
    assert.deepEqual([isError, text.startsWith('SCOPE_DENIED (L9SCP)')], [true, true]);
    const response = await post(
      { authorization: `Bearer ${house.apiKey('C')}`, 'x-caller': 'L' },
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_memory_stats', arguments: {}, _meta: forged },
      },
    );
    assert.ok(!(await response.text()).includes('l-private'));
  });

  it('answers a tool that does not exist, and arguments that are no good, with an error to act on', async () => {
    assert.match((await house.tool('C', 'drop_tables')).text, /there is no tool drop_tables/);
    assert.match(
      (await house.tool('C', 'save_memory', { content: 'x', projectId: 'l9' })).text,
      /INVALID_INPUT \(L9VAL\): projectId: not a field/,
    );
    assert.match(
      (await house.tool('C', 'save_memory', { content: 'x' })).text,
      /project_id: required in scope developer/,
    );
  });

  it('answers a body that is no JSON, or too large, without a stack trace', async () => {
    const send = async (body: string) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': house.apiKey('C') };
      const response = await fetch(`${house.gateway.url}/mcp`, { method: 'POST', headers, body });
      return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
    };
    assert.deepEqual(await send('{"a memory'), [400, 'INVALID_INPUT (L9VAL): body: not valid JSON']);
    assert.deepEqual(await send(`"${'x'.repeat(9_000_000)}"`), [413, 'LIMIT_EXCEEDED (L9LIM): body: at most 8 MiB']);
    const nowhere = await fetch(`${house.gateway.url}/nowhere`);
    assert.deepEqual(
      [nowhere.status, await nowhere.json()],
      [404, { errors: [{ message: 'not found', extensions: { code: 'NOT_YOURS', sqlstate: 'L9OWN' } }] }],
    );
  });

  it('keeps a connection open for longer than a proxy in front of it, which would lose a request otherwise', async () => {
    const { headers } = await fetch(`${house.gateway.url}/mcp`);
    assert.equal(headers.get('keep-alive'), 'timeout=65');
  });

  it('keeps no sessions: GET and DELETE are not allowed', async () => {
    for (const method of ['GET', 'DELETE']) {
      assert.equal((await fetch(`${house.gateway.url}/mcp`, { method })).status, 405);
    }
  });

  it('finds a memory in another conversation, saved by another agent', async () => {
    await house.tool('L', 'save_memory', { content: 'Deploys happen on Tuesdays.', project_id: 'l9' });
    const { result } = await house.tool('C', 'search_memory', { query: 'deploys' });
    assert.equal(result.hits[0].content, 'Deploys happen on Tuesdays.');
    assert.equal(result.hits[0].creator, 'L-CTO');
  });
});
