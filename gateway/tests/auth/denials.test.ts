import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('whoever is turned away', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  // They are written after the answer.
  const denied = (door: string) =>
    eventually(async () => {
      const rows = await house.asSuperuser(
        "select tenant_id, caller, status, sqlstate, details from public.audit_log where operation = 'DENIED' and tool_name = $1 order by audit_id",
        [door],
      );
      return rows.length > 0 && rows;
    });
  const knock = (path: string, secret: string) =>
    fetch(`${house.gateway.url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: '{"query": "{ memories { totalCount } }"}',
    });

  it('is on the record, with the reason and the address, and without the key', async () => {
    const key = 'not-a-key-of-this-house-0123456789';
    assert.equal((await knock('mcp', key)).status, 401);
    const [row] = await denied('mcp');
    assert.deepEqual([row.caller, row.tenant_id, row.status, row.sqlstate], ['unknown', null, 'error', 'L9AUT']);
    assert.equal(row.details.reason, 'the API key is not accepted');
    assert.match(row.details.address, /127\.0\.0\.1/);
    assert.ok(!JSON.stringify(row).includes(key));
  });

  it('shares a row with those alike who came within a minute, so that knocking does not flood the record', async () => {
    for (let tries = 0; tries < 20; tries++) assert.equal((await knock('graphql', 'malformed')).status, 401);
    assert.equal((await denied('graphql')).length, 1);
  });

  it('with a good token, but as somebody who has no business here, is named', async () => {
    const token = await house.token({ caller: 'Ghost' });
    assert.equal((await house.graphql({ token }, '{ memories { totalCount } }')).status, 401);
    const row = (await denied('graphql')).find(({ caller }) => caller === 'Ghost');
    assert.equal(row.tenant_id, '00000000-0000-7000-8000-000000000001');
    assert.match(row.details.reason, /^caller: /);
  });

  it('by an unknown tool is on the record too', async () => {
    const { isError } = await house.tool('C', 'read_everything', {});
    assert.equal(isError, true);
    const [row] = await denied('read_everything');
    assert.deepEqual([row.caller, row.sqlstate], ['C', 'L9VAL']);
  });
});
