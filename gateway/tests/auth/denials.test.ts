import { eventually } from '../../../db/tests/support/eventually.ts';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a denied request', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  // They are written after the answer.
  const denied = (api: string) =>
    eventually(async () => {
      const rows = await gateway.asSuperuser(
        "select tenant_id, caller, status, sqlstate, details from public.audit_log where operation = 'DENIED' and tool_name = $1 order by audit_id",
        [api],
      );
      return rows.length > 0 && rows;
    });
  const knock = (path: string, secret: string) =>
    fetch(`${gateway.instance.url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: '{"query": "{ memories { totalCount } }"}',
    });

  it('is audited with its reason and address, and without the key', async () => {
    const key = 'not-a-key-of-this-gateway-0123456789';
    expect((await knock('mcp', key)).status).toBe(401);
    const [row] = await denied('mcp');
    expect([row.caller, row.tenant_id, row.status, row.sqlstate]).toStrictEqual(['unknown', null, 'error', 'L9AUT']);
    expect(row.details.reason).toBe('the API key is not accepted');
    expect(row.details.address).toMatch(/127\.0\.0\.1/);
    expect(JSON.stringify(row)).not.toContain(key);
  });

  it('shares one audit row with equal requests of the same minute', async () => {
    for (let tries = 0; tries < 20; tries++) expect((await knock('graphql', 'malformed')).status).toBe(401);
    expect(await denied('graphql')).toHaveLength(1);
  });

  it('is audited with the caller if the token is valid but its actor is not', async () => {
    const token = await gateway.token({ caller: 'Ghost' });
    expect((await gateway.graphql({ token }, '{ memories { totalCount } }')).status).toBe(401);
    const row = (await denied('graphql')).find(({ caller }) => caller === 'Ghost');
    expect(row.tenant_id).toBe(DEFAULT_TENANT);
    expect(row.details.reason).toMatch(/^caller: /);
  });

  it('is audited if it names an unknown tool', async () => {
    const { isError } = await gateway.tool('C', 'read_everything', {});
    expect(isError).toBe(true);
    const [row] = await denied('read_everything');
    expect([row.caller, row.sqlstate]).toStrictEqual(['C', 'L9VAL']);
  });
});
