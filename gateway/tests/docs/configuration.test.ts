// The environment is read in one place; what is documented elsewhere must be the same.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigError, environment, loadConfig } from '../../src/config.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const variables = [...Object.keys(environment.shape), 'MCP_API_KEY_L', 'MCP_API_KEY_C'];

describe('the configuration', () => {
  it('is listed whole, and without values, in .env.example', () => {
    const lines = read('.env.example')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    const listed = lines.map((line) => line.replace(/=.*/, ''));
    assert.deepEqual(
      variables.filter((name) => !listed.includes(name)),
      [],
    );
    assert.deepEqual(
      lines.filter((line) => !line.endsWith('=')),
      [],
    );
  });

  it('is listed whole in the README', () => {
    const readme = read('README.md');
    assert.deepEqual(
      variables.filter((name) => !readme.includes(`\`${name}\``)),
      [],
    );
  });

  it('is read nowhere else', () => {
    const readers = globSync('gateway/src/**/*.ts', { cwd: root }).filter((file) =>
      /process\.env\.\w/.test(read(file)),
    );
    assert.deepEqual(readers, ['gateway/src/graphql/environment.ts'], 'which only sets what Grafast reads');
  });

  it('counts an empty value as unset', () => {
    assert.equal(loadConfig({ PORT: '', DATABASE_URL: '', OPENAI_API_KEY: '' }).port, 9001);
    assert.equal(loadConfig({ OPENAI_API_KEY: '' }).embedding.provider, 'local');
  });

  it('takes several keys, in their order', () => {
    const [one, two] = ['1'.repeat(32), `2:${'2'.repeat(32)}`];
    assert.deepEqual(Object.entries(loadConfig({ JWT_SECRETS: `new:${one}, old:${two}` }).jwt.secrets), [
      ['new', one],
      ['old', two],
    ]);
    assert.throws(() => loadConfig({ JWT_SECRETS: `same:${one},same:${two}` }), /JWT_SECRETS: .*kids that differ/);
    // An object would put 2026 before 2027, whichever came first.
    assert.throws(() => loadConfig({ JWT_SECRETS: `2027:${one},2026:${two}` }), /JWT_SECRETS: .*not mere digits/);
    const { mcpApiKeys } = loadConfig({ MCP_API_KEY_C: `${one},${two}` });
    assert.deepEqual(mcpApiKeys, { C: [one, two] });
    assert.throws(() => loadConfig({ MCP_API_KEY_C: `${one},short` }), /MCP_API_KEY_C: must have/);
  });

  it('names the variable that is no good, and not its value', () => {
    for (const [name, value] of Object.entries({
      PORT: '99999',
      DATABASE_URL: 'mysql://x:secret@y',
      JWT_SECRET: 'secret',
      JWT_SECRETS: 'one:secret',
      LOG_LEVEL: 'secret',
      MCP_API_KEY_C: 'secret',
    })) {
      assert.throws(
        () => loadConfig({ [name]: value }),
        (error: Error) =>
          error instanceof ConfigError && error.message.includes(name) && !error.message.includes('secret'),
        name,
      );
    }
    assert.throws(() => loadConfig({ JWT_SECRET: 'x'.repeat(32), JWKS_URL: 'https://x/' }), /JWT_SECRET, JWKS_URL/);
    assert.throws(
      () => loadConfig({ JWT_SECRETS: `a:${'x'.repeat(32)}`, JWKS_URL: 'https://x/' }),
      /JWT_SECRETS, JWKS_URL/,
    );
    assert.throws(() => loadConfig({ MCP_API_KEY_C: 'x'.repeat(20), MCP_API_KEY_L: 'x'.repeat(20) }), /same key/);
  });
});
