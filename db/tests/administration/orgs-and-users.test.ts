import { expectRefusal, UNKNOWN, useAdministration } from './support.ts';

describe('orgs and users', () => {
  const { db, asL, asOperator, callerOf, inAcme } = useAdministration();
  const org = '11111111-1111-4111-8111-1111111111aa';
  const user = '22222222-2222-4222-8222-2222222222bb';
  const as = (o = '', u = '') => ({ 'jwt.claims.org_id': o, 'jwt.claims.user_id': u });

  it('accepts ids that are not registered, because an identity provider may manage them', async () => {
    expect(await callerOf('C', as(org, user))).toBe('C');
  });

  it('gives no identity to a claim of an inactive org or user, or of a user without its org', async () => {
    await asL('select create_org($1, $2)', ['research', org]);
    await asL('select create_user($1, $2, $3)', ['Ada', user, org]);
    expect(await callerOf('C', as(org, user))).toBe('C');
    expect(await callerOf('C', as('', user)), 'its org is missing').toBeNull();
    expect(await callerOf('C', as(UNKNOWN, user)), 'another org').toBeNull();

    await asL('select deactivate_user($1)', [user]);
    expect(await callerOf('C', as(org, user))).toBeNull();
    expect(await callerOf('C', as(org))).toBe('C');
    await asL('select reactivate_user($1)', [user]);
    await asL('select deactivate_org($1)', [org]);
    expect(await callerOf('C', as(org, user))).toBeNull();
    expect(await callerOf('C', as(org))).toBeNull();
    expect(await callerOf('C')).toBe('C');
    await asL('select reactivate_org($1)', [org]);
    expect(await callerOf('C', as(org, user))).toBe('C');
  });

  it('allows the same org id in two tenants without any effect on each other', async () => {
    await asL('select create_org($1, $2)', ['research', org], inAcme());
    await asL('select deactivate_org($1)', [org], inAcme());
    expect(await callerOf('C', as(org))).toBe('C');
    expect(await callerOf('C', inAcme(as(org)))).toBeNull();
    await expectRefusal(asL('select deactivate_user($1)', [user], inAcme()), 'L9OWN', /not found, or not yours/);
    await expectRefusal(asL('select deactivate_user($1)', [UNKNOWN]), 'L9OWN', /not found, or not yours/);
  });

  it('keeps L from locking itself out', async () => {
    await expectRefusal(asL('select deactivate_org($1)', [org], as(org)), 'L9SCP', /lock yourself out/);
    await expectRefusal(asL('select deactivate_user($1)', [user], as(org, user)), 'L9SCP', /lock yourself out/);
  });

  it('lets agents neither change nor see orgs, users and keys', async () => {
    for (const query of [
      "select create_org('x')",
      "select create_user('x')",
      'select * from orgs',
      'select * from users',
      'select * from api_keys',
    ]) {
      await expectRefusal(db.sql('C', query), '42501', /permission denied/);
    }
    expect(await asL('select name from users')).toHaveLength(1);
    expect(await asL('select name from users', [], inAcme())).toHaveLength(0);
    expect(await asOperator('select name from orgs')).toHaveLength(2);
  });
});
