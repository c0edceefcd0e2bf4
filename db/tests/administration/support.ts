import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

/** An id that is registered nowhere. */
export const UNKNOWN = '01900000-0000-7000-8000-00000000abcd';

export const operator = { role: 'l9_platform_admin' };

export const expectRefusal = (call: Promise<unknown>, code: string, message: RegExp) =>
  expect(call).rejects.toMatchObject({ code, message: expect.stringMatching(message) });

/** A database with the operator `ops` and a second tenant, `acme`. */
export function useAdministration() {
  const db = useTestDatabase();
  const administration = {
    db,
    acme: '',
    inAcme: (more: Claims = {}): Claims => ({ 'jwt.claims.tenant_id': administration.acme, ...more }),
    asL: (query: string, values: unknown[] = [], claims: Claims = {}) => db.sql('L', query, values, claims),
    asOperator: (query: string, values: unknown[] = []) => db.sql('ops', query, values, operator),
    callerOf: async (caller: string, claims: Claims = {}): Promise<string | null> =>
      (await db.sql(caller, 'select i.caller from identity.current_identity() i', [], claims))[0].caller,
  };
  beforeAll(async () => {
    await db.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    const [tenant] = await administration.asOperator("select tenant_id from create_tenant('acme')");
    administration.acme = tenant.tenant_id;
  });
  return administration;
}
