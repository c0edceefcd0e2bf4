import { expectRefusal, useAdministration } from './support.ts';

describe('actors', () => {
  const administration = useAdministration();
  const { db, asL, asOperator, callerOf, inAcme } = administration;
  it('registers an actor that can work at once, and changes only its given properties', async () => {
    const [made] = await asL("select (register_actor('E', creator => 'Editor', source => 'editor')).*");
    expect([made.creator, made.source, made.agent, made.role, made.readable_scopes, made.can_clean_up]).toStrictEqual([
      'Editor',
      'editor',
      'e',
      'l9_agent',
      ['developer', 'global'],
      false,
    ]);
    const [saved] = await db.sql('E', "select (memory).metadata from save_memory('by E', scope => 'global')");
    expect(saved.metadata.creator).toBe('Editor');
    const [changed] = await asL("select (register_actor('E', source => 'editor-2')).*");
    expect([changed.creator, changed.source, changed.readable_scopes]).toStrictEqual([
      'Editor',
      'editor-2',
      ['developer', 'global'],
    ]);
  });

  it('never changes a creator and never gives it to another actor', async () => {
    await expectRefusal(asL("select register_actor('E', creator => 'Other')"), 'L9IMM', /^creator: cannot change/);
    await expectRefusal(
      asL("select register_actor('F', creator => 'Editor')"),
      'L9VAL',
      /already used by another actor of this tenant/,
    );
    await expectRefusal(asL("select register_actor('F', creator => ' Editor')"), 'L9VAL', /^creator:/);
    await expectRefusal(asL("select register_actor('F', creator => E'Edi\\ntor')"), 'L9VAL', /^creator:/);
  });

  it('gives the next statement of a deactivated actor no identity', async () => {
    expect(await callerOf('E')).toBe('E');
    await asL("select deactivate_actor('E')");
    expect(await callerOf('E')).toBeNull();
    await expectRefusal(db.sql('E', "select save_memory('x', scope => 'global')"), 'L9AUT', /has no identity/);
    expect(await db.sql('E', 'select 1 from packet_store')).toStrictEqual([]);
    await asL("select reactivate_actor('E')");
    expect(await callerOf('E')).toBe('E');
  });

  it('does not let an admin create or change an operator', async () => {
    for (const query of [
      "select register_actor('F', role => 'l9_platform_admin')",
      "select register_actor('E', role => 'l9_platform_admin')",
      "select register_actor('ops', role => 'l9_agent')",
      "select deactivate_actor('ops')",
    ]) {
      await expectRefusal(asL(query), 'L9SCP', /^role: only operators/);
    }
    await expectRefusal(asL("select create_api_key('k', 'ops')"), 'L9SCP', /^role: only operators/);
    await expectRefusal(asL("select register_actor('F', role => 'l9_worker')"), 'L9VAL', /^role:/);
    await expectRefusal(asL("select register_actor('F', role => 'l9_owner')"), 'L9VAL', /^role:/);
    await expectRefusal(asL("select bind_login('E', 'postgres')"), '42501', /permission denied/);
  });

  it('keeps L from locking itself out and from changing itself', async () => {
    await expectRefusal(asL("select deactivate_actor('L')"), 'L9SCP', /lock yourself out/);
    await expectRefusal(asL("select register_actor('L', role => 'l9_agent')"), 'L9SCP', /another administrator/);
    await expectRefusal(asOperator("select deactivate_actor('ops')"), 'L9SCP', /lock yourself out/);
    // An actor of another tenant with the same name is a different actor.
    await asOperator("select deactivate_actor('L', $1)", [administration.acme]);
    expect([await callerOf('L', inAcme()), await callerOf('L')]).toStrictEqual([null, 'L']);
    await asOperator("select reactivate_actor('L', $1)", [administration.acme]);
  });

  it('limits the calls of an actor, within a range, and audits it', async () => {
    const [made] = await asL("select (register_actor('Fast')).*");
    expect([made.reads_per_minute, made.writes_per_minute]).toStrictEqual([30_000, 12_000]);
    const [changed] = await asL("select (register_actor('Fast', writes_per_minute => 10)).*");
    expect([changed.reads_per_minute, changed.writes_per_minute]).toStrictEqual([30_000, 10]);
    for (const limit of ['reads_per_minute => 0', 'writes_per_minute => 100000001']) {
      await expectRefusal(asL(`select register_actor('Fast', ${limit})`), 'L9VAL', /_per_minute: from 1 to 100000000$/);
    }
    await expectRefusal(asL("select register_actor('L', writes_per_minute => 100)"), 'L9SCP', /your own actor/);
    const [audited] = await db.asSuperuser(
      `select details -> 'row' as row from audit_log where table_name = 'actors' and operation = 'UPDATE'
       order by audit_id desc limit 1`,
    );
    expect(audited.row).toMatchObject({ caller: 'Fast', writes_per_minute: 10 });
  });

  it('does not let agents administer anything, whatever they claim', async () => {
    for (const query of [
      "select register_actor('X')",
      "select deactivate_actor('E')",
      "select create_api_key('k', 'C')",
    ])
      await expectRefusal(db.sql('C', query), '42501', /permission denied/);
    // Claiming to be L does not help: under an agent's role that gives no identity.
    await expectRefusal(asL("select register_actor('X')", [], { role: 'l9_agent' }), '42501', /permission denied/);
  });

  it('names a scope that is not registered', async () => {
    await expectRefusal(
      asL("select register_actor('F', readable_scopes => '{developer,nope}')"),
      'L9VAL',
      /scope nope is not registered/,
    );
    await expectRefusal(
      asL("select register_actor('F', readable_scopes => '{global}', writable_scopes => '{developer}')"),
      'L9VAL',
      /^writable_scopes:/,
    );
  });

  it('refuses every write to identity tables that bypasses the functions', async () => {
    for (const query of [
      "update actors set role = 'l9_platform_admin' where caller = 'L'",
      "insert into scopes (tenant_id, scope, is_project_scoped) select tenant_id, 'x', true from tenants",
      'delete from users',
      'select * from identity.api_key_hashes',
      'select identity.seed_tenant(tenant_id) from tenants',
      "select administration.set_actor_active('C', null, false)",
      'select administration.identity_directory()',
    ])
      await expectRefusal(asL(query), '42501', /permission denied/);
  });
});
