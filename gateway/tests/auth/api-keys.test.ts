// MCP keys in the database, stored as hashes: administrators create and revoke them, and they are shown once.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

import { standIn } from '../support/stand-in.ts';

describe('an API key stored in the database', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      embedder: standIn,
      env: { MCP_API_KEY_C: 'old-key-old-key-old, new-key-new-key-new' },
    });
    await gateway.save('L', 'private memory', { scope: 'l-private' });
    await gateway.save('L', 'a memory of l9');
    await gateway.save('L', 'a memory of x', { project_id: 'x' });
    await gateway.save('L', 'a memory for all', { scope: 'global' });
  });
  afterAll(() => gateway.close());

  const create = async (args: Record<string, unknown>, caller = 'L') => {
    const { data, errors } = await gateway.graphql(
      caller,
      `mutation ($name: String, $caller: String, $scopes: [String], $projects: [String], $expiresAt: Datetime,
          $orgId: UUID, $userId: UUID, $toolSets: [String], $defaultProject: String) {
        admin {
          createApiKey(name: $name, caller: $caller, scopes: $scopes, projects: $projects, expiresAt: $expiresAt,
            orgId: $orgId, userId: $userId, toolSets: $toolSets, defaultProject: $defaultProject) {
            apiKey keyId name caller expiresAt
          }
        }
      }`,
      args,
    );
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    return data.admin.createApiKey as { apiKey: string; keyId: string };
  };
  const call = async (key: string, name: string, args: object = {}, header = 'authorization') => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        [header]: header === 'authorization' ? `Bearer ${key}` : key,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
    const body = (await response.json()) as any;
    return {
      status: response.status,
      result: body.result?.structuredContent,
      text: body.result?.content?.[0]?.text,
      body,
    };
  };
  const search = async (key: string) => {
    const { result } = await call(key, 'search_memory', { query: 'memory', mode: 'lexical' });
    return result.hits.map(({ content }: { content: string }) => content).sort();
  };
  const becomes = (key: string, status: number) =>
    eventually(async () => (await call(key, 'get_memory_stats')).status === status);

  it('stands for its caller, as a bearer token or in X-API-Key', async () => {
    const { apiKey } = await create({ name: 'ci', caller: 'C' });
    expect(apiKey).toMatch(/^l9_[\w-]{43}$/);
    await becomes(apiKey, 200);
    expect(await search(apiKey)).toStrictEqual(['a memory for all', 'a memory of l9', 'a memory of x']);
    expect((await call(apiKey, 'get_memory_stats', {}, 'x-api-key')).status).toBe(200);
    const { result } = await call(apiKey, 'save_memory', { content: 'by the key', scope: 'global' });
    expect(result.memory.metadata.creator).toBe('Cursor-IDE');
    await call(apiKey, 'delete_memory', { packet_id: result.memory.packet_id });
    expect((await gateway.graphql({ token: apiKey }, '{ __typename }')).status).toBe(200);
  });

  it('says who calls on every API, as a token does', async () => {
    const { apiKey } = await create({ name: 'everywhere', caller: 'C', projects: ['x'] });
    await becomes(apiKey, 200);
    const token = await gateway.token({ caller: 'C', projects: ['x'] });
    const found = async (headers: Record<string, string>) => {
      const response = await fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"query":"{ searchMemory(query: \\"memory\\", mode: lexical) { hits { content } } memories { totalCount } }"}',
      });
      const { data } = (await response.json()) as { data: { searchMemory: { hits: { content: string }[] } } };
      return data;
    };
    const byToken = await found({ authorization: `Bearer ${token}` });
    expect(byToken.searchMemory.hits.length).toBeGreaterThan(0);
    expect(await found({ authorization: `Bearer ${apiKey}` })).toStrictEqual(byToken);
    expect(await found({ 'x-api-key': apiKey })).toStrictEqual(byToken);
    expect(await found({ 'x-api-key': token })).toStrictEqual(byToken);
    expect(await search(token)).toStrictEqual(await search(apiKey));
    for (const header of ['authorization', 'x-api-key'])
      expect((await call(token, 'get_memory_stats', {}, header)).status).toBe(200);
    const attached = await fetch(`${gateway.instance.url}/attach`, { headers: { authorization: `Bearer ${token}` } });
    expect(attached.status).toBe(200);
    await attached.body?.cancel();
  });

  it('is held to its sets of tools over GraphQL', async () => {
    const { apiKey } = await create({ name: 'core only', caller: 'L', toolSets: ['core'] });
    await becomes(apiKey, 200);
    const ask = (query: string) => gateway.graphql({ token: apiKey }, query);
    const { data } = await ask('{ searchMemory(query: "memory", mode: lexical) { hits { content } } }');
    expect(data.searchMemory.hits.length).toBeGreaterThan(0);
    const { errors } = await ask('{ getMemoryStats { total } }');
    expect(errors).toMatchObject([{ extensions: { code: 'SCOPE_DENIED', sqlstate: 'L9SCP' } }]);
    const rows = await ask('{ memories { totalCount } }');
    expect(rows.data?.memories?.totalCount ?? 0, 'rows belong to no set').toBe(0);
  });

  it('is limited to the scopes and projects it was created with', async () => {
    const { apiKey } = await create({ name: 'x only', caller: 'L', scopes: ['developer'], projects: ['x'] });
    await becomes(apiKey, 200);
    expect(await search(apiKey)).toStrictEqual(['a memory of x']);
    const { text } = await call(apiKey, 'save_memory', { content: 'no', scope: 'l-private', project_id: 'x' });
    expect(text).toMatch(/SCOPE_DENIED/);
  });

  it('acts for its org and user, and is refused once these are deactivated', async () => {
    const [org, user] = ['11111111-1111-4111-8111-1111111111aa', '22222222-2222-4222-8222-2222222222bb'];
    const { apiKey } = await create({ name: 'of Ada', caller: 'C', orgId: org, userId: user });
    await becomes(apiKey, 200);
    await call(apiKey, 'save_memory', { content: 'a memory of Ada', scope: 'global' });
    expect(await search(apiKey)).toContain('a memory of Ada');
    const { result } = await gateway.tool('C', 'search_memory', { query: 'Ada', mode: 'lexical' });
    expect(result.hits).toStrictEqual([]);
    await gateway.sql('L', 'select create_user($1, $2)', ['Ada', user]);
    await gateway.sql('L', 'select deactivate_user($1)', [user]);
    await becomes(apiKey, 401);
  });

  it('is refused as soon as it is revoked, by the database first', async () => {
    const { apiKey, keyId } = await create({ name: 'short-lived', caller: 'C' });
    await becomes(apiKey, 200);
    const claims = { 'jwt.claims.key_id': keyId };
    const me = async () =>
      (await gateway.sql('C', 'select i.caller from identity.current_identity() i', [], claims))[0].caller;
    expect(await me()).toBe('C');
    const { data } = await gateway.graphql(
      'L',
      'mutation ($id: UUID) { admin { revokeApiKey(keyId: $id) { revokedAt } } }',
      { id: keyId },
    );
    expect(data.admin.revokeApiKey.revokedAt).toBeTruthy();
    expect(await me()).toBeNull();
    await becomes(apiKey, 401);
    const again = await gateway.sql('L', 'select revoked_at from revoke_api_key($1)', [keyId]);
    expect(again[0].revoked_at.toISOString()).toBe(new Date(data.admin.revokeApiKey.revokedAt).toISOString());
    expect(
      (await gateway.sql('L', 'select i.caller from identity.current_identity() i', [], claims))[0].caller,
      "nor is it another caller's",
    ).toBeNull();
  });

  it('is refused once it has expired', async () => {
    const { apiKey, keyId } = await create({
      name: 'for a moment',
      caller: 'C',
      expiresAt: new Date(Date.now() + 4_000).toISOString(),
    });
    await becomes(apiKey, 200);
    await sleep(4_000);
    expect((await call(apiKey, 'get_memory_stats')).status).toBe(401);
    const claims = { 'jwt.claims.key_id': keyId };
    expect(
      (await gateway.sql('C', 'select i.caller from identity.current_identity() i', [], claims))[0].caller,
    ).toBeNull();
  });

  it('belongs to its tenant only', async () => {
    const [{ tenant_id }] = await gateway.asOwner("select tenant_id from create_tenant('acme')");
    const [{ api_key, key_id }] = await gateway.sql('L', "select * from create_api_key('theirs', 'C')", [], {
      'jwt.claims.tenant_id': tenant_id,
    });
    await becomes(api_key, 200);
    expect(await search(api_key)).toStrictEqual([]);
    await call(api_key, 'save_memory', { content: 'a memory of acme', scope: 'global' });
    expect(await search(api_key)).toStrictEqual(['a memory of acme']);
    expect(await search('new-key-new-key-new')).not.toContain('a memory of acme');
    await expect(gateway.sql('L', 'select revoke_api_key($1)', [key_id])).rejects.toMatchObject({ code: 'L9OWN' });
    const [{ n }] = await gateway.sql('L', 'select count(*)::int as n from api_keys where key_id = $1', [key_id]);
    expect(n).toBe(0);
  });

  it('is listed to administrators without its hash, and is hidden from agents', async () => {
    const { data } = await gateway.graphql(
      'L',
      '{ admin { apiKeys { name caller scopes projects createdBy revokedAt } } }',
    );
    const listed = data.admin.apiKeys.find(({ name }: { name: string }) => name === 'x only');
    expect([listed.caller, listed.scopes, listed.projects, listed.createdBy]).toStrictEqual([
      'L',
      ['developer'],
      ['x'],
      'L',
    ]);
    const denied = await gateway.graphql('C', '{ admin { apiKeys { name } } }');
    expect(denied.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    for (const caller of ['L', 'C'])
      await expect(gateway.sql(caller, 'select * from identity.api_key_hashes')).rejects.toMatchObject({
        code: '42501',
      });
    const [{ columns }] = await gateway.asSuperuser(
      "select string_agg(attname, ' ') as columns from pg_attribute where attrelid = 'api_keys'::regclass",
    );
    expect(columns).not.toMatch(/hash/);
  });

  it('is refused with the same error wherever it is wrong', async () => {
    const { apiKey } = await create({ name: 'almost', caller: 'C' });
    await becomes(apiKey, 200);
    const flipped = `${apiKey.slice(0, -2)}${apiKey.at(-2) === 'A' ? 'B' : 'A'}${apiKey.at(-1)}`;
    for (const key of [flipped, apiKey.slice(0, -1), `${apiKey}x`, 'l9_', apiKey.toUpperCase()]) {
      const { status, body } = await call(key, 'get_memory_stats');
      expect([status, body.error.message]).toStrictEqual([401, 'UNAUTHENTICATED (L9AUT): the API key is not accepted']);
    }
  });

  it('validates the arguments when it is created', async () => {
    const refused = async (args: string, message: RegExp) =>
      expect(gateway.sql('L', `select create_api_key(${args})`)).rejects.toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(message),
      });
    await refused("'', 'C'", /^name/);
    await refused("'k', 'Nobody'", /^caller: no active actor/);
    await refused("'k', 'C', scopes => '{}'", /^scopes: must name at least one/);
    await refused("'k', 'C', scopes => '{nope}'", /^scopes: scope nope is not registered/);
    await refused("'k', 'C', projects => '{}'", /^projects: must name at least one/);
    await refused("'k', 'C', projects => array['a b']", /^projects: each must be 1 to 200/);
    await refused("'k', 'C', projects => array[null]", /^projects: each must be 1 to 200/);
    await refused("'k', 'C', expires_at => now() - interval '1 second'", /^expires_at/);
  });

  it('works beside keys of the configuration, of which a caller may have two', async () => {
    for (const key of ['old-key-old-key-old', 'new-key-new-key-new'])
      expect((await call(key, 'get_memory_stats')).status).toBe(200);
    expect((await call('old-key-old-key-old, new-key-new-key-new', 'get_memory_stats')).status).toBe(401);
  });
});
