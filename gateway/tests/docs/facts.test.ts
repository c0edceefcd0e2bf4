// What docs/facts.md says to run, runs, in its order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'facts.md'), 'utf8');
const [statements] = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/facts.md', () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  afterAll(() => house.close());

  it('registers, asserts, finds, looks back and retracts', async () => {
    const [register, monday, tuesday, find, asOf, retract] = statements!;
    await house.sql('L', register!);
    await house.sql('C', monday!);
    const [fact] = await house.sql('C', tuesday!);
    expect(fact.contradiction_count).toBe(1);
    const found = await house.sql('C', find!);
    expect(found.map(({ object, valid_to }) => [object, valid_to !== null])).toStrictEqual([
      ['Tuesday', false],
      ['Monday', true],
    ]);
    expect(await house.sql('C', asOf!)).toStrictEqual([{ object: 'Tuesday', instead_of: 'Monday' }]);
    const [row] = await house.sql('C', retract!.replace(/'[0-9a-f-]{36}'/, `'${fact.fact_id}'`));
    expect(row.retracted_at).toBeTruthy();
  });
});
