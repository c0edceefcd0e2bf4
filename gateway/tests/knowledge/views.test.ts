// The materialized views over GraphQL: who may refresh them, and their age.
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const REFRESH = `mutation { refreshMemoryViews(input: { clientMutationId: "mine" }) {
  clientMutationId
  query { memoryViewsStatus { nodes { viewName refreshedAt ageSeconds } } highConfidenceFacts { nodes { fact { object } combinedScore } } }
} }`;

describe('materialized views over GraphQL', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('lets an administrator refresh them, and returns their age and new rows', async () => {
    await gateway.sql('C', "select public.assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    const began = Date.now();
    const { data, errors } = await gateway.graphql('L', REFRESH);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    const { clientMutationId, query } = data.refreshMemoryViews;
    expect(clientMutationId).toBe('mine');
    expect(query.memoryViewsStatus.nodes.length).toBe(5);
    for (const { viewName, refreshedAt, ageSeconds } of query.memoryViewsStatus.nodes) {
      expect(Date.parse(refreshedAt), viewName).toBeGreaterThanOrEqual(began - 1);
      expect(ageSeconds, viewName).toBeGreaterThanOrEqual(0);
      expect(ageSeconds, viewName).toBeLessThan(60);
    }
    expect(query.highConfidenceFacts.nodes).toStrictEqual([{ fact: { object: 'open' }, combinedScore: 0.56 }]);
  });

  it('refuses a refresh by an agent, and audits the refusal', async () => {
    const { data, errors } = await gateway.graphql('C', REFRESH);
    expect(data.refreshMemoryViews).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    const [row] = await gateway.sql(
      'L',
      `select status, details ->> 'path' as path from public.audit_log
       where caller = 'C' and operation = 'DENIED' order by audit_id desc limit 1`,
    );
    expect(row).toStrictEqual({ status: 'error', path: 'refreshMemoryViews' });
  });
});
