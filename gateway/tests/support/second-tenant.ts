import type { House } from './house.ts';
import { asSuperuser } from './logins.ts';

const FIRST = '00000000-0000-7000-8000-000000000001';

/** Another tenant with scopes and actors as the first one has them; the claims that make a session one of its. */
export async function addTenant(house: House, name: string): Promise<Record<string, string>> {
  return asSuperuser(house, async (client) => {
    const { rows } = await client.query('insert into public.tenants (name) values ($1) returning tenant_id', [name]);
    const id = rows[0].tenant_id as string;
    await client.query(
      `insert into public.scopes (tenant_id, scope, is_project_scoped)
       select $1, scope, is_project_scoped from public.scopes where tenant_id = $2`,
      [id, FIRST],
    );
    await client.query(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
       select $1, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up
       from public.actors where tenant_id = $2`,
      [id, FIRST],
    );
    return { 'jwt.claims.tenant_id': id };
  });
}

/** An operator, across tenants. */
export async function addOperator(house: House, caller: string): Promise<Record<string, string>> {
  await asSuperuser(house, (client) =>
    client.query(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       values ($1, $2, $2, 'operations', $2, 'l9_platform_admin', '{*}', '{*}')`,
      [FIRST, caller],
    ),
  );
  return { role: 'l9_platform_admin' };
}
