// Who saw which memory: on the log, for nobody to change, and for nobody to see who may not.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asOwner } from '../../../gateway/tests/support/logins.ts';
import { addOperator, addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the access log', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const log = (caller: string, condition = 'true', values: unknown[] = [], claims = {}) =>
    house.sql(caller, `select * from public.memory_access_log where ${condition} order by access_id`, values, claims);

  it('has a row for each hit, under the access id that the hit carries', async () => {
    const id = await save(house, 'C', 'the heron stands in the reeds');
    await save(house, 'L', 'another heron, in private', { scope: 'l-private' });
    const hits = await search(house, 'L', 'heron');
    assert.equal(hits.length, 2);
    const rows = await log('L', 'access_id = any ($1)', [hits.map((hit) => hit.access_id)]);
    assert.deepEqual(
      rows.map((row) => [row.target_id, row.agent_id, row.access_context, row.target_type, row.relevance_score]),
      hits.map((hit) => [hit.packet_id, 'L', 'search', 'memory', hit.score]),
    );
    assert.deepEqual(
      rows.map(({ was_useful, feedback_reason, query_text }) => [was_useful, feedback_reason, query_text]),
      Array(2).fill([null, null, null]),
    );
    assert.ok(Date.now() - rows[0].accessed_at.getTime() < 60_000);
    await house.tool('C', 'get_memory', { packet_id: id });
    const [read] = await log('C', "target_id = $1 and access_context = 'get'", [id]);
    assert.deepEqual([read.agent_id, read.scope, read.project_id], ['C', 'developer', 'l9']);
  });

  it('is on the hits of every door', async () => {
    await save(house, 'C', 'the bittern booms at dusk');
    const ofTool = (await house.tool('C', 'search_memory', { query: 'bittern' })).result.hits[0].access_id;
    const { data, errors } = await house.graphql(
      'C',
      '{ searchMemory(query: "bittern") { hits { accessId memory { accessCount accesses { nodes { accessId agentId memory { content } } } } } } }',
    );
    assert.equal(errors, undefined);
    const [hit] = data.searchMemory.hits;
    assert.deepEqual(
      hit.memory.accesses.nodes.map((node: { accessId: string }) => node.accessId),
      [ofTool, hit.accessId],
    );
    assert.equal(hit.memory.accesses.nodes[0].memory.content, 'the bittern booms at dusk');
  });

  it('grows only: nobody updates, deletes or truncates, its owner and a superuser included', async () => {
    for (const statement of ['update % set agent_id = $$L$$', 'delete from %', 'truncate %']) {
      const refused = (table: string) => statement.replace('%', table);
      await assert.rejects(house.sql('C', refused('importance.memory_access_log')), { code: '42501' });
      await assert.rejects(house.sql('L', refused('importance.memory_access_log')), { code: '42501' });
      for (const table of ['importance.memory_access_log', `partitions.memory_access_log_default`]) {
        await assert.rejects(asOwner(house, refused(table)), { code: 'L9IMM' }, table);
        await assert.rejects(house.asSuperuser(refused(table)), { code: 'L9IMM' }, table);
      }
      // The view joins what can be erased, so PostgreSQL changes nothing through it.
      await assert.rejects(house.asSuperuser(refused('public.memory_access_log')), { code: /55000|42809/ });
    }
    await assert.rejects(house.sql('C', 'insert into importance.memory_access_log (target_id) values (uuidv7())'), {
      code: '42501',
    });
  });

  it('shows an agent its own accesses, never those of others, nor anything of a scope that is not its', async () => {
    const shared = await save(house, 'C', 'the plover runs along the shore');
    const secret = await save(house, 'L', 'the plover of L', { scope: 'l-private' });
    await search(house, 'L', 'plover');
    await search(house, 'C', 'plover');
    const seen = await log('C', 'true');
    assert.ok(seen.length > 0 && seen.every(({ agent_id }) => agent_id === 'C'));
    assert.ok(!JSON.stringify(seen).includes(secret));
    const [{ n }] = await house.sql(
      'C',
      'select count(*)::int as n from public.memory_access_log where target_id = $1',
      [shared],
    );
    assert.equal(n, 1);
    const { data } = await house.graphql(
      'C',
      'query Mine { memoryAccesses { totalCount nodes { agentId targetId } } }',
    );
    assert.equal(data.memoryAccesses.totalCount, seen.length);
    assert.ok(!JSON.stringify(data).includes(secret));
    const [look] = await house.sql(
      'L',
      "select details from public.audit_log where details ->> 'operation_name' = 'Mine' and operation = 'READ'",
    );
    assert.equal(look.details.tables.memory_access_log, seen.length, 'the look is on the record');
    // An admin sees both; cut down to a scope, only that.
    assert.equal((await log('L', 'target_id = any ($1)', [[shared, secret]])).length, 3);
    assert.equal((await log('L', 'target_id = $1', [secret], { 'jwt.claims.scopes': 'developer' })).length, 0);
    assert.equal((await log('C', 'target_id = $1', [shared], { 'jwt.claims.projects': 'other' })).length, 0);
  });

  it('keeps tenants, orgs and users apart', async () => {
    const other = await addTenant(house, 'access-other');
    const operator = await addOperator(house, 'Watcher');
    const id = await save(house, 'C', 'the curlew calls');
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const [hit] = await search(house, 'C', 'curlew', user);
    const own = "target_id = $1 and access_context = 'search'";
    assert.equal((await log('C', own, [id], user)).length, 1);
    assert.equal((await log('C', own, [id])).length, 0, 'not while it acts for no user');
    assert.equal((await log('C', own, [id], { 'jwt.claims.org_id': user['jwt.claims.user_id'] })).length, 0);
    assert.equal((await log('L', own, [id])).length, 1);
    for (const caller of ['L', 'C']) assert.equal((await log(caller, 'true', [], other)).length, 0);
    assert.equal((await log('Watcher', 'access_id = $1', [hit!.access_id], operator)).length, 1);
    // An operator who looks into another tenant leaves an audit row, but uses nothing of it.
    const [far] = await search(house, 'Watcher', 'curlew', { ...operator, ...{} });
    assert.ok(far!.access_id);
  });

  it('has the text of a query only where the tenant keeps those, only for admins, and until it is erased', async () => {
    const id = await save(house, 'C', 'the godwit flies without a rest');
    await house.sql('L', 'select public.set_query_text_audit(true)');
    try {
      await search(house, 'C', 'what does the godwit do');
      const texts = async (caller: string) =>
        (await log(caller, 'target_id = $1', [id])).map(({ query_text }) => query_text);
      assert.deepEqual(await texts('L'), ['what does the godwit do']);
      assert.deepEqual(await texts('C'), [null]);
      const [{ audit_id }] = await house.asSuperuser(
        'select audit_id from importance.memory_access_log where target_id = $1',
        [id],
      );
      const asked = async (caller: string, claims = {}) =>
        (await house.sql(caller, 'select importance.query_text_of($1) as text', [audit_id], claims))[0].text;
      assert.match(await asked('L'), /godwit/);
      assert.equal(await asked('C'), null);
      assert.equal(await asked('L', await addTenant(house, 'query-texts-other')), null);
      await house.sql('L', "select public.erase_memory($1, 'a test')", [id]);
      assert.deepEqual(await texts('L'), [null], 'the row stays, the text is gone');
    } finally {
      await house.sql('L', 'select public.set_query_text_audit(false)');
    }
    await save(house, 'C', 'the godwit again');
    await search(house, 'C', 'godwit');
    assert.equal((await log('L', 'query_text is not null')).length, 0);
  });

  it('takes from a caller nothing about others, and counts nothing that it could not read', async () => {
    const secret = await save(house, 'L', 'the sandpiper of L', { scope: 'l-private' });
    const forge = (scope: string) =>
      house.sql('C', "select importance.log_accesses('get', array[$1::uuid], array[$2], array['l9']) as ids", [
        secret,
        scope,
      ]);
    await forge('l-private');
    await forge('developer');
    await rollUp(house);
    const rows = await house.asSuperuser(
      'select agent_id, scope from importance.memory_access_log where target_id = $1',
      [secret],
    );
    assert.deepEqual(rows, [{ agent_id: 'C', scope: 'developer' }], 'what is not in its scopes is not even logged');
    assert.deepEqual(await house.asSuperuser('select from public.memory_signals where packet_id = $1', [secret]), []);
    await assert.rejects(
      house.sql(
        'C',
        "select importance.log_accesses('get', array_fill($1::uuid, array[101]), array_fill('developer'::text, array[101]), null)",
        [secret],
      ),
      { code: 'L9LIM' },
    );
  });

  it('is partitioned by month, with partitions ahead, and gives up a month that is over and rolled up', async () => {
    const operator = { role: 'l9_platform_admin' };
    const partitions = async () =>
      (
        await house.asSuperuser(
          "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'importance.memory_access_log'::regclass",
        )
      ).map(({ name }) => name as string);
    assert.ok((await partitions()).length >= 14);
    const [{ first }] = await house.sql(
      'L',
      "select to_char(date_trunc('month', now() at time zone 'UTC'), 'YYYY-MM-DD') as first",
    );
    await house.asSuperuser("select audit.create_month_partitions('importance.memory_access_log', '2025-03-01', 1)");
    const id = await save(house, 'C', 'the dunlin of last year');
    await house.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', $2, 'developer', 'l9', false
       from (select uuidv7(timestamptz '2025-03-10' - now()) as id from generate_series(1, 3)) x`,
      [id, '00000000-0000-7000-8000-000000000001'],
    );
    const drop = (month: string) =>
      house.sql('Watcher', 'select public.drop_access_partition($1::date) as dropped', [month], operator);
    await assert.rejects(drop('2025-04-01'), { code: 'L9VAL', message: /has no partition/ });
    await assert.rejects(drop(first), { code: 'L9VAL', message: /past month/ });
    await assert.rejects(drop('2025-03-15'), { code: 'L9VAL', message: /rolled up/ });
    await assert.rejects(house.sql('L', "select public.drop_access_partition('2025-03-01')"), { code: '42501' });
    await rollUp(house);
    assert.deepEqual(await drop('2025-03-15'), [{ dropped: '3' }]);
    assert.ok(!(await partitions()).some((name) => name.includes('2025_03')));
    const [signals] = await house.asSuperuser(
      'select access_count::int from public.memory_signals where packet_id = $1',
      [id],
    );
    assert.equal(signals.access_count, 3, 'what was learned stays');
    const [audited] = await house.sql(
      'L',
      "select details from public.audit_log where table_name = 'memory_access_log' and operation = 'CLEANUP'",
    );
    assert.equal(audited.details.rows, 3);
  });

  it('outlives its memory, without a word of it', async () => {
    const id = await save(house, 'C', 'the whimbrel was seen');
    const [hit] = await search(house, 'C', 'whimbrel');
    await vote(house, 'C', hit!.access_id, true, 'it told of the whimbrel');
    await rollUp(house);
    await house.sql('C', 'select public.delete_memory($1)', [id]);
    const [row] = await log('C', 'access_id = $1', [hit!.access_id]);
    assert.deepEqual([row.target_id, row.was_useful, row.feedback_reason], [id, null, null]);
    for (const table of ['memory_feedback', 'memory_signals'])
      assert.deepEqual(await house.asSuperuser(`select from public.${table} where packet_id = $1`, [id]), []);
  });
});
