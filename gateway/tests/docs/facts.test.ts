// What docs/explanation/facts.md says to run, runs, in its order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'facts.md'), 'utf8');
const [statements] = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/facts.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('registers, asserts, finds, looks back and retracts', async () => {
    const [register, monday, tuesday, find, asOf, retract] = statements!;
    await gateway.sql('L', register!);
    await gateway.sql('C', monday!);
    const [fact] = await gateway.sql('C', tuesday!);
    expect(fact.contradiction_count).toBe(1);
    const found = await gateway.sql('C', find!);
    expect(found.map(({ object, valid_to }) => [object, valid_to !== null])).toStrictEqual([
      ['Tuesday', false],
      ['Monday', true],
    ]);
    expect(await gateway.sql('C', asOf!)).toStrictEqual([{ object: 'Tuesday', instead_of: 'Monday' }]);
    const [row] = await gateway.sql('C', retract!.replace(/'[0-9a-f-]{36}'/, `'${fact.fact_id}'`));
    expect(row.retracted_at).toBeTruthy();
  });
});
