// Tenants, orgs, users, scopes and actors change by functions, within what the administrator has itself.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';

import { standIn } from '../../../gateway/tests/support/stand-in.ts';

const anywhere = '01900000-0000-7000-8000-00000000abcd';

describe('administration', () => {
  let gateway: TestGateway;
  let acme: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await gateway.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    acme = (await gateway.sql('ops', "select tenant_id from create_tenant('acme')", [], operator))[0].tenant_id;
  });
  afterAll(() => gateway.close());

  const operator = { role: 'l9_platform_admin' };
  const inAcme = (more = {}) => ({ 'jwt.claims.tenant_id': acme, ...more });
  const L = (query: string, values: unknown[] = [], claims = {}) => gateway.sql('L', query, values, claims);
  const ops = (query: string, values: unknown[] = []) => gateway.sql('ops', query, values, operator);
  const refused = async (asked: Promise<unknown>, code: string, message: RegExp) => {
    await expect(asked).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  };
  const identity = async (caller: string, claims = {}) =>
    (await gateway.sql(caller, 'select i.caller from identity.current_identity() i', [], claims))[0].caller;

  describe('of tenants', () => {
    it('gives a new one the built-in scopes, and its own L and C', async () => {
      const scopes = await L('select scope, is_project_scoped from scopes order by scope', [], inAcme());
      expect(scopes).toStrictEqual(
        await L("select scope, is_project_scoped from scopes where scope <> 'x' order by scope"),
      );
      expect(scopes).toHaveLength(3);
      const rows = await L('select caller, creator, role, readable_scopes from actors order by caller', [], inAcme());
      expect(rows).toStrictEqual([
        { caller: 'C', creator: 'Cursor-IDE', role: 'l9_agent', readable_scopes: ['developer', 'global'] },
        { caller: 'L', creator: 'L-CTO', role: 'l9_admin', readable_scopes: ['*'] },
      ]);
      await gateway.sql('C', "select save_memory('of acme', scope => 'global')", [], inAcme());
      expect(await gateway.sql('L', "select 1 from packet_store where content = 'of acme'")).toStrictEqual([]);
    });

    it('is for operators alone', async () => {
      await refused(L("select create_tenant('mine')"), '42501', /permission denied/);
      await refused(gateway.sql('C', "select create_tenant('mine')"), '42501', /permission denied/);
      await refused(L('select deactivate_tenant($1)', [acme]), '42501', /permission denied/);
      await refused(ops("select create_tenant('acme')"), 'L9VAL', /already used by another tenant/);
      await refused(ops("select create_tenant('Acme Corp')"), 'L9VAL', /^name:/);
    });

    it('lets L administer its own and no other, existing or not, by one text', async () => {
      for (const tenant of [acme, anywhere]) {
        for (const act of [
          'create_org($2, tenant_id => $1)',
          'create_user($2, tenant_id => $1)',
          'register_scope($2, tenant_id => $1)',
          'register_actor($2, tenant_id => $1)',
          "create_api_key($2, 'C', tenant_id => $1)",
          'deactivate_actor($2, $1)',
        ])
          await refused(L(`select ${act}`, [tenant, 'mine']), 'L9SCP', /^tenant_id: not your tenant$/);
      }
      expect((await ops("select tenant_id from create_org('by ops', tenant_id => $1)", [acme]))[0].tenant_id).toBe(
        acme,
      );
      await refused(ops("select create_org('x', tenant_id => $1)", [anywhere]), 'L9VAL', /no such tenant/);
    });

    it('lets its admins, with a whole token, say whether the words of searches are kept', async () => {
      const set = (claims = {}) => L('select audits_query_text from set_query_text_audit(true)', [], inAcme(claims));
      expect(await set()).toStrictEqual([{ audits_query_text: true }]);
      expect(await L('select audits_query_text from tenants')).toStrictEqual([{ audits_query_text: false }]);
      await refused(set({ 'jwt.claims.projects': '["l9"]' }), 'L9SCP', /not limited/);
      await refused(L('select set_query_text_audit(true, $1)', [acme]), 'L9SCP', /not your tenant/);
      await refused(L('select set_query_text_audit(null)'), 'L9VAL', /^enabled/);
      await L('select set_query_text_audit(false)', [], inAcme());
    });

    it('turns everyone of a deactivated one out, until it is active again', async () => {
      await ops('select deactivate_tenant($1)', [acme]);
      expect(await identity('L', inAcme())).toBeNull();
      await refused(
        gateway.sql('C', "select save_memory('x', scope => 'global')", [], inAcme()),
        'L9AUT',
        /has no identity/,
      );
      await ops('select reactivate_tenant($1)', [acme]);
      expect(await identity('L', inAcme())).toBe('L');
      await refused(
        ops('select deactivate_tenant($1)', ['00000000-0000-7000-8000-000000000001']),
        'L9SCP',
        /lock yourself/,
      );
      await refused(ops('select deactivate_tenant($1)', [anywhere]), 'L9OWN', /not found, or not yours/);
    });
  });

  describe('of orgs and users', () => {
    const org = '11111111-1111-4111-8111-1111111111aa';
    const user = '22222222-2222-4222-8222-2222222222bb';
    const as = (o = '', u = '') => ({ 'jwt.claims.org_id': o, 'jwt.claims.user_id': u });

    it('leaves ids that are not registered to the identity provider', async () => {
      expect(await identity('C', as(org, user))).toBe('C');
    });

    it('turns out whoever names one that is not active, or a user without its org', async () => {
      await L('select create_org($1, $2)', ['research', org]);
      await L('select create_user($1, $2, $3)', ['Ada', user, org]);
      expect(await identity('C', as(org, user))).toBe('C');
      expect(await identity('C', as('', user)), 'its org is missing').toBeNull();
      expect(await identity('C', as(anywhere, user)), 'another org').toBeNull();

      await L('select deactivate_user($1)', [user]);
      expect(await identity('C', as(org, user))).toBeNull();
      expect(await identity('C', as(org))).toBe('C');
      await L('select reactivate_user($1)', [user]);
      await L('select deactivate_org($1)', [org]);
      expect(await identity('C', as(org, user))).toBeNull();
      expect(await identity('C', as(org))).toBeNull();
      expect(await identity('C')).toBe('C');
      await L('select reactivate_org($1)', [org]);
      expect(await identity('C', as(org, user))).toBe('C');
    });

    it('never reaches into another tenant: the same id can be registered in both', async () => {
      await L('select create_org($1, $2)', ['research', org], inAcme());
      await L('select deactivate_org($1)', [org], inAcme());
      expect(await identity('C', as(org))).toBe('C');
      expect(await identity('C', inAcme(as(org)))).toBeNull();
      await refused(L('select deactivate_user($1)', [user], inAcme()), 'L9OWN', /not found, or not yours/);
      await refused(L('select deactivate_user($1)', [anywhere]), 'L9OWN', /not found, or not yours/);
    });

    it('keeps L from locking itself out', async () => {
      await refused(L('select deactivate_org($1)', [org], as(org)), 'L9SCP', /lock yourself out/);
      await refused(L('select deactivate_user($1)', [user], as(org, user)), 'L9SCP', /lock yourself out/);
    });

    it('is no business of agents: they neither change nor see them', async () => {
      for (const query of [
        "select create_org('x')",
        "select create_user('x')",
        'select * from orgs',
        'select * from users',
        'select * from api_keys',
      ]) {
        await refused(gateway.sql('C', query), '42501', /permission denied/);
      }
      expect(await L('select name from users')).toHaveLength(1);
      expect(await L('select name from users', [], inAcme())).toHaveLength(0);
      expect((await ops('select name from orgs')).length).toBeGreaterThanOrEqual(3);
    });
  });

  describe('of scopes', () => {
    it('adds one that only those read who may read every scope, until an actor is given it', async () => {
      await L("select register_scope('design', true, 'Drawings.')");
      await L("select save_memory('a drawing', scope => 'design', project_id => 'l9')");
      const seen = async (caller: string) =>
        (await gateway.sql(caller, "select 1 from packet_store where content = 'a drawing'")).length;
      expect([await seen('L'), await seen('C')]).toStrictEqual([1, 0]);
      await L("select register_actor('D', readable_scopes => '{design,global}')");
      expect(await seen('D')).toBe(1);
      expect(await gateway.sql('C', "select scope from scopes where scope = 'design'")).toStrictEqual([]);
      await L("select register_actor('D', readable_scopes => '{global}', writable_scopes => '{global}')");
      expect(await seen('D')).toBe(0);
    });

    it('lets nobody read one that is not active, and its memories come back with it', async () => {
      await L("select deactivate_scope('design')");
      expect(await L("select 1 from packet_store where content = 'a drawing'")).toStrictEqual([]);
      await refused(
        L("select save_memory('another', scope => 'design', project_id => 'l9')"),
        'L9SCP',
        /you may write developer, global, l-private/,
      );
      expect(await L("select is_active from scopes where scope = 'design'")).toStrictEqual([{ is_active: false }]);
      await L("select reactivate_scope('design')");
      expect(await L("select 1 from packet_store where content = 'a drawing'")).toHaveLength(1);
    });

    it('never turns a scope with projects into one without', async () => {
      await refused(L("select register_scope('design', false)"), 'L9VAL', /^is_project_scoped: scope design/);
      const [scope] = await L("select (register_scope('design', true, 'Plans.')).*");
      expect(scope.description).toBe('Plans.');
      await refused(L("select register_scope('De Sign')"), 'L9VAL', /^scope:/);
      await refused(gateway.sql('C', "select register_scope('mine')"), '42501', /permission denied/);
    });
  });

  describe('of actors', () => {
    it('registers one that can work at once, and changes what is given of it', async () => {
      const [made] = await L("select (register_actor('E', creator => 'Editor', source => 'editor')).*");
      expect([made.creator, made.source, made.agent, made.role, made.readable_scopes, made.can_clean_up]).toStrictEqual(
        ['Editor', 'editor', 'e', 'l9_agent', ['developer', 'global'], false],
      );
      const [saved] = await gateway.sql('E', "select (memory).metadata from save_memory('by E', scope => 'global')");
      expect(saved.metadata.creator).toBe('Editor');
      const [changed] = await L("select (register_actor('E', source => 'editor-2')).*");
      expect([changed.creator, changed.source, changed.readable_scopes]).toStrictEqual([
        'Editor',
        'editor-2',
        ['developer', 'global'],
      ]);
    });

    it('never gives a creator away, for agents own what carries theirs', async () => {
      await refused(L("select register_actor('E', creator => 'Other')"), 'L9IMM', /^creator: cannot change/);
      await refused(
        L("select register_actor('F', creator => 'Editor')"),
        'L9VAL',
        /already used by another actor of this tenant/,
      );
      await refused(L("select register_actor('F', creator => ' Editor')"), 'L9VAL', /^creator:/);
      await refused(L("select register_actor('F', creator => E'Edi\\ntor')"), 'L9VAL', /^creator:/);
    });

    it('turns one out: its next statement has no identity', async () => {
      expect(await identity('E')).toBe('E');
      await L("select deactivate_actor('E')");
      expect(await identity('E')).toBeNull();
      await refused(gateway.sql('E', "select save_memory('x', scope => 'global')"), 'L9AUT', /has no identity/);
      expect(await gateway.sql('E', 'select 1 from packet_store')).toStrictEqual([]);
      await L("select reactivate_actor('E')");
      expect(await identity('E')).toBe('E');
    });

    it('never makes an operator of anyone, or touches one, at the word of an admin', async () => {
      for (const query of [
        "select register_actor('F', role => 'l9_platform_admin')",
        "select register_actor('E', role => 'l9_platform_admin')",
        "select register_actor('ops', role => 'l9_agent')",
        "select deactivate_actor('ops')",
      ]) {
        await refused(L(query), 'L9SCP', /^role: only operators/);
      }
      await refused(L("select create_api_key('k', 'ops')"), 'L9SCP', /^role: only operators/);
      await refused(L("select register_actor('F', role => 'l9_worker')"), 'L9VAL', /^role:/);
      await refused(L("select register_actor('F', role => 'l9_owner')"), 'L9VAL', /^role:/);
      await refused(L("select bind_login('E', 'postgres')"), '42501', /permission denied/);
    });

    it('keeps L from locking itself out, or changing itself', async () => {
      await refused(L("select deactivate_actor('L')"), 'L9SCP', /lock yourself out/);
      await refused(L("select register_actor('L', role => 'l9_agent')"), 'L9SCP', /another administrator/);
      await refused(ops("select deactivate_actor('ops')"), 'L9SCP', /lock yourself out/);
      // Another tenant's actor of the same name is somebody else.
      await ops("select deactivate_actor('L', $1)", [acme]);
      expect([await identity('L', inAcme()), await identity('L')]).toStrictEqual([null, 'L']);
      await ops("select reactivate_actor('L', $1)", [acme]);
    });

    it('is no business of agents', async () => {
      for (const query of [
        "select register_actor('X')",
        "select deactivate_actor('E')",
        "select create_api_key('k', 'C')",
      ])
        await refused(gateway.sql('C', query), '42501', /permission denied/);
      // Not with the claims of L either: they are nobody's under an agent's role.
      await refused(L("select register_actor('X')", [], { role: 'l9_agent' }), '42501', /permission denied/);
    });

    it('names scopes that are not registered', async () => {
      await refused(
        L("select register_actor('F', readable_scopes => '{developer,nope}')"),
        'L9VAL',
        /scope nope is not registered/,
      );
      await refused(
        L("select register_actor('F', readable_scopes => '{global}', writable_scopes => '{developer}')"),
        'L9VAL',
        /^writable_scopes:/,
      );
    });

    it('leaves no way around the functions', async () => {
      for (const query of [
        "update actors set role = 'l9_platform_admin' where caller = 'L'",
        "insert into scopes (tenant_id, scope, is_project_scoped) select tenant_id, 'x', true from tenants",
        'delete from users',
        'select * from identity.api_key_hashes',
        'select identity.seed_tenant(tenant_id) from tenants',
        "select administration.set_actor_active('C', null, false)",
        'select administration.identity_directory()',
      ])
        await refused(L(query), '42501', /permission denied/);
    });
  });

  describe('with a token that is cut down', () => {
    const developer = { 'jwt.claims.scopes': '["developer"]' };
    const l9 = { 'jwt.claims.projects': '["l9"]' };

    it('gives no scope that the token has not', async () => {
      for (const list of ['{developer,l-private}', '{*}', '{developer,global}'])
        await refused(
          L("select register_actor('G', readable_scopes => $1, writable_scopes => '{developer}')", [list], developer),
          'L9SCP',
          /^readable_scopes: you can grant only developer$/,
        );
      const [made] = await L("select (register_actor('G', readable_scopes => '{developer}')).*", [], developer);
      expect([made.readable_scopes, made.writable_scopes]).toStrictEqual([['developer'], ['developer']]);
      await refused(
        L("select register_actor('G', readable_scopes => '{*}')", [], {
          'jwt.claims.scopes': '["developer","global","l-private","design"]',
        }),
        'L9SCP',
        /^readable_scopes: you can grant only/,
      );
    });

    it('changes or turns out nobody who has more', async () => {
      for (const query of [
        "select register_actor('E', source => 'taken-over')",
        "select deactivate_actor('C')",
        "select register_actor('C', readable_scopes => '{developer}', writable_scopes => '{developer}')",
      ])
        await refused(L(query, [], developer), 'L9SCP', /^readable_scopes: you can grant only developer$/);
    });

    it('registers no actor where it has only some projects, for an actor has every one', async () => {
      await refused(L("select register_actor('H')", [], l9), 'L9SCP', /^projects: you can grant only l9$/);
      await refused(L("select deactivate_actor('E')", [], l9), 'L9SCP', /^projects: you can grant only l9$/);
    });

    it('makes no key that does more', async () => {
      const key = (args: string, claims: object) => L(`select name from create_api_key('k', ${args})`, [], claims);
      await refused(key("'C'", developer), 'L9SCP', /^readable_scopes/);
      await refused(key("'L'", developer), 'L9SCP', /^readable_scopes/);
      await refused(key("'C', scopes => '{developer,global}'", developer), 'L9SCP', /^readable_scopes/);
      expect(await key("'C', scopes => '{developer}'", developer)).toHaveLength(1);
      expect(await key("'L', scopes => '{developer}'", developer)).toHaveLength(1);
      await refused(key("'C'", l9), 'L9SCP', /^projects/);
      await refused(key("'C', projects => '{l9,x}'", l9), 'L9SCP', /^projects/);
      await refused(key("'C', projects => '{*}'", l9), 'L9SCP', /^projects/);
      expect(await key("'C', projects => '{l9}'", l9)).toHaveLength(1);
      const [wide] = await L("select key_id from create_api_key('wide', 'C')");
      await refused(L('select revoke_api_key($1)', [wide.key_id], developer), 'L9SCP', /^readable_scopes/);
    });

    it('changes nothing that is felt beyond it: scopes, orgs, users', async () => {
      for (const query of [
        "select create_org('x')",
        "select create_user('x')",
        "select register_scope('x')",
        "select deactivate_scope('l-private')",
        "select deactivate_scope('developer')",
      ]) {
        for (const claims of [developer, l9]) await refused(L(query, [], claims), 'L9SCP', /not limited/);
      }
      await refused(
        gateway.sql('ops', "select create_tenant('cut')", [], { ...operator, ...developer }),
        'L9SCP',
        /is limited to some scopes/,
      );
    });
  });

  describe('on the record', () => {
    const rows = (table: string) =>
      gateway.asSuperuser(
        'select operation, caller, row_id, details from audit_log where table_name = $1 order by audit_id',
        [table],
      );

    it('is every change, with who made it, and no name of a person', async () => {
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
        ['INSERT', 'ops', acme, true],
        ['UPDATE', 'ops', acme, false],
        ['UPDATE', 'ops', acme, true],
      ]);
      expect((await rows('users')).length).toBeGreaterThanOrEqual(3);
      expect(JSON.stringify(await rows('users'))).not.toMatch(/Ada/);
      for (const table of ['orgs', 'scopes', 'api_keys']) expect((await rows(table)).length, table).toBeGreaterThan(0);
    });

    it('is raw SQL of the owner too, and what changes nothing is not', async () => {
      await gateway.asOwner('update tenants set audits_query_text = true where tenant_id = $1', [acme]);
      const [last] = (await rows('tenants')).slice(-1);
      expect([last.caller, last.details.row]).toStrictEqual([
        'db:l9_owner',
        { tenant_id: acme, audits_query_text: true },
      ]);
      const before_ = (await rows('actors')).length;
      await L("select register_actor('E', source => 'editor-2')");
      expect(await rows('actors')).toHaveLength(before_);
    });

    it('holds no key and no hash', async () => {
      const [{ api_key }] = await L("select api_key from create_api_key('secret', 'C')");
      const [{ text, hash }] =
        await gateway.asSuperuser(`select (select string_agg(a::text, ' ') from audit_log a) as text,
          (select encode(hash, 'hex') from identity.api_key_hashes order by key_id desc limit 1) as hash`);
      expect(api_key).toMatch(/^l9_[\w-]{43}$/);
      expect(text).not.toContain(api_key);
      expect(text).not.toContain(hash);
    });
  });

  it('is open to l9_owner in psql, who needs no identity, for any tenant', async () => {
    const [made] = await gateway.asOwner(
      "select (register_actor('ops-2', role => 'l9_platform_admin', tenant_id => $1)).*",
      [acme],
    );
    expect([made.tenant_id, made.role]).toStrictEqual([acme, 'l9_platform_admin']);
    const [{ tenant_id }] = await gateway.asOwner("select tenant_id from create_tenant('by-owner')");
    expect(await gateway.asOwner('select 1 from actors where tenant_id = $1', [tenant_id])).toHaveLength(2);
    // But a superuser who has taken an agent's role has its rights, and no more.
    await refused(
      (async () => {
        await gateway.asSuperuser("begin; set local role l9_agent; select create_tenant('no')");
      })(),
      '42501',
      /permission denied/,
    );
  });
});
