// Forged tokens and keys. Cases of tokens.test.ts (alg none, a wrong key, expiry, another issuer or audience) are not
// repeated here.
import { createHmac } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { cheapEmbedder, OTHER_TENANT, plantHidden } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const query = '{ memories { totalCount } }';
const base64 = (text: string) => Buffer.from(text).toString('base64url');
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const claims = (more: object = {}) => ({ iss: 'l9-memory', aud: 'l9-memory', exp: inAnHour(), caller: 'C', ...more });
/** Signed with HS256 over the texts as they are, whatever they say. */
const forge = (header: string, payload: string, key: string | Buffer) => {
  const signed = `${base64(header)}.${base64(payload)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
};
const HS256 = '{"alg":"HS256"}';

describe('a forged token', () => {
  const lines: string[] = [];
  const tried: string[] = [];
  let gateway: TestGateway;
  let secret: string;
  beforeAll(async () => {
    const log = new Writable({
      write: (line, _encoding, done) => {
        lines.push(String(line));
        done();
      },
    });
    gateway = await startTestGateway({
      embedder: cheapEmbedder,
      logger: pino({ level: 'trace' }, log),
      env: { WRONG_KEYS_PER_MINUTE: '100000' },
    });
    secret = loadCredentials(gateway.config).jwtSecret!;
    await plantHidden(gateway);
  });
  afterAll(() => gateway.close());

  const ask = async (token: string) => {
    tried.push(token);
    return gateway.graphql({ token }, query);
  };
  const refused = async (token: string, what: string) => {
    const { status, data, errors } = await ask(token);
    expect([status, data, errors?.[0]?.extensions?.code], what).toStrictEqual([401, undefined, 'UNAUTHENTICATED']);
    return errors![0]!;
  };
  const signed = (payload: object | string, header: object | string = HS256) =>
    forge(
      typeof header === 'string' ? header : JSON.stringify(header),
      typeof payload === 'string' ? payload : JSON.stringify(payload),
      secret,
    );

  it('is refused without a signature, however its header spells none', async () => {
    for (const alg of [
      'none',
      'None',
      'NONE',
      'nOnE',
      '',
      null,
      ['none'],
      ['HS256'],
      'HS256 ',
      'hs256',
      'HS512',
      'A128KW',
      'dir',
    ]) {
      for (const signature of ['', 'AAAA', base64(secret)]) {
        const header = base64(JSON.stringify(alg === null ? {} : { alg }));
        await refused(`${header}.${base64(JSON.stringify(claims()))}.${signature}`, `alg ${alg}, "${signature}"`);
      }
    }
    const [header, payload, signature] = signed(claims()).split('.');
    for (const token of [
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      '..',
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}.${signature}x`,
    ]) {
      await refused(token, token.slice(0, 20));
    }
  });

  it('is refused if its header asks for an algorithm or extension that is not supported', async () => {
    for (const header of [
      { alg: 'HS256', crit: ['exp'] },
      { alg: 'HS256', crit: ['b64'], b64: false },
      { alg: 'HS256', crit: ['nonsense'], nonsense: true },
      { alg: 'HS256', crit: [] },
    ]) {
      await refused(signed(claims(), header), JSON.stringify(header));
    }
  });

  it('cannot choose its verification key through its header', async () => {
    let fetched = 0;
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    const server = createServer(async (_request, response) => {
      fetched += 1;
      response.end(JSON.stringify({ keys: [await exportJWK(publicKey)] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const mine = 'a key of my own, thirty-two letters or more';
      const jwk = { kty: 'oct', k: base64(mine) };
      for (const header of [
        { jwk },
        { jwk: await exportJWK(publicKey) },
        { jku: url },
        { x5u: url },
        { x5c: [base64('certificate')] },
        { kid: '../../../../dev/null' },
        { kid: "x' union select 'secret" },
        { kid: '/proc/self/environ' },
        { kid: '\0' },
        { kid: 'x'.repeat(5_000) },
        { kid: { toString: 'x' } },
        { kid: '__proto__' },
      ]) {
        for (const key of [mine, '', '\0'])
          await refused(
            forge(JSON.stringify({ alg: 'HS256', ...header }), JSON.stringify(claims({ caller: 'L' })), key),
            JSON.stringify(header).slice(0, 60),
          );
        const rs = await new SignJWT(claims({ caller: 'L' }))
          .setProtectedHeader({ alg: 'RS256', ...(header as object) })
          .sign(privateKey)
          .catch(() => null);
        if (rs) await refused(rs, JSON.stringify(header).slice(0, 60));
      }
      expect(fetched).toBe(0);
    } finally {
      server.close();
    }
  });

  it('is refused outside its lifetime, or for another issuer or audience', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const more of [
      { exp: undefined },
      { exp: null },
      { exp: 'tomorrow' },
      { exp: '9999999999' },
      { exp: -1 },
      { exp: now - 60 },
      { nbf: now + 600 },
      { nbf: 'now' },
      { aud: 'l9-memory-2' },
      { aud: ['another', 'third'] },
      { aud: undefined },
      { aud: { 'l9-memory': true } },
      { iss: 'L9-Memory' },
      { iss: ['l9-memory'] },
      { iss: undefined },
    ]) {
      await refused(signed(claims(more)), JSON.stringify(more));
    }
  });

  it('is refused with the name of the claim that is malformed, and no internal error', async () => {
    const odd: [unknown, string][] = [
      ["it's", 'caller'],
      ['C\n', 'caller'],
      ['C\0', 'caller'],
      [' C', 'caller'],
      ['c', 'caller'],
      ['C\u200b', 'caller'],
      [['C'], 'caller'],
      [{ toString: 'C' }, 'caller'],
      [true, 'caller'],
      ['x'.repeat(9_000), 'caller'],
      ['l9_owner', 'role'],
      ['l9_worker', 'role'],
      ['l9_gateway', 'role'],
      ['postgres', 'role'],
      ['l9_admin', 'role'],
      ['l9_platform_admin', 'role'],
      ['none', 'role'],
      ["l9_agent'; set role l9_owner; --", 'role'],
      [['l9_agent'], 'role'],
      [OTHER_TENANT.replace('ff', 'fe'), 'caller'],
      [`${OTHER_TENANT}' or true --`, 'tenant_id'],
      [`{${OTHER_TENANT}}`, 'tenant_id'],
      [[OTHER_TENANT], 'tenant_id'],
      [`${OTHER_TENANT}\0`, 'tenant_id'],
      ['*', 'org_id'],
      [7, 'user_id'],
      [[1], 'scopes'],
      [{ 0: 'l-private' }, 'scopes'],
      [['developer\0'], 'scopes'],
      [[['l-private']], 'scopes'],
      [['a\0b'], 'projects'],
      [[null], 'projects'],
      [{ __proto__: null, length: 1 }, 'projects'],
      ['a\0b', 'session_id'],
      ['a\0b', 'trace_id'],
      [['x'], 'session_id'],
    ];
    for (const [value, name] of odd) {
      const more =
        name === 'caller' && value === OTHER_TENANT.replace('ff', 'fe') ? { tenant_id: value } : { [name]: value };
      const error = await refused(signed(claims(more)), `${name}: ${JSON.stringify(value)?.slice(0, 60)}`);
      expect(`${error.message} ${error.extensions?.field ?? ''}`).toMatch(new RegExp(name));
      expect(error.message.length).toBeLessThan(300);
    }
    for (const payload of ['null', '[]', '"C"', '1', '{', '', '{"caller":"C"']) await refused(signed(payload), payload);
  });

  it('grants only its claims, even if they contain quotes, nesting or names of JavaScript', async () => {
    const count = async (token: string) => {
      const { status, data, errors } = await ask(token);
      expect([status, errors]).toStrictEqual([200, undefined]);
      return data.memories.totalCount;
    };
    await gateway.save('C', 'what C may see');
    const text = (more: string) => `{"iss":"l9-memory","aud":"l9-memory","exp":${inAnHour()},"caller":"C"${more}}`;
    for (const more of [
      ',"__proto__":{"caller":"L","role":"l9_admin"}',
      ',"constructor":{"prototype":{"role":"l9_admin"}}',
      ',"caller":"L","caller":"C"',
      `,"deep":${'['.repeat(2_000)}${']'.repeat(2_000)}`,
      `,"session_id":"it's \\"odd\\" \\\\ \\n $$"`,
      `,"trace_id":"'; set role l9_admin; --"`,
      ',"l9.tool_name":"x","jwt.claims.caller":"L","sub":"L","tenant":"other"',
      ',"org_id":null,"user_id":null,"role":"l9_agent"',
      ',"scopes":["l-private","developer","*"]',
    ]) {
      expect(await count(signed(text(more))), more.slice(0, 60)).toBe(1);
    }
    for (const projects of [
      ["l9'"],
      ['l9"'],
      ['l9\n'],
      ['l9,l9'],
      ['%'],
      ['{*}'],
      ['l9\u0000'.slice(0, 2), '"'],
      ['*,l9'],
      ['["*"]'],
    ]) {
      const n = await count(signed(claims({ projects })));
      expect(n, JSON.stringify(projects)).toBe(projects.includes('l9') ? 1 : 0);
    }
    expect(
      (
        await fetch(`${gateway.instance.url}/graphql`, {
          method: 'POST',
          headers: { authorization: `Bearer ${signed(claims({ session_id: 'x'.repeat(100_000) }))}` },
        })
      ).status,
    ).toBe(431);
  });

  it('shows only the tenant that it names', async () => {
    const ask = () =>
      gateway.graphql(
        { token: signed(claims({ tenant_id: OTHER_TENANT })) },
        '{ memories { nodes { tenantId } } scopes { nodes { tenantId } } }',
      );
    // The gateway looks now and then for callers that are new.
    const { data, errors } = await eventually(async () => {
      const answer = await ask();
      return answer.status !== 401 && answer;
    });
    expect(errors).toBeUndefined();
    expect(data.memories.nodes).toStrictEqual([{ tenantId: OTHER_TENANT }]);
    expect(new Set(data.scopes.nodes.map(({ tenantId }: { tenantId: string }) => tenantId))).toStrictEqual(
      new Set([OTHER_TENANT]),
    );
    await refused(signed(claims({ tenant_id: OTHER_TENANT, caller: 'L' })), 'L is not known there');
  });

  it('leaves no part of itself in the log', () => {
    const log = lines.join('');
    for (const token of tried.filter((one) => one.length > 40)) {
      expect(log).not.toContain(token);
      const payload = token.split('.')[1] ?? '';
      expect(payload.length < 20 || !log.includes(payload)).toBe(true);
    }
    expect(log).not.toContain(secret);
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toStrictEqual([]);
  });
});

describe('a public key used as an HMAC secret', () => {
  it('signs no accepted token, as PEM, DER, JSON or modulus', async () => {
    const { publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
    const pem = await exportSPKI(publicKey);
    const issuer = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    const gateway = await startTestGateway({
      embedder: cheapEmbedder,
      env: { JWKS_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks` },
    });
    try {
      const keys = [
        pem,
        pem.trim(),
        `${pem}\n`,
        pem.replace(/-----.*?-----|\s/g, ''),
        Buffer.from(pem.replace(/-----.*?-----|\s/g, ''), 'base64'),
        JSON.stringify(jwk),
        JSON.stringify({ keys: [jwk] }),
        jwk.n!,
        Buffer.from(jwk.n!, 'base64url'),
        loadCredentials(gateway.config).jwtSecret,
        '',
      ];
      for (const key of keys) {
        for (const header of [
          '{"alg":"HS256","kid":"one"}',
          '{"alg":"HS256"}',
          '{"alg":"none","kid":"one"}',
          '{"alg":"RS256","kid":"one"}',
        ]) {
          const { status } = await gateway.graphql(
            { token: forge(header, JSON.stringify(claims({ caller: 'L' })), key!) },
            query,
          );
          expect(status, header).toBe(401);
        }
      }
    } finally {
      await gateway.close();
      issuer.close();
    }
  });
});

describe('a request with two keys', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  /** Headers as they are given, also twice. */
  const post = (path: string, headers: string[]) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { port } = new URL(gateway.instance.url);
      const asked = request(
        {
          port,
          host: '127.0.0.1',
          path,
          method: 'POST',
          headers: [
            'Host',
            `127.0.0.1:${port}`,
            'Content-Type',
            'application/json',
            'Accept',
            'application/json, text/event-stream',
            ...headers,
          ] as never,
        },
        async (response) => {
          let text = '';
          for await (const part of response.setEncoding('utf8')) text += part;
          resolve({ status: response.statusCode!, text });
        },
      );
      asked.on('error', reject);
      asked.end(path === '/mcp' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : JSON.stringify({ query }));
    });

  it('is refused, so that no proxy can take a different key than the gateway', async () => {
    const [ofC, ofL] = [gateway.apiKey('C'), gateway.apiKey('L')];
    for (const headers of [
      ['Authorization', `Bearer ${ofC}`, 'X-API-Key', ofL],
      ['X-API-Key', ofC, 'X-API-Key', ofL],
      ['Authorization', `Bearer ${ofC}`, 'Authorization', `Bearer ${ofL}`],
      ['Authorization', `Bearer ${ofC}`, 'authorization', `Basic ${ofL}`],
      ['Authorization', `Bearer ${ofC}, Bearer ${ofL}`],
      ['Authorization', `Bearer ${ofC} ${ofL}`],
      ['Authorization', `Bearer ${ofC}`, 'X-API-Key', 'wrong'],
    ]) {
      const { status, text } = await post('/mcp', headers);
      expect(status, headers.filter((_, at) => at % 2 === 0).join()).toBe(401);
      expect(text).not.toContain(ofC);
      expect(text).not.toContain(ofL);
    }
    const tokens = [await gateway.token({ caller: 'C' }), await gateway.token({ caller: 'L' })];
    expect(
      (
        await post(
          '/graphql',
          tokens.flatMap((token) => ['Authorization', `Bearer ${token}`]),
        )
      ).status,
    ).toBe(401);
  });

  it('is accepted if both keys are the same', async () => {
    const key = gateway.apiKey('C');
    expect((await post('/mcp', ['Authorization', `Bearer ${key}`, 'X-API-Key', key])).status).toBe(200);
  });
});
