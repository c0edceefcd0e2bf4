// What docs/explanation/world-model.md says to run, runs, and does what the page says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'world-model.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/world-model.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  const run = async (index: number) => {
    const answers = [];
    for (const statement of blocks[index]!) answers.push(await house.sql('C', statement));
    return answers;
  };

  it('runs from top to bottom', async () => {
    const [applied, world] = await run(0);
    assert.deepEqual(applied, [{ state_version_after: 1 }]);
    assert.deepEqual(world, [{ version: 1, entity_id: 'api', attributes: { port: 443, owner: 'ann' } }]);
    await run(1);
    await assert.rejects(run(1), { code: 'L9VAL', message: 'expected_version: the world is at version 2' });
    const [snapshot, , changes, restored] = await run(2);
    assert.deepEqual(snapshot, [{ state_version: 2, entity_count: 1, relation_count: 0 }]);
    assert.deepEqual(
      changes!.map(({ entity_id, change }) => [entity_id, change]),
      [['API', 'removed']],
    );
    assert.deepEqual(restored, [{ state_version_after: 4, restored_version: 2 }]);
    const [, events, , traces] = await run(3);
    assert.deepEqual([events![0].event_type, events![0].agent_id], ['deploy.finished', 'runner-7']);
    assert.equal(traces![0].steps.length, 2);
    await run(4);
    // Those who run the database see the queue, too.
    for (const statement of blocks[5]!) await house.gateway.database.workerPool.query(statement);
  });
});
