import type { Claims } from '../support/sessions.ts';
import { expectRefusal, operator, useAdministration } from './support.ts';

describe('a limited token', () => {
  const { db, asL } = useAdministration();
  beforeAll(() => asL("select register_actor('E')"));
  const developer = { 'jwt.claims.scopes': '["developer"]' };
  const l9 = { 'jwt.claims.projects': '["l9"]' };

  it('grants no scope that the token does not have', async () => {
    for (const list of ['{developer,l-private}', '{*}', '{developer,global}'])
      await expectRefusal(
        asL("select register_actor('G', readable_scopes => $1, writable_scopes => '{developer}')", [list], developer),
        'L9SCP',
        /^readable_scopes: you can grant only developer$/,
      );
    const [made] = await asL("select (register_actor('G', readable_scopes => '{developer}')).*", [], developer);
    expect([made.readable_scopes, made.writable_scopes]).toStrictEqual([['developer'], ['developer']]);
    await expectRefusal(
      asL("select register_actor('G', readable_scopes => '{*}')", [], {
        'jwt.claims.scopes': '["developer","global","l-private","design"]',
      }),
      'L9SCP',
      /^readable_scopes: you can grant only/,
    );
  });

  it('does not change or deactivate an actor that has more', async () => {
    for (const query of [
      "select register_actor('E', source => 'taken-over')",
      "select deactivate_actor('C')",
      "select register_actor('C', readable_scopes => '{developer}', writable_scopes => '{developer}')",
    ])
      await expectRefusal(asL(query, [], developer), 'L9SCP', /^readable_scopes: you can grant only developer$/);
  });

  it('registers no actor with a token of some projects, because an actor has every project', async () => {
    await expectRefusal(asL("select register_actor('H')", [], l9), 'L9SCP', /^projects: you can grant only l9$/);
    await expectRefusal(asL("select deactivate_actor('E')", [], l9), 'L9SCP', /^projects: you can grant only l9$/);
  });

  it('creates no key that can do more than the token', async () => {
    const key = (args: string, claims: Claims) => asL(`select name from create_api_key('k', ${args})`, [], claims);
    await expectRefusal(key("'C'", developer), 'L9SCP', /^readable_scopes/);
    await expectRefusal(key("'L'", developer), 'L9SCP', /^readable_scopes/);
    await expectRefusal(key("'C', scopes => '{developer,global}'", developer), 'L9SCP', /^readable_scopes/);
    expect(await key("'C', scopes => '{developer}'", developer)).toHaveLength(1);
    expect(await key("'L', scopes => '{developer}'", developer)).toHaveLength(1);
    await expectRefusal(key("'C'", l9), 'L9SCP', /^projects/);
    await expectRefusal(key("'C', projects => '{l9,x}'", l9), 'L9SCP', /^projects/);
    await expectRefusal(key("'C', projects => '{*}'", l9), 'L9SCP', /^projects/);
    expect(await key("'C', projects => '{l9}'", l9)).toHaveLength(1);
    const [wide] = await asL("select key_id from create_api_key('wide', 'C')");
    await expectRefusal(asL('select revoke_api_key($1)', [wide.key_id], developer), 'L9SCP', /^readable_scopes/);
  });

  it('refuses changes of scopes, orgs and users, which affect more than the token allows', async () => {
    for (const query of [
      "select create_org('x')",
      "select create_user('x')",
      "select register_scope('x')",
      "select deactivate_scope('l-private')",
      "select deactivate_scope('developer')",
    ]) {
      for (const claims of [developer, l9]) await expectRefusal(asL(query, [], claims), 'L9SCP', /not limited/);
    }
    await expectRefusal(
      db.sql('ops', "select create_tenant('cut')", [], { ...operator, ...developer }),
      'L9SCP',
      /is limited to some scopes/,
    );
  });
});
