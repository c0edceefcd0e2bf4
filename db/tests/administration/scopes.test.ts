import { expectRefusal, useAdministration } from './support.ts';

describe('scopes', () => {
  const { db, asL } = useAdministration();
  it('adds a scope that at first only actors with every scope can read', async () => {
    await asL("select register_scope('design', true, 'Drawings.')");
    await asL("select save_memory('a drawing', scope => 'design', project_id => 'l9')");
    const countSeenBy = async (caller: string) =>
      (await db.sql(caller, "select 1 from packet_store where content = 'a drawing'")).length;
    expect([await countSeenBy('L'), await countSeenBy('C')]).toStrictEqual([1, 0]);
    await asL("select register_actor('D', readable_scopes => '{design,global}')");
    expect(await countSeenBy('D')).toBe(1);
    expect(await db.sql('C', "select scope from scopes where scope = 'design'")).toStrictEqual([]);
    await asL("select register_actor('D', readable_scopes => '{global}', writable_scopes => '{global}')");
    expect(await countSeenBy('D')).toBe(0);
  });

  it('hides the memories of a deactivated scope until it is reactivated', async () => {
    await asL("select deactivate_scope('design')");
    expect(await asL("select 1 from packet_store where content = 'a drawing'")).toStrictEqual([]);
    await expectRefusal(
      asL("select save_memory('another', scope => 'design', project_id => 'l9')"),
      'L9SCP',
      /you may write developer, global, l-private/,
    );
    expect(await asL("select is_active from scopes where scope = 'design'")).toStrictEqual([{ is_active: false }]);
    await asL("select reactivate_scope('design')");
    expect(await asL("select 1 from packet_store where content = 'a drawing'")).toHaveLength(1);
  });

  it('never changes whether a scope has projects', async () => {
    await expectRefusal(asL("select register_scope('design', false)"), 'L9VAL', /^is_project_scoped: scope design/);
    const [scope] = await asL("select (register_scope('design', true, 'Plans.')).*");
    expect(scope.description).toBe('Plans.');
    await expectRefusal(asL("select register_scope('De Sign')"), 'L9VAL', /^scope:/);
    await expectRefusal(db.sql('C', "select register_scope('mine')"), '42501', /permission denied/);
  });
  it('is described in at most 1000 bytes, also by the owner in psql', async () => {
    await expectRefusal(asL("select register_scope('design', true, repeat('x', 1001))"), 'L9LIM', /^description:/);
    await expect(
      db.asOwner("update public.scopes set description = repeat('é', 501) where scope = 'design'"),
    ).rejects.toMatchObject({ code: '23514', constraint: 'scope_description_short' });
    await db.asOwner("update public.scopes set description = repeat('é', 500) where scope = 'design'");
  });
});
