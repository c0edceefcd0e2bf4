// The environment is read in one place, and the documentation lists the same variables.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/config/config.ts';
import { environment, SECRETS } from '../../src/config/environment.ts';
import { embeddingConfig } from '../../src/embeddings/index.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
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

  it('says of each value that does not fit which ones do, in words that name no library or type', () => {
    const problem = (name: string, value: string) => {
      try {
        loadConfig({ [name]: value });
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(problem('PORT', 'abc')).toBe('PORT: must be a whole number from 0 to 65535');
    expect(problem('LOG_FORMAT', 'xml')).toBe('LOG_FORMAT: must be one of json, pretty');
    for (const name of Object.keys(environment.shape)) {
      for (const value of ['abc def', '-5', '1.5', '99999999999', 'on', '\u00e9'])
        expect(problem(name, value) ?? '').not.toMatch(/Invalid|expected|received|Too (big|small)|NaN|undefined/);
    }
  });

  it('refuses a URL of a database that names several hosts, and says what finds the primary instead', () => {
    const several = [
      'postgres://l9_gateway:secret@a:5432,b:5432/l9_memory?target_session_attrs=read-write',
      'postgres://l9_gateway:secret@a,b/l9_memory',
      'postgres://[::1]:5432,[::2]:5432/l9_memory',
      'postgres:///l9_memory?host=a,b',
      'postgres:///l9_memory?user=l9_gateway&host=a%2Cb',
    ];
    const names = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_OWNER_URL', 'ROOT_DATABASE_URL'];
    for (const name of names) {
      for (const url of several) {
        const open = () => loadConfig({ DATABASE_URL: 'postgres://a/l9_memory', [name]: url });
        expect(open, url).toThrow(`${name}: must name one host`);
        expect(open, url).toThrow('docs/how-to/run-with-failover.md');
        expect(open, 'it shows no password').not.toThrow(/secret/);
      }
    }
    const one = ['postgres://me:a,b@host/db', 'postgres://host/a,b', 'postgres:///db?host=/run/postgresql&options=a,b'];
    for (const url of one) expect(loadConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it('takes each secret from a file instead, and refuses both', () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-secrets-'));
    try {
      const path = join(folder, 'secret');
      // biome-ignore lint/suspicious/noExplicitAny: each setting is somewhere else in the configuration
      const settings: [string, string, (config: any) => unknown][] = [
        ['DATABASE_URL', 'postgres://l9_gateway:hush@db/l9', ({ databaseUrl }) => databaseUrl],
        ['DATABASE_DIRECT_URL', 'postgres://l9_gateway:hush@db/l9', ({ databaseDirectUrl }) => databaseDirectUrl],
        ['DATABASE_OWNER_URL', 'postgres://l9_owner:hush@db/l9', ({ databaseOwnerUrl }) => databaseOwnerUrl],
        ['DATABASE_REPLICA_URLS', 'postgres://l9_gateway:hush@db/l9', ({ replicas }) => replicas.urls[0]],
        ['ROOT_DATABASE_URL', 'postgres://postgres:hush@db/postgres', ({ rootDatabaseUrl }) => rootDatabaseUrl],
        ['TARGET_DATABASE_URL', 'postgres://postgres:hush@db/l9', ({ targetDatabaseUrl }) => targetDatabaseUrl],
        ['BACKUP_DATABASE_URL', 'postgres://l9_backup:hush@db/l9', ({ backupDatabaseUrl }) => backupDatabaseUrl],
        ['L9_OWNER_PASSWORD', 'a password', ({ ownerPassword }) => ownerPassword],
        ['L9_GATEWAY_PASSWORD', 'a password', ({ gatewayPassword }) => gatewayPassword],
        ['L9_BACKUP_PASSWORD', 'a password', ({ backupPassword }) => backupPassword],
        ['BACKUP_PASSPHRASE', 'a long passphrase', ({ backupPassphrase }) => backupPassphrase],
        ['JWT_SECRET', 's'.repeat(32), ({ jwt }) => jwt.secret],
        ['MCP_API_KEY', 'k'.repeat(16), ({ mcpApiKey }) => mcpApiKey],
        ['MCP_API_KEY_C', 'k'.repeat(16), ({ mcpApiKeys }) => mcpApiKeys.C[0]],
        ['METRICS_KEY', 'k'.repeat(32), ({ metrics }) => metrics.key],
        ['ARCHIVE_KEY', MASTER_KEY, ({ archiveKey }) => archiveKey],
        ['LUMERA_MEMORY_KEY', MASTER_KEY, ({ archiveKey }) => archiveKey],
        ['ARCHIVE_HTTP_TOKEN', 'hush', ({ archive }) => archive.httpToken],
        ['OPENAI_API_KEY', 'sk-hush', ({ embedding }) => embedding.apiKey],
        ['CHAT_API_KEY', 'sk-hush', ({ chat }) => chat.apiKey],
      ];
      expect(settings.map(([name]) => name).filter((name) => name !== 'MCP_API_KEY_C')).toStrictEqual([...SECRETS]);
      const page = read('docs/reference/configuration.md').split('| variable |')[0]!;
      for (const [name, value, of] of settings) {
        expect(page).toContain(`\`${name}`);
        writeFileSync(path, `${value}\n`);
        const needsUrl = ['DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URLS'].includes(name);
        const needed = needsUrl ? { DATABASE_URL: 'postgres://l9_gateway@db/l9' } : {};
        const file = { CHAT_MODEL: 'm', ...needed, [`${name}_FILE`]: path };
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
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // Of each secret, what can't be one. `hush` stands for what no message may repeat.
  const MALFORMED: Record<(typeof SECRETS)[number] | 'MCP_API_KEY_C', string[]> = {
    DATABASE_URL: ['hush', 'mysql://u:hush@db/l9', 'postgres://u:hush%zz@db/l9', 'postgres://u:hush#x@db/l9'],
    DATABASE_DIRECT_URL: ['hush', 'mysql://u:hush@db/l9', 'postgres://u:hush%zz@db/l9'],
    DATABASE_OWNER_URL: ['postgres://u:hush%@db/l9', 'http://hush'],
    DATABASE_REPLICA_URLS: ['hush', 'postgres://l9_gateway@db/l9, mysql://hush', 'postgres://u:hush%zz@db/l9'],
    ROOT_DATABASE_URL: ['postgres://hush%E0%A4%A@db/l9', ':hush'],
    TARGET_DATABASE_URL: ['postgres://hush%zz@db/l9', 'mysql://hush'],
    BACKUP_DATABASE_URL: ['postgres://hush%zz@db/l9', 'mysql://hush'],
    L9_OWNER_PASSWORD: ['hush'],
    L9_GATEWAY_PASSWORD: ['hush'],
    L9_BACKUP_PASSWORD: ['hush'],
    BACKUP_PASSPHRASE: ['hush hush'],
    JWT_SECRET: [
      'hush',
      `1:${'hush'.repeat(9)}`,
      `k:${'hush'.repeat(9)},k:${'hush'.repeat(8)}`,
      `k:${'hush'.repeat(9)},old:hush`,
      `k:${'hush'.repeat(9)},hush`,
      `k:${'hush'.repeat(9)},${'hush'.repeat(9)},${'hush'.repeat(8)}`,
    ],
    MCP_API_KEY: ['hush hush', 'hush\nhush', 'hüsh'],
    MCP_API_KEY_C: ['hush', `${'hush'.repeat(5)},hush`, `${'hush '.repeat(5)}`, ',', ' ', 'hüsh'.repeat(5)],
    METRICS_KEY: ['hush', 'hush '.repeat(9), 'hüsh'.repeat(9)],
    ARCHIVE_KEY: [
      'k1:hush',
      'hush',
      'hush'.repeat(10),
      Buffer.alloc(31, 'hush').toString('base64'),
      `${'hush'.repeat(11)}=`,
      ' ',
      ',',
      `k1:${MASTER_KEY},hush`,
      `k1:${MASTER_KEY},k1:${MASTER_KEY}`,
      `hush!:${MASTER_KEY}`,
    ],
    LUMERA_MEMORY_KEY: ['hush', 'hush'.repeat(16), Buffer.alloc(33, 'hush').toString('base64'), `:${MASTER_KEY}`],
    ARCHIVE_HTTP_TOKEN: ['hush\nhush', 'hush hush'],
    OPENAI_API_KEY: ['hush\r\nhush', '“hush”', ' '],
    CHAT_API_KEY: ['hush\thush', '\uFEFFhush'],
  };

  it('names each malformed secret as the user did, in a variable and in a file, without its value', () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-secrets-'));
    const path = join(folder, 'secret');
    expect(Object.keys(MALFORMED).filter((name) => name !== 'MCP_API_KEY_C')).toStrictEqual([...SECRETS]);
    for (const [name, values] of Object.entries(MALFORMED)) {
      for (const value of values) {
        writeFileSync(path, value);
        for (const [variable, set] of [
          [name, value],
          [`${name}_FILE`, path],
        ] as const) {
          // Another key that is valid, and would count alone, does not hide the bad one.
          const valid = name === 'ARCHIVE_KEY' ? {} : { ARCHIVE_KEY: `k9:${MASTER_KEY}` };
          const load = () => loadConfig({ ...valid, [variable]: set });
          expect(load, `${variable} ${value}`).toThrow(ConfigError);
          expect(load, value).toThrow(new RegExp(`^${variable}: .`));
          expect(load, value).not.toThrow(/hush|hüsh/);
        }
      }
    }
    rmSync(folder, { recursive: true });
  });

  it('names all malformed variables together, and both of two that exclude each other', () => {
    expect(() => loadConfig({ PORT: 'x', LUMERA_MEMORY_KEY: 'y', MCP_API_KEY_L: 'z' })).toThrow(
      /^PORT: .*\nLUMERA_MEMORY_KEY: .*\nMCP_API_KEY_L: .*$/,
    );
    const folder = mkdtempSync(join(tmpdir(), 'l9-secrets-'));
    writeFileSync(join(folder, 'secret'), 'x'.repeat(40));
    const file = { JWT_SECRET_FILE: join(folder, 'secret'), MCP_API_KEY_C_FILE: join(folder, 'secret') };
    expect(() => loadConfig({ ...file, JWKS_URL: 'https://x/' })).toThrow(/^JWT_SECRET_FILE, JWKS_URL: set one/);
    expect(() => loadConfig({ ...file, MCP_API_KEY_ci: 'x'.repeat(40) })).toThrow(
      /^MCP_API_KEY_ci, MCP_API_KEY_C_FILE: two of the keys are the same key$/,
    );
    rmSync(folder, { recursive: true });
  });

  it('treats an empty value as unset', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: '', OPENAI_API_KEY: '' }).port).toBe(9001);
    expect(embeddingConfig(loadConfig({ OPENAI_API_KEY: '' }).embedding).provider).toBe('local');
  });

  it('accepts several keys, in their order', () => {
    const [one, two] = ['1'.repeat(32), `2:${'2'.repeat(32)}`];
    const { secret, secrets } = loadConfig({ JWT_SECRET: `new:${one}, old:${two},${'3'.repeat(32)}` }).jwt;
    expect(Object.entries(secrets)).toStrictEqual([
      ['new', one],
      ['old', two],
    ]);
    expect(secret, 'verifies tokens that name no key').toBe('3'.repeat(32));
    const alone = 'a secret, with commas: and a colon, of its own';
    expect(loadConfig({ JWT_SECRET: alone }).jwt).toMatchObject({ secret: alone, secrets: {} });
    expect(() => loadConfig({ JWT_SECRET: `same:${one},same:${two}` })).toThrow(/JWT_SECRET: .*kids that differ/);
    // An object would put 2026 before 2027, whichever came first.
    expect(() => loadConfig({ JWT_SECRET: `2027:${one},2026:${two}` })).toThrow(/JWT_SECRET: .*not mere digits/);
    const { mcpApiKeys } = loadConfig({ MCP_API_KEY_C: `${one},${two}` });
    expect(mcpApiKeys).toStrictEqual({ C: [one, two] });
    expect(() => loadConfig({ MCP_API_KEY_C: `${one},short` })).toThrow(/MCP_API_KEY_C: must have/);
  });

  it('points out misspelt variables by the name that was meant, and leaves those of other programs alone', () => {
    const meant = (env: Record<string, string>) =>
      loadConfig(env).misspelt.map((line) => /^(\S+): .* mean (\S+)\?$/.exec(line)!.slice(1));
    for (const [typed, known] of Object.entries({
      JWT_SECRETS: 'JWT_SECRET',
      JWT_SECRT: 'JWT_SECRET',
      JWT_SECRT_FILE: 'JWT_SECRET_FILE',
      ARCHIVE_KEYS: 'ARCHIVE_KEY',
      ARCHIVE_KEYS_FILE: 'ARCHIVE_KEY_FILE',
      archive_store: 'ARCHIVE_STORE',
      DATABASE_URI: 'DATABASE_URL',
      DATABASE_QUEUE_TIMEOUT: 'DATABASE_QUEUE_TIMEOUT_MS',
      DRAIN_SECOND: 'DRAIN_SECONDS',
      IDLE_SECONS: 'IDLE_SECONDS',
      MCP_APIKEY_C: 'MCP_API_KEY_C',
      OPENAI_BASEURL: 'OPENAI_BASE_URL',
    }))
      expect(meant({ [typed]: 'hush' }), typed).toStrictEqual([[typed, known]]);
    const others = [
      'HOME',
      'PATH',
      'HOSTNAME',
      'PORTS',
      'PSQLRC',
      'PGHOST',
      'TEST_DATABASE_URL',
      'MCP_API_KEY_ci',
      'XDG_CONFIG_HOME',
    ];
    expect(meant(Object.fromEntries([...others, ...variables].map((name) => [name, ''])))).toStrictEqual([]);
    expect(meant(Object.fromEntries(others.map((name) => [name, 'x'.repeat(16)])))).toStrictEqual([]);
    expect(() => loadConfig({ PORT: 'x', LOG_LEVLE: 'hush' })).toThrow(
      /^PORT: .*\nLOG_LEVLE: .* did you mean LOG_LEVEL\?$/,
    );
  });

  it('names an invalid variable without its value', () => {
    for (const [name, value] of Object.entries({
      PORT: '99999',
      DATABASE_URL: 'mysql://x:secret@y',
      JWT_SECRET: 'secret',
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
    expect(() => loadConfig({ JWT_SECRET: `a:${'x'.repeat(32)}`, JWKS_URL: 'https://x/' })).toThrow(
      /JWT_SECRET, JWKS_URL/,
    );
    expect(() => loadConfig({ MCP_API_KEY_C: 'x'.repeat(20), MCP_API_KEY_L: 'x'.repeat(20) })).toThrow(/same key/);
  });
});
