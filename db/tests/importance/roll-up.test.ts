// Accesses and votes are counted exactly once, at next to no cost, and searches go by what comes of it.

import pg from 'pg';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the roll-up of the access log', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const signals = async (id: string) => {
    const [row] = await gateway.asSuperuser(
      'select access_count::int, use_weight, useful, useless, last_accessed from public.memory_signals where packet_id = $1',
      [id],
    );
    return row;
  };
  const atOnce = (n: number, work: (index: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: n }, (_, index) => work(index)));

  it('counts each access once, however often it runs and however small the batch', async () => {
    const id = await save(gateway, 'C', 'a lantern in the fog');
    for (let n = 0; n < 5; n++) await search(gateway, 'C', 'lantern');
    await gateway.sql('C', 'select public.get_memory($1)', [id]);
    await rollUp(gateway, 1);
    await rollUp(gateway, 2);
    await rollUp(gateway);
    const row = await signals(id);
    expect(row.access_count).toBe(6);
    expect(Math.abs(row.use_weight - 1.5)).toBeLessThan(0.01);
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { accessCount lastAccessed importanceScore estimatedImportance contradictionCount } }',
      { id },
    );
    const memory = data.memoryByPacketId;
    expect(memory.accessCount).toBe('6');
    expect(new Date(memory.lastAccessed).getTime()).toBe(row.last_accessed.getTime());
    expect(memory.estimatedImportance).toBe(0.5);
    expect(memory.importanceScore).toBeGreaterThan(0.5);
    expect(memory.importanceScore).toBeLessThan(0.6);
    expect(memory.contradictionCount).toBe(0);
  });

  it('has use decay', async () => {
    const id = await save(gateway, 'C', 'a compass from long ago');
    await gateway.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), $1, 'C', 'get', '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
       from (select uuidv7(interval '-60 days') as id) x`,
      [id],
    );
    await rollUp(gateway);
    await gateway.sql('C', 'select public.get_memory($1)', [id]);
    await rollUp(gateway);
    const row = await signals(id);
    expect(row.access_count).toBe(2);
    expect(Math.abs(row.use_weight - 1.25), String(row.use_weight)).toBeLessThan(0.001);
  });

  it('changes nothing of the memory: no version, no audit row, no time of change, no row of packet_store', async () => {
    const id = await save(gateway, 'C', 'a sextant in its box', { importance: 0.9 });
    const state = () =>
      gateway.asSuperuser(
        `select p.xmin, p.ctid, p.updated_at, p.importance_score, p.access_count,
           (select count(*) from public.packet_versions v where v.packet_id = p.packet_id) as versions,
           (select count(*) from public.audit_log a where a.row_id = p.packet_id) as audited
         from public.packet_store p where p.packet_id = $1`,
        [id],
      );
    const before = await state();
    const [hit] = await search(gateway, 'C', 'sextant');
    await vote(gateway, 'C', hit!.access_id, false);
    await rollUp(gateway);
    expect(await state()).toStrictEqual(before);
    const [now] = await search(gateway, 'C', 'sextant');
    expect(now!.importance, 'what was learned counts').toBeLessThan(0.75);
    expect(now!.importance, 'what was learned counts').toBeGreaterThan(0.3);
    await gateway.sql('C', 'select public.update_memory($1, importance => 0.1)', [id]);
    const [later] = await search(gateway, 'C', 'sextant');
    expect(later!.importance, 'at once with a new estimate').toBeLessThan(0.1);
  });

  it('counts contradictions beside the memory', async () => {
    const id = await save(gateway, 'C', 'the astrolabe is of brass');
    const score = async () => (await search(gateway, 'C', 'astrolabe'))[0]!.importance;
    await gateway.sql('L', "select public.register_predicate('is of')");
    const assertFrom = (memory: string, object: string) =>
      gateway.sql('C', `select public.assert_fact('the astrolabe', 'is of', to_jsonb($2::text), source_packet => $1)`, [
        memory,
        object,
      ]);
    await assertFrom(id, 'brass');
    const before = await score();
    await assertFrom(await save(gateway, 'C', 'it turned out to be bronze'), 'bronze');
    expect(await score()).toBeLessThan(before - 0.1);
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { contradictionCount } }',
      { id },
    );
    expect(data.memoryByPacketId.contradictionCount).toBe(1);
  });

  it('goes on where a dump of another cluster left off, without counting anything twice', async () => {
    const id = await save(gateway, 'C', 'a chronometer at sea');
    await search(gateway, 'C', 'chronometer');
    await rollUp(gateway);
    // As if everything so far had been written in a cluster that was far ahead.
    await gateway.asSuperuser("update importance.access_roll_up set to_xid = '900000000000'");
    await search(gateway, 'C', 'chronometer');
    await gateway.asSuperuser(
      `insert into importance.memory_access_log (access_id, accessed_at, xid, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
       select x.id, uuid_extract_timestamp(x.id), '900000000001', $1, 'C', 'get', '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
       from (select uuidv7(interval '-10 days') as id) x`,
      [id],
    );
    const { workerPool } = gateway.instance.database;
    const { rows } = await workerPool.query('select importance.are_accesses_waiting() as due');
    expect(rows[0].due).toBe(true);
    for (let n = 0; n < 3; n++) await workerPool.query('select facts.roll_up_accesses()');
    await search(gateway, 'C', 'chronometer');
    await rollUp(gateway);
    expect((await signals(id)).access_count).toBe(4);
  });

  it('shows what is known of a memory only to who may read it', async () => {
    const id = await save(gateway, 'L', 'a telescope for L', { scope: 'l-private' });
    await search(gateway, 'L', 'telescope');
    await rollUp(gateway);
    const read = (caller: string) =>
      gateway.sql(caller, 'select access_count from public.memory_signals where packet_id = $1', [id]);
    expect(await read('L')).toHaveLength(1);
    expect(await read('C')).toHaveLength(0);
    await expect(gateway.sql('C', 'update public.memory_signals set useful = 9')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(gateway.sql('C', 'select facts.roll_up_accesses()')).rejects.toMatchObject({ code: '42501' });
    await gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [id]);
    expect(await read('C'), 'it follows the memory').toHaveLength(1);
  });

  it('is told of at /metrics', async () => {
    await save(gateway, 'C', 'a barometer that falls');
    await search(gateway, 'C', 'barometer');
    await rollUp(gateway);
    const text = await (await fetch(`${gateway.instance.url}/metrics`)).text();
    const [backlog, oldest, last] = text.split('\n').filter((line) => line.startsWith('l9_access_'));
    expect([backlog, oldest]).toStrictEqual(['l9_access_backlog 0', 'l9_access_backlog_oldest_seconds 0']);
    expect(last!).toMatch(/^l9_access_last_roll_up_timestamp_seconds 1\d{9}/);
  });

  it('lifts what helped over its equals, and leaves alone whoever has no equal', async () => {
    // Five that answer alike, but for the order of their words, and one that alone answers another question.
    const words = ['ferry', 'leaves', 'at', 'noon', 'daily'];
    const equals: string[] = [];
    for (let n = 0; n < words.length; n++) {
      equals.push(await save(gateway, 'C', [...words.slice(n), ...words.slice(0, n)].join(' ')));
    }
    const only = await save(gateway, 'C', 'the funicular climbs every quarter of an hour');
    const ranks = async (query: string, id: string) =>
      (await search(gateway, 'C', query)).findIndex(({ packet_id }) => packet_id === id) + 1;
    const order = (await search(gateway, 'C', 'ferry noon')).map(({ packet_id }) => packet_id);
    const marked = order[4]!;
    expect(equals).toContain(marked);
    for (let round = 0; round < 3; round++) {
      const hits = await search(gateway, 'C', 'ferry noon');
      await vote(gateway, 'C', hits.find(({ packet_id }) => packet_id === marked)!.access_id, true);
      await rollUp(gateway);
    }
    expect(await ranks('ferry noon', marked)).toBe(1);
    expect((await ranks('funicular ferry', only)) <= 2).toBe(true);
    expect(await ranks('how often does the funicular climb', only)).toBe(1);
    // However much it is praised, it does not come before what answers another question.
    expect(await ranks('funicular quarter ferry', only)).toBe(1);
  });

  describeOnServer('beside other work', () => {
    it('updates every memory in place: HOT, all of them, in one go after another', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 150; n++) ids.push(await save(gateway, 'C', `kestrel number ${n}`));
      await gateway.embedded();
      const access = () =>
        gateway.sql(
          'C',
          "select importance.log_accesses('search', $1::uuid[], array_fill('developer'::text, array[cardinality($1::uuid[])]), array_fill('l9'::text, array[cardinality($1::uuid[])]))",
          [ids.slice(0, 100)],
        );
      const stats = async () => {
        // Counters of a session are published when it has been idle for a moment, or is asked to.
        await gateway.instance.database.workerPool.query('select pg_stat_force_next_flush()');
        await gateway.instance.database.workerPool.query('select 1');
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        const [row] = await gateway.asSuperuser(
          `select sum(n_tup_upd)::int as updated, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables where relid = 'public.memory_signals'::regclass`,
        );
        const [packets] = await gateway.asSuperuser(
          "select n_tup_upd::int as n from pg_stat_user_tables where relid = 'public.packet_store'::regclass",
        );
        return { ...row, packets: packets.n } as { updated: number; hot: number; packets: number };
      };
      await access();
      await rollUp(gateway);
      const before = await stats();
      for (let round = 0; round < 20; round++) {
        await access();
        await rollUp(gateway);
      }
      // Each connection of the pool publishes its counters when it has been idle for ten seconds.
      let after = await stats();
      for (let tries = 0; after.updated - before.updated < 20 * 100 && tries < 12; tries++) after = await stats();
      const updated = after.updated - before.updated;
      expect(updated, 'one update for each memory and run').toBeGreaterThanOrEqual(20 * 100);
      expect(updated, 'one update for each memory and run').toBeLessThan(21 * 100);
      // All but those whose page no one could tidy up, since somebody (an automatic analyze) still saw its old rows.
      expect(after.hot - before.hot, JSON.stringify([before, after])).toBeGreaterThanOrEqual(
        0.9 * (after.updated - before.updated),
      );
      expect(after.packets, 'packet_store is not touched').toBe(before.packets);
    });

    it('skips nothing that was in flight', async () => {
      const id = await save(gateway, 'C', 'a gyroscope in flight');
      const client = new pg.Client({ connectionString: gateway.home.superuserUrl! });
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
        for (let n = 0; n < 3; n++) await gateway.sql('C', 'select public.get_memory($1)', [id]);
        const { workerPool } = gateway.instance.database;
        for (let n = 0; n < 3; n++) await workerPool.query('select facts.roll_up_accesses()');
        expect(await signals(id), 'they wait for it').toBeUndefined();
        await client.query('commit');
      } finally {
        await client.end();
      }
      await rollUp(gateway);
      expect((await signals(id)).access_count).toBe(4);
    });

    it('counts right with twenty searches and four roll-ups at once, and deletes meanwhile', async () => {
      const kept = await save(gateway, 'C', 'a theodolite that stays');
      const going = await Promise.all(
        Array.from({ length: 10 }, (_, n) => save(gateway, 'C', `a theodolite that goes ${n}`)),
      );
      const { workerPool } = gateway.instance.database;
      await Promise.all([
        atOnce(20, () => search(gateway, 'C', 'theodolite', {}, 20)),
        atOnce(4, () => workerPool.query('select facts.roll_up_accesses(7)')),
        atOnce(10, (n) => gateway.sql('C', 'select public.delete_memory($1)', [going[n]])),
      ]);
      await rollUp(gateway);
      expect((await signals(kept)).access_count).toBe(20);
      for (const id of going) expect(await signals(id)).toBeUndefined();
    });

    it('loses nothing and doubles nothing where it is broken off', async () => {
      const id = await save(gateway, 'C', 'an anemometer turns');
      for (let n = 0; n < 4; n++) await search(gateway, 'C', 'anemometer');
      const client = new pg.Client({ connectionString: gateway.home.superuserUrl! });
      client.on('error', () => {});
      await client.connect();
      const { rows } = await client.query('select pg_backend_pid() as pid');
      await client.query('set role l9_worker');
      await client.query('begin');
      await client.query('select facts.roll_up_accesses()');
      await gateway.asSuperuser('select pg_terminate_backend($1)', [rows[0].pid]);
      await client.end().catch(() => {});
      await rollUp(gateway);
      expect((await signals(id)).access_count).toBe(4);
    });
  });
});
