// Who saw which memory: on the log, for nobody to change, and for nobody to see who may not.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the access log', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const log = (caller: string, condition = 'true', values: unknown[] = [], claims = {}) =>
    gateway.sql(caller, `select * from public.memory_access_log where ${condition} order by access_id`, values, claims);

  it('has a row for each hit, under the access id that the hit carries', async () => {
    const id = await save(gateway, 'C', 'the heron stands in the reeds');
    await save(gateway, 'L', 'another heron, in private', { scope: 'l-private' });
    const hits = await search(gateway, 'L', 'heron');
    expect(hits).toHaveLength(2);
    const rows = await log('L', 'access_id = any ($1)', [hits.map((hit) => hit.access_id)]);
    expect(
      rows.map((row) => [row.target_id, row.agent_id, row.access_context, row.target_type, row.relevance_score]),
    ).toStrictEqual(hits.map((hit) => [hit.packet_id, 'L', 'search', 'memory', hit.score]));
    expect(
      rows.map(({ was_useful, feedback_reason, query_text }) => [was_useful, feedback_reason, query_text]),
    ).toStrictEqual(Array(2).fill([null, null, null]));
    expect(Date.now() - rows[0].accessed_at.getTime()).toBeLessThan(60_000);
    await gateway.tool('C', 'get_memory', { packet_id: id });
    const [read] = await log('C', "target_id = $1 and access_context = 'get'", [id]);
    expect([read.agent_id, read.scope, read.project_id]).toStrictEqual(['C', 'developer', 'l9']);
  });

  it('is on the hits of every API', async () => {
    await save(gateway, 'C', 'the bittern booms at dusk');
    const ofTool = (await gateway.tool('C', 'search_memory', { query: 'bittern' })).result.hits[0].access_id;
    const { data, errors } = await gateway.graphql(
      'C',
      '{ searchMemory(query: "bittern") { hits { accessId memory { accessCount accesses { nodes { accessId agentId memory { content } } } } } } }',
    );
    expect(errors).toBeUndefined();
    const [hit] = data.searchMemory.hits;
    expect(hit.memory.accesses.nodes.map((node: { accessId: string }) => node.accessId)).toStrictEqual([
      ofTool,
      hit.accessId,
    ]);
    expect(hit.memory.accesses.nodes[0].memory.content).toBe('the bittern booms at dusk');
  });

  it('grows only: nobody updates, deletes or truncates, its owner and a superuser included', async () => {
    for (const statement of ['update % set agent_id = $$L$$', 'delete from %', 'truncate %']) {
      const refused = (table: string) => statement.replace('%', table);
      await expect(gateway.sql('C', refused('importance.memory_access_log'))).rejects.toMatchObject({ code: '42501' });
      await expect(gateway.sql('L', refused('importance.memory_access_log'))).rejects.toMatchObject({ code: '42501' });
      for (const table of ['importance.memory_access_log', `partitions.memory_access_log_default`]) {
        await expect(gateway.asOwner(refused(table)), table).rejects.toMatchObject({ code: 'L9IMM' });
        await expect(gateway.asSuperuser(refused(table)), table).rejects.toMatchObject({ code: 'L9IMM' });
      }
      // The view joins what can be erased, so PostgreSQL changes nothing through it.
      await expect(gateway.asSuperuser(refused('public.memory_access_log'))).rejects.toMatchObject({
        code: expect.stringMatching(/55000|42809/),
      });
    }
    await expect(
      gateway.sql('C', 'insert into importance.memory_access_log (target_id) values (uuidv7())'),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('shows an agent its own accesses, never those of others, nor anything of a scope that is not its', async () => {
    const shared = await save(gateway, 'C', 'the plover runs along the shore');
    const secret = await save(gateway, 'L', 'the plover of L', { scope: 'l-private' });
    await search(gateway, 'L', 'plover');
    await search(gateway, 'C', 'plover');
    const seen = await log('C', 'true');
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every(({ agent_id }) => agent_id === 'C')).toBe(true);
    expect(JSON.stringify(seen)).not.toContain(secret);
    const [{ n }] = await gateway.sql(
      'C',
      'select count(*)::int as n from public.memory_access_log where target_id = $1',
      [shared],
    );
    expect(n).toBe(1);
    const { data } = await gateway.graphql(
      'C',
      'query Mine { memoryAccesses { totalCount nodes { agentId targetId } } }',
    );
    expect(data.memoryAccesses.totalCount).toBe(seen.length);
    expect(JSON.stringify(data)).not.toContain(secret);
    const [look] = await gateway.sql(
      'L',
      "select details from public.audit_log where details ->> 'operation_name' = 'Mine' and operation = 'READ'",
    );
    expect(look.details.tables.memory_access_log, 'the look is on the record').toBe(seen.length);
    // An admin sees both; cut down to a scope, only that.
    expect(await log('L', 'target_id = any ($1)', [[shared, secret]])).toHaveLength(3);
    expect(await log('L', 'target_id = $1', [secret], { 'jwt.claims.scopes': 'developer' })).toHaveLength(0);
    expect(await log('C', 'target_id = $1', [shared], { 'jwt.claims.projects': 'other' })).toHaveLength(0);
  });

  it('keeps tenants, orgs and users apart', async () => {
    const other = await addTenant(gateway, 'access-other');
    const operator = await addOperator(gateway, 'Watcher');
    const id = await save(gateway, 'C', 'the curlew calls');
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const [hit] = await search(gateway, 'C', 'curlew', user);
    const own = "target_id = $1 and access_context = 'search'";
    expect(await log('C', own, [id], user)).toHaveLength(1);
    expect(await log('C', own, [id]), 'not while it acts for no user').toHaveLength(0);
    expect(await log('C', own, [id], { 'jwt.claims.org_id': user['jwt.claims.user_id'] })).toHaveLength(0);
    expect(await log('L', own, [id])).toHaveLength(1);
    for (const caller of ['L', 'C']) expect(await log(caller, 'true', [], other)).toHaveLength(0);
    expect(await log('Watcher', 'access_id = $1', [hit!.access_id], operator)).toHaveLength(1);
    // An operator who looks into another tenant leaves an audit row, but uses nothing of it.
    const [far] = await search(gateway, 'Watcher', 'curlew', { ...operator, ...{} });
    expect(far!.access_id).toBeTruthy();
  });

  it('has the text of a query only where the tenant keeps those, only for admins, and until it is erased', async () => {
    const id = await save(gateway, 'C', 'the godwit flies without a rest');
    await gateway.sql('L', 'select public.set_query_text_audit(true)');
    try {
      await search(gateway, 'C', 'what does the godwit do');
      const texts = async (caller: string) =>
        (await log(caller, 'target_id = $1', [id])).map(({ query_text }) => query_text);
      expect(await texts('L')).toStrictEqual(['what does the godwit do']);
      expect(await texts('C')).toStrictEqual([null]);
      const [{ audit_id }] = await gateway.asSuperuser(
        'select audit_id from importance.memory_access_log where target_id = $1',
        [id],
      );
      const asked = async (caller: string, claims = {}) =>
        (await gateway.sql(caller, 'select importance.query_text_of($1) as text', [audit_id], claims))[0].text;
      expect(await asked('L')).toMatch(/godwit/);
      expect(await asked('C')).toBeNull();
      expect(await asked('L', await addTenant(gateway, 'query-texts-other'))).toBeNull();
      await gateway.sql('L', "select public.erase_memory($1, 'a test')", [id]);
      expect(await texts('L'), 'the row stays, the text is gone').toStrictEqual([null]);
    } finally {
      await gateway.sql('L', 'select public.set_query_text_audit(false)');
    }
    await save(gateway, 'C', 'the godwit again');
    await search(gateway, 'C', 'godwit');
    expect(await log('L', 'query_text is not null')).toHaveLength(0);
  });

  it('takes from a caller nothing about others, and counts nothing that it could not read', async () => {
    const secret = await save(gateway, 'L', 'the sandpiper of L', { scope: 'l-private' });
    const forge = (scope: string) =>
      gateway.sql('C', "select importance.log_accesses('get', array[$1::uuid], array[$2], array['l9']) as ids", [
        secret,
        scope,
      ]);
    await forge('l-private');
    await forge('developer');
    await rollUp(gateway);
    const rows = await gateway.asSuperuser(
      'select agent_id, scope from importance.memory_access_log where target_id = $1',
      [secret],
    );
    expect(rows, 'what is not in its scopes is not even logged').toStrictEqual([{ agent_id: 'C', scope: 'developer' }]);
    expect(await gateway.asSuperuser('select from public.memory_signals where packet_id = $1', [secret])).toStrictEqual(
      [],
    );
    await expect(
      gateway.sql(
        'C',
        "select importance.log_accesses('get', array_fill($1::uuid, array[101]), array_fill('developer'::text, array[101]), null)",
        [secret],
      ),
    ).rejects.toMatchObject({ code: 'L9LIM' });
  });

  it('is partitioned by month, with partitions ahead, and gives up a month that is over and rolled up', async () => {
    const operator = { role: 'l9_platform_admin' };
    const partitions = async () =>
      (
        await gateway.asSuperuser(
          "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'importance.memory_access_log'::regclass",
        )
      ).map(({ name }) => name as string);
    expect((await partitions()).length).toBeGreaterThanOrEqual(14);
    const [{ first }] = await gateway.sql(
      'L',
      "select to_char(date_trunc('month', now() at time zone 'UTC'), 'YYYY-MM-DD') as first",
    );
    await gateway.asSuperuser("select audit.create_month_partitions('importance.memory_access_log', '2025-03-01', 1)");
    const id = await save(gateway, 'C', 'the dunlin of last year');
    await gateway.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', $2, 'developer', 'l9', false
       from (select uuidv7(timestamptz '2025-03-10' - now()) as id from generate_series(1, 3)) x`,
      [id, '00000000-0000-7000-8000-000000000001'],
    );
    const drop = (month: string) =>
      gateway.sql('Watcher', 'select public.drop_access_partition($1::date) as dropped', [month], operator);
    await expect(drop('2025-04-01')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/has no partition/),
    });
    await expect(drop(first)).rejects.toMatchObject({ code: 'L9VAL', message: expect.stringMatching(/past month/) });
    await expect(drop('2025-03-15')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/rolled up/),
    });
    await expect(gateway.sql('L', "select public.drop_access_partition('2025-03-01')")).rejects.toMatchObject({
      code: '42501',
    });
    await rollUp(gateway);
    expect(await drop('2025-03-15')).toStrictEqual([{ dropped: '3' }]);
    expect((await partitions()).some((name) => name.includes('2025_03'))).toBe(false);
    const [signals] = await gateway.asSuperuser(
      'select access_count::int from public.memory_signals where packet_id = $1',
      [id],
    );
    expect(signals.access_count, 'what was learned stays').toBe(3);
    const [audited] = await gateway.sql(
      'L',
      "select details from public.audit_log where table_name = 'memory_access_log' and operation = 'CLEANUP'",
    );
    expect(audited.details.rows).toBe(3);
  });

  it('outlives its memory, without a word of it', async () => {
    const id = await save(gateway, 'C', 'the whimbrel was seen');
    const [hit] = await search(gateway, 'C', 'whimbrel');
    await vote(gateway, 'C', hit!.access_id, true, 'it told of the whimbrel');
    await rollUp(gateway);
    await gateway.sql('C', 'select public.delete_memory($1)', [id]);
    const [row] = await log('C', 'access_id = $1', [hit!.access_id]);
    expect([row.target_id, row.was_useful, row.feedback_reason]).toStrictEqual([id, null, null]);
    for (const table of ['memory_feedback', 'memory_signals'])
      expect(await gateway.asSuperuser(`select from public.${table} where packet_id = $1`, [id])).toStrictEqual([]);
  });
});
