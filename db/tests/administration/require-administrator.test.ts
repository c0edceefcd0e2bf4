import { expectRefusal, useAdministration } from './support.ts';

describe('l9_owner in psql', () => {
  const administration = useAdministration();
  const { db } = administration;
  it('administers every tenant without an identity', async () => {
    const [made] = await db.asOwner(
      "select (register_actor('ops-2', role => 'l9_platform_admin', tenant_id => $1)).*",
      [administration.acme],
    );
    expect([made.tenant_id, made.role]).toStrictEqual([administration.acme, 'l9_platform_admin']);
    const [{ tenant_id }] = await db.asOwner("select tenant_id from create_tenant('by-owner')");
    expect(await db.asOwner('select 1 from actors where tenant_id = $1', [tenant_id])).toHaveLength(2);
    // A superuser that has taken an agent's role has only the rights of that role.
    await expectRefusal(
      (async () => {
        await db.asSuperuser("begin; set local role l9_agent; select create_tenant('no')");
      })(),
      '42501',
      /permission denied/,
    );
  });
});
