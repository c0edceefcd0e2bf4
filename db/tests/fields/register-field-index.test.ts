// Indexes of fields: what they find is what a look at every memory finds, for each caller.
import { expireMemories, saveMemory, searchMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('register_field_index', () => {
  const db = useTestDatabase();
  const names = new Map<string, string>();
  let many: string;
  beforeAll(async () => {
    // Few enough that a search without an index does not see the oldest memories.
    await db.asSuperuser(`
      create or replace function search.max_scanned_rows() returns integer language sql immutable parallel safe return 4;
      create or replace function search.max_scored_rows() returns integer language sql immutable parallel safe return 4;`);
    await save('C', 'old', {
      status: 'lost',
      priority: 1,
      due: '2026-11-30',
      labels: ['ui', 'slow'],
      owner: { name: 'Ann' },
    });
    await save('C', 'exact', { priority: '1', status: true, due: 'soon' });
    many = await save('C', 'many', { labels: Array.from({ length: 150 }, (_, n) => `label ${n}`) });
    await save('C', 'half', { priority: 1.5, due: '2026-12-01T01:00:00+02:00', status: 'x'.repeat(300) });
    await save('L', 'hidden', { status: 'lost', priority: 1 }, { scope: 'l-private' });
    for (let n = 0; n < 6; n++) await save('C', `new ${n}`, { status: 'open' });
    for (const field of ['status', 'priority', 'due', 'labels', 'owner.name']) await register('L', field);
  });

  const save = async (caller: string, name: string, envelope: object, args: object = {}) => {
    const id = await saveMemory(db, caller, { content: `ticket ${name}`, envelope, ...args });
    names.set(id, name);
    return id;
  };
  const register = async (caller: string, field: string | null, claims: Claims = {}) =>
    (await db.sql(caller, 'select * from public.register_field_index($1)', [field], claims))[0];
  const drop = async (caller: string, field: string) =>
    (await db.sql(caller, 'select public.drop_field_index($1) as was_there', [field]))[0].was_there;
  const search = async (caller: string, where: object, claims: Claims = {}) => {
    const { hits, searched } = await searchMemory(db, caller, { where: JSON.stringify(where), k: 100 }, claims);
    return { found: hits.map(({ packet_id }) => names.get(packet_id)!).sort(), notice: searched.notice };
  };
  const values = () => db.asSuperuser('select distinct packet_id, scope, field from public.field_values');

  it.each<[string, object, string[]]>([
    ['a text', { status: 'lost' }, ['old']],
    ['a long text', { status: 'x'.repeat(300) }, ['half']],
    ['no text that only begins like it', { status: 'x'.repeat(299) }, []],
    ['a number and not its text', { priority: 1.0 }, ['old']],
    ['a text and not its number', { priority: '1' }, ['exact']],
    ['true', { status: true }, ['exact']],
    ['several values', { status: ['lost', true] }, ['exact', 'old']],
    ['a range of numbers', { priority: { gt: 1, lte: 1.5 } }, ['half']],
    ['a range of times', { due: { gte: '2026-11-30', lt: '2026-12-01' } }, ['half', 'old']],
    ['an element of a list', { labels: 'slow' }, ['old']],
    ['an element of a long list', { labels: 'label 149' }, ['many']],
    ['an inner field', { 'owner.name': 'Ann' }, ['old']],
    ['a field beside one that is not indexed', { status: 'lost', nothing: { exists: false } }, ['old']],
  ])('finds by %s, however many memories there are', async (_, where, expected) => {
    expect(await search('C', where)).toStrictEqual({ found: expected, notice: null });
  });

  it('leaves what it does not know to a look at the newest memories, which the answer says', async () => {
    expect(await search('C', { labels: { exists: true } })).toMatchObject({
      found: [],
      notice: expect.stringMatching(/only the newest 4 memories.*register_field_index/),
    });
  });

  it('shows nothing of memories that the caller may not read', async () => {
    expect(await search('L', { status: 'lost' })).toStrictEqual({ found: ['hidden', 'old'], notice: null });
    expect((await db.sql('C', "select 1 from public.field_values where text_value = 'lost'")).length).toBe(1);
    expect(
      await db.sql('C', 'select * from public.field_values where field = $1', ['labels'], {
        'jwt.claims.projects': '["x"]',
      }),
    ).toStrictEqual([]);
    const [{ n }] = await db.sql('C', `select cardinality(fields.indexed_packets('{"status": "lost"}', 10)) as n`);
    expect(n).toBe(1);
    const other = await addTenant(db, 'other', { sharesIndexes: true });
    expect(await db.sql('L', 'select * from public.field_values', [], other)).toStrictEqual([]);
    expect(await db.sql('L', 'select * from public.field_indexes', [], other)).toStrictEqual([]);
    await expect(db.sql('C', "update public.field_values set text_value = 'x'")).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('scans the index below the policies', async () => {
    const plan = await db.asCaller('C', async (client) => {
      await client.query('set local enable_seqscan = off');
      const { rows } = await client.query(
        "explain select packet_id from public.field_values v where v.tenant_id = (select identity.current_tenant_id()) and v.field = 'status' and v.text_value = 'lost'",
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toMatch(/field_values_text_idx/);
    expect(plan).toMatch(/Index Cond: .*text_value = 'lost'/);
  });

  it('follows a memory that changes, moves, expires or is deleted', async () => {
    const id = await save('C', 'moving', { status: 'first' });
    const ofIt = async () => (await values()).filter(({ packet_id }) => packet_id === id).map(({ scope }) => scope);
    expect((await search('C', { status: 'first' })).found).toStrictEqual(['moving']);
    await db.sql('C', 'select public.update_memory($1, envelope => $2)', [id, { status: 'second' }]);
    expect((await search('C', { status: 'first' })).found).toStrictEqual([]);
    expect((await search('C', { status: 'second' })).found).toStrictEqual(['moving']);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [id]);
    expect(await ofIt()).toStrictEqual(['l-private']);
    expect((await search('C', { status: 'second' })).found).toStrictEqual([]);
    expect((await search('L', { status: 'second' })).found).toStrictEqual(['moving']);
    await db.sql('L', "select public.update_memory($1, ttl => now() + interval '1 hour')", [id]);
    await db.sql('L', "select public.erase_memory($1, 'a test')", [id]);
    expect(await ofIt()).toStrictEqual([]);
    const expiring = await save('C', 'expiring', { status: 'third' });
    await expireMemories(db, [expiring]);
    expect((await search('C', { status: 'third' })).found).toStrictEqual([]);
    await db.sql('L', 'select public.delete_expired_memories()');
    expect((await values()).map(({ packet_id }) => packet_id)).not.toContain(expiring);
  });

  it('is audited, idempotent and reversible', async () => {
    const first = await register('L', 'status');
    expect(first).toMatchObject({ field: 'status', created_by: 'L' });
    expect(await drop('L', 'labels')).toBe(true);
    expect(await drop('L', 'labels')).toBe(false);
    expect((await values()).filter(({ packet_id, field }) => packet_id === many && field === 'labels')).toStrictEqual(
      [],
    );
    const rows = await db.asSuperuser(
      "select operation, details -> 'row' ->> 'field' as field, details ->> 'caller' as caller from public.audit_log where table_name = 'field_indexes' order by audit_id desc limit 1",
    );
    expect(rows).toStrictEqual([{ operation: 'DELETE', field: 'labels', caller: 'L' }]);
    const [{ n }] = await db.asSuperuser(
      "select count(*)::int as n from public.audit_log where table_name = 'field_indexes' and operation = 'INSERT' and details -> 'row' ->> 'field' = 'status'",
    );
    expect(n).toBe(1);
  });

  it('is for admins of the tenant with an unlimited token', async () => {
    await expect(register('C', 'status')).rejects.toMatchObject({ code: '42501' });
    await expect(register('L', 'new', { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    await expect(register('P', 'new', await addOperator(db, 'P'))).rejects.toMatchObject({ code: '42501' });
    for (const field of [null, '', 'a..b', 'content'])
      await expect(register('L', field)).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('takes at most twenty fields', async () => {
    const registering = async () => {
      for (let n = 0; n < 21; n++) await register('L', `field ${n}`);
    };
    await expect(registering()).rejects.toMatchObject({ code: 'L9LIM', column: 'field' });
    for (let n = 0; n < 21; n++) await drop('L', `field ${n}`);
  });
});
