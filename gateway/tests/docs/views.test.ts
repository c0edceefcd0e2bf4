// What docs/reference/views.md says to run, runs, and /metrics says how old the views are.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'views.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) =>
  sql!
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean),
);

describe('docs/reference/views.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('refreshes and reads the views as the page shows', async () => {
    await gateway.sql('C', "select assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    await gateway.sql('L', blocks[1]![0]!);
    const [memories, edges, facts, lessons, patterns, status] = blocks[0]!;
    expect((await gateway.sql('C', memories!))[0].content).toBe('the door is: open');
    expect(await gateway.sql('C', edges!)).toStrictEqual([]);
    expect(await gateway.sql('C', facts!)).toStrictEqual([
      { subject: 'the door', predicate: 'is', object: 'open', confidence: 0.8 },
    ]);
    expect(await gateway.sql('C', lessons!)).toStrictEqual([]);
    expect(await gateway.sql('C', patterns!)).toStrictEqual([]);
    expect(await gateway.sql('C', status!)).toHaveLength(5);
    const { data, errors } = await gateway.graphql(
      'C',
      `{ agentRecentImportant { agentId memory { content } }
         highConfidenceFacts { fact { object supersededBy { object } } }
         entityGraph { sourceDegree totalMentions } recurringLessons { weight }
         reflectionPatterns { reflectionType count avgConfidence allTags latest } memoryViewsStatus { ageSeconds } }`,
    );
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    expect(data.agentRecentImportant[0].memory.content).toBe('the door is: open');
    expect(data.highConfidenceFacts).toStrictEqual([{ fact: { object: 'open', supersededBy: null } }]);
    const metrics = await gateway.metrics();
    expect(metrics).toMatch(/^l9_memory_views_age_seconds \d/m);
  });
});
