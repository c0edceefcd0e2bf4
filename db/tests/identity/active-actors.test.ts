// current_identity() reads this cache, which triggers keep equal to the tables that it is computed from.

import pg from 'pg';
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const TENANT = '00000000-0000-7000-8000-000000000001';

const computed = `
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    array(select s.scope from public.scopes s where s.tenant_id = a.tenant_id and s.is_active
      and ('*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)) order by 1) as readable_scopes,
    array(select s.scope from public.scopes s where s.tenant_id = a.tenant_id and s.is_active
      and ('*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)) order by 1) as writable_scopes
  from public.actors a join public.tenants t on t.tenant_id = a.tenant_id
  where a.is_active and t.is_active`;
const cached = `select tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes
  from identity.active_actors`;
const difference = `(${computed} except ${cached}) union all (${cached} except ${computed})`;

describe('active_actors', () => {
  const db = useTestDatabase();

  const agrees = async (change: string) => {
    await db.asSuperuser(change);
    expect(await db.asSuperuser(difference), change).toStrictEqual([]);
  };

  it('equals what tenants, scopes and actors say after every change of them', async () => {
    expect(await db.asSuperuser(cached)).toHaveLength(3);
    const other = '00000000-0000-7000-8000-0000000000aa';
    for (const change of [
      `insert into public.tenants (tenant_id, name) values ('${other}', 'other')`,
      `select identity.seed_tenant('${other}')`,
      `insert into public.scopes (tenant_id, scope, is_project_scoped) values ('${TENANT}', 'ops', true)`,
      `update public.actors set readable_scopes = readable_scopes || '{ops}' where caller = 'C'`,
      `update public.scopes set is_active = false where scope = 'ops'`,
      `update public.scopes set is_active = true where scope = 'ops'`,
      `update public.actors set is_active = false where tenant_id = '${TENANT}' and caller = 'C'`,
      `update public.actors set is_active = true, source = 'elsewhere' where tenant_id = '${TENANT}' and caller = 'C'`,
      `update public.tenants set is_active = false where tenant_id = '${other}'`,
      `update public.tenants set is_active = true where tenant_id = '${other}'`,
      `delete from public.actors where tenant_id = '${other}' and caller = 'L'`,
      `delete from public.actors where tenant_id = '${other}'`,
      `delete from public.scopes where scope = 'ops'`,
    ])
      await agrees(change);
    expect(await db.asSuperuser(`${cached} where tenant_id = '${other}'`)).toStrictEqual([]);
  });

  it('takes effect from the next statement of the same transaction', async () => {
    const [{ scopes }] = await db.asSuperuser(`
      begin;
      update public.scopes set is_active = false where scope = 'developer';
      select set_config('role', 'l9_agent', true), set_config('jwt.claims.caller', 'C', true),
        set_config('jwt.claims.tenant_id', '${TENANT}', true);
      select identity.current_scopes() as scopes`);
    expect(scopes).toStrictEqual(['global']);
  });

  it('refuses every caller that reads, writes or refreshes it', async () => {
    for (const caller of ['C', 'L']) {
      await expect(db.sql(caller, 'select * from identity.active_actors')).rejects.toThrow(/permission denied/);
      await expect(db.sql(caller, `update identity.active_actors set readable_scopes = '{l-private}'`)).rejects.toThrow(
        /permission denied/,
      );
      await expect(db.sql(caller, `select identity.refresh_active_actors('${TENANT}')`)).rejects.toThrow(
        /permission denied/,
      );
    }
  });

  itOnServer('holds the result of two concurrent changes', async () => {
    const sessions = [0, 1].map(() => new pg.Client({ connectionString: db.superuserUrl! }));
    const [one, two] = sessions as [pg.Client, pg.Client];
    await Promise.all(sessions.map((session) => session.connect()));
    try {
      for (let round = 0; round < 5; round++) {
        await one.query('begin');
        await two.query('begin');
        await one.query(
          `insert into public.scopes (tenant_id, scope, is_project_scoped) values ('${TENANT}', 'race${round}', true)`,
        );
        const waiting = two.query(
          `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
           values ('${TENANT}', 'R${round}', 'R${round}', 'race', 'race', 'l9_agent', '{*}', '{*}')`,
        );
        await one.query('select pg_sleep(0.1)');
        await one.query('commit');
        await waiting;
        await two.query('commit');
        expect(await db.asSuperuser(difference)).toStrictEqual([]);
      }
    } finally {
      await Promise.all(sessions.map((session) => session.end()));
    }
  });
});
