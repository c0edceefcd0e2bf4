// Who may come in is known at the door, and what changes about that is known there at once.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { engine } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';
import { asOwner } from '../support/logins.ts';
import { standIn } from '../support/stand-in.ts';

const query = '{ memories { totalCount } }';
const org = '11111111-1111-4111-8111-1111111111aa';
const user = '22222222-2222-4222-8222-2222222222bb';
const someone = '33333333-3333-4333-8333-3333333333cc';
// Well under the five seconds after which the directory is read again without being told.
const AT_ONCE_MS = 2_500;

describe('the door', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await asOwner(house, "select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    await house.sql('L', "select register_actor('D')");
    await becomes(200, 'D');
  });
  after(() => house.close());

  type Claims = Parameters<House['token']>[0];
  const ask = async (claims: Claims) => {
    const { status, errors } = await house.graphql({ token: await house.token(claims) }, query);
    return { status, message: errors?.[0]?.message ?? '' };
  };
  const becomes = async (status: number, caller: string, claims = {}) => {
    const until = Date.now() + AT_ONCE_MS;
    let answer = await ask({ caller, ...claims });
    while (answer.status !== status && Date.now() < until) {
      await sleep(20);
      answer = await ask({ caller, ...claims });
    }
    assert.equal(answer.status, status, answer.message);
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
    assert.deepEqual(answer, { status: 401, message });
  };

  it('turns a deactivated actor away from its next request on, through GraphQL and MCP', async () => {
    const { errors } = await house.graphql(
      'L',
      'mutation { deactivateActor(input: { caller: "C" }) { actor { isActive } } }',
    );
    assert.equal(errors, undefined);
    // Until the gateway has heard of it, the database says so.
    assert.match(await becomes(401, 'C'), /^caller: not a known caller of this tenant|this session has no identity/);
    const response = await fetch(`${house.gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${house.apiKey('C')}`,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    assert.equal(response.status, 401);
    await house.graphql('L', 'mutation { reactivateActor(input: { caller: "C" }) { actor { isActive } } }');
    await becomes(200, 'C');
  });

  it('hears of raw SQL of the owner too, and of whole tenants', async () => {
    await asOwner(house, "update actors set is_active = false where caller = 'D'");
    await becomes(401, 'D');
    await asOwner(house, "update actors set is_active = true where caller = 'D'");
    await becomes(200, 'D');

    const [{ tenant_id: tenantId }] = await asOwner(house, "select tenant_id from create_tenant('acme')");
    await becomes(200, 'L', { tenantId });
    await asOwner(house, 'select deactivate_tenant($1)', [tenantId]);
    await becomes(401, 'L', { tenantId });
    await becomes(200, 'L');
  });

  it(
    "hears of what a DBA does in psql, whose session is the engine's own",
    { skip: engine === 'server' && 'has sessions of its own' },
    async () => {
      const dba = new pg.Client({ connectionString: house.gateway.database.psqlUrl });
      await dba.connect();
      try {
        await dba.query("begin; set local role l9_admin; select act_as('L'); select deactivate_actor('D'); commit");
        await becomes(401, 'D');
        // And of what is done otherwise after that, though psql's leaving ended what the session listened to.
        await house.sql('L', "select reactivate_actor('D')");
        await becomes(200, 'D');
      } finally {
        await dba.end();
      }
    },
  );

  it('listens again when its connection breaks', { skip: engine === 'embedded' && 'has no connections' }, async () => {
    const listening = `select pid from pg_stat_activity where datname = current_database() and application_name = 'l9-memory listen'`;
    const [before_] = await house.asSuperuser(listening);
    await house.asSuperuser('select pg_terminate_backend($1)', [before_.pid]);
    // What changes meanwhile is not lost either.
    await house.sql('L', "select deactivate_actor('D')");
    await becomes(401, 'D');
    await eventually(async () => {
      const [now] = await house.asSuperuser(listening);
      return now && now.pid !== before_.pid;
    });
    await sleep(200);
    await house.sql('L', "select reactivate_actor('D')");
    await becomes(200, 'D');
  });

  it('names the claim that is no good', async () => {
    const refused = async (claims: object, message: string) =>
      assert.deepEqual(await ask({ caller: 'C', ...claims }), { status: 401, message });
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
    assert.equal((await ask({ caller: 'C', scopes: ['developer', 'l-private'] })).status, 200);
  });

  it('knows of scopes of each tenant by itself', async () => {
    await house.sql('L', "select register_scope('ours')");
    await becomes(200, 'C', { scopes: ['ours'] });
    const [{ tenant_id: tenantId }] = await asOwner(house, "select tenant_id from create_tenant('beta')");
    await becomes(200, 'C', { tenantId });
    assert.equal((await ask({ caller: 'C', tenantId, scopes: ['ours'] })).status, 401);
    await house.sql('L', "select deactivate_scope('ours')");
    assert.equal((await ask({ caller: 'C', scopes: ['ours'] })).status, 200, 'it is registered still');
  });

  it('turns away whoever acts for an org or user that is not active, or not of that org', async () => {
    assert.equal(
      (await ask({ caller: 'C', orgId: org, userId: user })).status,
      200,
      'an identity provider may own them',
    );
    await house.sql('L', 'select create_org($1, $2), create_user($3, $4, $2)', ['research', org, 'Ada', user]);
    await becomes(401, 'C', { userId: user });
    await isTold({ caller: 'C', orgId: someone, userId: user }, 'user_id: not a user of this org');
    assert.equal((await ask({ caller: 'C', orgId: org, userId: user })).status, 200);
    await house.sql('L', 'select deactivate_user($1)', [user]);
    await isTold({ caller: 'C', orgId: org, userId: user.toUpperCase() }, 'user_id: not active');
    await house.sql('L', 'select reactivate_user($1), deactivate_org($2)', [user, org]);
    await isTold({ caller: 'C', orgId: org }, 'org_id: not active');
    assert.equal((await ask({ caller: 'C' })).status, 200);
  });

  it('agrees with the database on who is nobody', async () => {
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
      const [me] = await house.sql('C', 'select i.caller from identity.current_identity() i', [], settings);
      assert.equal(
        (await ask({ caller: 'C', ...claims })).status,
        me.caller === null ? 401 : 200,
        JSON.stringify(claims),
      );
    }
  });
});
