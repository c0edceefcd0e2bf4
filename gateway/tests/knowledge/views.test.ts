// The views by GraphQL: who may refresh them, and how old they are.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cheapEmbedder } from '../access/attacker.ts';
import { type House, openHouse } from '../support/house.ts';

const REFRESH = `mutation { refreshMemoryViews(input: { clientMutationId: "mine" }) {
  clientMutationId
  query { memoryViewsStatus { nodes { viewName refreshedAt ageSeconds } } highConfidenceFacts { nodes { object } } }
} }`;

describe('views by GraphQL', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: cheapEmbedder });
  });
  after(() => house.close());

  it('are refreshed by an admin, who is told how old they are and reads what is new', async () => {
    await house.sql('C', "select public.assert_fact('the door', 'is', '\"open\"', project_id => 'l9')");
    const began = Date.now();
    const { data, errors } = await house.graphql('L', REFRESH);
    assert.equal(errors, undefined, JSON.stringify(errors));
    const { clientMutationId, query } = data.refreshMemoryViews;
    assert.equal(clientMutationId, 'mine');
    assert.equal(query.memoryViewsStatus.nodes.length, 4);
    for (const { viewName, refreshedAt, ageSeconds } of query.memoryViewsStatus.nodes) {
      assert.ok(Date.parse(refreshedAt) >= began - 1, viewName);
      assert.ok(ageSeconds >= 0 && ageSeconds < 60, viewName);
    }
    assert.deepEqual(query.highConfidenceFacts.nodes, [{ object: 'open' }]);
  });

  it('are refreshed by no agent, and the refusal is on the record', async () => {
    const { data, errors } = await house.graphql('C', REFRESH);
    assert.equal(data.refreshMemoryViews, null);
    assert.equal(errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
    const [row] = await house.sql(
      'L',
      `select status, details ->> 'path' as path from public.audit_log
       where caller = 'C' and operation = 'DENIED' order by audit_id desc limit 1`,
    );
    assert.deepEqual(row, { status: 'error', path: 'refreshMemoryViews' });
  });
});
