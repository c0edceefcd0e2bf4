// What docs/explanation/importance.md says to run, runs; what it says of the score is what the database says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addOperator } from '../../../db/tests/support/tenants.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'importance.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/importance.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('searches and gives feedback as the page shows', async () => {
    const [search, feedback] = blocks[0]!;
    await gateway.save('C', 'We deploy on Tuesdays.');
    const [hit] = await gateway.sql('C', search!);
    expect(hit.content).toMatch(/Tuesdays/);
    const [said] = await gateway.sql('C', feedback!.replace(/'[0-9a-f-]{36}'/, `'${hit.access_id}'`));
    expect(said).toStrictEqual({ was_useful: true, reason: 'it named the day' });
  });

  it('drops the partition of a month as the page shows', async () => {
    await gateway.asSuperuser("select audit.create_month_partitions('importance.memory_access_log', '2026-01-01', 1)");
    const operator = await addOperator(gateway, 'Archivist');
    const [row] = await gateway.sql('Archivist', blocks[1]![0]!, [], operator);
    expect(row).toStrictEqual({ drop_access_partition: '0' });
  });

  it('states the weights of the SQL function', async () => {
    const weight = (name: string) => new RegExp(`^\\| ${name}[^|]*\\| ([^|]+) \\|`, 'm').exec(page)![1]!;
    expect(['the kind', 'voices', 'age'].map((name) => weight(name).replaceAll(/<\/?sup>|\*/g, ''))).toStrictEqual([
      '+0.3, −0.3 or 0',
      '4 (u − v) / (u + v + 9)',
      '−0.5 (1 − 2−days/180)',
    ]);
    // The same, worked out here.
    const x = (e: number, kind: number, u: number, v: number, days: number) =>
      Math.log((e + 0.02) / (1 - e + 0.02)) + kind + (4 * (u - v)) / (u + v + 9) - 0.5 * (1 - 2 ** (-days / 180));
    for (const [kind, shift] of [
      ['decision', 0.3],
      ['todo', -0.3],
      ['note', 0],
    ] as const) {
      const [row] = await gateway.sql('C', 'select importance.importance(0.7, $1, 1.5, 3, 400) as score', [kind]);
      expect(Math.abs(row.score - 1 / (1 + Math.exp(-x(0.7, shift, 1.5, 3, 400)))), kind).toBeLessThan(1e-12);
    }
  });

  it('states how far agents that agree move a memory', async () => {
    const [, two, three, ten] = /two to (\.\d+), three to (\.\d+), ten to (\.\d+)/.exec(page)!;
    const [, one] = /from \.50 to (\.\d+)/.exec(page)!;
    const rows = await gateway.sql(
      'C',
      "select importance.importance(0.5, 'note', 0, v, 0) as score from unnest(array[1, 2, 3, 10]) as v",
    );
    expect(rows.map(({ score }) => score.toFixed(2))).toStrictEqual([one, two, three, ten].map((said) => `0${said}`));
  });
});
