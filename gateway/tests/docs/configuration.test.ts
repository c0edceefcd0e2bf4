// The environment is read in one place, and the documentation lists the same variables.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { environment, SECRETS } from '../../src/environment.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const variables = [...Object.keys(environment.shape), 'MCP_API_KEY_L', 'MCP_API_KEY_C'];

describe('the configuration', () => {
  it('is listed completely in .env.example, without values', () => {
    const lines = read('.env.example')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    const listed = lines.map((line) => line.replace(/=.*/, ''));
    expect(variables.filter((name) => !listed.includes(name))).toStrictEqual([]);
    expect(
      listed.filter((name, place) => listed.indexOf(name) !== place),
      'listed twice',
    ).toStrictEqual([]);
    expect(lines.filter((line) => !line.endsWith('='))).toStrictEqual([]);
  });

  it('is listed completely in the reference', () => {
    const page = read('docs/reference/configuration.md');
    expect(variables.filter((name) => !page.includes(`\`${name}\``))).toStrictEqual([]);
  });

  it('is read in config.ts only', () => {
    const readers = globSync('gateway/src/**/*.ts', { cwd: root }).filter((file) =>
      /process\.env\.\w/.test(read(file)),
    );
    expect(readers, 'which only sets what Grafast reads').toStrictEqual(['gateway/src/graphql/environment.ts']);
  });

  it('takes each secret from a file instead, and refuses both', () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-secrets-'));
    try {
      const path = join(folder, 'secret');
      // biome-ignore lint/suspicious/noExplicitAny: each setting is somewhere else in the configuration
      const settings: [string, string, (config: any) => unknown][] = [
        ['DATABASE_URL', 'postgres://l9_gateway:hush@db/l9', ({ databaseUrl }) => databaseUrl],
        ['DATABASE_OWNER_URL', 'postgres://l9_owner:hush@db/l9', ({ databaseOwnerUrl }) => databaseOwnerUrl],
        ['ROOT_DATABASE_URL', 'postgres://postgres:hush@db/postgres', ({ rootDatabaseUrl }) => rootDatabaseUrl],
        ['L9_OWNER_PASSWORD', 'a password', ({ ownerPassword }) => ownerPassword],
        ['L9_GATEWAY_PASSWORD', 'a password', ({ gatewayPassword }) => gatewayPassword],
        ['JWT_SECRET', 's'.repeat(32), ({ jwt }) => jwt.secret],
        ['JWT_SECRETS', `k:${'s'.repeat(32)}`, ({ jwt }) => `k:${jwt.secrets.k}`],
        ['MCP_API_KEY', 'k'.repeat(16), ({ mcpApiKey }) => mcpApiKey],
        ['MCP_API_KEY_C', 'k'.repeat(16), ({ mcpApiKeys }) => mcpApiKeys.C[0]],
        ['METRICS_KEY', 'k'.repeat(32), ({ metrics }) => metrics.key],
        ['ARCHIVE_KEY', 'k'.repeat(32), ({ archiveKey }) => archiveKey],
        ['ARCHIVE_KEYS', `k1:${'k'.repeat(32)}`, ({ archiveKey }) => archiveKey],
        ['LUMERA_MEMORY_KEY', 'k'.repeat(32), ({ archiveKey }) => archiveKey],
        ['ARCHIVE_HTTP_TOKEN', 'hush', ({ archive }) => archive.httpToken],
        ['OPENAI_API_KEY', 'sk-hush', ({ embedding }) => embedding.apiKey],
        ['CHAT_API_KEY', 'sk-hush', ({ chat }) => chat.apiKey],
      ];
      expect(settings.map(([name]) => name).filter((name) => name !== 'MCP_API_KEY_C')).toStrictEqual([...SECRETS]);
      const page = read('docs/reference/configuration.md').split('| variable |')[0]!;
      for (const [name, value, of] of settings) {
        expect(page).toContain(`\`${name}`);
        writeFileSync(path, `${value}\n`);
        const file = { CHAT_MODEL: 'm', [`${name}_FILE`]: path };
        expect(of(loadConfig({ ...file, ...(name === 'CHAT_API_KEY' ? {} : { CHAT_API_KEY: 'x' }) })), name).toBe(
          value,
        );
        const both = () => loadConfig({ ...file, [name]: value });
        expect(both).toThrow(`${name}, ${name}_FILE: set one of them, not both`);
        expect(of(loadConfig({ CHAT_API_KEY: 'x', ...file, [name]: value, [`${name}_FILE`]: '' })), name).toBe(value);
      }
      writeFileSync(path, '\n');
      expect(() => loadConfig({ JWT_SECRET_FILE: path })).toThrow('JWT_SECRET_FILE: the file is empty');
      expect(() => loadConfig({ JWT_SECRET_FILE: join(folder, 'none') })).toThrow(
        'JWT_SECRET_FILE: the file cannot be read: there is no such file or folder',
      );
      // The secret is checked like one of a variable, and never quoted.
      writeFileSync(path, 'short');
      expect(() => loadConfig({ JWT_SECRET_FILE: path })).toThrow(/^JWT_SECRET: must have at least 32 characters$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('treats an empty value as unset', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: '', OPENAI_API_KEY: '' }).port).toBe(9001);
    expect(loadConfig({ OPENAI_API_KEY: '' }).embedding.provider).toBe('local');
  });

  it('accepts several keys, in their order', () => {
    const [one, two] = ['1'.repeat(32), `2:${'2'.repeat(32)}`];
    expect(Object.entries(loadConfig({ JWT_SECRETS: `new:${one}, old:${two}` }).jwt.secrets)).toStrictEqual([
      ['new', one],
      ['old', two],
    ]);
    expect(() => loadConfig({ JWT_SECRETS: `same:${one},same:${two}` })).toThrow(/JWT_SECRETS: .*kids that differ/);
    // An object would put 2026 before 2027, whichever came first.
    expect(() => loadConfig({ JWT_SECRETS: `2027:${one},2026:${two}` })).toThrow(/JWT_SECRETS: .*not mere digits/);
    const { mcpApiKeys } = loadConfig({ MCP_API_KEY_C: `${one},${two}` });
    expect(mcpApiKeys).toStrictEqual({ C: [one, two] });
    expect(() => loadConfig({ MCP_API_KEY_C: `${one},short` })).toThrow(/MCP_API_KEY_C: must have/);
  });

  it('names an invalid variable without its value', () => {
    for (const [name, value] of Object.entries({
      PORT: '99999',
      DATABASE_URL: 'mysql://x:secret@y',
      JWT_SECRET: 'secret',
      JWT_SECRETS: 'one:secret',
      LOG_LEVEL: 'secret',
      MCP_API_KEY_C: 'secret',
      METRICS_KEY: 'secret',
      TRUSTED_PROXIES: 'secret',
      RATE_LIMIT_STORE: 'secret',
    })) {
      const load = () => loadConfig({ [name]: value });
      expect(load, name).toThrow(ConfigError);
      expect(load, name).toThrow(name);
      expect(load, name).not.toThrow('secret');
    }
    expect(() => loadConfig({ JWT_SECRET: 'x'.repeat(32), JWKS_URL: 'https://x/' })).toThrow(/JWT_SECRET, JWKS_URL/);
    expect(() => loadConfig({ JWT_SECRETS: `a:${'x'.repeat(32)}`, JWKS_URL: 'https://x/' })).toThrow(
      /JWT_SECRETS, JWKS_URL/,
    );
    expect(() => loadConfig({ MCP_API_KEY_C: 'x'.repeat(20), MCP_API_KEY_L: 'x'.repeat(20) })).toThrow(/same key/);
  });
});
