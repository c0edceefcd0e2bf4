// What docs/reference/views.md says to run, runs, and /metrics says how old the views are.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'views.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/reference/views.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  it('refreshes and reads', async () => {
    await house.sql('C', "select assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    await house.sql('L', blocks[1]![0]!);
    const [memories, edges, facts, lessons, status] = blocks[0]!;
    assert.equal((await house.sql('C', memories!))[0].content, 'the door is: open');
    assert.deepEqual(await house.sql('C', edges!), []);
    assert.deepEqual(await house.sql('C', facts!), [
      { subject: 'the door', predicate: 'is', object: 'open', confidence: 0.8 },
    ]);
    assert.deepEqual(await house.sql('C', lessons!), []);
    assert.equal((await house.sql('C', status!)).length, 4);
    const { data, errors } = await house.graphql(
      'C',
      `{ agentRecentImportant { nodes { agentId memory { content } } }
         highConfidenceFacts { nodes { object supersededBy { object } } }
         entityGraph { nodes { sourceDegree } } reflectionPatterns { nodes { weight } } memoryViewsStatus { nodes { ageSeconds } } }`,
    );
    assert.equal(errors, undefined, JSON.stringify(errors));
    assert.equal(data.agentRecentImportant.nodes[0].memory.content, 'the door is: open');
    assert.deepEqual(data.highConfidenceFacts.nodes, [{ object: 'open', supersededBy: null }]);
    const metrics = await (await fetch(`${house.gateway.url}/metrics`)).text();
    assert.match(metrics, /^l9_memory_views_age_seconds \d/m);
  });
});
