// The materialized views over GraphQL: who may refresh them, and their age.
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const REFRESH = 'mutation { admin { refreshMemoryViews } }';
const READ =
  '{ memoryViewsStatus { viewName refreshedAt ageSeconds } highConfidenceFacts { fact { object } combinedScore } }';

describe('materialized views over GraphQL', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('lets an administrator refresh them, and then shows their age and new rows', async () => {
    await gateway.sql('C', "select public.assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    const began = Date.now();
    const { data, errors } = await gateway.graphql('L', REFRESH);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    expect(data).toStrictEqual({ admin: { refreshMemoryViews: true } });
    const { memoryViewsStatus, highConfidenceFacts } = await gateway.query('L', READ);
    expect(memoryViewsStatus.length).toBe(5);
    for (const { viewName, refreshedAt, ageSeconds } of memoryViewsStatus) {
      expect(Date.parse(refreshedAt), viewName).toBeGreaterThanOrEqual(began - 1);
      expect(ageSeconds, viewName).toBeGreaterThanOrEqual(0);
      expect(ageSeconds, viewName).toBeLessThan(60);
    }
    expect(highConfidenceFacts).toStrictEqual([{ fact: { object: 'open' }, combinedScore: 0.56 }]);
  });

  it('sums up relations and reflections over what each caller may read', async () => {
    for (const [caller, scope] of [
      ['C', 'developer'],
      ['L', 'l-private'],
    ]) {
      await gateway.sql(
        caller!,
        "select public.relate('billing', 'uses', 'queue', 0.8, scope => $1, project_id => 'l9')",
        [scope],
      );
      await gateway.sql(
        caller!,
        "select public.reflect('billing fails at ' || $1, 'failure', tags => array[$1], scope => $1, project_id => 'l9')",
        [scope],
      );
    }
    await gateway.query('L', REFRESH);
    const sums = `{
      entityGraph(projectId: "l9") { totalMentions maxConfidence relationshipCount sourceDegree relationship { sourceNormalized } }
      reflectionPatterns(reflectionType: "failure") { reflectionType count allTags }
    }`;
    const { entityGraph, reflectionPatterns } = await gateway.query('C', sums);
    expect(entityGraph).toStrictEqual([
      {
        totalMentions: '1',
        maxConfidence: 0.8,
        relationshipCount: 1,
        sourceDegree: 1,
        relationship: { sourceNormalized: 'billing' },
      },
    ]);
    expect(reflectionPatterns).toStrictEqual([{ reflectionType: 'failure', count: 1, allTags: ['developer'] }]);
    const forL = await gateway.query('L', sums);
    expect(forL.entityGraph).toMatchObject([{ totalMentions: '2', relationshipCount: 2 }]);
    expect(forL.reflectionPatterns).toMatchObject([{ count: 2, allTags: ['developer', 'l-private'] }]);
  });

  it('refuses a refresh by an agent, and audits the refusal', async () => {
    const { data, errors } = await gateway.graphql('C', REFRESH);
    expect(data).toStrictEqual({ admin: null });
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    const [row] = await gateway.sql(
      'L',
      `select status, details ->> 'path' as path from public.audit_log
       where caller = 'C' and operation = 'DENIED' order by audit_id desc limit 1`,
    );
    expect(row).toStrictEqual({ status: 'error', path: 'admin.refreshMemoryViews' });
  });
});
