// What storage costs: only prices that a tenant set, and null with a reason where one is missing.
import { named } from '../support/named.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('estimate_storage_cost', () => {
  const db = useTestDatabase();
  const set = async (args: object, caller = 'L', claims: object = {}) => {
    const query = `select s.* from public.set_storage_price(${named(args)}) s`;
    return (await db.sql(caller, query, Object.values(args), claims as never))[0];
  };
  const estimate = async (args: object, caller = 'C', claims: object = {}) => {
    const query = `select to_jsonb(e) as estimate from public.estimate_storage_cost(${named(args)}) e`;
    return (await db.sql(caller, query, Object.values(args), claims as never))[0].estimate;
  };

  it('answers null with the reason for a connector without a price', async () => {
    expect(await estimate({ bytes: 1000 })).toMatchObject({
      bytes: 1000,
      redundancy: 1,
      connector: 'postgres',
      one_off_cost: null,
      monthly_cost: null,
      currency: null,
      price: null,
      reason: expect.stringContaining('no price is set for the connector postgres'),
    });
  });

  it('multiplies the newest price that is not in the future, and says which it was', async () => {
    const price = {
      connector: 's3',
      currency: 'USD',
      per_gb_once: 0,
      per_object_once: 0.001,
      price_list: 'price list of May',
    };
    await set({ ...price, per_gb_month: 0.05, priced_on: '2026-01-01' });
    await set({ ...price, per_gb_month: 0.023, priced_on: '2026-05-01' });
    await set({ ...price, per_gb_month: 99, priced_on: '9999-01-01' });
    expect(await estimate({ bytes: 500_000_000, redundancy: 2, connector: 's3' })).toMatchObject({
      one_off_cost: 0.002,
      monthly_cost: 0.023,
      currency: 'USD',
      price: { connector: 's3', priced_on: '2026-05-01', per_gb_month: 0.023, price_list: 'price list of May' },
      reason: null,
      disclaimer: expect.stringContaining('estimate'),
    });
    await set({ ...price, per_gb_month: 0.02, priced_on: '2026-05-01' });
    expect(await estimate({ bytes: 1e9, connector: 's3' })).toMatchObject({ monthly_cost: 0.02 });
  });

  it('answers null only for the cost whose price is unknown, and names the price', async () => {
    for (const [connector, prices, one_off_cost, monthly_cost, missing] of [
      ['http', { per_gb_once: 10 }, 20, null, 'per_gb_month'],
      ['by-object', { per_object_once: 0.5 }, 1, null, 'per_gb_month'],
      ['by-month', { per_gb_month: 3 }, null, 6, 'per_gb_once or per_object_once'],
      ['free', { per_gb_month: 0, per_gb_once: 0 }, 0, 0, null],
      ['unknown', {}, null, null, 'per_gb_month, per_gb_once or per_object_once'],
    ] as const) {
      await set({ connector, currency: 'LUME', ...prices });
      const answer = await estimate({ bytes: 1e9, redundancy: 2, connector });
      expect([answer.one_off_cost, answer.monthly_cost, answer.currency], connector).toStrictEqual([
        ...[one_off_cost, monthly_cost],
        'LUME',
      ]);
      expect(answer.reason, connector).toBe(
        missing && `the price of the connector ${connector} does not say ${missing}`,
      );
    }
    await set({ connector: 'http', currency: 'LUME', per_gb_once: 10, per_object_once: 0.01 });
    expect(await estimate({ bytes: 1e9, connector: 'http' })).toMatchObject({
      one_off_cost: 10.01,
      monthly_cost: null,
    });
  });

  it('lets only an admin of every scope set a price, and audits it', async () => {
    const price = { connector: 'file', currency: 'EUR', per_gb_month: 1 };
    await expect(set(price, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(set(price, 'L', { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({ code: 'L9SCP' });
    for (const caller of ['C', 'L'])
      for (const statement of [
        `insert into public.storage_prices (tenant_id, connector, priced_on, currency) values ('${DEFAULT_TENANT}', 'file', now(), 'EUR')`,
        'update public.storage_prices set per_gb_month = 0',
        'delete from public.storage_prices',
      ])
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
    await set(price);
    const [row] = await db.sql(
      'L',
      "select operation, details -> 'row' as changed, caller from public.audit_log where table_name = 'storage_prices' order by audit_id desc limit 1",
    );
    expect(row).toMatchObject({ operation: 'INSERT', caller: 'L', changed: { connector: 'file', per_gb_month: 1 } });
  });

  it('keeps no secret in a price', async () => {
    const price_list = 'https://shop:correct-horse-battery-9@prices.example/list';
    await expect(set({ connector: 'file', currency: 'EUR', price_list })).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('shows no tenant the prices of another', async () => {
    const acme = await addTenant(db, 'acme');
    await set({ connector: 'file', currency: 'EUR', per_gb_month: 2 });
    expect((await estimate({ bytes: 1e9, connector: 'file' }, 'C', acme)).price).toBeNull();
    expect(await db.sql('L', 'select * from public.storage_prices', [], acme)).toStrictEqual([]);
    await expect(
      set({ connector: 'file', currency: 'EUR', tenant_id: acme['jwt.claims.tenant_id'] }),
    ).rejects.toMatchObject({
      code: 'L9SCP',
    });
  });

  it('refuses values out of range, and names the field', async () => {
    const price = { connector: 'file', currency: 'EUR' };
    for (const [args, field] of [
      [{ ...price, connector: 'A b' }, 'connector'],
      [{ ...price, currency: 'euro' }, 'currency'],
      [{ ...price, per_gb_month: -1 }, 'per_gb_month'],
      [{ ...price, per_gb_once: 'NaN' }, 'per_gb_once'],
      [{ ...price, per_object_once: 1e7 }, 'per_object_once'],
      [{ ...price, priced_on: 'infinity' }, 'priced_on'],
      [{ ...price, price_list: 'x'.repeat(501) }, 'price_list'],
    ] as const)
      await expect(set(args), field).rejects.toMatchObject({
        message: expect.stringMatching(new RegExp(`^${field}: `)),
      });
    for (const [args, field] of [
      [{ bytes: -1 }, 'bytes'],
      [{ bytes: null }, 'bytes'],
      [{ bytes: 1, redundancy: 0 }, 'redundancy'],
      [{ bytes: 1, connector: "s3'" }, 'connector'],
    ] as const)
      await expect(estimate(args), field).rejects.toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(`^${field}: `),
      });
  });
});
