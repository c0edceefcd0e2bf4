// What docs/explanation/world-model.md says to run, runs, and does what the page says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'world-model.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/explanation/world-model.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  const run = async (index: number) => {
    const answers = [];
    for (const statement of blocks[index]!) answers.push(await gateway.sql('C', statement));
    return answers;
  };

  it('contains SQL that runs from top to bottom', async () => {
    const [applied, world] = await run(0);
    expect(applied).toStrictEqual([{ state_version_after: 1 }]);
    expect(world).toStrictEqual([{ version: 1, entity_id: 'api', attributes: { port: 443, owner: 'ann' } }]);
    await run(1);
    await expect(run(1)).rejects.toMatchObject({
      code: 'L9VAL',
      message: 'expected_version: the world is at version 2',
    });
    const [snapshot, , changes, restored] = await run(2);
    expect(snapshot).toStrictEqual([{ state_version: 2, entity_count: 1, relation_count: 0 }]);
    expect(changes!.map(({ entity_id, change }) => [entity_id, change])).toStrictEqual([['api', 'removed']]);
    expect(restored).toStrictEqual([{ state_version_after: 4, restored_version: 2 }]);
    await gateway.sql('L', "select public.register_predicate('is led by', true)");
    const [, entity] = await run(3);
    expect(entity).toStrictEqual([{ entity_id: 'billing', attributes: { 'is led by': 'Ann' } }]);
    const [, events, , traces] = await run(4);
    expect([events![0].event_type, events![0].agent_id]).toStrictEqual(['deploy.finished', 'runner-7']);
    expect(traces![0].steps.length).toBe(2);
    await run(5);
    // Those who run the database see the queue, too.
    for (const statement of blocks[6]!) await gateway.instance.database.workerPool.query(statement);
  });
});
