// explain_access() evaluates the current policies, so it must agree with what each caller sees.

import { serverUrl } from '../support/engine.ts';
import { errorOf } from '../support/errors.ts';
import { useTestDatabase } from '../support/test-database.ts';

const org = '11111111-1111-4111-8111-111111111111';
const other = '33333333-3333-4333-8333-333333333333';
const user = '22222222-2222-4222-8222-222222222222';

interface Target {
  caller: string;
  role: string;
  org?: string;
  user?: string;
  projects?: string[];
  scopes?: string[];
}

const targets: Target[] = [];
for (const caller of ['C', 'D', 'O-Brien', 'Gone']) {
  for (const [o, u] of [[], [org], [org, user], [other, user]] as [string?, string?][]) {
    for (const projects of [undefined, ['l9'], ['x', 'l9'], [`it's "odd"\\`]])
      targets.push({
        caller,
        role: 'l9_agent',
        ...(o ? { org: o } : {}),
        ...(u ? { user: u } : {}),
        ...(projects ? { projects } : {}),
      });
  }
  targets.push(
    { caller, role: 'l9_agent', scopes: ['global'] },
    { caller, role: 'l9_agent', scopes: ['l-private', 'nope'] },
  );
}
for (const caller of ['L', 'ops']) {
  const role = caller === 'L' ? 'l9_admin' : 'l9_platform_admin';
  targets.push(
    { caller, role },
    { caller, role, scopes: ['developer'], projects: ['x'] },
    { caller, role, org: other },
  );
}

describe('explain_access', () => {
  const db = useTestDatabase();
  let ids: string[];
  const operator = { role: 'l9_platform_admin' };
  const claimsOf = (target: Target) => ({
    role: target.role,
    'jwt.claims.org_id': target.org ?? '',
    'jwt.claims.user_id': target.user ?? '',
    'jwt.claims.projects': target.projects ? JSON.stringify(target.projects) : '',
    'jwt.claims.scopes': target.scopes ? JSON.stringify(target.scopes) : '',
  });
  const explain = (target: Target, ids: string[], admin = 'L', claims = {}) =>
    db.sql(
      admin,
      `select e.packet_id, e.caller, e.role, e.is_visible, e.decided_by, to_jsonb(e.policies) as policies from unnest($2::uuid[]) i (id),
         public.explain_access($1, i.id, org_id => $3, user_id => $4, projects => $5, scopes => $6) e`,
      [target.caller, ids, target.org ?? null, target.user ?? null, target.projects ?? null, target.scopes ?? null],
      claims,
    );

  beforeAll(async () => {
    await db.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    for (const query of [
      "register_scope('design', false)",
      "register_actor('D', readable_scopes => '{design,global}')",
      "register_actor('O-Brien', readable_scopes => '{developer}')",
      "register_actor('Gone')",
      "deactivate_actor('Gone')",
    ])
      await db.sql('L', `select public.${query}`);
    const save = (caller: string, args: string, claims = {}) =>
      db.sql(caller, `select public.save_memory(${args})`, [], claims);
    let n = 0;
    for (const claims of [{}, { 'jwt.claims.org_id': org }, { 'jwt.claims.org_id': org, 'jwt.claims.user_id': user }]) {
      for (const scope of ['developer', 'l-private', 'global', 'design']) {
        for (const project of scope === 'developer' || scope === 'l-private' ? ['l9', 'x'] : [null])
          await save(
            'L',
            `'row ${n++}', scope => '${scope}', project_id => ${project ? `'${project}'` : 'null'}`,
            claims,
          );
      }
    }
    await save('C', "'soon expired', scope => 'global', ttl => clock_timestamp() + interval '20 milliseconds'");
    await new Promise((resolve) => setTimeout(resolve, 40));
    ids = (await db.asSuperuser('select packet_id from packet_store order by packet_id')).map(
      ({ packet_id }) => packet_id,
    );
    expect(ids).toHaveLength(19);
  });

  it('agrees with what each caller sees, for every memory', async () => {
    let visible = 0;
    // WebAssembly is slow, so it checks every seventh agent, which still covers each claim, and all admins.
    const checkedTargets = targets.filter(({ role }, n) => serverUrl || role !== 'l9_agent' || n % 7 === 0);
    for (const target of checkedTargets) {
      const seen = (await db.sql(target.caller, 'select packet_id from public.packet_store', [], claimsOf(target))).map(
        ({ packet_id }) => packet_id,
      );
      const explanations = await explain(target, ids);
      expect(explanations).toHaveLength(ids.length);
      for (const { packet_id, is_visible, decided_by } of explanations) {
        expect(is_visible, `${JSON.stringify(target)} ${packet_id}: ${decided_by}`).toBe(seen.includes(packet_id));
        expect(decided_by, 'something decided').toBeTruthy();
        visible += is_visible ? 1 : 0;
      }
    }
    expect(checkedTargets.length * ids.length, 'the test covers both answers').toBeGreaterThan(250);
    expect(visible, 'the test covers both answers').toBeGreaterThan(50);
  });

  it('names the policy that decides, and the result of each policy', async () => {
    const [row] = await db.asSuperuser(
      "select packet_id from packet_store where scope = 'l-private' and org_id is null limit 1",
    );
    const [refused] = await explain({ caller: 'C', role: 'l9_agent' }, [row.packet_id]);
    expect([refused.is_visible, refused.decided_by, refused.role]).toStrictEqual([false, 'scope_access', 'l9_agent']);
    const verdicts = Object.fromEntries(
      refused.policies.map(({ policy, admits }: { policy: string; admits: boolean }) => [policy, admits]),
    );
    expect(verdicts).toStrictEqual({
      org_isolation: true,
      review_visibility: true,
      scope_access: false,
      tenant_isolation: true,
      user_visibility: true,
    });
    const scopeAccess = refused.policies.find(({ policy }: { policy: string }) => policy === 'scope_access');
    expect(scopeAccess.expression).toMatch(/\{developer,global\}/);
    expect(scopeAccess.description).toMatch(/^Agents read/);

    const [ofOrg] = await db.asSuperuser(
      "select packet_id from packet_store where scope = 'global' and org_id is not null and user_id is null",
    );
    const by = async (target: Target) => (await explain(target, [ofOrg.packet_id]))[0].decided_by;
    expect(await by({ caller: 'C', role: 'l9_agent' })).toBe('org_isolation');
    expect(await by({ caller: 'C', role: 'l9_agent', org })).toBe('scope_access');
    expect(await by({ caller: 'L', role: 'l9_admin' })).toBe('admin_override');
    expect(await by({ caller: 'ops', role: 'l9_platform_admin' })).toBe('platform_override');
    expect(await by({ caller: 'Gone', role: 'l9_agent' })).toBe('identity');
  });

  it('evaluates the current policies after they change', async () => {
    const [row] = await db.asSuperuser(
      "select packet_id from packet_store where scope = 'global' and org_id is null and ttl is null limit 1",
    );
    const target = { caller: 'C', role: 'l9_agent' };
    await db.asSuperuser(
      'create policy new_rule on packet_store as restrictive for select to l9_agent using (project_id is not null)',
    );
    try {
      expect((await explain(target, [row.packet_id]))[0].decided_by).toStrictEqual('new_rule');
      await db.asSuperuser("alter policy new_rule on packet_store using ((select audit.current_tool()) = 'sql')");
      await expect(
        explain(target, [row.packet_id]),
        'an expression that cannot be evaluated raises an error',
      ).rejects.toMatchObject({
        code: '0A000',
      });
    } finally {
      await db.asSuperuser('drop policy new_rule on packet_store');
    }
    await db.asSuperuser('revoke select on packet_store from l9_agent');
    try {
      expect((await explain(target, [row.packet_id]))[0].decided_by).toBe('grant');
    } finally {
      await db.asSuperuser('grant select on packet_store to l9_agent');
    }
  });

  it('explains to admins only, and only memories that they can see themselves', async () => {
    const target = { caller: 'C', role: 'l9_agent' };
    const [hidden] = await db.asSuperuser("select packet_id from packet_store where scope = 'l-private' limit 1");
    const missing = '01900000-0000-7000-8000-000000000000';
    await expect(explain(target, [hidden.packet_id], 'C')).rejects.toMatchObject({ code: '42501' });
    const message = async (id: string, claims: object) => {
      const error = await errorOf(explain(target, [id], 'L', claims));
      expect(error.code).toBe('L9OWN');
      return error.message.replace(id, 'ID');
    };
    const cut = { 'jwt.claims.scopes': 'developer' };
    expect(await message(hidden.packet_id, cut)).toBe(await message(missing, cut));
    const [expired] = await db.asSuperuser('select packet_id from packet_store where ttl < now()');
    expect(await message(expired.packet_id, cut), 'an expired memory is hidden too').toBe(await message(missing, cut));
    expect((await explain(target, [expired.packet_id]))[0].decided_by).toBe('scope_access');
    const [row] = await db.sql('L', 'select to_jsonb(access.get_expired_memory($1)) as row', [expired.packet_id]);
    expect(row.row.packet_id, 'its id remains').toBeTruthy();
    expect(JSON.stringify(row), 'its content is removed').not.toMatch(/soon expired/);

    const [{ tenant_id }] = await db.sql('ops', "select tenant_id from create_tenant('acme')", [], operator);
    const acme = { 'jwt.claims.tenant_id': tenant_id };
    expect(await message(hidden.packet_id, acme)).toBe(await message(missing, {}));
    expect(await message(expired.packet_id, acme)).toBe(await message(missing, {}));
    await expect(
      db.sql('L', 'select public.explain_access($1, $2, tenant_id => $3)', ['C', hidden.packet_id, tenant_id]),
    ).rejects.toMatchObject({ code: 'L9VAL', message: 'caller: no such actor in this tenant' });
    const [across] = await db.sql(
      'ops',
      'select (public.explain_access($1, $2, tenant_id => $3)).*',
      ['C', hidden.packet_id, tenant_id],
      operator,
    );
    expect([across.is_visible, across.decided_by]).toStrictEqual([false, 'tenant_isolation']);
  });
});
