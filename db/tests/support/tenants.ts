import { DEFAULT_TENANT, type Sessions } from './sessions.ts';

/**
 * Another tenant, with the scopes and actors of the first; the claims that make a session one of its. On a server
 * tenants are spread over several indexes: with `sharesIndexes` it is put into those of the first tenant.
 */
export async function addTenant(
  db: Sessions,
  name: string,
  { sharesIndexes = false }: { sharesIndexes?: boolean } = {},
): Promise<{ 'jwt.claims.tenant_id': string }> {
  return db.inSuperuserSession(async (client) => {
    const { rows } = await client.query(
      `insert into public.tenants (name, tenant_id)
       select $1, id from (select gen_random_uuid() as id from generate_series(1, 1000)) as ids
       where not $2 or packets.tenant_bucket(id) = packets.tenant_bucket($3)
       limit 1
       returning tenant_id`,
      [name, sharesIndexes, DEFAULT_TENANT],
    );
    const id = rows[0].tenant_id as string;
    await client.query(
      `insert into public.scopes (tenant_id, scope, is_project_scoped)
       select $1, scope, is_project_scoped from public.scopes where tenant_id = $2`,
      [id, DEFAULT_TENANT],
    );
    await client.query(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
       select $1, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up
       from public.actors where tenant_id = $2`,
      [id, DEFAULT_TENANT],
    );
    return { 'jwt.claims.tenant_id': id };
  });
}

/** An operator, who acts across tenants; the claims that make a session of this caller one of an operator. */
export async function addOperator(db: Sessions, caller: string): Promise<{ role: string }> {
  await db.asSuperuser(
    `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
     values ($1, $2, $2, 'operations', $2, 'l9_platform_admin', '{*}', '{*}') on conflict do nothing`,
    [DEFAULT_TENANT, caller],
  );
  return { role: 'l9_platform_admin' };
}
