// Claims are settings, and anyone with a database session can set them: they are believed in the gateway's only.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { DEFAULT_TENANT } from '../../../gateway/src/auth/identity.ts';
import { serverUrl } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asLogin, asOwner } from '../../../gateway/tests/support/logins.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

// Roles belong to the whole server, where test files run side by side.
const suffix = `${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
const bot = `l9t_bot_${suffix}`;
const unbound = `l9t_unbound_${suffix}`;
const both = `l9t_both_${suffix}`;
const dba = `l9t_dba_${suffix}`;
const logins = [bot, unbound, both, dba];

describe('a database login', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await house.asSuperuser(`create role ${bot} login password 'for-tests-only' in role l9_agent;
       create role ${unbound} login in role l9_agent, l9_admin;
       create role ${both} login in role l9_agent, l9_admin;
       create role ${dba} login in role l9_gateway;`);
    await asOwner(house, "select register_actor('Bot', creator => 'Cursor-Bot')");
    await asOwner(house, 'select bind_login($1, $2)', ['Bot', bot]);
    await house.sql('L', "select save_memory('not for bots', scope => 'l-private', project_id => 'l9')");
    await house.sql('L', "select save_memory('for all', scope => 'global')");
    await house.sql('C', "select save_memory('of project l9', project_id => 'l9')");
    await house.sql('C', "select save_memory('of project x', project_id => 'x')");
  });
  after(async () => {
    for (const login of logins) await house.asSuperuser(`drop role if exists ${login}`);
    await house.close();
  });

  const claims = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `set_config('jwt.claims.${name}', ${pg.escapeLiteral(value)}, true)`)
      .join(', ');
  /** Who a session is, and what it sees, under these claims and this role. */
  const look = (login: string, given: Record<string, string> = {}, role: string | null = null) =>
    asLogin(house, login, async (session) => {
      await session.query('begin');
      if (role) await session.query(`set local role ${role}`);
      if (Object.keys(given).length > 0) await session.query(`select ${claims(given)}`);
      const { rows: me } = await session.query('select i.caller from identity.current_identity() i');
      const { rows } = await session.query('select content from public.packet_store order by content');
      await session.query('rollback');
      return { caller: me[0].caller, sees: rows.map(({ content }) => content) };
    });
  const everything = ['for all', 'of project l9', 'of project x'];
  const nobody = { caller: null, sees: [] };
  const asTheBot = { caller: 'Bot', sees: everything };
  const forged = (caller: string) => ({ tenant_id: DEFAULT_TENANT, caller });

  it('that is bound to an actor is that actor, without any claim', async () => {
    assert.deepEqual(await look(bot), asTheBot);
    assert.deepEqual(await look(bot, {}, 'l9_agent'), asTheBot);
    assert.deepEqual(await look(bot, forged('Bot')), asTheBot, 'claims that agree do no harm');
  });

  it('is nobody with claims that say otherwise', async () => {
    for (const given of [
      forged('C'),
      forged('L'),
      { caller: 'C' },
      { tenant_id: '00000000-0000-7000-8000-000000000002' },
      { tenant_id: 'nonsense' },
      { org_id: '11111111-1111-4111-8111-111111111111' },
      { user_id: '22222222-2222-4222-8222-222222222222' },
      { key_id: '22222222-2222-4222-8222-222222222222' },
    ])
      assert.deepEqual(await look(bot, given), nobody, JSON.stringify(given));
    await asLogin(house, bot, async (session) => {
      await session.query('begin');
      await session.query(`select ${claims(forged('C'))}`);
      await assert.rejects(session.query("select public.save_memory('forged', scope => 'global')"), { code: 'L9AUT' });
    });
  });

  it('can take scopes and projects away from itself, and add none', async () => {
    assert.deepEqual((await look(bot, { scopes: 'global' })).sees, ['for all']);
    assert.deepEqual((await look(bot, { projects: '["x"]' })).sees, ['for all', 'of project x']);
    assert.deepEqual((await look(bot, { scopes: '["*", "l-private"]', projects: '*' })).sees, everything);
    assert.deepEqual((await look(bot, { scopes: '["l-private"]' })).sees, []);
  });

  it('writes as the actor it is bound to', async () => {
    const metadata = await asLogin(house, bot, async (session) => {
      const { rows } = await session.query(
        `insert into public.packet_store (envelope, scope, metadata) values ('{"content": "written in psql"}', 'global', '{"creator": "L-CTO"}')
         returning metadata`,
      );
      return rows[0].metadata;
    });
    assert.equal(metadata.creator, 'Cursor-Bot');
    await house.sql('L', "delete from packet_store where content = 'written in psql'");
  });

  it('that is bound to no actor is nobody, whatever it claims and whichever of its roles it takes', async () => {
    for (const given of [{}, forged('C'), forged('L'), forged('Bot')]) {
      for (const role of [null, 'l9_agent', 'l9_admin'])
        assert.deepEqual(await look(unbound, given, role), nobody, `${JSON.stringify(given)} ${role}`);
    }
  });

  it("that inherits from two roles is its actor only under the actor's role", async () => {
    await asOwner(house, "select register_actor('Both')");
    await asOwner(house, 'select bind_login($1, $2)', ['Both', both]);
    assert.deepEqual(await look(both), nobody);
    assert.deepEqual(await look(both, {}, 'l9_admin'), nobody);
    assert.deepEqual(await look(both, {}, 'l9_agent'), { caller: 'Both', sees: everything });
  });

  it('of a DBA who is a member of l9_gateway is believed', async () => {
    assert.deepEqual((await look(dba, forged('C'), 'l9_agent')).caller, 'C');
    assert.deepEqual((await look(dba, forged('L'), 'l9_admin')).caller, 'L');
    assert.deepEqual((await look('postgres', forged('L'), 'l9_admin')).caller, 'L', 'as a superuser is');
  });

  it('goes out with its actor', async () => {
    await asOwner(house, "select deactivate_actor('Bot')");
    assert.deepEqual(await look(bot), nobody);
    await asOwner(house, "select reactivate_actor('Bot')");
    await asOwner(house, "select bind_login('Bot', null)");
    assert.deepEqual(await look(bot), nobody);
    await asOwner(house, 'select bind_login($1, $2)', ['Bot', bot]);
    assert.deepEqual(await look(bot), asTheBot);
  });

  it('is bound by operators alone, to one actor, and never one whose claims are believed', async () => {
    const bind = (caller: string, login: string) => asOwner(house, 'select bind_login($1, $2)', [caller, login]);
    await assert.rejects(bind('C', bot), { code: 'L9VAL', message: 'login: already bound to another actor' });
    await assert.rejects(bind('C', dba), { code: 'L9VAL', message: /l9_gateway and its members cannot be bound/ });
    await assert.rejects(bind('C', 'l9_gateway'), { code: 'L9VAL', message: /l9_gateway and its members cannot be bound/ });
    await assert.rejects(bind('C', 'postgres'), { code: 'L9VAL', message: /l9_gateway and its members cannot be bound/ });
    await assert.rejects(bind('C', 'nobody_such'), { code: 'L9VAL', message: /no such login/ });
    await assert.rejects(bind('L', bot), { code: 'L9VAL', message: /must be a member of l9_admin/ });
    await assert.rejects(house.sql('L', 'select bind_login($1, $2)', ['C', unbound]), { code: '42501' });
  });

  it('cannot become L by any setting or role it can reach', async () => {
    await asLogin(house, bot, async (session) => {
      for (const attempt of [
        'set role l9_admin',
        'set role l9_owner',
        'set role l9_gateway',
        "select set_config('role', 'l9_admin', false)",
      ])
        await assert.rejects(session.query(attempt), { code: '42501' }, attempt);
    });
  });

  it(
    'that comes in over the network with its password is the same',
    { skip: !serverUrl && 'needs a server' },
    async () => {
      const url = new URL(house.home.superuserUrl!);
      url.username = bot;
      url.password = 'for-tests-only';
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      try {
        await client.query(
          "set jwt.claims.tenant_id = '00000000-0000-7000-8000-000000000001'; set jwt.claims.caller = 'L'",
        );
        assert.deepEqual((await client.query('select 1 from packet_store')).rows, []);
        await client.query('reset jwt.claims.caller');
        const { rows } = await client.query('select content from packet_store order by content');
        assert.deepEqual(
          rows.map(({ content }) => content),
          everything,
        );
      } finally {
        await client.end();
      }
    },
  );

  describe('and act_as', () => {
    const act = (caller: string, role: string, login = 'l9_gateway', args = '') =>
      asLogin(house, login, async (session) => {
        await session.query('begin');
        await session.query(`set local role ${role}`);
        const { rows } = await session.query(`select public.act_as($1${args}) as said`, [caller]);
        const { rows: seen } = await session.query('select content from public.packet_store order by content');
        await session.query('rollback');
        return { said: rows[0].said, sees: seen.map(({ content }) => content) };
      });

    it('show a DBA what a caller sees', async () => {
      assert.deepEqual(await act('C', 'l9_agent'), {
        said: 'C reads developer, global; writes developer, global; projects *',
        sees: everything,
      });
      assert.deepEqual((await act('L', 'l9_admin')).sees, [
        ...everything.slice(0, 1),
        'not for bots',
        ...everything.slice(1),
      ]);
      assert.deepEqual(
        await act('C', 'l9_agent', 'l9_gateway', ", projects => '{x}', scopes => '{developer,l-private}'"),
        { said: 'C reads developer; writes developer; projects x', sees: ['of project x'] },
      );
      assert.deepEqual((await act('C', 'l9_agent', dba)).sees, everything);
    });

    it('end with the transaction', async () => {
      await act('L', 'l9_admin');
      assert.deepEqual(await look('l9_gateway', {}, 'l9_agent'), nobody);
    });

    it('say which role to take', async () => {
      const refused = {
        code: 'L9AUT',
        message: 'L acts under the role l9_admin: run `begin; set local role l9_admin;` first',
      };
      await assert.rejects(act('L', 'l9_agent'), refused);
      await assert.rejects(act('Nobody', 'l9_agent'), {
        code: 'L9AUT',
        message: /one of them is not active, or they do not match/,
      });
      await asLogin(house, 'l9_gateway', (session) =>
        assert.rejects(session.query("select public.act_as('C')"), { code: '42501' }),
      );
    });

    it('tell a login that is bound, or nobody, nothing of other actors', async () => {
      const message = 'this login can act only as the actor that it is bound to (bind_login)';
      for (const login of [bot, unbound]) {
        for (const caller of ['L', 'C', 'Nobody'])
          await assert.rejects(act(caller, 'l9_agent', login), { code: 'L9AUT', message });
      }
      assert.deepEqual((await act('Bot', 'l9_agent', bot)).sees, everything, 'as itself it may');
    });
  });
});
