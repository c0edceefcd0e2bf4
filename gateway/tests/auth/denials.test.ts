import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('whoever is turned away', () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({ embedder: standIn });
  });
  afterAll(() => house.close());

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
    expect((await knock('mcp', key)).status).toBe(401);
    const [row] = await denied('mcp');
    expect([row.caller, row.tenant_id, row.status, row.sqlstate]).toStrictEqual(['unknown', null, 'error', 'L9AUT']);
    expect(row.details.reason).toBe('the API key is not accepted');
    expect(row.details.address).toMatch(/127\.0\.0\.1/);
    expect(JSON.stringify(row)).not.toContain(key);
  });

  it('shares a row with those alike who came within a minute, so that knocking does not flood the record', async () => {
    for (let tries = 0; tries < 20; tries++) expect((await knock('graphql', 'malformed')).status).toBe(401);
    expect(await denied('graphql')).toHaveLength(1);
  });

  it('with a good token, but as somebody who has no business here, is named', async () => {
    const token = await house.token({ caller: 'Ghost' });
    expect((await house.graphql({ token }, '{ memories { totalCount } }')).status).toBe(401);
    const row = (await denied('graphql')).find(({ caller }) => caller === 'Ghost');
    expect(row.tenant_id).toBe('00000000-0000-7000-8000-000000000001');
    expect(row.details.reason).toMatch(/^caller: /);
  });

  it('by an unknown tool is on the record too', async () => {
    const { isError } = await house.tool('C', 'read_everything', {});
    expect(isError).toBe(true);
    const [row] = await denied('read_everything');
    expect([row.caller, row.sqlstate]).toStrictEqual(['C', 'L9VAL']);
  });
});
