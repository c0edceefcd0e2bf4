// Keys change while the server runs: a new key is accepted next to the old one before the old one is removed.
import { readFileSync, writeFileSync } from 'node:fs';
import { SignJWT } from 'jose';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { credentialsPath } from '../../src/home/credentials.ts';
import { cli, createProcessHome, type ProcessHome, pidAt, type Running } from '../home/processes.ts';

describe('a running server that gets SIGHUP', () => {
  let home: ProcessHome;
  let server: Running & { url: string };
  beforeAll(async () => {
    home = await createProcessHome();
    server = await home.serve([], { LOG_LEVEL: 'info' });
  });
  afterAll(() => home.close());

  const read = () => JSON.parse(readFileSync(credentialsPath(home.home), 'utf8'));
  let reloads = 0;
  /** Writes the file and has it read again. */
  const rotate = async (content: object | string, says = 'credentials.json was read again') => {
    writeFileSync(credentialsPath(home.home), typeof content === 'string' ? content : JSON.stringify(content));
    process.kill(server.pid, 'SIGHUP');
    reloads += says.endsWith('again') ? 1 : 0;
    await eventually(() => {
      const told = server.stdout + server.stderr;
      return says.endsWith('again') ? told.split(says).length > reloads : told.includes(says);
    });
  };
  const withKey = async (key: string) => {
    const response = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${key}`,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    return response.status;
  };
  const withToken = async (token: string) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"query":"{ __typename }"}',
    });
    return response.status;
  };
  const newToken = async () => {
    const run = home.run([cli, 'token', '--caller', 'C']);
    expect(await run.exit, run.stderr).toBe(0);
    return run.stdout.trim();
  };
  const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid;

  it('replaces MCP keys with no downtime', async () => {
    const first = read();
    const [old, fresh] = [first.mcp_api_keys.C as string, 'n'.repeat(43)];
    expect([await withKey(old), await withKey(fresh)]).toStrictEqual([200, 401]);
    await rotate({ ...first, mcp_api_keys: { ...first.mcp_api_keys, C: [fresh, old] } });
    expect([await withKey(old), await withKey(fresh)]).toStrictEqual([200, 200]);
    await rotate({ ...first, mcp_api_keys: { ...first.mcp_api_keys, C: fresh } });
    expect([await withKey(old), await withKey(fresh)]).toStrictEqual([401, 200]);
    expect(await withKey(first.mcp_api_keys.L)).toBe(200);
  });

  it('replaces the signing keys of tokens with no downtime', async () => {
    const first = read();
    const unnamed = await newToken();
    expect(kidOf(unnamed)).toBeUndefined();
    await rotate({ ...first, jwt_secrets: { one: '1'.repeat(40) } });
    const one = await newToken();
    expect(kidOf(one)).toBe('one');
    expect([await withToken(unnamed), await withToken(one)]).toStrictEqual([200, 200]);
    await rotate({ ...first, jwt_secret: undefined, jwt_secrets: { two: '2'.repeat(40), one: '1'.repeat(40) } });
    const two = await newToken();
    expect(kidOf(two)).toBe('two');
    expect([await withToken(unnamed), await withToken(one), await withToken(two)]).toStrictEqual([401, 200, 200]);
    await rotate({ ...first, jwt_secret: undefined, jwt_secrets: { two: '2'.repeat(40) } });
    expect([await withToken(one), await withToken(two)]).toStrictEqual([401, 200]);

    // A key counts under its own name only.
    const misnamed = (kid: string | undefined, secret: string) =>
      new SignJWT({ caller: 'C' })
        .setProtectedHeader({ alg: 'HS256', ...(kid ? { kid } : {}) })
        .setIssuer('l9-memory')
        .setAudience('l9-memory')
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode(secret));
    expect(await withToken(await misnamed('two', '2'.repeat(40)))).toBe(200);
    for (const kid of ['one', 'toString', '__proto__', undefined])
      expect(await withToken(await misnamed(kid, '2'.repeat(40))), String(kid)).toBe(401);
    expect(await withToken(await misnamed('two', '1'.repeat(40)))).toBe(401);
  });

  it('keeps its keys when the file is invalid, and logs why without quoting the file', async () => {
    const good = read();
    for (const bad of [
      '{"hush-hush',
      JSON.stringify({ ...good, mcp_api_keys: { C: 'hush-hush' } }),
      JSON.stringify({ ...good, mcp_api_keys: { C: 'k'.repeat(20), L: 'k'.repeat(20) } }),
    ]) {
      const told = server.stdout.split('is invalid').length;
      writeFileSync(credentialsPath(home.home), bad);
      process.kill(server.pid, 'SIGHUP');
      await eventually(() => server.stdout.split('is invalid').length > told);
      expect(await withKey(good.mcp_api_keys.C)).toBe(200);
    }
    expect(server.stdout + server.stderr).not.toMatch(/hush-hush|kkkk/);
    await rotate(good);
  });

  it('remains the same process, and logs names but never keys', async () => {
    expect(await pidAt(server.url)).toBe(server.pid);
    const log = server.stdout + server.stderr;
    expect(log).toMatch(/"kids":\["two","one"\]/);
    expect(log).toMatch(/"callers":\["L","C"\]/);
    expect(log).not.toMatch(/(n{20}|1{20}|2{20})/);
  });
});
