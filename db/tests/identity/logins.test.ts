// Claims are settings, and anyone with a database session can set them: they are believed in the gateway's only.

import pg from 'pg';
import { itOnServer } from '../support/on-engine.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { openTestDatabase, type TestDatabase } from '../support/test-database.ts';

// Roles belong to the whole server, where test files run side by side.
const suffix = `${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
const bot = `l9t_bot_${suffix}`;
const unbound = `l9t_unbound_${suffix}`;
const both = `l9t_both_${suffix}`;
const dba = `l9t_dba_${suffix}`;
const logins = [bot, unbound, both, dba];

describe('a database login', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase();
    await db.asSuperuser(`create role ${bot} login password 'for-tests-only' in role l9_agent;
       create role ${unbound} login in role l9_agent, l9_admin;
       create role ${both} login in role l9_agent, l9_admin;
       create role ${dba} login in role l9_gateway;`);
    await db.asOwner("select register_actor('Bot', creator => 'Cursor-Bot')");
    await db.asOwner('select bind_login($1, $2)', ['Bot', bot]);
    await db.sql('L', "select save_memory('not for bots', scope => 'l-private', project_id => 'l9')");
    await db.sql('L', "select save_memory('for all', scope => 'global')");
    await db.sql('C', "select save_memory('of project l9', project_id => 'l9')");
    await db.sql('C', "select save_memory('of project x', project_id => 'x')");
  });
  afterAll(async () => {
    for (const login of logins) await db.asSuperuser(`drop role if exists ${login}`);
    await db.close();
  });

  const claims = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `set_config('jwt.claims.${name}', ${pg.escapeLiteral(value)}, true)`)
      .join(', ');
  /** Who a session is, and what it sees, under these claims and this role. */
  const look = (login: string, given: Record<string, string> = {}, role: string | null = null) =>
    db.asLogin(login, async (session) => {
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
    expect(await look(bot)).toStrictEqual(asTheBot);
    expect(await look(bot, {}, 'l9_agent')).toStrictEqual(asTheBot);
    expect(await look(bot, forged('Bot')), 'claims that agree do no harm').toStrictEqual(asTheBot);
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
      expect(await look(bot, given), JSON.stringify(given)).toStrictEqual(nobody);
    await db.asLogin(bot, async (session) => {
      await session.query('begin');
      await session.query(`select ${claims(forged('C'))}`);
      await expect(session.query("select public.save_memory('forged', scope => 'global')")).rejects.toMatchObject({
        code: 'L9AUT',
      });
    });
  });

  it('can take scopes and projects away from itself, and add none', async () => {
    expect((await look(bot, { scopes: 'global' })).sees).toStrictEqual(['for all']);
    expect((await look(bot, { projects: '["x"]' })).sees).toStrictEqual(['for all', 'of project x']);
    expect((await look(bot, { scopes: '["*", "l-private"]', projects: '*' })).sees).toStrictEqual(everything);
    expect((await look(bot, { scopes: '["l-private"]' })).sees).toStrictEqual([]);
  });

  it('writes as the actor it is bound to', async () => {
    const metadata = await db.asLogin(bot, async (session) => {
      const { rows } = await session.query(
        `insert into public.packet_store (envelope, scope, metadata) values ('{"content": "written in psql"}', 'global', '{"creator": "L-CTO"}')
         returning metadata`,
      );
      return rows[0].metadata;
    });
    expect(metadata.creator).toBe('Cursor-Bot');
    await db.sql('L', "delete from packet_store where content = 'written in psql'");
  });

  it('that is bound to no actor is nobody, whatever it claims and whichever of its roles it takes', async () => {
    for (const given of [{}, forged('C'), forged('L'), forged('Bot')]) {
      for (const role of [null, 'l9_agent', 'l9_admin'])
        expect(await look(unbound, given, role), `${JSON.stringify(given)} ${role}`).toStrictEqual(nobody);
    }
  });

  it("that inherits from two roles is its actor only under the actor's role", async () => {
    await db.asOwner("select register_actor('Both')");
    await db.asOwner('select bind_login($1, $2)', ['Both', both]);
    expect(await look(both)).toStrictEqual(nobody);
    expect(await look(both, {}, 'l9_admin')).toStrictEqual(nobody);
    expect(await look(both, {}, 'l9_agent')).toStrictEqual({ caller: 'Both', sees: everything });
  });

  it('of a DBA who is a member of l9_gateway is believed', async () => {
    expect((await look(dba, forged('C'), 'l9_agent')).caller).toStrictEqual('C');
    expect((await look(dba, forged('L'), 'l9_admin')).caller).toStrictEqual('L');
    expect((await look('postgres', forged('L'), 'l9_admin')).caller, 'as a superuser is').toStrictEqual('L');
  });

  it('goes out with its actor', async () => {
    await db.asOwner("select deactivate_actor('Bot')");
    expect(await look(bot)).toStrictEqual(nobody);
    await db.asOwner("select reactivate_actor('Bot')");
    await db.asOwner("select bind_login('Bot', null)");
    expect(await look(bot)).toStrictEqual(nobody);
    await db.asOwner('select bind_login($1, $2)', ['Bot', bot]);
    expect(await look(bot)).toStrictEqual(asTheBot);
  });

  it('is bound by operators alone, to one actor, and never one whose claims are believed', async () => {
    const bind = (caller: string, login: string) => db.asOwner('select bind_login($1, $2)', [caller, login]);
    await expect(bind('C', bot)).rejects.toMatchObject({
      code: 'L9VAL',
      message: 'login: already bound to another actor',
    });
    await expect(bind('C', dba)).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/l9_gateway and its members cannot be bound/),
    });
    await expect(bind('C', 'l9_gateway')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/l9_gateway and its members cannot be bound/),
    });
    await expect(bind('C', 'postgres')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/l9_gateway and its members cannot be bound/),
    });
    await expect(bind('C', 'nobody_such')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/no such login/),
    });
    await expect(bind('L', bot)).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/must be a member of l9_admin/),
    });
    await expect(db.sql('L', 'select bind_login($1, $2)', ['C', unbound])).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('cannot become L by any setting or role it can reach', async () => {
    await db.asLogin(bot, async (session) => {
      for (const attempt of [
        'set role l9_admin',
        'set role l9_owner',
        'set role l9_gateway',
        "select set_config('role', 'l9_admin', false)",
      ])
        await expect(session.query(attempt), attempt).rejects.toMatchObject({ code: '42501' });
    });
  });

  itOnServer('that comes in over the network with its password is the same', async () => {
    const url = new URL(db.superuserUrl!);
    url.username = bot;
    url.password = 'for-tests-only';
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(
        "set jwt.claims.tenant_id = '00000000-0000-7000-8000-000000000001'; set jwt.claims.caller = 'L'",
      );
      expect((await client.query('select 1 from packet_store')).rows).toStrictEqual([]);
      await client.query('reset jwt.claims.caller');
      const { rows } = await client.query('select content from packet_store order by content');
      expect(rows.map(({ content }) => content)).toStrictEqual(everything);
    } finally {
      await client.end();
    }
  });

  describe('and act_as', () => {
    const act = (caller: string, role: string, login = 'l9_gateway', args = '') =>
      db.asLogin(login, async (session) => {
        await session.query('begin');
        await session.query(`set local role ${role}`);
        const { rows } = await session.query(`select public.act_as($1${args}) as said`, [caller]);
        const { rows: seen } = await session.query('select content from public.packet_store order by content');
        await session.query('rollback');
        return { said: rows[0].said, sees: seen.map(({ content }) => content) };
      });

    it('show a DBA what a caller sees', async () => {
      expect(await act('C', 'l9_agent')).toStrictEqual({
        said: 'C reads developer, global; writes developer, global; projects *',
        sees: everything,
      });
      expect((await act('L', 'l9_admin')).sees).toStrictEqual([
        ...everything.slice(0, 1),
        'not for bots',
        ...everything.slice(1),
      ]);
      expect(
        await act('C', 'l9_agent', 'l9_gateway', ", projects => '{x}', scopes => '{developer,l-private}'"),
      ).toStrictEqual({ said: 'C reads developer; writes developer; projects x', sees: ['of project x'] });
      expect((await act('C', 'l9_agent', dba)).sees).toStrictEqual(everything);
    });

    it('end with the transaction', async () => {
      await act('L', 'l9_admin');
      expect(await look('l9_gateway', {}, 'l9_agent')).toStrictEqual(nobody);
    });

    it('say which role to take', async () => {
      const refused = {
        code: 'L9AUT',
        message: 'L acts under the role l9_admin: run `begin; set local role l9_admin;` first',
      };
      await expect(act('L', 'l9_agent')).rejects.toMatchObject(refused);
      await expect(act('Nobody', 'l9_agent')).rejects.toMatchObject({
        code: 'L9AUT',
        message: expect.stringMatching(/one of them is not active, or they do not match/),
      });
      await db.asLogin('l9_gateway', (session) =>
        expect(session.query("select public.act_as('C')")).rejects.toMatchObject({ code: '42501' }),
      );
    });

    it('tell a login that is bound, or nobody, nothing of other actors', async () => {
      const message = 'this login can act only as the actor that it is bound to (bind_login)';
      for (const login of [bot, unbound]) {
        for (const caller of ['L', 'C', 'Nobody'])
          await expect(act(caller, 'l9_agent', login)).rejects.toMatchObject({ code: 'L9AUT', message });
      }
      expect((await act('Bot', 'l9_agent', bot)).sees, 'as itself it may').toStrictEqual(everything);
    });
  });
});
