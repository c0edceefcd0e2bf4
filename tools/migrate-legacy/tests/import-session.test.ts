// Only a session of l9_owner that asks for it imports old memories with the writers and times they had. Nobody who can
// make a function of l9_owner run gets that right.
import pg from 'pg';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { claimsOf, DEFAULT_TENANT } from '../../../db/tests/support/sessions.ts';
import { useTestDatabase } from '../../../db/tests/support/test-database.ts';
import { install, uninstall } from '../install.ts';
import type { Query } from '../source.ts';

/** All that an import could leave behind in the catalogue. */
const CATALOGUE = `
  select 'function' as what, oid::regprocedure::text as name from pg_proc
  union all select 'relation', oid::regclass::text from pg_class where relnamespace::regnamespace::text !~ '^pg_'
  union all select 'policy', format('%s on %s', polname, polrelid::regclass) from pg_policy
  union all select 'trigger', format('%s on %s, %s', tgname, tgrelid::regclass, tgenabled) from pg_trigger where not tgisinternal
  union all select 'schema', nspname from pg_namespace where nspname !~ '^pg_'
  order by 1, 2`;

describe('the import of old memories', () => {
  const db = useTestDatabase();
  let before: unknown;
  beforeAll(async () => {
    before = await db.asOwner(CATALOGUE);
    await as('l9_owner', install);
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
    id: '00000000-1111-4222-8333-444444444444',
    content: 'x',
    hash: null,
    kind: 'note',
    scope: 'l-private',
    project_id: 'l9',
    tags: [] as string[],
    importance: 1,
    created: '2020-01-01',
    metadata: ofL,
    legacy: {},
  };
  const importOf = (...records: object[]) =>
    `select * from legacy_import.import_legacy('x', 'memory.x', '${DEFAULT_TENANT}', '${JSON.stringify(records)}', null, null, false)`;
  const importing = importOf(record);
  /** What memories and audit rows an import of these records makes; it is rolled back. */
  const imported = (...records: object[]) =>
    as('l9_owner', async (query) => {
      await query('set local l9.legacy_import = on');
      await query('create temporary table earlier on commit drop as select audit_id from public.audit_log');
      const outcomes = (await query(importOf(...records))).map(({ outcome }) => outcome);
      const memories = await query('select * from public.packet_store where metadata = any ($1) or metadata ? $2', [
        [ofL],
        'imported',
      ]);
      const audit = await query(
        'select operation, tool_name, details from public.audit_log where audit_id not in (select audit_id from earlier)',
      );
      return { outcomes, memories, audit };
    });

  it('stores the id, writer and time that l9_owner gives', async () => {
    const { memories } = await imported(record);
    expect(memories).toHaveLength(1);
    expect(memories[0].packet_id).toBe(record.id);
    expect(memories[0].timestamp.toISOString()).toBe('2020-01-01T00:00:00.000Z');
    expect(memories[0].metadata).toStrictEqual(ofL);
  });

  it('keeps what no caller may write today', async () => {
    const odd = {
      id: null,
      created: null,
      metadata: { ...ofL, imported: true, speaker: 'two\nlines', big: '@' },
      tags: ['kept'],
    };
    const records = ['event', 'reasoning_trace', 'decision', 'runbook'].map((kind) => ({
      ...record,
      ...odd,
      source_id: kind,
      content: `An old ${kind}`,
      kind,
    }));
    const { outcomes, memories } = await as('l9_owner', async (query) => {
      await query('set local l9.legacy_import = on');
      const long = importOf(...records).replaceAll('"@"', '12345678901234567890');
      return {
        outcomes: (await query(long)).map(({ outcome }) => outcome),
        memories: await query("select metadata::text, speaker from public.packet_store where metadata ? 'imported'"),
      };
    });
    expect(outcomes).toStrictEqual(Array(records.length).fill('moved'));
    for (const { metadata, speaker } of memories) {
      expect(metadata).toMatch(/"big": 12345678901234567890/);
      expect([metadata.includes('speaker'), speaker], 'a speaker that is no name is left out').toStrictEqual([
        false,
        null,
      ]);
    }
  });

  it('keeps secrets, and audits that it did', async () => {
    const key = `AKIA${'QZ7WPLX3NVBT2K5M'}`;
    const fields = { id: null, hash: null, metadata: { ...ofL, imported: true } };
    const { outcomes, audit } = await imported(
      { ...record, ...fields, source_id: '1', content: `The key is ${key}.`, legacy: { note: key } },
      { ...record, ...fields, source_id: '2', content: 'An harmless text.' },
      // It is merged into a memory that is here, which takes its tags.
      { ...record, source_id: '3', content: 'kept private', tags: [key] },
    );
    expect(outcomes).toStrictEqual(['moved', 'moved', 'merged']);
    const found = audit.filter(({ details }) => details.allowed_secrets);
    expect(
      found.map(({ operation, details }) => [
        operation,
        details.allowed_secrets.map(({ field }: { field: string }) => field).sort(),
      ]),
    ).toStrictEqual([
      ['INSERT', ['content', 'provenance']],
      ['UPDATE', ['tags[0]']],
    ]);
  });

  it('switches the triggers off for its own transaction alone', async () => {
    const off = "select tgname from pg_trigger where tgrelid = 'public.packet_store'::regclass and tgenabled <> 'O'";
    await as('l9_owner', async (query) => {
      await query('set local l9.legacy_import = on');
      expect(await query('select cardinality(legacy_import.skipped_triggers()) as number')).toStrictEqual([
        { number: 7 },
      ]);
      await query(importing);
      expect(await query(off)).toStrictEqual([]);
      await expect(query(insert(ofL)), 'the next statement of the same session').rejects.toMatchObject({
        code: 'L9AUT',
      });
    });
    expect(await db.asOwner(off)).toStrictEqual([]);
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
    ['a writer that is not an actor', importOf({ ...record, metadata: { ...ofL, source: 'cursor-ide' } }), 'L9VAL'],
    ['a scope of another tenant', importOf({ ...record, scope: 'nowhere' }), 'L9VAL'],
    ['a project in a scope without projects', importOf({ ...record, scope: 'global' }), 'L9VAL'],
    ['a tag of more than 200 bytes', importOf({ ...record, tags: ['x'.repeat(201)] }), 'L9LIM'],
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
        for (const call of [
          importing,
          'select legacy_import.is_legacy_import()',
          'select legacy_import.skipped_triggers()',
          `select * from legacy_import.classify_legacy_row('x', 'x', '${DEFAULT_TENANT}', '[]')`,
          `select * from legacy_import.preview_legacy('x', 'x', '${DEFAULT_TENANT}', '[]')`,
          `select * from legacy_import.compare_legacy('x', 'x', '{}', '{}')`,
          `select legacy_import.import_legacy_audit('x', 'x', '${DEFAULT_TENANT}', '[]')`,
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

  it('gives the same row the same id, and orders ids by time', async () => {
    const [ids] = await db.asOwner(`select legacy_import.legacy_uuid('a', 'memory.x', '1', '2024-01-01') as one,
        legacy_import.legacy_uuid('a', 'memory.x', '1', '2024-01-01') as again,
        legacy_import.legacy_uuid('a', 'memory.x', '2', '2024-01-01') as two,
        legacy_import.legacy_uuid('a', 'memory.x', '2', '2024-01-02') as later,
        legacy_import.legacy_uuid('a', 'memory.x', '2', null) as unknown`);
    expect(ids.one).toBe(ids.again);
    expect(new Set(Object.values(ids)).size).toBe(4);
    expect(ids.later > ids.one).toBe(true);
    expect(ids.later > ids.two).toBe(true);
    expect(ids.unknown < ids.one).toBe(true);
    const [{ at, version }] = await db.asOwner(
      'select uuid_extract_timestamp($1::uuid) as at, uuid_extract_version($1::uuid) as version',
      [ids.one],
    );
    expect([at.toISOString(), version]).toStrictEqual(['2024-01-01T00:00:00.000Z', 7]);
  });

  itOnServer('lets no caller become l9_owner', () =>
    expect(db.sql('L', 'set local session authorization l9_owner')).rejects.toMatchObject({ code: '42501' }),
  );

  it('leaves nothing in a database into which it imported nothing', async () => {
    await as('l9_owner', install);
    await as('l9_owner', uninstall);
    expect(await db.asOwner(CATALOGUE)).toStrictEqual(before);
  });
});
