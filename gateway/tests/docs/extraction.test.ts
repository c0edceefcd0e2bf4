// docs/how-to/extract-with-a-chat-model.md, whose SQL is run as it is written, and whose names and figures are those of the sources.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config.ts';
import { environment } from '../../src/config/environment.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'extract-with-a-chat-model.md'),
  'utf8',
);

describe('docs/how-to/extract-with-a-chat-model.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  it('contains SQL that runs', async () => {
    const [set, summaries, facts, sessions, reviewed, usage] = await runBlocks(gateway, page);
    expect(set).toStrictEqual([
      { is_enabled: true, kinds: ['decision', 'note'], scopes: ['developer', 'global'], tokens_per_day: '500000' },
    ]);
    expect(summaries).toStrictEqual([{ writes_summaries: true }]);
    expect(sessions).toStrictEqual([{ is_enabled: true, kinds: ['decision', 'note', 'session'] }]);
    expect(reviewed).toStrictEqual([{ needs_review: true, kinds: ['extraction'] }]);
    expect([facts, usage]).toStrictEqual([[], []]);
  });

  it('names variables and metrics that exist', async () => {
    const variables = Object.keys(environment.shape).filter((name) => name.startsWith('CHAT_'));
    expect(variables.filter((name) => !page.includes(`\`${name}\``))).toStrictEqual([]);
    const metrics = await gateway.metrics();
    for (const [, name] of page.matchAll(/`(l9_\w+)`/g)) expect(metrics, name).toContain(`# TYPE ${name} `);
  });

  it('sends a key only to the server that it is configured for', () => {
    const keys = { CHAT_MODEL: 'm', OPENAI_API_KEY: 'for-openai' };
    expect(loadConfig({ OPENAI_API_KEY: 'for-openai' }).chat).toBeNull();
    expect(loadConfig({ ...keys, CHAT_MODEL: '' }).chat).toBeNull();
    expect(loadConfig(keys).chat).toStrictEqual({ model: 'm', baseUrl: null, apiKey: 'for-openai', timeoutMs: 60_000 });
    expect(loadConfig({ ...keys, OPENAI_BASE_URL: 'http://a/v1' }).chat!.apiKey).toBe('for-openai');
    const elsewhere = loadConfig({ ...keys, CHAT_BASE_URL: 'http://b/v1' }).chat!;
    expect([elsewhere.baseUrl, elsewhere.apiKey]).toStrictEqual(['http://b/v1', null]);
    expect(loadConfig({ ...keys, CHAT_BASE_URL: 'http://b/v1', CHAT_API_KEY: 'own' }).chat!.apiKey).toBe('own');
    expect(() => loadConfig({ CHAT_MODEL: 'm' })).toThrow(/CHAT_MODEL: needs/);
  });
});
