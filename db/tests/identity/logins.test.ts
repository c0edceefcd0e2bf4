// Claims are settings, and anyone with a database session can set them: they are trusted in the gateway's sessions only.

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
  /** The caller of a session, and the memories that it sees, under these claims and this role. */
  const visit = (login: string, values: Record<string, string> = {}, role: string | null = null) =>
    db.asLogin(login, async (session) => {
      await session.query('begin');
      if (role) await session.query(`set local role ${role}`);
      if (Object.keys(values).length > 0) await session.query(`select ${claims(values)}`);
      const { rows: me } = await session.query('select i.caller from identity.current_identity() i');
      const { rows } = await session.query('select content from public.packet_store order by content');
      await session.query('rollback');
      return { caller: me[0].caller, sees: rows.map(({ content }) => content) };
    });
  const everything = ['for all', 'of project l9', 'of project x'];
  const noIdentity = { caller: null, sees: [] };
  const asTheBot = { caller: 'Bot', sees: everything };
  const forged = (caller: string) => ({ tenant_id: DEFAULT_TENANT, caller });

  it('has the identity of the actor it is bound to, without any claim', async () => {
    expect(await visit(bot)).toStrictEqual(asTheBot);
    expect(await visit(bot, {}, 'l9_agent')).toStrictEqual(asTheBot);
    expect(await visit(bot, forged('Bot')), 'claims that agree change nothing').toStrictEqual(asTheBot);
  });

  it('has no identity if its claims contradict its binding', async () => {
    for (const values of [
      forged('C'),
      forged('L'),
      { caller: 'C' },
      { tenant_id: '00000000-0000-7000-8000-000000000002' },
      { tenant_id: 'nonsense' },
      { org_id: '11111111-1111-4111-8111-111111111111' },
      { user_id: '22222222-2222-4222-8222-222222222222' },
      { key_id: '22222222-2222-4222-8222-222222222222' },
    ])
      expect(await visit(bot, values), JSON.stringify(values)).toStrictEqual(noIdentity);
    await db.asLogin(bot, async (session) => {
      await session.query('begin');
      await session.query(`select ${claims(forged('C'))}`);
      await expect(session.query("select public.save_memory('forged', scope => 'global')")).rejects.toMatchObject({
        code: 'L9AUT',
      });
    });
  });

  it('can reduce its scopes and projects by claims, but not extend them', async () => {
    expect((await visit(bot, { scopes: 'global' })).sees).toStrictEqual(['for all']);
    expect((await visit(bot, { projects: '["x"]' })).sees).toStrictEqual(['for all', 'of project x']);
    expect((await visit(bot, { scopes: '["*", "l-private"]', projects: '*' })).sees).toStrictEqual(everything);
    expect((await visit(bot, { scopes: '["l-private"]' })).sees).toStrictEqual([]);
  });

  it('saves memories as the actor it is bound to', async () => {
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

  it('has no identity while it is bound to no actor, whatever it claims and whichever role it takes', async () => {
    for (const values of [{}, forged('C'), forged('L'), forged('Bot')]) {
      for (const role of [null, 'l9_agent', 'l9_admin'])
        expect(await visit(unbound, values, role), `${JSON.stringify(values)} ${role}`).toStrictEqual(noIdentity);
    }
  });

  it('has an identity only under the role of its actor if it inherits several roles', async () => {
    await db.asOwner("select register_actor('Both')");
    await db.asOwner('select bind_login($1, $2)', ['Both', both]);
    expect(await visit(both)).toStrictEqual(noIdentity);
    expect(await visit(both, {}, 'l9_admin')).toStrictEqual(noIdentity);
    expect(await visit(both, {}, 'l9_agent')).toStrictEqual({ caller: 'Both', sees: everything });
  });

  it('has its claims trusted if it is a member of l9_gateway or a superuser', async () => {
    expect((await visit(dba, forged('C'), 'l9_agent')).caller).toStrictEqual('C');
    expect((await visit(dba, forged('L'), 'l9_admin')).caller).toStrictEqual('L');
    expect((await visit('postgres', forged('L'), 'l9_admin')).caller, 'a superuser is trusted too').toStrictEqual('L');
  });

  it('loses its identity when its actor is deactivated or the binding is removed', async () => {
    await db.asOwner("select deactivate_actor('Bot')");
    expect(await visit(bot)).toStrictEqual(noIdentity);
    await db.asOwner("select reactivate_actor('Bot')");
    await db.asOwner("select bind_login('Bot', null)");
    expect(await visit(bot)).toStrictEqual(noIdentity);
    await db.asOwner('select bind_login($1, $2)', ['Bot', bot]);
    expect(await visit(bot)).toStrictEqual(asTheBot);
  });

  it('can be bound by operators only, to one actor, and only if its claims are not trusted', async () => {
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

  it('cannot become L by any setting or role', async () => {
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

  itOnServer('has the same identity when it connects over the network with a password', async () => {
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

  describe('act_as', () => {
    const act = (caller: string, role: string, login = 'l9_gateway', args = '') =>
      db.asLogin(login, async (session) => {
        await session.query('begin');
        await session.query(`set local role ${role}`);
        const { rows } = await session.query(`select public.act_as($1${args}) as answer`, [caller]);
        const { rows: visible } = await session.query('select content from public.packet_store order by content');
        await session.query('rollback');
        return { answer: rows[0].answer, sees: visible.map(({ content }) => content) };
      });

    it('shows a DBA what a caller sees', async () => {
      expect(await act('C', 'l9_agent')).toStrictEqual({
        answer: 'C reads developer, global; writes developer, global; projects *',
        sees: everything,
      });
      expect((await act('L', 'l9_admin')).sees).toStrictEqual([
        ...everything.slice(0, 1),
        'not for bots',
        ...everything.slice(1),
      ]);
      expect(
        await act('C', 'l9_agent', 'l9_gateway', ", projects => '{x}', scopes => '{developer,l-private}'"),
      ).toStrictEqual({ answer: 'C reads developer; writes developer; projects x', sees: ['of project x'] });
      expect((await act('C', 'l9_agent', dba)).sees).toStrictEqual(everything);
    });

    it('ends with the transaction', async () => {
      await act('L', 'l9_admin');
      expect(await visit('l9_gateway', {}, 'l9_agent')).toStrictEqual(noIdentity);
    });

    it('says which role to take', async () => {
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

    it('reveals nothing about other actors to a login whose claims are not trusted', async () => {
      const message = 'this login can act only as the actor that it is bound to (bind_login)';
      for (const login of [bot, unbound]) {
        for (const caller of ['L', 'C', 'Nobody'])
          await expect(act(caller, 'l9_agent', login)).rejects.toMatchObject({ code: 'L9AUT', message });
      }
      expect((await act('Bot', 'l9_agent', bot)).sees, 'it can act as itself').toStrictEqual(everything);
    });
  });

  itOnServer('has limits of time once it is bound, and is stopped by them', async () => {
    // The settings of a role hold where it logs in.
    const url = Object.assign(new URL(db.gatewayUrl!), { username: bot, password: 'for-tests-only' });
    const session = new pg.Client({ connectionString: url.href });
    await session.connect();
    try {
      const { rows } = await session.query(`select name, setting from pg_settings
        where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`);
      expect(rows).toStrictEqual([
        { name: 'idle_in_transaction_session_timeout', setting: '60000' },
        { name: 'lock_timeout', setting: '5000' },
        { name: 'statement_timeout', setting: '30000' },
      ]);
      await db.inSuperuserSession(async (other) => {
        await other.query('begin');
        await other.query('lock table public.packet_store');
        const counted = session.query('select count(*) from public.packet_store');
        await expect(counted).rejects.toMatchObject({ code: '55P03' });
        await other.query('rollback');
      });
    } finally {
      await session.end();
    }
  });
});
