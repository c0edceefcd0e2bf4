// Only a session of l9_owner that asks for it imports old memories with the writers and times they had. Nobody who can
// make a function of l9_owner run gets that right.
import pg from 'pg';
import { itOnServer } from '../support/on-engine.ts';
import { claimsOf, DEFAULT_TENANT } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
type Query = (sql: string, values?: unknown[]) => Promise<any[]>;

describe('the import of old memories', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('L', "select save_memory('kept private', scope => 'l-private', project_id => 'l9')");
    await db.sql('C', "select save_memory('of C', project_id => 'l9')");
  });

  /** Runs statements in a session of this login, in a transaction that is rolled back unless `end` says otherwise. */
  async function as<T>(login: string, work: (query: Query) => Promise<T>, end = 'rollback'): Promise<T> {
    const { superuserUrl } = db;
    const own = superuserUrl ? new pg.Client({ connectionString: superuserUrl }) : null;
    await own?.connect();
    const shared = own ? null : await db.pool.connect();
    const client = (own ?? shared)!;
    const query: Query = async (sql, values) => (await client.query(sql, values)).rows;
    try {
      await query(`set session authorization ${login}`);
      await query('begin');
      const result = await work(query);
      await query(end);
      return result;
    } finally {
      await query('rollback');
      await query('reset all');
      await query('set session authorization l9_gateway');
      shared?.release();
      await own?.end();
    }
  }

  const insert = (metadata: object, more = '') => `
    insert into public.packet_store (packet_id, envelope, metadata, scope, project_id, tenant_id, "timestamp")
    values ('00000000-1111-4222-8333-444444444444', '{"content": "from of old"}', '${JSON.stringify(metadata)}', 'developer', 'l9',
      '${DEFAULT_TENANT}', '2020-01-01') ${more}`;
  const ofL = { creator: 'L-CTO', source: 'l9-kernel' };
  const record = {
    source_id: '1',
    content: 'x',
    hash: null,
    kind: 'note',
    scope: 'l-private',
    project_id: 'l9',
    tags: [],
    importance: 1,
    metadata: ofL,
    legacy: {},
  };
  const importing = `select * from legacy.import_legacy('x', 'memory.x', '${DEFAULT_TENANT}', '${JSON.stringify([record])}', null, null, false)`;

  it('stores the id, writer and time that l9_owner gives', async () => {
    const [row] = await as('l9_owner', async (query) => {
      await query('set local l9.legacy_import = on');
      return query(insert(ofL, 'returning packet_id, "timestamp", metadata'));
    });
    expect(row.packet_id).toBe('00000000-1111-4222-8333-444444444444');
    expect(row.timestamp.toISOString()).toBe('2020-01-01T00:00:00.000Z');
    expect(row.metadata).toStrictEqual(ofL);
  });

  it('refuses l9_owner until its session sets l9.legacy_import', () =>
    as('l9_owner', async (query) => {
      expect(await query('select content from public.packet_store')).toStrictEqual([]);
      await query('savepoint a');
      await expect(query(insert(ofL))).rejects.toMatchObject({ code: 'L9AUT' });
      await query('rollback to a');
      await expect(query(importing)).rejects.toMatchObject({ code: 'L9SCP' });
    }));

  for (const [what, sql, code] of [
    ['a writer that is not an actor', insert({ creator: 'L-CTO', source: 'cursor-ide' }), 'L9VAL'],
    ['a scope of another tenant', insert(ofL).replace("'developer'", "'nowhere'"), 'L9VAL'],
    ['a project in a scope without projects', insert(ofL).replace("'developer'", "'global'"), 'L9VAL'],
    ['blank content', insert(ofL).replace('from of old', ' '), 'L9VAL'],
    ['to delete a memory', 'delete from public.packet_store', null],
  ] as const) {
    it(`refuses ${what}`, () =>
      as('l9_owner', async (query) => {
        await query('set local l9.legacy_import = on');
        if (code) return expect(query(sql)).rejects.toMatchObject({ code });
        const [{ n }] = await query('select count(*)::int as n from public.packet_store');
        expect(await query(`${sql} returning 1`)).toHaveLength(0);
        expect((await query('select count(*)::int as n from public.packet_store'))[0].n).toBe(n);
      }));
  }

  const roles: [string, Record<string, string>][] = [
    ['C', claimsOf('C')],
    ['L', claimsOf('L')],
    ['an operator', { ...claimsOf('L'), role: 'l9_platform_admin' }],
    ['a job', { role: 'l9_worker' }],
    ['the gateway itself', {}],
  ];
  for (const [who, settings] of roles) {
    const within = <T>(work: (query: Query) => Promise<T>) =>
      as('l9_gateway', async (query) => {
        for (const [name, value] of Object.entries(settings))
          await query('select set_config($1, $2, true)', [name, value]);
        return work(query);
      });

    it(`refuses ${who}: the setting has no effect, and no function may be called`, () =>
      within(async (query) => {
        await query('savepoint start');
        const visible = async () =>
          query(
            "select count(*)::int as n, count(*) filter (where scope = 'l-private')::int as private from public.packet_store",
          ).catch(async () => {
            await query('rollback to start');
            return null;
          });
        const before = await visible();
        await query('set local l9.legacy_import = on');
        await query('savepoint start');
        expect(await visible()).toStrictEqual(before);
        if (settings.role) {
          expect(await query('select packets.is_legacy_import() as open')).toStrictEqual([{ open: false }]);
        }
        for (const call of [
          importing,
          `select * from legacy.classify_legacy_row('x', 'x', '${DEFAULT_TENANT}', '[]')`,
          `select * from legacy.preview_legacy('x', 'x', '${DEFAULT_TENANT}', '[]')`,
          `select * from legacy.compare_legacy('x', 'x', '{}', '{}')`,
          `select legacy.import_legacy_audit('x', 'x', '${DEFAULT_TENANT}', '[]')`,
          `select legacy.write_legacy_audit('${DEFAULT_TENANT}', '[]')`,
          'select * from legacy.legacy_ids',
          insert(ofL),
          'set local role l9_owner',
        ]) {
          await query('savepoint call');
          await expect(query(call), call).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|L9AUT)$/) });
          await query('rollback to call');
        }
      }));
  }

  it('ignores the setting inside definer functions that agents, admins and jobs call', async () => {
    // Stands for definer functions with a mistake; none exists in the schema.
    await as(
      'l9_owner',
      async (query) => {
        await query(`create function public.careless() returns void language sql security definer set search_path = '' as $$
          select pg_catalog.set_config('l9.legacy_import', 'on', true);
          ${insert(ofL)};
        $$`);
        await query(`create function public.reckless() returns bigint language sql security definer set search_path = '' as $$
          select count(*) from (${importing}) outcomes
        $$`);
        await query(`create function public.nosy() returns bigint language sql security definer set search_path = '' as $$
          select count(*) from public.packet_store
        $$`);
        await query(
          'grant execute on function public.careless(), public.reckless(), public.nosy() to l9_agent, l9_admin, l9_platform_admin, l9_worker',
        );
      },
      'commit',
    );
    try {
      for (const [who, settings] of roles.slice(0, 4)) {
        await as('l9_gateway', async (query) => {
          for (const [name, value] of Object.entries(settings))
            await query('select set_config($1, $2, true)', [name, value]);
          await query('set local l9.legacy_import = on');
          await query('savepoint call');
          await expect(query('select public.careless()'), who).rejects.toMatchObject({
            code: expect.stringMatching(/^(42501|L9)/),
          });
          await query('rollback to call');
          await expect(query('select public.reckless()'), who).rejects.toMatchObject({ code: 'L9SCP' });
          await query('rollback to call');
          // For an agent the owner's functions see what the agent sees; for an admin also its whole tenant, which it may
          // erase; for a job, everything.
          const seen = { C: '1', L: '2', 'a job': '2' }[who] ?? '0';
          expect(await query('select public.nosy() as n'), who).toStrictEqual([{ n: seen }]);
        });
      }
    } finally {
      await as(
        'l9_owner',
        (query) => query('drop function public.careless(), public.reckless(), public.nosy()'),
        'commit',
      );
    }
    expect(await db.sql('L', 'select 1 from public.packet_store'), 'nothing was imported').toHaveLength(2);
  });

  itOnServer('lets no caller become l9_owner', () =>
    expect(db.sql('L', 'set local session authorization l9_owner')).rejects.toMatchObject({ code: '42501' }),
  );
});
