import { claimsOf } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('current_identity', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('C', "select public.save_memory('seen by C', project_id => 'l9')");
    await db.sql('L', "select public.save_memory('not for C', scope => 'l-private', project_id => 'l9')");
    await db.sql('L', "select public.save_memory('for all', scope => 'global')");
    await db.sql('L', "select public.save_memory('of another project', project_id => 'future-x')");
  });

  const contents = async (caller: string, claims: Record<string, string> = {}) =>
    (await db.sql(caller, 'select content from public.packet_store order by content', [], claims)).map(
      (row) => row.content,
    );
  const cannotWrite = (claims: Record<string, string>) =>
    expect(
      db.sql('C', "select public.save_memory('nobody wrote this', project_id => 'l9')", [], claims),
    ).rejects.toMatchObject({ code: 'L9AUT' });

  it('shows a caller the memories in the scopes of its actor', async () => {
    expect(await contents('C')).toStrictEqual(['for all', 'of another project', 'seen by C']);
    expect(await contents('L')).toStrictEqual(['for all', 'not for C', 'of another project', 'seen by C']);
  });

  it('limits a caller to the claimed scopes, given as JSON or separated by commas', async () => {
    expect(await contents('L', { 'jwt.claims.scopes': '["global"]' })).toStrictEqual(['for all']);
    expect(await contents('L', { 'jwt.claims.scopes': 'global,l-private' })).toStrictEqual(['for all', 'not for C']);
  });

  it('never grants a claimed scope that the actor does not have', async () => {
    const claims = { 'jwt.claims.scopes': '["developer", "l-private", "global", "*"]' };
    expect(await contents('C', claims)).toStrictEqual(['for all', 'of another project', 'seen by C']);
    await expect(
      db.sql('C', "select public.save_memory('x', scope => 'l-private', project_id => 'l9')", [], claims),
    ).rejects.toMatchObject({ code: 'L9SCP' });
  });

  it('limits a caller to the claimed projects, by exact name, and to rows without a project', async () => {
    expect(await contents('C', { 'jwt.claims.projects': '["l9"]' })).toStrictEqual(['for all', 'seen by C']);
    expect(await contents('C', { 'jwt.claims.projects': '["l"]' })).toStrictEqual(['for all']);
    expect(await contents('C', { 'jwt.claims.projects': '["l9-more"]' })).toStrictEqual(['for all']);
    await expect(
      db.sql('C', "select public.save_memory('x', project_id => 'future-x')", [], {
        'jwt.claims.projects': '["l9"]',
      }),
    ).rejects.toMatchObject({ code: 'L9SCP', column: 'project_id' });
  });

  it('gives no identity for missing, unknown or malformed claims: no rows, no writes', async () => {
    const broken: Record<string, string>[] = [
      { 'jwt.claims.caller': '' },
      { 'jwt.claims.caller': 'Nobody' },
      { 'jwt.claims.caller': 'c' },
      { 'jwt.claims.tenant_id': '' },
      { 'jwt.claims.tenant_id': 'not-a-uuid' },
      { 'jwt.claims.tenant_id': '00000000-0000-7000-8000-000000000002' },
      { 'jwt.claims.org_id': 'not-a-uuid' },
      { 'jwt.claims.user_id': "x' or '1'='1" },
    ];
    for (const claims of broken) {
      expect(await contents('C', claims), JSON.stringify(claims)).toStrictEqual([]);
      await cannotWrite(claims);
    }
    expect(
      await contents('C', { 'jwt.claims.scopes': '["developer"' }),
      'a malformed list grants nothing',
    ).toStrictEqual([]);
    expect(await contents('C', { 'jwt.claims.scopes': '[]' })).toStrictEqual([]);
  });

  it('gives no identity to a session as l9_agent that claims to be L', async () => {
    const claims = { role: 'l9_agent', 'jwt.claims.scopes': '["l-private"]' };
    expect(await contents('L', claims)).toStrictEqual([]);
    await expect(db.sql('L', "select public.save_memory('x', scope => 'global')", [], claims)).rejects.toMatchObject({
      code: 'L9AUT',
    });
  });

  it('forgets the claims when their transaction ends', async () => {
    await contents('L');
    const { rows } = await db.pool.query(
      "select current_user, nullif(current_setting('jwt.claims.caller', true), '') as caller",
    );
    expect(rows).toStrictEqual([{ current_user: 'l9_gateway', caller: null }]);
  });

  it('shows an agent only its own scopes and actor', async () => {
    const scopes = (caller: string) => db.sql(caller, 'select scope from public.scopes order by scope');
    expect((await scopes('C')).map((row) => row.scope)).toStrictEqual(['developer', 'global']);
    expect((await scopes('L')).map((row) => row.scope)).toStrictEqual(['developer', 'global', 'l-private']);
    const actors = (caller: string) => db.sql(caller, 'select caller from public.actors order by caller');
    expect((await actors('C')).map((row) => row.caller)).toStrictEqual(['C']);
    expect((await actors('L')).map((row) => row.caller)).toStrictEqual(['C', 'L', 'me']);
  });

  it('shows rows of an org or user only to callers that act for it', async () => {
    const org = '11111111-1111-4111-8111-111111111111';
    const user = '22222222-2222-4222-8222-222222222222';
    const as = (o: string, u = '') => ({ 'jwt.claims.org_id': o, 'jwt.claims.user_id': u });
    await db.sql('C', "select public.save_memory('of the org', scope => 'global')", [], as(org));
    await db.sql('C', "select public.save_memory('of the user', scope => 'global')", [], as(org, user));
    const mine = (list: string[]) => list.filter((content) => content.startsWith('of the '));
    expect(mine(await contents('C'))).toStrictEqual([]);
    expect(mine(await contents('C', as(org)))).toStrictEqual(['of the org']);
    expect(mine(await contents('C', as(org, user)))).toStrictEqual(['of the org', 'of the user']);
    expect(mine(await contents('C', as(user, org)))).toStrictEqual([]);
    expect(mine(await contents('L')), 'an admin sees its whole tenant').toStrictEqual(['of the org', 'of the user']);
  });

  it('leaves the permissions of the role unchanged, whatever the claims say', async () => {
    await db.asCaller('C', async (client) => {
      await expect(client.query('select public.register_embedding_model($1, 3)', ['mine'])).rejects.toMatchObject({
        code: '42501',
      });
    });
    expect(claimsOf('C').role).toBe('l9_agent');
  });
});
