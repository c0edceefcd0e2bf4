// docs/how-to/extract-with-a-chat-model.md, whose SQL is run as it is written, and whose names and figures are those of the sources.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { environment, loadConfig } from '../../src/config.ts';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'extract-with-a-chat-model.md'),
  'utf8',
);

describe('docs/how-to/extract-with-a-chat-model.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  it('has SQL that runs', async () => {
    const [set, summaries, facts, usage] = await runBlocks(house, page);
    assert.deepEqual(set, [
      { is_enabled: true, kinds: ['decision', 'note'], scopes: ['developer', 'global'], tokens_per_day: '500000' },
    ]);
    assert.deepEqual(summaries, [{ writes_summaries: true }]);
    assert.deepEqual([facts, usage], [[], []]);
  });

  it('names the variables and metrics that there are', async () => {
    const variables = Object.keys(environment.shape).filter((name) => name.startsWith('CHAT_'));
    assert.deepEqual(
      variables.filter((name) => !page.includes(`\`${name}\``)),
      [],
    );
    const metrics = await (await fetch(`${house.gateway.url}/metrics`)).text();
    for (const [, name] of page.matchAll(/`(l9_\w+)`/g)) assert.ok(metrics.includes(`# TYPE ${name} `), name);
  });

  it('sends a key to the server that it was given for only', () => {
    const keys = { CHAT_MODEL: 'm', OPENAI_API_KEY: 'for-openai' };
    assert.equal(loadConfig({ OPENAI_API_KEY: 'for-openai' }).chat, null);
    assert.equal(loadConfig({ ...keys, CHAT_MODEL: '' }).chat, null);
    assert.deepEqual(loadConfig(keys).chat, { model: 'm', baseUrl: null, apiKey: 'for-openai', timeoutMs: 60_000 });
    assert.equal(loadConfig({ ...keys, OPENAI_BASE_URL: 'http://a/v1' }).chat!.apiKey, 'for-openai');
    const elsewhere = loadConfig({ ...keys, CHAT_BASE_URL: 'http://b/v1' }).chat!;
    assert.deepEqual([elsewhere.baseUrl, elsewhere.apiKey], ['http://b/v1', null]);
    assert.equal(loadConfig({ ...keys, CHAT_BASE_URL: 'http://b/v1', CHAT_API_KEY: 'own' }).chat!.apiKey, 'own');
    assert.throws(() => loadConfig({ CHAT_MODEL: 'm' }), /CHAT_MODEL: needs/);
  });
});
