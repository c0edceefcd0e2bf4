// docs/explanation/reflection.md, whose SQL is run as it is written, and whose figures are those of the schema.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'reflection.md'), 'utf8');

describe('docs/explanation/reflection.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  it('has SQL that runs', async () => {
    const [told, again, recalled, task, lessons] = await runBlocks(house, page);
    assert.deepEqual(told, [{ status: 'inserted', confidence: 0.7 }]);
    assert.equal(again![0]!.status, 'reinforced');
    assert.equal(again![0]!.times_seen, 2);
    assert.equal(recalled![0]!.content, 'Run migrations before the new containers start.');
    assert.deepEqual(task, [{ task_id: 'REL-12', outcome: 'partial' }]);
    assert.deepEqual(lessons, [{ outcome: 'partial', lesson: 'Do a dry run the day before.' }]);
  });

  it('states the bound as it is', async () => {
    const [{ least }] = await house.sql(
      'C',
      "select round((reflection.lesson_factor('low', 0) / reflection.lesson_factor('critical', 1) * 100)::numeric)::int as least",
    );
    assert.ok(page.includes(`${least} %`));
  });
});
