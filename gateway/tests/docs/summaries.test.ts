// docs/explanation/summaries.md, whose SQL is run as it is written, and whose figures are those of the schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'summaries.md'), 'utf8');

describe('docs/explanation/summaries.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('has SQL that runs', async () => {
    const [saved, due, summary] = await runBlocks(gateway, page);
    expect(saved!).toHaveLength(10);
    expect(due).toStrictEqual([{ scope_type: 'thread', scope_value: 'rollout', reason: 'none', new_packets: 10 }]);
    expect(summary).toStrictEqual([{ packet_count: 10, scope: 'developer' }]);
  });

  it('has the figures of the schema', async () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| .* \| (\d+) \|$/gm)].map(([, type, n]) => [type, Number(n)]);
    expect(rows).toHaveLength(6);
    for (const [type, n] of rows) {
      const [answer] = await gateway.sql('C', 'select summaries.summary_threshold($1) as n', [type]);
      expect(answer.n, String(type)).toBe(n);
    }
  });
});
