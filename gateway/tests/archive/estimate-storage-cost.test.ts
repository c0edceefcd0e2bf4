import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the cost of storage', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('is the same over MCP and GraphQL, from a price that an admin set over GraphQL', async () => {
    const ask =
      '{ estimateStorageCost(bytes: 5000000000, connector: "s3") { oneOffCost monthlyCost currency price reason } }';
    const before = await gateway.tool('C', 'estimate_storage_cost', { bytes: 5e9, connector: 's3' });
    expect(before.text).toContain('unknown');
    expect(before.result).toMatchObject({ one_off_cost: null, monthly_cost: null, price: null });
    const set = `mutation { admin { setStoragePrice(connector: "s3", currency: "USD", perGbMonth: "0.02", perGbOnce: "0",
      perObjectOnce: "0.5", pricedOn: "2026-05-01", priceList: "list") { pricedOn } } }`;
    expect((await gateway.graphql('C', set)).errors?.[0]).toBeDefined();
    expect(await gateway.query('L', set)).toMatchObject({ admin: { setStoragePrice: { pricedOn: '2026-05-01' } } });
    const cost = { currency: 'USD', reason: null };
    expect((await gateway.query('C', ask)).estimateStorageCost).toMatchObject({
      ...cost,
      oneOffCost: 0.5,
      monthlyCost: 0.1,
      price: { price_list: 'list', priced_on: '2026-05-01' },
    });
    expect((await gateway.tool('C', 'estimate_storage_cost', { bytes: 5e9, connector: 's3' })).result).toMatchObject({
      ...cost,
      one_off_cost: 0.5,
      monthly_cost: 0.1,
    });
  });

  it('is printed by the command line, for a number of bytes or for a file', async () => {
    await gateway.query(
      'L',
      'mutation { admin { setStoragePrice(connector: "file", currency: "EUR", perGbMonth: "2", perGbOnce: "0", perObjectOnce: "0") { currency } } }',
    );
    const run = (...args: string[]) =>
      runCommand(['archive', 'cost', ...args, '--url', gateway.instance.url], { home: gateway.home.home });
    const known = await run('1000000000', '--connector', 'file', '--redundancy', '3');
    expect([known.code, known.err]).toStrictEqual([0, '']);
    expect(known.out).toContain('3 × 1000000000 bytes with the connector file\nonce:    0 EUR\nmonthly: 6 EUR\n');
    const unknown = await run(import.meta.filename, '--connector', 'http');
    expect(unknown.out).toMatch(/monthly: unknown\nno price is set for the connector http/);
    expect(await run('1', '--redundancy', '0')).toMatchObject({ code: 1, err: expect.stringMatching(/redundancy: /) });
    expect(await run('/no/such/file')).toMatchObject({
      code: 1,
      err: '/no/such/file: there is no such file or folder\n',
    });
  });
});
