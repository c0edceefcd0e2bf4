// The log of who saw which memory: append-only, and visible only to those callers and their admins.
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the access log', () => {
  const db = useTestDatabase();

  const log = (caller: string, condition = 'true', values: unknown[] = [], claims = {}) =>
    db.sql(caller, `select * from public.memory_access_log where ${condition} order by access_id`, values, claims);

  it('stores a row for each hit, under the access id of the hit', async () => {
    const id = await save(db, 'C', 'the heron stands in the reeds');
    await save(db, 'L', 'another heron, in private', { scope: 'l-private' });
    const hits = await search(db, 'L', 'heron');
    expect(hits).toHaveLength(2);
    const rows = await log('L', 'access_id = any ($1)', [hits.map((hit) => hit.access_id)]);
    expect(
      rows.map((row) => [row.target_id, row.agent_id, row.access_context, row.target_type, row.relevance_score]),
    ).toStrictEqual(hits.map((hit) => [hit.packet_id, 'L', 'search', 'memory', hit.score]));
    expect(
      rows.map(({ was_useful, feedback_reason, query_text }) => [was_useful, feedback_reason, query_text]),
    ).toStrictEqual(Array(2).fill([null, null, null]));
    expect(Date.now() - rows[0].accessed_at.getTime()).toBeLessThan(60_000);
    await db.sql('C', 'select public.get_memory($1)', [id]);
    const [read] = await log('C', "target_id = $1 and access_context = 'get'", [id]);
    expect([read.agent_id, read.scope, read.project_id]).toStrictEqual(['C', 'developer', 'l9']);
  });

  it('refuses updates, deletes and truncation by anybody, including its owner and a superuser', async () => {
    for (const statement of ['update % set agent_id = $$L$$', 'delete from %', 'truncate %']) {
      const refused = (table: string) => statement.replace('%', table);
      await expect(db.sql('C', refused('importance.memory_access_log'))).rejects.toMatchObject({ code: '42501' });
      await expect(db.sql('L', refused('importance.memory_access_log'))).rejects.toMatchObject({ code: '42501' });
      for (const table of ['importance.memory_access_log', `partitions.memory_access_log_default`]) {
        await expect(db.asOwner(refused(table)), table).rejects.toMatchObject({ code: 'L9IMM' });
        await expect(db.asSuperuser(refused(table)), table).rejects.toMatchObject({ code: 'L9IMM' });
      }
      // PostgreSQL refuses writes through the view, because it joins two tables.
      await expect(db.asSuperuser(refused('public.memory_access_log'))).rejects.toMatchObject({
        code: expect.stringMatching(/55000|42809/),
      });
    }
    await expect(
      db.sql('C', 'insert into importance.memory_access_log (target_id) values (uuidv7())'),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('shows an agent only its own accesses, and only in its scopes', async () => {
    const shared = await save(db, 'C', 'the plover runs along the shore');
    const secret = await save(db, 'L', 'the plover of L', { scope: 'l-private' });
    await search(db, 'L', 'plover');
    await search(db, 'C', 'plover');
    const visible = await log('C', 'true');
    expect(visible.length).toBeGreaterThan(0);
    expect(visible.every(({ agent_id }) => agent_id === 'C')).toBe(true);
    expect(JSON.stringify(visible)).not.toContain(secret);
    const [{ n }] = await db.sql('C', 'select count(*)::int as n from public.memory_access_log where target_id = $1', [
      shared,
    ]);
    expect(n).toBe(1);
    // An admin sees both; cut down to a scope, only that.
    expect(await log('L', 'target_id = any ($1)', [[shared, secret]])).toHaveLength(3);
    expect(await log('L', 'target_id = $1', [secret], { 'jwt.claims.scopes': 'developer' })).toHaveLength(0);
    expect(await log('C', 'target_id = $1', [shared], { 'jwt.claims.projects': 'other' })).toHaveLength(0);
  });

  it('separates tenants, orgs and users', async () => {
    const other = await addTenant(db, 'access-other');
    const operator = await addOperator(db, 'Watcher');
    const id = await save(db, 'C', 'the curlew calls');
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const [hit] = await search(db, 'C', 'curlew', user);
    const own = "target_id = $1 and access_context = 'search'";
    expect(await log('C', own, [id], user)).toHaveLength(1);
    expect(await log('C', own, [id]), 'hidden while it acts for no user').toHaveLength(0);
    expect(await log('C', own, [id], { 'jwt.claims.org_id': user['jwt.claims.user_id'] })).toHaveLength(0);
    expect(await log('L', own, [id])).toHaveLength(1);
    for (const caller of ['L', 'C']) expect(await log(caller, 'true', [], other)).toHaveLength(0);
    expect(await log('Watcher', 'access_id = $1', [hit!.access_id], operator)).toHaveLength(1);
    // The read of an operator is audited, but does not count as use.
    const [far] = await search(db, 'Watcher', 'curlew', operator);
    expect(far!.access_id).toBeTruthy();
  });

  it('shows admins the text of a query if the tenant keeps it, until it is erased', async () => {
    const id = await save(db, 'C', 'the godwit flies without a rest');
    await db.sql('L', 'select public.set_query_text_audit(true)');
    try {
      await search(db, 'C', 'what does the godwit do');
      const texts = async (caller: string) =>
        (await log(caller, 'target_id = $1', [id])).map(({ query_text }) => query_text);
      expect(await texts('L')).toStrictEqual(['what does the godwit do']);
      expect(await texts('C')).toStrictEqual([null]);
      const [{ audit_id }] = await db.asSuperuser(
        'select audit_id from importance.memory_access_log where target_id = $1',
        [id],
      );
      const textOf = async (caller: string, claims = {}) =>
        (await db.sql(caller, 'select importance.query_text_of($1) as text', [audit_id], claims))[0].text;
      expect(await textOf('L')).toMatch(/godwit/);
      expect(await textOf('C')).toBeNull();
      expect(await textOf('L', await addTenant(db, 'query-texts-other'))).toBeNull();
      await db.sql('L', "select public.erase_memory($1, 'a test')", [id]);
      expect(await texts('L'), 'the row stays, the text is erased').toStrictEqual([null]);
    } finally {
      await db.sql('L', 'select public.set_query_text_audit(false)');
    }
    await save(db, 'C', 'the godwit again');
    await search(db, 'C', 'godwit');
    expect(await log('L', 'query_text is not null')).toHaveLength(0);
  });

  it('logs no access outside the caller’s scopes, and counts none that it could not have made', async () => {
    const secret = await save(db, 'L', 'the sandpiper of L', { scope: 'l-private' });
    const forge = (scope: string) =>
      db.sql('C', "select importance.log_accesses('get', array[$1::uuid], array[$2], array['l9']) as ids", [
        secret,
        scope,
      ]);
    await forge('l-private');
    await forge('developer');
    await rollUp(db);
    const rows = await db.asSuperuser('select agent_id, scope from importance.memory_access_log where target_id = $1', [
      secret,
    ]);
    expect(rows, 'an access outside its scopes is not logged').toStrictEqual([{ agent_id: 'C', scope: 'developer' }]);
    expect(await db.asSuperuser('select from public.memory_signals where packet_id = $1', [secret])).toStrictEqual([]);
    await expect(
      db.sql(
        'C',
        "select importance.log_accesses('get', array_fill($1::uuid, array[101]), array_fill('developer'::text, array[101]), null)",
        [secret],
      ),
    ).rejects.toMatchObject({ code: 'L9LIM' });
  });

  it('lets an operator drop the partition of a past month once it is rolled up', async () => {
    const operator = { role: 'l9_platform_admin' };
    const partitions = async () =>
      (
        await db.asSuperuser(
          "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'importance.memory_access_log'::regclass",
        )
      ).map(({ name }) => name as string);
    expect((await partitions()).length).toBeGreaterThanOrEqual(14);
    const [{ first }] = await db.sql(
      'L',
      "select to_char(date_trunc('month', now() at time zone 'UTC'), 'YYYY-MM-DD') as first",
    );
    await db.asSuperuser("select audit.create_month_partitions('importance.memory_access_log', '2025-03-01', 1)");
    const id = await save(db, 'C', 'the dunlin of last year');
    await db.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', $2, 'developer', 'l9', false
       from (select uuidv7(timestamptz '2025-03-10' - now()) as id from generate_series(1, 3)) x`,
      [id, '00000000-0000-7000-8000-000000000001'],
    );
    const drop = (month: string) =>
      db.sql('Watcher', 'select public.drop_access_partition($1::date) as dropped', [month], operator);
    await expect(drop('2025-04-01')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/has no partition/),
    });
    await expect(drop(first)).rejects.toMatchObject({ code: 'L9VAL', message: expect.stringMatching(/past month/) });
    await expect(drop('2025-03-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/rolled up/),
    });
    await expect(db.sql('L', "select public.drop_access_partition('2025-03-01')")).rejects.toMatchObject({
      code: '42501',
    });
    await rollUp(db);
    expect(await drop('2025-03-15')).toStrictEqual([{ dropped: '3' }]);
    expect((await partitions()).some((name) => name.includes('2025_03'))).toBe(false);
    const [signals] = await db.asSuperuser('select access_count::int from public.memory_signals where packet_id = $1', [
      id,
    ]);
    expect(signals.access_count, 'the statistics stay').toBe(3);
    const [audited] = await db.sql(
      'L',
      "select details from public.audit_log where table_name = 'memory_access_log' and operation = 'CLEANUP'",
    );
    expect(audited.details.rows).toBe(3);
  });

  it('keeps rows without texts when their memory is deleted', async () => {
    const id = await save(db, 'C', 'the whimbrel was seen');
    const [hit] = await search(db, 'C', 'whimbrel');
    await vote(db, 'C', hit!.access_id, true, 'it told of the whimbrel');
    await rollUp(db);
    await db.sql('C', 'select public.delete_memory($1)', [id]);
    const [row] = await log('C', 'access_id = $1', [hit!.access_id]);
    expect([row.target_id, row.was_useful, row.feedback_reason]).toStrictEqual([id, null, null]);
    for (const table of ['memory_feedback', 'memory_signals'])
      expect(await db.asSuperuser(`select from public.${table} where packet_id = $1`, [id])).toStrictEqual([]);
  });
});
