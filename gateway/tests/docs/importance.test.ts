// What docs/explanation/importance.md says to run, runs; what it says of the score is what the database says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';
import { addOperator } from '../support/second-tenant.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'importance.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/importance.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  it('searches and gives feedback', async () => {
    const [search, feedback] = blocks[0]!;
    await house.tool('C', 'save_memory', { content: 'We deploy on Tuesdays.', project_id: 'l9' });
    const [hit] = await house.sql('C', search!);
    assert.match(hit.content, /Tuesdays/);
    const [said] = await house.sql('C', feedback!.replace(/'[0-9a-f-]{36}'/, `'${hit.access_id}'`));
    assert.deepEqual(said, { was_useful: true, reason: 'it named the day' });
  });

  it('drops a month', async () => {
    await house.asSuperuser("select audit.create_month_partitions('importance.memory_access_log', '2026-01-01', 1)");
    const operator = await addOperator(house, 'Archivist');
    const [row] = await house.sql('Archivist', blocks[1]![0]!, [], operator);
    assert.deepEqual(row, { drop_access_partition: '0' });
  });

  it('has the weights of the function', async () => {
    const weight = (name: string) => new RegExp(`^\\| ${name}[^|]*\\| ([^|]+) \\|`, 'm').exec(page)![1]!;
    assert.deepEqual(
      ['the kind', 'feedback', 'use', 'contradictions', 'age'].map((name) =>
        weight(name).replaceAll(/<\/?sup>|\*/g, ''),
      ),
      ['+0.3, −0.3 or 0', '3 (u − v) / (u + v + 1)', 'n / (n + 5)', '−1.5 c / (c + 1)', '−0.5 (1 − 2−days/180)'],
    );
    // The same, worked out here.
    const x = (e: number, kind: number, u: number, v: number, n: number, c: number, days: number) =>
      Math.log((e + 0.02) / (1 - e + 0.02)) +
      kind +
      (3 * (u - v)) / (u + v + 1) +
      n / (n + 5) -
      (1.5 * c) / (c + 1) -
      0.5 * (1 - 2 ** (-days / 180));
    for (const [kind, shift] of [
      ['decision', 0.3],
      ['todo', -0.3],
      ['note', 0],
    ] as const) {
      const [row] = await house.sql('C', 'select importance.importance(0.7, $1, 1.5, 0.25, 12, 2, 400) as score', [
        kind,
      ]);
      assert.ok(Math.abs(row.score - 1 / (1 + Math.exp(-x(0.7, shift, 1.5, 0.25, 12, 2, 400)))) < 1e-12, kind);
    }
  });
});
