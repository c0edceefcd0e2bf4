import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config.ts';
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

  it('creates distinct credentials on first use, readable by the owner only', () => {
    const { jwtSecret, mcpApiKeys, archiveKey } = load();
    expect(Object.keys(mcpApiKeys).sort()).toStrictEqual(['C', 'L']);
    const all = [jwtSecret, archiveKey, ...Object.values(mcpApiKeys).flat()];
    expect(new Set(all).size).toBe(4);
    for (const secret of all) expect(secret ?? '').toMatch(/^[\w-]{43}$/);
    expect(mode(home)).toBe(0o700);
    expect(mode(credentialsPath(home))).toBe(0o600);
    expect(readdirSync(home)).toStrictEqual(['credentials.json']);
  });

  it('keeps the credentials that exist', () => {
    const first = load();
    const written = readFileSync(credentialsPath(home), 'utf8');
    load({ JWT_SECRET: 'x'.repeat(40) });
    expect(load()).toStrictEqual(first);
    expect(readFileSync(credentialsPath(home), 'utf8')).toBe(written);
  });

  it('restores the file mode if others could read the file', () => {
    load();
    chmodSync(credentialsPath(home), 0o644);
    load();
    expect(mode(credentialsPath(home))).toBe(0o600);
  });

  it('prefers each variable of the environment to the file', () => {
    const stored = load();
    const given = load({ JWT_SECRET: 's'.repeat(32), MCP_API_KEY_C: 'c'.repeat(16), MCP_API_KEY_ci: 'i'.repeat(16) });
    expect(given.jwtSecret).toBe('s'.repeat(32));
    expect(given.mcpApiKeys).toStrictEqual({ L: stored.mcpApiKeys.L, C: ['c'.repeat(16)], ci: ['i'.repeat(16)] });
    expect(given.archiveKey).toBe(stored.archiveKey);
  });

  it('makes no archive key where there may be archives, or where the environment has one', () => {
    const archiveKey = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
    expect(load({ ARCHIVE_KEY: archiveKey }).archiveKey).toBe(archiveKey);
    expect(JSON.parse(readFileSync(credentialsPath(home), 'utf8')).archive_key).toBeNull();
    rmSync(credentialsPath(home));
    expect(load({ DATABASE_URL: 'postgres://l9_gateway@127.0.0.1:1/l9_memory' }).archiveKey).toBe('');
    expect(JSON.parse(readFileSync(credentialsPath(home), 'utf8')).archive_key).toBeNull();
  });

  it('finds them in the home of the user where the path begins with ~', () => {
    expect(loadConfig({ L9_MEMORY_HOME: '~/memory' }).home).toBe(join(homedir(), 'memory'));
    expect(loadConfig({ L9_MEMORY_HOME: '~' }).home).toBe(homedir());
    expect(loadConfig({ L9_MEMORY_HOME: '/srv/~old' }).home).toBe('/srv/~old');
  });

  it('gives the same credentials to all processes that start at once', async () => {
    const src = join(import.meta.dirname, '..', '..', 'src');
    const script = `
      import { loadConfig } from ${JSON.stringify(join(src, 'config', 'config.ts'))};
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
    expect(JSON.parse(outputs[0] as string)).toStrictEqual(load());
    expect(new Set(outputs).size).toBe(1);
    expect(readdirSync(home)).toStrictEqual(['credentials.json']);
  });
});
