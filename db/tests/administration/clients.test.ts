// Clients that are known by the name that they give themselves: what such a name gives, and what it never does.
import { expectRefusal, useAdministration } from './support.ts';

describe('clients that are known by their name alone', () => {
  const administration = useAdministration();
  const { db, asL, callerOf } = administration;
  const register = async (name: string, caller = 'C', claims = {}) =>
    (await db.sql(caller, 'select administration.register_client($1) as name', [name], claims))[0].name as
      | string
      | null;
  const actor = async (caller: string) => (await db.asSuperuser('select * from actors where caller = $1', [caller]))[0];
  const allow = (enabled: boolean) => asL('select set_register_unknown_clients($1)', [enabled]);
  const via = (caller: string) => ({ 'jwt.claims.via': caller });

  beforeAll(async () => {
    await asL(
      "select register_actor('Keeper', readable_scopes => '{*}', writable_scopes => '{*}', can_clean_up => true)",
    );
    await asL("select register_actor('claude-code', creator => 'Claude-Code')");
  });

  it('registers nobody unless the tenant allows it', async () => {
    expect(await register('zed')).toBeNull();
    expect(await actor('zed')).toBeUndefined();
    await allow(true);
    expect(await register('zed')).toBe('zed');
    await allow(false);
    // Whom it knows already it still knows.
    expect([await register('zed'), await register('Neovim')]).toStrictEqual(['zed', null]);
    await allow(true);
  });

  it('gives the rights of the caller whose key the client has, and audits that', async () => {
    expect(await register('Visual Studio Code')).toBe('visual-studio-code');
    const [client, c] = [await actor('visual-studio-code'), await actor('C')];
    const ofC = { ...c, caller: client.caller, creator: client.creator, source: client.source, agent: client.agent };
    expect({ ...client, created_at: c.created_at, registered_by: null }).toStrictEqual(ofC);
    expect([client.creator, client.source, client.agent, client.registered_by]).toStrictEqual([
      'visual-studio-code',
      'visual-studio-code',
      'visual-studio-code',
      'C',
    ]);
    const [saved] = await db.sql(
      'visual-studio-code',
      "select (memory).metadata from save_memory('by a client', scope => 'global')",
      [],
      via('C'),
    );
    expect(saved.metadata.creator).toBe('visual-studio-code');
    const [audited] = await db.asSuperuser(
      "select caller, details -> 'row' as row from audit_log where table_name = 'actors' and operation = 'INSERT' order by audit_id desc limit 1",
    );
    expect(audited).toMatchObject({ caller: 'C', row: { caller: 'visual-studio-code', registered_by: 'C' } });
  });

  it.each([
    ...['L', 'l', 'C', 'c', 'L-CTO', 'l9-kernel', 'L9-Kernel', 'l-cto', 'Cursor-IDE', 'cursor', 'Keeper', 'keeper'],
    ...['me', 'person', 'job', 'l9-memory', 'l9_admin', 'System', 'administrator', 'claude-code', 'CLAUDE CODE', 'ops'],
    // Full-width, with characters of no width, and other letters that look like these.
    ...['Ｌ', 'L\u200b', 'l\u00ad-cto', 'С', ' L', 'L\n', '\u202eL'],
    ...['', ' ', '...', '-', 'x\u0001y', 'x\ty', 'x\u007f', 'x'.repeat(101), 'x'.repeat(10_240)],
    ...['../../L', '编辑器', '*'],
  ])('gives no name for %j', async (name) => {
    const before = await db.asSuperuser('select * from actors order by tenant_id, caller');
    expect(await register(name)).toBeNull();
    expect(await db.asSuperuser('select * from actors order by tenant_id, caller')).toStrictEqual(before);
  });

  it('makes a plain name of what else a client calls itself', async () => {
    expect(await register("'; drop table actors; --")).toBe('drop-table-actors');
    expect(await register('../../Editor <b>1.2</b>')).toBe('editor-b-1.2-b');
  });

  it('is for agents alone, and gives a client no clients', async () => {
    await expectRefusal(register('other', 'L', { role: 'l9_admin' }), '42501', /permission denied/);
    await expectRefusal(db.asWorker("select administration.register_client('other')"), '42501', /permission denied/);
    await expectRefusal(register('other', 'nobody'), 'L9AUT', /no identity/);
    expect(await register('other', 'zed', via('C'))).toBeNull();
    // Another caller can't take over the client of C.
    expect(await register('zed', 'claude-code')).toBeNull();
  });

  it('has an identity only for the key that it was registered with', async () => {
    expect(await callerOf('zed', via('C'))).toBe('zed');
    for (const other of ['claude-code', 'Keeper', 'L', 'zed', 'nobody'])
      expect(await callerOf('zed', via(other)), other).toBeNull();
    // The key of C speaks for no actor that an administrator registered.
    for (const other of ['claude-code', 'Keeper', 'L', 'C'])
      expect(await callerOf(other, { role: other === 'L' ? 'l9_admin' : 'l9_agent', ...via('C') }), other).toBeNull();
  });

  it('has the rights of its caller at every time, and none while that is inactive', async () => {
    const scopes = async () =>
      (await db.sql('zed', 'select identity.current_scopes() as scopes', [], via('C')))[0].scopes as string[];
    expect(await scopes()).toStrictEqual(['developer', 'global']);
    await asL(
      "select register_actor('C', readable_scopes => '{global}', writable_scopes => '{global}', max_importance => 0.1)",
    );
    expect(await scopes()).toStrictEqual(['global']);
    expect((await actor('zed')).max_importance).toBeCloseTo(0.1);
    await asL(
      "select register_actor('C', readable_scopes => '{developer,global}', writable_scopes => '{developer,global}', max_importance => 0.5)",
    );
    expect(await scopes()).toStrictEqual(['developer', 'global']);
    await asL("select deactivate_actor('C')");
    expect(await callerOf('zed', via('C'))).toBeNull();
    const cells = await asL("select may_read, may_write, may_change from access_matrix where caller = 'zed'");
    expect(new Set(cells.map((cell) => JSON.stringify(cell)))).toStrictEqual(
      new Set([JSON.stringify({ may_read: false, may_write: false, may_change: 'none' })]),
    );
    await asL("select reactivate_actor('C')");
    expect(await callerOf('zed', via('C'))).toBe('zed');
  });

  it('stays away once an administrator has deactivated it', async () => {
    await asL("select deactivate_actor('zed')");
    expect(await register('zed')).toBe('zed');
    expect(await callerOf('zed', via('C'))).toBeNull();
    await asL("select reactivate_actor('zed')");
  });

  it.each([
    ['rights of its own', "select register_actor('%', readable_scopes => '{*}', can_clean_up => true)"],
    ['a key of its own', "select create_api_key('k', '%')"],
  ])('is no longer known by its name once it has %s', async (what, query) => {
    const name = (await register(`client with ${what}`))!;
    expect(await callerOf(name, via('C'))).toBe(name);
    await asL(query.replace('%', name));
    expect(await register(name)).toBeNull();
    expect([await callerOf(name, via('C')), await callerOf(name)]).toStrictEqual([null, name]);
    const { readable_scopes } = await actor(name);
    await asL("select register_actor('C', max_importance => 0.5)");
    expect((await actor(name)).readable_scopes).toStrictEqual(readable_scopes);
  });

  it('learns nothing of memories that its caller can not read', async () => {
    await db.sql('L', "select save_memory('the vault is in Basel', scope => 'l-private', project_id => 'l9')");
    const seen = await db.sql('zed', "select 1 from packet_store where content ~ 'vault'", [], via('C'));
    expect(seen).toStrictEqual([]);
    for (const scopes of ['l-private', '*', '["l-private"]'])
      expect(
        await db.sql('zed', "select 1 from packet_store where scope = 'l-private'", [], {
          ...via('C'),
          'jwt.claims.scopes': scopes,
        }),
      ).toStrictEqual([]);
  });

  it('has at most a hundred in a tenant', async () => {
    const [{ count }] = await db.asSuperuser('select count(*)::int from actors where registered_by is not null');
    await db.sql(
      'C',
      "select administration.register_client('client number ' || n) from generate_series($1::int, 100) n",
      [count + 1],
    );
    expect(await register('one more')).toBeNull();
    const [after] = await db.asSuperuser('select count(*)::int from actors where registered_by is not null');
    expect(after.count).toBe(100);
  });
});

describe('set_register_unknown_clients()', () => {
  const { db, asL } = useAdministration();

  it('is for admins of every scope, and audited', async () => {
    await expectRefusal(db.sql('C', 'select set_register_unknown_clients(true)'), '42501', /permission denied/);
    await expectRefusal(
      asL('select set_register_unknown_clients(true)', [], { 'jwt.claims.scopes': 'developer' }),
      'L9SCP',
      /not limited/,
    );
    await expectRefusal(asL('select set_register_unknown_clients(null)'), 'L9VAL', /^enabled:/);
    const [{ allowed }] = await asL('select (set_register_unknown_clients(true)).register_unknown_clients as allowed');
    expect(allowed).toBe(true);
    const [audited] = await db.asSuperuser(
      "select caller, details -> 'row' as row from audit_log where table_name = 'tenants' order by audit_id desc limit 1",
    );
    expect(audited).toMatchObject({ caller: 'L', row: { register_unknown_clients: true } });
  });
});
