import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { claimsOf, type House, openHouse } from '../../../gateway/tests/support/house.ts';

// What the rows of tenants, scopes and actors are worth, worked out the slow way.
const worth = `
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role,
    (select coalesce(array_agg(s.scope order by s.scope), '{}') from public.scopes s
     where s.tenant_id = a.tenant_id and s.is_active and (s.scope = any (a.readable_scopes) or '*' = any (a.readable_scopes))) as readable_scopes,
    (select coalesce(array_agg(s.scope order by s.scope), '{}') from public.scopes s
     where s.tenant_id = a.tenant_id and s.is_active and (s.scope = any (a.writable_scopes) or '*' = any (a.writable_scopes))) as writable_scopes,
    a.can_clean_up
  from public.actors a join public.tenants t using (tenant_id)
  where a.is_active and t.is_active
  order by a.tenant_id, a.caller`;

describe('active actors', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  const areDerived = async (step: string) => {
    const kept = await house.asSuperuser('select * from l9_private.active_actors order by tenant_id, caller');
    assert.deepEqual(kept, await house.asSuperuser(worth), step);
    return kept;
  };

  it('are what tenants, scopes and actors say after each change, whoever makes it', async () => {
    assert.equal((await areDerived('at first')).length, 2);
    const steps = [
      "insert into public.scopes (tenant_id, scope, is_project_scoped) select tenant_id, 'reviews', true from public.tenants",
      "update public.actors set readable_scopes = readable_scopes || '{reviews}' where caller = 'C'",
      "update public.scopes set is_active = false where scope = 'reviews'",
      "update public.scopes set is_active = true where scope = 'reviews'",
      "update public.actors set is_active = false where caller = 'C'",
      "update public.actors set is_active = true, can_clean_up = true, agent = 'other' where caller = 'C'",
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       select tenant_id, 'R', 'Reviewer', 'reviews', 'reviewer', 'l9_agent', '{reviews,global}', '{reviews}' from public.tenants`,
      "delete from public.actors where caller = 'R'",
      'update public.tenants set is_active = false',
      'update public.tenants set is_active = true',
      "delete from public.scopes where scope = 'reviews'",
    ];
    const seen = new Set<string>();
    for (const step of steps) {
      await house.asSuperuser(step);
      seen.add(JSON.stringify(await areDerived(step)));
    }
    assert.ok(seen.size >= 7, 'the steps change something');
  });

  it('are nobody else’s to read or to change', async () => {
    for (const caller of ['C', 'L'])
      for (const query of [
        'select * from l9_private.active_actors',
        'delete from l9_private.active_actors',
        "update l9_private.active_actors set readable_scopes = '{l-private}'",
      ])
        await assert.rejects(house.sql(caller, query), { code: '42501' });
  });

  it(
    'lose no change of two that are made at the same time',
    {
      skip: engine === 'server' ? false : 'needs two connections',
    },
    async () => {
      const connect = async () => {
        const client = new pg.Client({ connectionString: house.home.env.DATABASE_URL! });
        await client.connect();
        return client;
      };
      const [first, second] = [await connect(), await connect()];
      const begin = (client: pg.Client) =>
        client.query(
          `begin; select ${Object.entries(claimsOf('L'))
            .map(([name, value]) => `set_config('${name}', '${value}', true)`)
            .join(', ')}`,
        );
      try {
        for (const client of [first, second]) await begin(client);
        await first.query("select public.register_scope('first', true)");
        const waits = second.query("select public.register_scope('second', true)");
        await new Promise((resolve) => setTimeout(resolve, 100));
        await first.query('commit');
        await waits;
        await second.query('commit');
      } finally {
        await Promise.all([first.end(), second.end()]);
      }
      const [L] = (await areDerived('after both')).filter(({ caller }) => caller === 'L');
      assert.deepEqual(L.readable_scopes, ['developer', 'first', 'global', 'l-private', 'second']);
    },
  );
});
