import { DEFAULT_TENANT } from '../../../gateway/src/auth/identity.ts';
import { eventually } from '../../../gateway/tests/support/eventually.ts';
import type { House } from '../../../gateway/tests/support/house.ts';
import { asSuperuser as withSuperuser } from '../../../gateway/tests/support/logins.ts';

const DEADLOCK = '40P01';

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
type Rows = any[];

/**
 * Statements of a superuser in one transaction, undone at the end unless one of them is `commit`; the rows of the last.
 * Of a single statement what it does stays.
 */
export async function asSuperuser(house: House, statements: string | string[]): Promise<Rows> {
  const list = typeof statements === 'string' ? [statements, 'commit'] : statements;
  const once = () =>
    withSuperuser(house, async (session) => {
      let rows: Rows = [];
      try {
        await session.query('begin');
        for (const statement of list) {
          const result = await session.query(statement);
          if (statement !== 'commit') rows = result.rows;
        }
        return rows;
      } finally {
        await session.query('rollback').catch(() => {});
      }
    });
  for (let tries = 1; ; tries++) {
    try {
      return await once();
    } catch (error) {
      // The house's own jobs lock tables too, and changing all of them takes no order.
      if ((error as { code?: string }).code !== DEADLOCK || tries === 10) throw error;
    }
  }
}

/** Seals until nothing is left; on a server that others use too, transactions of theirs may hold it up for a while. */
export async function sealAll(house: House, rows = 10_000): Promise<void> {
  const { workerPool } = house.gateway.database;
  await eventually(async () => {
    await workerPool.query('select audit.seal_audit($1)', [rows]);
    const { rows: answer } = await workerPool.query('select audit.is_audit_unsealed() as due');
    return !answer[0].due;
  });
}

/** Claims under which `house.sql('P', …)` is a platform admin. */
export const claimsOfP = { role: 'l9_platform_admin' };

export async function addPlatformAdmin(house: House): Promise<void> {
  await asSuperuser(
    house,
    `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
     values ('${DEFAULT_TENANT}', 'P', 'Operator', 'operations', 'operator', 'l9_platform_admin', '{*}', '{}')
     on conflict do nothing`,
  );
  // The gateway knows new actors within seconds.
  const token = await house.token({ caller: 'P' });
  for (let tries = 0; (await house.graphql({ token }, '{ __typename }')).status !== 200; tries++) {
    if (tries > 200) throw new Error('the gateway does not know the new actor');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A tenant with the built-in scopes and actors; its id. */
export async function addTenant(house: House, name: string): Promise<string> {
  const rows = await asSuperuser(
    house,
    `with made as (insert into public.tenants (name) values ('${name}') returning tenant_id),
     scopes as (insert into public.scopes (tenant_id, scope, is_project_scoped)
       select made.tenant_id, s.scope, s.is_project_scoped from public.scopes s, made where s.tenant_id = '${DEFAULT_TENANT}'),
     actors as (insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
       select made.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.readable_scopes, a.writable_scopes, a.can_clean_up
       from public.actors a, made where a.tenant_id = '${DEFAULT_TENANT}' and a.caller in ('L', 'C'))
     select tenant_id from made`,
  );
  return rows[0].tenant_id;
}
