// Accesses and votes are counted exactly once, at next to no cost, and searches go by what comes of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the roll-up of the access log', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const signals = async (id: string) => {
    const [row] = await house.asSuperuser(
      'select access_count::int, use_weight, useful, useless, last_accessed from public.memory_signals where packet_id = $1',
      [id],
    );
    return row;
  };
  const atOnce = (n: number, work: (index: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: n }, (_, index) => work(index)));

  it('counts each access once, however often it runs and however small the batch', async () => {
    const id = await save(house, 'C', 'a lantern in the fog');
    for (let n = 0; n < 5; n++) await search(house, 'C', 'lantern');
    await house.sql('C', 'select public.get_memory($1)', [id]);
    await rollUp(house, 1);
    await rollUp(house, 2);
    await rollUp(house);
    const row = await signals(id);
    assert.equal(row.access_count, 6);
    assert.ok(Math.abs(row.use_weight - 1.5) < 0.01);
    const { data } = await house.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { accessCount lastAccessed importanceScore estimatedImportance contradictionCount } }',
      { id },
    );
    const memory = data.memoryByPacketId;
    assert.equal(memory.accessCount, '6');
    assert.equal(new Date(memory.lastAccessed).getTime(), row.last_accessed.getTime());
    assert.equal(memory.estimatedImportance, 0.5);
    assert.ok(memory.importanceScore > 0.5 && memory.importanceScore < 0.6);
    assert.equal(memory.contradictionCount, 0);
  });

  it('has use decay', async () => {
    const id = await save(house, 'C', 'a compass from long ago');
    await house.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
       from (select uuidv7(interval '-60 days') as id) x`,
      [id],
    );
    await rollUp(house);
    await house.sql('C', 'select public.get_memory($1)', [id]);
    await rollUp(house);
    const row = await signals(id);
    assert.equal(row.access_count, 2);
    assert.ok(Math.abs(row.use_weight - 1.25) < 0.001, String(row.use_weight));
  });

  it('changes nothing of the memory: no version, no audit row, no time of change, no row of packet_store', async () => {
    const id = await save(house, 'C', 'a sextant in its box', { importance: 0.9 });
    const state = () =>
      house.asSuperuser(
        `select p.xmin, p.ctid, p.updated_at, p.importance_score, p.access_count,
           (select count(*) from public.packet_versions v where v.packet_id = p.packet_id) as versions,
           (select count(*) from public.audit_log a where a.row_id = p.packet_id) as audited
         from public.packet_store p where p.packet_id = $1`,
        [id],
      );
    const before = await state();
    const [hit] = await search(house, 'C', 'sextant');
    await vote(house, 'C', hit!.access_id, false);
    await rollUp(house);
    assert.deepEqual(await state(), before);
    const [now] = await search(house, 'C', 'sextant');
    assert.ok(now!.importance < 0.75 && now!.importance > 0.3, 'what was learned counts');
    await house.sql('C', 'select public.update_memory($1, importance => 0.1)', [id]);
    const [later] = await search(house, 'C', 'sextant');
    assert.ok(later!.importance < 0.1, 'at once with a new estimate');
  });

  it('counts contradictions beside the memory', async () => {
    const id = await save(house, 'C', 'the astrolabe is of brass');
    const score = async () => (await search(house, 'C', 'astrolabe'))[0]!.importance;
    await house.sql('L', "select public.register_predicate('is of')");
    const assertFrom = (memory: string, object: string) =>
      house.sql('C', `select public.assert_fact('the astrolabe', 'is of', to_jsonb($2::text), source_packet => $1)`, [
        memory,
        object,
      ]);
    await assertFrom(id, 'brass');
    const before = await score();
    await assertFrom(await save(house, 'C', 'it turned out to be bronze'), 'bronze');
    assert.ok((await score()) < before - 0.1);
    const { data } = await house.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { contradictionCount } }',
      { id },
    );
    assert.equal(data.memoryByPacketId.contradictionCount, 1);
  });

  it('goes on where a dump of another cluster left off, without counting anything twice', async () => {
    const id = await save(house, 'C', 'a chronometer at sea');
    await search(house, 'C', 'chronometer');
    await rollUp(house);
    // As if everything so far had been written in a cluster that was far ahead.
    await house.asSuperuser("update importance.access_roll_up set to_xid = '900000000000'");
    await search(house, 'C', 'chronometer');
    await house.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, xid, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), '900000000001', $1, 'C', 'get', '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
       from (select uuidv7(interval '-10 days') as id) x`,
      [id],
    );
    const { workerPool } = house.gateway.database;
    const { rows } = await workerPool.query('select importance.are_accesses_waiting() as due');
    assert.equal(rows[0].due, true);
    for (let n = 0; n < 3; n++) await workerPool.query('select facts.roll_up_accesses()');
    await search(house, 'C', 'chronometer');
    await rollUp(house);
    assert.equal((await signals(id)).access_count, 4);
  });

  it('shows what is known of a memory only to who may read it', async () => {
    const id = await save(house, 'L', 'a telescope for L', { scope: 'l-private' });
    await search(house, 'L', 'telescope');
    await rollUp(house);
    const read = (caller: string) =>
      house.sql(caller, 'select access_count from public.memory_signals where packet_id = $1', [id]);
    assert.equal((await read('L')).length, 1);
    assert.equal((await read('C')).length, 0);
    await assert.rejects(house.sql('C', 'update public.memory_signals set useful = 9'), { code: '42501' });
    await assert.rejects(house.sql('C', 'select facts.roll_up_accesses()'), { code: '42501' });
    await house.sql('L', "select public.update_memory($1, scope => 'developer')", [id]);
    assert.equal((await read('C')).length, 1, 'it follows the memory');
  });

  it('is told of at /metrics', async () => {
    await save(house, 'C', 'a barometer that falls');
    await search(house, 'C', 'barometer');
    await rollUp(house);
    const text = await (await fetch(`${house.gateway.url}/metrics`)).text();
    const [backlog, oldest, last] = text.split('\n').filter((line) => line.startsWith('l9_access_'));
    assert.deepEqual([backlog, oldest], ['l9_access_backlog 0', 'l9_access_backlog_oldest_seconds 0']);
    assert.match(last!, /^l9_access_last_roll_up_timestamp_seconds 1\d{9}/);
  });

  it('lifts what helped over its equals, and leaves alone whoever has no equal', async () => {
    // Five that answer alike, but for the order of their words, and one that alone answers another question.
    const words = ['ferry', 'leaves', 'at', 'noon', 'daily'];
    const equals: string[] = [];
    for (let n = 0; n < words.length; n++) {
      equals.push(await save(house, 'C', [...words.slice(n), ...words.slice(0, n)].join(' ')));
    }
    const only = await save(house, 'C', 'the funicular climbs every quarter of an hour');
    const ranks = async (query: string, id: string) =>
      (await search(house, 'C', query)).findIndex(({ packet_id }) => packet_id === id) + 1;
    const order = (await search(house, 'C', 'ferry noon')).map(({ packet_id }) => packet_id);
    const marked = order[4]!;
    assert.ok(equals.includes(marked));
    for (let round = 0; round < 3; round++) {
      const hits = await search(house, 'C', 'ferry noon');
      await vote(house, 'C', hits.find(({ packet_id }) => packet_id === marked)!.access_id, true);
      await rollUp(house);
    }
    assert.equal(await ranks('ferry noon', marked), 1);
    assert.equal((await ranks('funicular ferry', only)) <= 2, true);
    assert.equal(await ranks('how often does the funicular climb', only), 1);
    // However much it is praised, it does not come before what answers another question.
    assert.equal(await ranks('funicular quarter ferry', only), 1);
  });

  describe('beside other work', { skip: engine === 'embedded' && 'it has one connection' }, () => {
    it('updates every memory in place: HOT, all of them, in one go after another', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 150; n++) ids.push(await save(house, 'C', `kestrel number ${n}`));
      await house.embedded();
      const access = () =>
        house.sql(
          'C',
          "select importance.log_accesses('search', $1::uuid[], array_fill('developer'::text, array[cardinality($1::uuid[])]), array_fill('l9'::text, array[cardinality($1::uuid[])]))",
          [ids.slice(0, 100)],
        );
      const stats = async () => {
        // Counters of a session are published when it has been idle for a moment, or is asked to.
        await house.gateway.database.workerPool.query('select pg_stat_force_next_flush()');
        await house.gateway.database.workerPool.query('select 1');
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        const [row] = await house.asSuperuser(
          `select sum(n_tup_upd)::int as updated, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables where relid = 'public.memory_signals'::regclass`,
        );
        const [packets] = await house.asSuperuser(
          "select n_tup_upd::int as n from pg_stat_user_tables where relid = 'public.packet_store'::regclass",
        );
        return { ...row, packets: packets.n } as { updated: number; hot: number; packets: number };
      };
      await access();
      await rollUp(house);
      const before = await stats();
      for (let round = 0; round < 20; round++) {
        await access();
        await rollUp(house);
      }
      // Each connection of the pool publishes its counters when it has been idle for ten seconds.
      let after = await stats();
      for (let tries = 0; after.updated - before.updated < 20 * 100 && tries < 12; tries++) after = await stats();
      const updated = after.updated - before.updated;
      assert.ok(updated >= 20 * 100 && updated < 21 * 100, 'one update for each memory and run');
      // All but those whose page no one could tidy up, since somebody (an automatic analyze) still saw its old rows.
      assert.ok(after.hot - before.hot >= 0.9 * (after.updated - before.updated), JSON.stringify([before, after]));
      assert.equal(after.packets, before.packets, 'packet_store is not touched');
    });

    it('skips nothing that was in flight', async () => {
      const id = await save(house, 'C', 'a gyroscope in flight');
      const client = new pg.Client({ connectionString: house.home.superuserUrl! });
      await client.connect();
      try {
        await client.query('begin');
        await client.query(
          `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
           select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
           from (select uuidv7() as id) x`,
          [id],
        );
        // Later transactions commit first.
        for (let n = 0; n < 3; n++) await house.sql('C', 'select public.get_memory($1)', [id]);
        const { workerPool } = house.gateway.database;
        for (let n = 0; n < 3; n++) await workerPool.query('select facts.roll_up_accesses()');
        assert.equal(await signals(id), undefined, 'they wait for it');
        await client.query('commit');
      } finally {
        await client.end();
      }
      await rollUp(house);
      assert.equal((await signals(id)).access_count, 4);
    });

    it('counts right with twenty searches and four roll-ups at once, and deletes meanwhile', async () => {
      const kept = await save(house, 'C', 'a theodolite that stays');
      const going = await Promise.all(
        Array.from({ length: 10 }, (_, n) => save(house, 'C', `a theodolite that goes ${n}`)),
      );
      const { workerPool } = house.gateway.database;
      await Promise.all([
        atOnce(20, () => search(house, 'C', 'theodolite', {}, 20)),
        atOnce(4, () => workerPool.query('select facts.roll_up_accesses(7)')),
        atOnce(10, (n) => house.sql('C', 'select public.delete_memory($1)', [going[n]])),
      ]);
      await rollUp(house);
      assert.equal((await signals(kept)).access_count, 20);
      for (const id of going) assert.equal(await signals(id), undefined);
    });

    it('loses nothing and doubles nothing where it is broken off', async () => {
      const id = await save(house, 'C', 'an anemometer turns');
      for (let n = 0; n < 4; n++) await search(house, 'C', 'anemometer');
      const client = new pg.Client({ connectionString: house.home.superuserUrl! });
      client.on('error', () => {});
      await client.connect();
      const { rows } = await client.query('select pg_backend_pid() as pid');
      await client.query('set role l9_worker');
      await client.query('begin');
      await client.query('select facts.roll_up_accesses()');
      await house.asSuperuser('select pg_terminate_backend($1)', [rows[0].pid]);
      await client.end().catch(() => {});
      await rollUp(house);
      assert.equal((await signals(id)).access_count, 4);
    });
  });
});
