import { useTestDatabase } from '../support/test-database.ts';

describe('who_am_i', () => {
  const db = useTestDatabase();
  const ask = async (caller: string, claims = {}) =>
    (await db.sql(caller, 'select (public.who_am_i()).*', [], claims))[0];

  it('tells an administrator its rights', async () => {
    expect(await ask('L')).toMatchObject({
      caller: 'L',
      creator: 'L-CTO',
      role: 'l9_admin',
      tenant_name: 'default',
      projects: ['*'],
      can_clean_up: true,
      is_admin: true,
      is_read_only: false,
    });
  });

  it('tells an agent what its claims leave of its rights, and nothing of other scopes', async () => {
    const whole = await ask('C');
    expect(whole).toMatchObject({ caller: 'C', is_admin: false, is_read_only: false });
    expect(whole.readable_scopes.sort()).toEqual(['developer', 'global']);
    expect(JSON.stringify(whole)).not.toContain('l-private');
    const cut = await ask('C', { 'jwt.claims.scopes': '["global", "l-private"]', 'jwt.claims.projects': '["l9"]' });
    expect(cut).toMatchObject({ readable_scopes: ['global'], writable_scopes: ['global'], projects: ['l9'] });
  });

  it('says that a caller which can write in no scope is read-only', async () => {
    await db.sql('L', `select register_actor('reader', writable_scopes => '{}')`);
    expect(await ask('reader')).toMatchObject({ caller: 'reader', writable_scopes: [], is_read_only: true });
  });

  it('refuses a session without an identity', async () => {
    await expect(ask('nobody')).rejects.toMatchObject({ code: 'L9AUT' });
  });
});
