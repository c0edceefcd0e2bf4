// Keys change while the server runs: each new one is accepted beside the old before the old one goes.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { SignJWT } from 'jose';
import { credentialsPath } from '../../src/home/credentials.ts';
import { cli, createProcessHome, type ProcessHome, pidAt, type Running } from '../home/processes.ts';
import { eventually } from '../support/eventually.ts';

describe('a running server, told by SIGHUP', () => {
  let home: ProcessHome;
  let server: Running & { url: string };
  before(async () => {
    home = await createProcessHome();
    server = await home.serve([], { LOG_LEVEL: 'info' });
  });
  after(() => home.close());

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
    assert.equal(await run.exit, 0, run.stderr);
    return run.stdout.trim();
  };
  const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid;

  it('exchanges MCP keys with no downtime', async () => {
    const first = read();
    const [old, fresh] = [first.mcp_api_keys.C as string, 'n'.repeat(43)];
    assert.deepEqual([await withKey(old), await withKey(fresh)], [200, 401]);
    await rotate({ ...first, mcp_api_keys: { ...first.mcp_api_keys, C: [fresh, old] } });
    assert.deepEqual([await withKey(old), await withKey(fresh)], [200, 200]);
    await rotate({ ...first, mcp_api_keys: { ...first.mcp_api_keys, C: fresh } });
    assert.deepEqual([await withKey(old), await withKey(fresh)], [401, 200]);
    assert.equal(await withKey(first.mcp_api_keys.L), 200);
  });

  it('exchanges the keys of tokens with no downtime', async () => {
    const first = read();
    const unnamed = await newToken();
    assert.equal(kidOf(unnamed), undefined);
    await rotate({ ...first, jwt_secrets: { one: '1'.repeat(40) } });
    const one = await newToken();
    assert.equal(kidOf(one), 'one');
    assert.deepEqual([await withToken(unnamed), await withToken(one)], [200, 200]);
    await rotate({ ...first, jwt_secret: undefined, jwt_secrets: { two: '2'.repeat(40), one: '1'.repeat(40) } });
    const two = await newToken();
    assert.equal(kidOf(two), 'two');
    assert.deepEqual([await withToken(unnamed), await withToken(one), await withToken(two)], [401, 200, 200]);
    await rotate({ ...first, jwt_secret: undefined, jwt_secrets: { two: '2'.repeat(40) } });
    assert.deepEqual([await withToken(one), await withToken(two)], [401, 200]);

    // A key counts under its own name only.
    const misnamed = (kid: string | undefined, secret: string) =>
      new SignJWT({ caller: 'C' })
        .setProtectedHeader({ alg: 'HS256', ...(kid ? { kid } : {}) })
        .setIssuer('l9-memory')
        .setAudience('l9-memory')
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode(secret));
    assert.equal(await withToken(await misnamed('two', '2'.repeat(40))), 200);
    for (const kid of ['one', 'toString', '__proto__', undefined])
      assert.equal(await withToken(await misnamed(kid, '2'.repeat(40))), 401, String(kid));
    assert.equal(await withToken(await misnamed('two', '1'.repeat(40))), 401);
  });

  it('keeps the keys that it has when the file is no good, and says why without a word of what is in it', async () => {
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
      assert.equal(await withKey(good.mcp_api_keys.C), 200);
    }
    assert.ok(!/hush-hush|kkkk/.test(server.stdout + server.stderr));
    await rotate(good);
  });

  it('is the same process all along, and logs names, never keys', async () => {
    assert.equal(await pidAt(server.url), server.pid);
    const log = server.stdout + server.stderr;
    assert.match(log, /"kids":\["two","one"\]/);
    assert.match(log, /"callers":\["L","C"\]/);
    assert.ok(!/(n{20}|1{20}|2{20})/.test(log));
  });
});
