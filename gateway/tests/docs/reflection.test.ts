// docs/explanation/reflection.md, whose SQL is run as it is written, and whose figures are those of the schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'reflection.md'), 'utf8');

describe('docs/explanation/reflection.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('has SQL that runs', async () => {
    const [told, again, recalled, task, lessons] = await runBlocks(gateway, page);
    expect(told).toStrictEqual([{ status: 'inserted', confidence: 0.7 }]);
    expect(again![0]!.status).toBe('reinforced');
    expect(again![0]!.times_seen).toBe(2);
    expect(recalled![0]!.content).toBe('Run migrations before the new containers start.');
    expect(task).toStrictEqual([{ task_id: 'REL-12', outcome: 'partial' }]);
    expect(lessons).toStrictEqual([{ outcome: 'partial', lesson: 'Do a dry run the day before.' }]);
  });

  it('states the bound as it is', async () => {
    const [{ least }] = await gateway.sql(
      'C',
      "select round((reflection.lesson_factor('low', 0) / reflection.lesson_factor('critical', 1) * 100)::numeric)::int as least",
    );
    expect(page).toContain(`${least} %`);
  });
});
