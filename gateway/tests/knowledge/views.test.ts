// The views by GraphQL: who may refresh them, and how old they are.
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const REFRESH = `mutation { refreshMemoryViews(input: { clientMutationId: "mine" }) {
  clientMutationId
  query { memoryViewsStatus { nodes { viewName refreshedAt ageSeconds } } highConfidenceFacts { nodes { object } } }
} }`;

describe('views by GraphQL', () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  afterAll(() => house.close());

  it('are refreshed by an admin, who is told how old they are and reads what is new', async () => {
    await house.sql('C', "select public.assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    const began = Date.now();
    const { data, errors } = await house.graphql('L', REFRESH);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    const { clientMutationId, query } = data.refreshMemoryViews;
    expect(clientMutationId).toBe('mine');
    expect(query.memoryViewsStatus.nodes.length).toBe(4);
    for (const { viewName, refreshedAt, ageSeconds } of query.memoryViewsStatus.nodes) {
      expect(Date.parse(refreshedAt), viewName).toBeGreaterThanOrEqual(began - 1);
      expect(ageSeconds, viewName).toBeGreaterThanOrEqual(0);
      expect(ageSeconds, viewName).toBeLessThan(60);
    }
    expect(query.highConfidenceFacts.nodes).toStrictEqual([{ object: 'open' }]);
  });

  it('are refreshed by no agent, and the refusal is on the record', async () => {
    const { data, errors } = await house.graphql('C', REFRESH);
    expect(data.refreshMemoryViews).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    const [row] = await house.sql(
      'L',
      `select status, details ->> 'path' as path from public.audit_log
       where caller = 'C' and operation = 'DENIED' order by audit_id desc limit 1`,
    );
    expect(row).toStrictEqual({ status: 'error', path: 'refreshMemoryViews' });
  });
});
