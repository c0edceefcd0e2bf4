// The gateway keeps a copy of the registered callers, and applies changes of them at once.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnEmbedded, itOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

import { standIn } from '../support/stand-in.ts';

const query = '{ memories { totalCount } }';
const org = '11111111-1111-4111-8111-1111111111aa';
const user = '22222222-2222-4222-8222-2222222222bb';
const someone = '33333333-3333-4333-8333-3333333333cc';
const lateOrg = '44444444-4444-4444-8444-4444444444dd';
const lateUser = '55555555-5555-4555-8555-5555555555ee';
// Well under the five seconds after which the directory is read again without being told.
const AT_ONCE_MS = 2_500;

describe('the directory of callers', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await gateway.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    await gateway.sql('L', "select register_actor('D')");
    await becomes(200, 'D');
  });
  afterAll(() => gateway.close());

  type Claims = Parameters<TestGateway['token']>[0];
  const ask = async (claims: Claims) => {
    const { status, errors } = await gateway.graphql({ token: await gateway.token(claims) }, query);
    return { status, message: errors?.[0]?.message ?? '' };
  };
  const becomes = async (status: number, caller: string, claims = {}) => {
    const until = Date.now() + AT_ONCE_MS;
    let answer = await ask({ caller, ...claims });
    while (answer.status !== status && Date.now() < until) {
      await sleep(20);
      answer = await ask({ caller, ...claims });
    }
    expect(answer.status, answer.message).toBe(status);
    return answer.message;
  };

  /** Turned away with these words, once the gateway has heard of it; until then the database does it, with its own. */
  const isTold = async (claims: Claims, message: string) => {
    const until = Date.now() + AT_ONCE_MS;
    let answer = await ask(claims);
    while (answer.message !== message && Date.now() < until) {
      await sleep(20);
      answer = await ask(claims);
    }
    expect(answer).toStrictEqual({ status: 401, message });
  };

  it('refuses a deactivated actor from its next request on, over GraphQL and MCP', async () => {
    const { errors } = await gateway.graphql('L', 'mutation { admin { deactivateActor(caller: "C") { isActive } } }');
    expect(errors).toBeUndefined();
    // Until the gateway has heard of it, the database says so.
    expect(await becomes(401, 'C')).toMatch(/^caller: not a known caller of this tenant|this session has no identity/);
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${gateway.apiKey('C')}`,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    expect(response.status).toBe(401);
    await gateway.graphql('L', 'mutation { admin { reactivateActor(caller: "C") { isActive } } }');
    await becomes(200, 'C');
  });

  it('notices changes by SQL of the owner, and of whole tenants', async () => {
    await gateway.asOwner("update actors set is_active = false where caller = 'D'");
    await becomes(401, 'D');
    await gateway.asOwner("update actors set is_active = true where caller = 'D'");
    await becomes(200, 'D');

    const [{ tenant_id: tenantId }] = await gateway.asOwner("select tenant_id from create_tenant('acme')");
    await becomes(200, 'L', { tenantId });
    await gateway.asOwner('select deactivate_tenant($1)', [tenantId]);
    await becomes(401, 'L', { tenantId });
    await becomes(200, 'L');
  });

  itOnEmbedded('notices changes by a DBA in psql, which shares the session of the engine', async () => {
    const dba = new pg.Client({ connectionString: gateway.instance.database.psqlUrl });
    await dba.connect();
    try {
      await dba.query("begin; set local role l9_admin; select act_as('L'); select deactivate_actor('D'); commit");
      await becomes(401, 'D');
      // It also hears of later changes, although the end of the psql session ended the LISTEN of the shared session.
      await gateway.sql('L', "select reactivate_actor('D')");
      await becomes(200, 'D');
    } finally {
      await dba.end();
    }
  });

  itOnServer('listens again when its connection breaks', async () => {
    const listening = `select pid from pg_stat_activity where datname = current_database() and application_name = 'l9-memory listen'`;
    const [before_] = await gateway.asSuperuser(listening);
    await gateway.asSuperuser('select pg_terminate_backend($1)', [before_.pid]);
    // What changes meanwhile is not lost either.
    await gateway.sql('L', "select deactivate_actor('D')");
    await becomes(401, 'D');
    await eventually(async () => {
      const [now] = await gateway.asSuperuser(listening);
      return now && now.pid !== before_.pid;
    });
    await sleep(200);
    await gateway.sql('L', "select reactivate_actor('D')");
    await becomes(200, 'D');
  });

  describe('while notifications are late', () => {
    // A session of the server listens again 250 ms after its end.
    const loseNotifications = async () => {
      if (serverUrl)
        await gateway.asSuperuser(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'l9-memory listen'",
        );
      else await gateway.instance.database.workerPool.query('unlisten *');
    };
    const mutate = async (caller: string, mutation: string) => {
      await loseNotifications();
      const { data, errors } = await gateway.graphql(caller, `mutation { admin { ${mutation} } }`);
      expect(errors).toBeUndefined();
      return data.admin;
    };
    const isAdmitted = async (claims: Claims) => expect(await ask(claims)).toStrictEqual({ status: 200, message: '' });
    const isTurnedAway = async (claims: Claims) => expect((await ask(claims)).status).toBe(401);
    afterAll(async () => {
      if (!serverUrl)
        for (const channel of ['l9_identity', 'l9_embedding_models'])
          await gateway.instance.database.workerPool.query(`listen ${channel}`);
    });

    it('knows a tenant, scope, actor, org, user and key that a mutation made when it answers', async () => {
      const { createTenant } = await mutate('ops', 'createTenant(name: "gamma") { tenantId }');
      await isAdmitted({ caller: 'L', tenantId: createTenant.tenantId });

      await mutate('L', 'registerScope(scope: "late") { scope }');
      await isAdmitted({ caller: 'C', scopes: ['late'] });
      await mutate('L', 'registerActor(caller: "E") { caller }');
      await isAdmitted({ caller: 'E' });

      const key = await mutate('L', 'createApiKey(caller: "E", name: "late") { apiKey }');
      const listed = await fetch(`${gateway.instance.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${key.createApiKey.apiKey}`,
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
      expect(listed.status).toBe(200);

      await mutate('L', `createOrg(orgId: "${lateOrg}", name: "late") { orgId }`);
      await mutate('L', `createUser(userId: "${lateUser}", name: "Late", orgId: "${lateOrg}") { userId }`);
      await isAdmitted({ caller: 'C', orgId: lateOrg, userId: lateUser });
      await isTurnedAway({ caller: 'C', userId: lateUser });
    });

    it('knows of two changes in one request, and of one whose neighbour failed', async () => {
      await mutate('L', 'a: deactivateActor(caller: "E") { caller } b: deactivateScope(scope: "late") { scope }');
      await isTurnedAway({ caller: 'E' });
      await loseNotifications();
      const { errors } = await gateway.graphql(
        'L',
        'mutation { admin { a: reactivateActor(caller: "E") { caller } b: deactivateScope(scope: "none") { scope } } }',
      );
      expect(errors).toHaveLength(1);
      await isAdmitted({ caller: 'E' });
    });
  });

  it('names the claim that is invalid', async () => {
    const refused = async (claims: object, message: string) =>
      expect(await ask({ caller: 'C', ...claims })).toStrictEqual({ status: 401, message });
    await refused({ caller: 'Stranger' }, 'caller: not a known caller of this tenant');
    await refused({ caller: 'c' }, 'caller: not a known caller of this tenant');
    await refused({ role: 'l9_admin' }, 'role: not the role of this caller');
    await refused({ role: 'postgres' }, 'claim role: not a known role');
    await refused({ scopes: ['developer', 'nope'] }, 'scopes: not all of these scopes are registered');
    await refused({ scopes: ['Developer'] }, 'scopes: not all of these scopes are registered');
    await refused({ tenantId: 'acme' }, 'claim tenant_id: must be a uuid');
    await refused({ orgId: 'x' }, 'claim org_id: must be a uuid');
    await refused({ userId: "x'; --" }, 'claim user_id: must be a uuid');
    // Registered, but not its own: cut off, as if it had not been there.
    expect((await ask({ caller: 'C', scopes: ['developer', 'l-private'] })).status).toBe(200);
  });

  it('keeps the scopes of each tenant apart', async () => {
    await gateway.sql('L', "select register_scope('ours')");
    await becomes(200, 'C', { scopes: ['ours'] });
    const [{ tenant_id: tenantId }] = await gateway.asOwner("select tenant_id from create_tenant('beta')");
    await becomes(200, 'C', { tenantId });
    expect((await ask({ caller: 'C', tenantId, scopes: ['ours'] })).status).toBe(401);
    await gateway.sql('L', "select deactivate_scope('ours')");
    expect((await ask({ caller: 'C', scopes: ['ours'] })).status, 'it is registered still').toBe(200);
  });

  it('refuses callers whose org or user is inactive, or whose user is of another org', async () => {
    expect((await ask({ caller: 'C', orgId: org, userId: user })).status, 'an identity provider may own them').toBe(
      200,
    );
    await gateway.sql('L', 'select create_org($1, $2), create_user($3, $4, $2)', ['research', org, 'Ada', user]);
    await becomes(401, 'C', { userId: user });
    await isTold({ caller: 'C', orgId: someone, userId: user }, 'user_id: not a user of this org');
    expect((await ask({ caller: 'C', orgId: org, userId: user })).status).toBe(200);
    await gateway.sql('L', 'select deactivate_user($1)', [user]);
    await isTold({ caller: 'C', orgId: org, userId: user.toUpperCase() }, 'user_id: not active');
    await gateway.sql('L', 'select reactivate_user($1), deactivate_org($2)', [user, org]);
    await isTold({ caller: 'C', orgId: org }, 'org_id: not active');
    expect((await ask({ caller: 'C' })).status).toBe(200);
  });

  it('agrees with the database on which callers are unknown', async () => {
    for (const [claims, settings] of [
      [{}, {}],
      [{ orgId: org }, { 'jwt.claims.org_id': org }],
      [{ userId: user }, { 'jwt.claims.user_id': user }],
      [
        { orgId: someone, userId: user },
        { 'jwt.claims.org_id': someone, 'jwt.claims.user_id': user },
      ],
      [
        { orgId: someone, userId: someone },
        { 'jwt.claims.org_id': someone, 'jwt.claims.user_id': someone },
      ],
    ] as const) {
      const [me] = await gateway.sql('C', 'select i.caller from identity.current_identity() i', [], settings);
      expect((await ask({ caller: 'C', ...claims })).status, JSON.stringify(claims)).toBe(
        me.caller === null ? 401 : 200,
      );
    }
  });
});
