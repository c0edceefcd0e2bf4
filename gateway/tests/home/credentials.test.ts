import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { credentialsPath, loadCredentials } from '../../src/home/credentials.ts';

const mode = (path: string) => statSync(path).mode & 0o777;

describe('the credentials of a home folder', () => {
  let parent: string;
  let home: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'l9t-'));
    home = join(parent, 'home');
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));
  const load = (env: Record<string, string> = {}) => loadCredentials(loadConfig({ L9_MEMORY_HOME: home, ...env }));

  it('are made on first use, each of its own, for their owner alone', () => {
    const { jwtSecret, mcpApiKeys, archiveKey } = load();
    assert.deepEqual(Object.keys(mcpApiKeys).sort(), ['C', 'L']);
    const all = [jwtSecret, archiveKey, ...Object.values(mcpApiKeys).flat()];
    assert.equal(new Set(all).size, 4);
    for (const secret of all) assert.match(secret ?? '', /^[\w-]{43}$/);
    assert.equal(mode(home), 0o700);
    assert.equal(mode(credentialsPath(home)), 0o600);
    assert.deepEqual(readdirSync(home), ['credentials.json']);
  });

  it('never change', () => {
    const first = load();
    const written = readFileSync(credentialsPath(home), 'utf8');
    load({ JWT_SECRET: 'x'.repeat(40) });
    assert.deepEqual(load(), first);
    assert.equal(readFileSync(credentialsPath(home), 'utf8'), written);
  });

  it('are closed to others again where somebody opened them', () => {
    load();
    chmodSync(credentialsPath(home), 0o644);
    load();
    assert.equal(mode(credentialsPath(home)), 0o600);
  });

  it('give way to the environment, one by one', () => {
    const stored = load();
    const given = load({ JWT_SECRET: 's'.repeat(32), MCP_API_KEY_C: 'c'.repeat(16), MCP_API_KEY_ci: 'i'.repeat(16) });
    assert.equal(given.jwtSecret, 's'.repeat(32));
    assert.deepEqual(given.mcpApiKeys, { L: stored.mcpApiKeys.L, C: ['c'.repeat(16)], ci: ['i'.repeat(16)] });
    assert.equal(given.archiveKey, stored.archiveKey);
  });

  it('are the same for all processes that start first at once', async () => {
    const src = join(import.meta.dirname, '..', '..', 'src');
    const script = `
      import { loadConfig } from ${JSON.stringify(join(src, 'config.ts'))};
      import { loadCredentials } from ${JSON.stringify(join(src, 'home', 'credentials.ts'))};
      process.stdout.write(JSON.stringify(loadCredentials(loadConfig(process.env))));`;
    const outputs = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
          env: { PATH: process.env.PATH, L9_MEMORY_HOME: home },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let output = '';
        child.stdout.on('data', (data) => {
          output += data;
        });
        await once(child, 'close');
        return output;
      }),
    );
    assert.deepEqual(JSON.parse(outputs[0] as string), load());
    assert.equal(new Set(outputs).size, 1);
    assert.deepEqual(readdirSync(home), ['credentials.json']);
  });
});
