// docs/explanation/summaries.md, whose SQL is run as it is written, and whose figures are those of the schema.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'summaries.md'), 'utf8');

describe('docs/explanation/summaries.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  it('has SQL that runs', async () => {
    const [saved, due, summary] = await runBlocks(house, page);
    assert.equal(saved!.length, 10);
    assert.deepEqual(due, [{ scope_type: 'thread', scope_value: 'rollout', reason: 'none', new_packets: 10 }]);
    assert.deepEqual(summary, [{ packet_count: 10, scope: 'developer' }]);
  });

  it('has the figures of the schema', async () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| .* \| (\d+) \|$/gm)].map(([, type, n]) => [type, Number(n)]);
    assert.equal(rows.length, 6);
    for (const [type, n] of rows) {
      const [answer] = await house.sql('C', 'select summaries.summary_threshold($1) as n', [type]);
      assert.equal(answer.n, n, String(type));
    }
  });
});
