import { useAdministration } from './support.ts';

describe('the audit log of administration', () => {
  const administration = useAdministration();
  const { db, asL, asOperator } = administration;
  beforeAll(async () => {
    for (const call of ['deactivate_tenant($1)', 'reactivate_tenant($1)'])
      await asOperator(`select ${call}`, [administration.acme]);
    const [user] = await asL("select user_id from create_user('Ada')");
    for (const call of [
      `deactivate_user('${user.user_id}')`,
      `reactivate_user('${user.user_id}')`,
      "create_org('research')",
      "register_scope('design')",
      "register_actor('E', source => 'editor-2')",
      "deactivate_actor('E')",
      "create_api_key('k', 'C')",
    ])
      await asL(`select ${call}`);
  });
  const rows = (table: string) =>
    db.asSuperuser('select operation, caller, row_id, details from audit_log where table_name = $1 order by audit_id', [
      table,
    ]);

  it('holds every change with its caller, and no name of a person', async () => {
    const actors = await rows('actors');
    expect(actors.some(({ caller, details }) => caller === 'db:l9_owner' && details.row.caller === 'ops')).toBe(true);
    const turnedOut = actors.find(({ details }) => details.row.caller === 'E' && details.row.is_active === false);
    expect([turnedOut.operation, turnedOut.caller]).toStrictEqual(['UPDATE', 'L']);
    expect('readable_scopes' in turnedOut.details.row, 'only what changed').toBe(false);
    const tenants = await rows('tenants');
    expect(
      tenants
        .filter(({ details }) => 'is_active' in details.row)
        .map(({ operation, caller, row_id, details }) => [operation, caller, row_id, details.row.is_active]),
    ).toStrictEqual([
      ['INSERT', 'ops', administration.acme, true],
      ['UPDATE', 'ops', administration.acme, false],
      ['UPDATE', 'ops', administration.acme, true],
    ]);
    expect((await rows('users')).length).toBeGreaterThanOrEqual(3);
    expect(JSON.stringify(await rows('users'))).not.toMatch(/Ada/);
    for (const table of ['orgs', 'scopes', 'api_keys']) expect((await rows(table)).length, table).toBeGreaterThan(0);
  });

  it('holds raw SQL of the owner, and nothing for an update that changes nothing', async () => {
    await db.asOwner('update tenants set audits_query_text = true where tenant_id = $1', [administration.acme]);
    const [last] = (await rows('tenants')).slice(-1);
    expect([last.caller, last.details.row]).toStrictEqual([
      'db:l9_owner',
      { tenant_id: administration.acme, audits_query_text: true },
    ]);
    const before_ = (await rows('actors')).length;
    await asL("select register_actor('E', source => 'editor-2')");
    expect(await rows('actors')).toHaveLength(before_);
  });

  it('holds no key and no hash', async () => {
    const [{ api_key }] = await asL("select api_key from create_api_key('secret', 'C')");
    const [{ text, hash }] = await db.asSuperuser(`select (select string_agg(a::text, ' ') from audit_log a) as text,
        (select encode(hash, 'hex') from identity.api_key_hashes order by key_id desc limit 1) as hash`);
    expect(api_key).toMatch(/^l9_[\w-]{43}$/);
    expect(text).not.toContain(api_key);
    expect(text).not.toContain(hash);
  });
});
