import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { loadCredentials } from '../../src/home/credentials.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

const query = '{ memories { totalCount } }';

describe('a GraphQL request', () => {
  let gateway: TestGateway;
  let secret: Uint8Array;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    secret = new TextEncoder().encode(loadCredentials(gateway.config).jwtSecret);
  });
  afterAll(() => gateway.close());

  const sign = (
    claims: object,
    { alg = 'HS256', expires = '5m', audience = 'l9-memory', issuer = 'l9-memory', key = secret } = {},
  ) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime(expires)
      .sign(key);
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  const refused = async (token: string, reason: RegExp) => {
    const { status, errors } = await gateway.graphql({ token }, query);
    expect(status).toBe(401);
    expect(errors?.[0]?.extensions?.code).toBe('UNAUTHENTICATED');
    expect(errors?.[0]?.message ?? '').toMatch(reason);
  };

  it('is answered when its token is valid', async () => {
    const { status, data } = await gateway.graphql({ token: await sign({ caller: 'C' }) }, query);
    expect([status, data]).toStrictEqual([200, { memories: { totalCount: 0 } }]);
  });

  it('is refused without a token', async () => {
    const response = await fetch(`${gateway.instance.url}/graphql`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="l9-memory"');
  });

  it('is refused with the reason when the token is invalid', async () => {
    const good = { caller: 'C' };
    await refused('nonsense', /malformed/);
    await refused(await sign(good, { expires: '-1m' }), /expired/);
    await refused(await sign(good, { audience: 'another' }), /aud/);
    await refused(await sign(good, { issuer: 'another' }), /iss/);
    await refused(await sign(good, { alg: 'HS384' }), /algorithm/);
    await refused(await sign(good, { key: new TextEncoder().encode('x'.repeat(32)) }), /signature/);
    await refused(
      `${base64({ alg: 'none' })}.${base64({ ...good, exp: 9e9, iss: 'l9-memory', aud: 'l9-memory' })}.`,
      /algorithm|malformed/,
    );
    const eternal = await new SignJWT(good)
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('l9-memory')
      .setAudience('l9-memory')
      .sign(secret);
    await refused(eternal, /exp/);
    const { privateKey } = await generateKeyPair('RS256');
    await refused(
      await new SignJWT(good).setProtectedHeader({ alg: 'RS256' }).setExpirationTime('5m').sign(privateKey),
      /algorithm/,
    );
  });

  it('is refused with the name of a claim that is missing or malformed', async () => {
    await refused(await sign({}), /caller/);
    await refused(await sign({ caller: '' }), /caller/);
    await refused(await sign({ caller: 7 }), /caller/);
    await refused(await sign({ caller: 'Stranger' }), /caller: not a known caller/);
    await refused(await sign({ caller: 'C', role: 'postgres' }), /role/);
    await refused(await sign({ caller: 'C', role: 'l9_admin' }), /role/);
    await refused(await sign({ caller: 'C', tenant_id: 'acme' }), /tenant_id/);
    await refused(await sign({ caller: 'C', user_id: "x'; --" }), /user_id/);
    await refused(await sign({ caller: 'C', scopes: { a: 1 } }), /scopes/);
    await refused(
      await sign({ caller: 'C', tenant_id: '11111111-1111-4111-8111-111111111111' }),
      /caller: not a known caller/,
    );
  });

  it('is refused without a database call, even while every connection is busy', async () => {
    const { pool } = gateway.instance.database;
    const taken = await Promise.all(Array.from({ length: pool.options.max ?? 1 }, () => pool.connect()));
    try {
      await refused('nonsense', /malformed/);
      await refused(await sign({ caller: 'Stranger' }), /caller/);
    } finally {
      for (const client of taken) client.release();
    }
  });

  it('gains nothing from l-private in the scopes of a token of C', async () => {
    await gateway.save('L', 'hidden from tokens', { scope: 'l-private' });
    const token = await sign({ caller: 'C', scopes: ['developer', 'l-private', 'global', '*'] });
    const { data } = await gateway.graphql(
      { token },
      '{ memories { totalCount } searchMemory(query: "hidden") { hits { content } searched { scopes } } }',
    );
    expect(data).toStrictEqual({
      memories: { totalCount: 0 },
      searchMemory: { hits: [], searched: { scopes: ['developer', 'global'] } },
    });
  });

  it('sees less with a token of fewer scopes or projects', async () => {
    await gateway.save('L', 'of project l9');
    await gateway.save('L', 'of project x', { project_id: 'x' });
    const count = async (claims: object) =>
      (await gateway.graphql({ token: await sign({ caller: 'C', ...claims }) }, query)).data.memories.totalCount;
    expect(await count({})).toBe(2);
    expect(await count({ projects: ['*'] })).toBe(2);
    expect(await count({ projects: ['x'] })).toBe(1);
    expect(await count({ projects: [] })).toBe(0);
    expect(await count({ scopes: ['global'] })).toBe(0);
    expect(await count({ scopes: 'developer global' })).toBe(2);
  });

  it('survives claims with quotes, newlines and 100 kB', async () => {
    await refused(await sign({ caller: "C'; set role l9_admin; --" }), /caller/);
    await refused(await sign({ caller: 'C\nL' }), /caller/);
    const odd = { caller: 'C', projects: ["l9'", 'a"b', 'new\nline', 'comma,l9'], session_id: "it's \\ odd" };
    expect((await gateway.graphql({ token: await sign(odd) }, query)).data.memories.totalCount).toBe(0);
    const large = await gateway
      .graphql({ token: await sign({ caller: 'C', session_id: 'x'.repeat(100_000) }) }, query)
      .catch(() => ({ status: 431 }));
    expect([401, 431]).toContain(large.status);
  });
});

describe('a gateway with a JWKS_URL', () => {
  it('verifies tokens with the keys of that address and no others', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    const { privateKey: stranger } = await generateKeyPair('RS256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' };
    const issuer = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    const home = await createTestHome();
    const gateway = await startTestGateway({
      home,
      env: { JWKS_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks` },
    });
    try {
      const sign = (key: typeof privateKey, kid: string) =>
        new SignJWT({ caller: 'C' })
          .setProtectedHeader({ alg: 'RS256', kid })
          .setIssuer('l9-memory')
          .setAudience('l9-memory')
          .setExpirationTime('5m')
          .sign(key);
      expect((await gateway.graphql({ token: await sign(privateKey, 'one') }, query)).status).toBe(200);
      expect((await gateway.graphql({ token: await sign(stranger, 'one') }, query)).status).toBe(401);
      expect((await gateway.graphql({ token: await sign(stranger, 'two') }, query)).status).toBe(401);
      // The secret of the installation, and the public key taken for a secret, sign nothing here.
      expect((await gateway.graphql({ token: await gateway.token({ caller: 'C' }) }, query)).status).toBe(401);
      const confused = await new SignJWT({ caller: 'L' })
        .setProtectedHeader({ alg: 'HS256', kid: 'one' })
        .setIssuer('l9-memory')
        .setAudience('l9-memory')
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode(JSON.stringify(jwk)));
      expect((await gateway.graphql({ token: confused }, query)).status).toBe(401);
    } finally {
      await gateway.close();
      issuer.close();
    }
  });
});
