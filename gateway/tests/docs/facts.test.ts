// What docs/explanation/facts.md says to run, runs, in its order.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'facts.md'), 'utf8');
const [statements] = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/facts.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  it('registers, asserts, finds, looks back and retracts', async () => {
    const [register, monday, tuesday, find, asOf, retract] = statements!;
    await house.sql('L', register!);
    await house.sql('C', monday!);
    const [fact] = await house.sql('C', tuesday!);
    assert.equal(fact.contradiction_count, 1);
    const found = await house.sql('C', find!);
    assert.deepEqual(
      found.map(({ object, valid_to }) => [object, valid_to !== null]),
      [
        ['Tuesday', false],
        ['Monday', true],
      ],
    );
    assert.deepEqual(await house.sql('C', asOf!), [{ object: 'Tuesday', instead_of: 'Monday' }]);
    const [row] = await house.sql('C', retract!.replace(/'[0-9a-f-]{36}'/, `'${fact.fact_id}'`));
    assert.ok(row.retracted_at);
  });
});
