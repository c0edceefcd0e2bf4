import { DEFAULT_TENANT } from '../support/sessions.ts';
import { expectRefusal, UNKNOWN, useAdministration } from './support.ts';

describe('tenants', () => {
  const administration = useAdministration();
  const { db, asL, asOperator, callerOf, inAcme } = administration;
  it('gives a new tenant the built-in scopes and its own L and C', async () => {
    const scopes = await asL('select scope, is_project_scoped from scopes order by scope', [], inAcme());
    expect(scopes).toStrictEqual(
      await asL("select scope, is_project_scoped from scopes where scope <> 'x' order by scope"),
    );
    expect(scopes).toHaveLength(3);
    const rows = await asL('select caller, creator, role, readable_scopes from actors order by caller', [], inAcme());
    expect(rows).toStrictEqual([
      { caller: 'C', creator: 'Cursor-IDE', role: 'l9_agent', readable_scopes: ['developer', 'global'] },
      { caller: 'L', creator: 'L-CTO', role: 'l9_admin', readable_scopes: ['*'] },
    ]);
    await db.sql('C', "select save_memory('of acme', scope => 'global')", [], inAcme());
    expect(await db.sql('L', "select 1 from packet_store where content = 'of acme'")).toStrictEqual([]);
  });

  it('lets only operators create and deactivate tenants', async () => {
    await expectRefusal(asL("select create_tenant('mine')"), '42501', /permission denied/);
    await expectRefusal(db.sql('C', "select create_tenant('mine')"), '42501', /permission denied/);
    await expectRefusal(asL('select deactivate_tenant($1)', [administration.acme]), '42501', /permission denied/);
    await expectRefusal(asOperator("select create_tenant('acme')"), 'L9VAL', /already used by another tenant/);
    await expectRefusal(asOperator("select create_tenant('Acme Corp')"), 'L9VAL', /^name:/);
  });

  it('lets L administer its own tenant only, with one error for existing and unknown tenants', async () => {
    for (const tenant of [administration.acme, UNKNOWN]) {
      for (const act of [
        'create_org($2, tenant_id => $1)',
        'create_user($2, tenant_id => $1)',
        'register_scope($2, tenant_id => $1)',
        'register_actor($2, tenant_id => $1)',
        "create_api_key($2, 'C', tenant_id => $1)",
        'deactivate_actor($2, $1)',
      ])
        await expectRefusal(asL(`select ${act}`, [tenant, 'mine']), 'L9SCP', /^tenant_id: not your tenant$/);
    }
    expect(
      (await asOperator("select tenant_id from create_org('by ops', tenant_id => $1)", [administration.acme]))[0]
        .tenant_id,
    ).toBe(administration.acme);
    await expectRefusal(asOperator("select create_org('x', tenant_id => $1)", [UNKNOWN]), 'L9VAL', /no such tenant/);
  });

  it('lets only operators limit the calls of a tenant, and audits it', async () => {
    const [set] = await asOperator('select (set_tenant_limits(writes_per_minute => 50, tenant_id => $1)).*', [
      administration.acme,
    ]);
    expect([set.reads_per_minute, set.writes_per_minute]).toStrictEqual([300_000, 50]);
    await expectRefusal(asL('select set_tenant_limits(1, 1)'), '42501', /permission denied/);
    for (const limits of ['0', 'writes_per_minute => 100000001']) {
      await expectRefusal(asOperator(`select set_tenant_limits(${limits})`), 'L9VAL', /_per_minute: from 1 to/);
    }
    const [audited] = await db.asSuperuser(
      `select tenant_id, details -> 'row' as row from audit_log where table_name = 'tenants' and operation = 'UPDATE'
       order by audit_id desc limit 1`,
    );
    expect(audited.tenant_id).toBe(administration.acme);
    expect(audited.row.writes_per_minute).toBe(50);
  });

  it('lets only operators give a tenant its route, once, which its new API keys hold', async () => {
    const set = (route: string | null, tenant = administration.acme) =>
      asOperator('select (set_tenant_route($1, $2)).route', [tenant, route]);
    const newKey = async () => {
      const [{ api_key }] = await asL("select api_key from create_api_key('routed', 'C')", [], inAcme());
      return api_key as string;
    };
    expect(await newKey()).toMatch(/^l9_[\w-]{43}$/);
    await expectRefusal(
      asL('select set_tenant_route($1, $2)', [administration.acme, 'x']),
      '42501',
      /permission denied/,
    );
    for (const route of [null, '', 'Acme', 'a_b', 'a.b', '-a', 'a-', 'a\n', 'ä', 'a'.repeat(41)])
      await expectRefusal(set(route), 'L9VAL', /^route: 1 to 40/);
    await expectRefusal(set('acme', UNKNOWN), 'L9VAL', /^tenant_id: no such tenant/);
    expect(await set('acme-2')).toStrictEqual([{ route: 'acme-2' }]);
    expect(await set('acme-2')).toStrictEqual([{ route: 'acme-2' }]);
    await expectRefusal(set('other'), 'L9VAL', /^route: the tenant has another/);
    await expectRefusal(set('acme-2', DEFAULT_TENANT), 'L9VAL', /^route: already used/);
    expect(await newKey()).toMatch(/^l9k_acme-2_[\w-]{43}$/);
    expect(await asL('select route from tenants')).toStrictEqual([{ route: null }]);
    const audited = await db.asSuperuser(
      `select tenant_id, details -> 'row' ->> 'route' as route from audit_log
       where table_name = 'tenants' and operation = 'UPDATE' and details -> 'row' ? 'route'`,
    );
    expect(audited).toStrictEqual([{ tenant_id: administration.acme, route: 'acme-2' }]);
  });

  it('lets an admin with an unlimited token decide whether the texts of searches are kept', async () => {
    const set = (claims = {}) => asL('select audits_query_text from set_query_text_audit(true)', [], inAcme(claims));
    expect(await set()).toStrictEqual([{ audits_query_text: true }]);
    expect(await asL('select audits_query_text from tenants')).toStrictEqual([{ audits_query_text: false }]);
    await expectRefusal(set({ 'jwt.claims.projects': '["l9"]' }), 'L9SCP', /not limited/);
    await expectRefusal(
      asL('select set_query_text_audit(true, $1)', [administration.acme]),
      'L9SCP',
      /not your tenant/,
    );
    await expectRefusal(asL('select set_query_text_audit(null)'), 'L9VAL', /^enabled/);
    await asL('select set_query_text_audit(false)', [], inAcme());
  });

  it('gives no caller of a deactivated tenant an identity until it is reactivated', async () => {
    await asOperator('select deactivate_tenant($1)', [administration.acme]);
    expect(await callerOf('L', inAcme())).toBeNull();
    await expectRefusal(
      db.sql('C', "select save_memory('x', scope => 'global')", [], inAcme()),
      'L9AUT',
      /has no identity/,
    );
    await asOperator('select reactivate_tenant($1)', [administration.acme]);
    expect(await callerOf('L', inAcme())).toBe('L');
    await expectRefusal(
      asOperator('select deactivate_tenant($1)', ['00000000-0000-7000-8000-000000000001']),
      'L9SCP',
      /lock yourself/,
    );
    await expectRefusal(asOperator('select deactivate_tenant($1)', [UNKNOWN]), 'L9OWN', /not found, or not yours/);
  });
});
