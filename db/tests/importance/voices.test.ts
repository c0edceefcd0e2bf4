// What counts as use of a memory, and that an agent has one voice on it, however often and by whatever means it acts.
import { assertFact, moveMemory, registerPredicate, retractFact } from '../facts/support.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('the voices of agents on a memory', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (const caller of ['D', 'E', 'F']) await db.sql('L', 'select public.register_actor($1)', [caller]);
  });

  const importance = async (id: string, caller = 'L'): Promise<number> => {
    await rollUp(db);
    const [row] = await db.sql(
      caller,
      'select public.packet_store_importance_score(p) as score from public.packet_store p where p.packet_id = $1',
      [id],
    );
    return row.score;
  };
  /** How much the work moves the importance of a memory. */
  const moves = async (id: string, work: () => Promise<unknown>): Promise<number> => {
    const before = await importance(id);
    await work();
    return (await importance(id)) - before;
  };
  const read = (caller: string, id: string, claims = {}) =>
    db.sql(caller, 'select public.get_memory($1)', [id], claims);
  const voteOn = async (caller: string, id: string, query: string, useful: boolean) => {
    const hit = (await search(db, caller, query)).find(({ packet_id }) => packet_id === id);
    await vote(db, caller, hit!.access_id, useful);
  };

  it('lets one agent move the memory of another by less than 0.1, by 12 votes and 20 contradictions', async () => {
    const id = await save(db, 'L', 'the turnstile of L is open');
    for (let n = 0; n < 20; n++) {
      await registerPredicate(db, `state ${n}`);
      await assertFact(db, 'L', ['turnstile', `state ${n}`, 'open'], { source_packet: id });
    }
    const by = await moves(id, async () => {
      for (let n = 0; n < 12; n++) await voteOn('C', id, 'turnstile', false);
      for (let n = 0; n < 20; n++) await assertFact(db, 'C', ['turnstile', `state ${n}`, 'shut']);
      for (let n = 0; n < 3; n++) await read('C', id);
    });
    expect(by).toBeLessThan(-0.05);
    expect(by).toBeGreaterThan(-0.1);
    const [{ count }] = await db.sql(
      'L',
      'select public.packet_store_contradiction_count(p) as count from public.packet_store p where p.packet_id = $1',
      [id],
    );
    expect(count, 'contradictions of one agent count once').toBe(1);
    // More agents agree, and each moves it on; none undoes the others by itself.
    let last = await importance(id);
    for (const caller of ['D', 'E', 'F']) {
      await voteOn(caller, id, 'turnstile', false);
      const now = await importance(id);
      expect(now).toBeLessThan(last - 0.03);
      last = now;
    }
    expect(last).toBeLessThan(0.28);
  });

  it('lets no agent raise its own memory, by any means', async () => {
    const id = await save(db, 'C', 'the drawbridge is down');
    const by = await moves(id, async () => {
      for (let n = 0; n < 12; n++) await voteOn('C', id, 'drawbridge', true);
      for (let n = 0; n < 12; n++) await read('C', id);
      for (let n = 0; n < 12; n++) await save(db, 'C', `what follows from the bridge ${n}`, { parent_ids: [id] });
    });
    expect(by).toBeCloseTo(0, 4);
    expect(await moves(id, () => voteOn('C', id, 'drawbridge', false)), 'it may speak against it').toBeLessThan(-0.05);
  });

  it('belongs to the text that it was given for', async () => {
    const id = await save(db, 'C', 'the portcullis is up');
    await voteOn('D', id, 'portcullis', true);
    await save(db, 'E', 'so we may enter', { parent_ids: [id] });
    await assertFact(db, 'F', ['portcullis', 'is', 'up'], { source_packet: id });
    await search(db, 'L', 'portcullis');
    await read('L', id);
    const praised = await importance(id);
    expect(praised).toBeGreaterThan(0.65);
    const change = (args: string) => db.sql('C', `select public.update_memory($1, ${args})`, [id]);
    await change("tags => '{gate}', content => 'The PORTCULLIS is up'");
    expect(await importance(id), 'case and tags leave what it says').toBeCloseTo(praised, 4);
    const [shown] = await search(db, 'D', 'portcullis');
    await change("content => 'the portcullis is shut for good'");
    expect(await importance(id), 'nobody praised this').toBeCloseTo(0.5, 4);
    await vote(db, 'D', shown!.access_id, true);
    expect(await importance(id), 'the vote is for what was shown').toBeCloseTo(0.5, 4);
    await voteOn('D', id, 'portcullis', true);
    expect(await importance(id)).toBeGreaterThan(0.55);
  });

  it('leaves importance and ranking as they were after 1,000 searches without feedback', async () => {
    const ids: string[] = [];
    for (const content of ['the ferry leaves at noon', 'at noon the ferry leaves', 'leaves the ferry at noon']) {
      ids.push(await save(db, 'C', content));
    }
    const now = async () => {
      await rollUp(db);
      const hits = await search(db, 'C', 'ferry noon');
      return hits.map(({ packet_id, importance }) => [packet_id, importance.toFixed(5)]);
    };
    const before = await now();
    // A query that finds one of them, so that use by searches would set it apart.
    await db.sql(
      'C',
      `do $$ begin
         for n in 1..1000 loop perform public.search_memory('ferry noon', k => 1, mode => 'lexical'); end loop;
       end $$`,
    );
    expect(await now()).toStrictEqual(before);
    const counts = await db.asSuperuser(
      'select sum(access_count)::int as found, sum(readers) as readers from public.memory_signals where packet_id = any ($1)',
      [ids],
    );
    expect(counts[0].found, 'they are counted all the same').toBeGreaterThan(1000);
    expect(counts[0].readers).toBe(0);
  });

  describe('reading in full', () => {
    it('counts for a memory that the same agent found within the hour before, once', async () => {
      const id = await save(db, 'L', 'the lighthouse keeper');
      expect(await moves(id, () => read('C', id)), 'without a search').toBeCloseTo(0, 5);
      await search(db, 'L', 'lighthouse');
      expect(await moves(id, () => read('C', id)), 'found by another agent').toBeCloseTo(0, 5);
      await search(db, 'C', 'lighthouse');
      const once = await moves(id, () => read('C', id));
      expect(once).toBeGreaterThan(0.03);
      const again = await moves(id, async () => {
        for (let n = 0; n < 5; n++) {
          await search(db, 'C', 'lighthouse');
          await read('C', id);
        }
      });
      expect(again, 'one voice').toBeCloseTo(0, 4);
      await search(db, 'L', 'lighthouse');
      expect(await moves(id, () => read('L', id)), 'its writer').toBeCloseTo(0, 4);
      await search(db, 'D', 'lighthouse');
      expect(await moves(id, () => read('D', id)), 'a second agent').toBeGreaterThan(0.03);
      expect(await moves(id, () => voteOn('C', id, 'lighthouse', false)), 'a vote replaces it').toBeLessThan(-0.1);
    });

    it('does not count an hour later, and counts half after 30 days', async () => {
      const log = (id: string, context: string, ago: string) =>
        db.asSuperuser(
          `insert into importance.memory_access_log (access_id, accessed_at, target_id, agent_id, access_context, tenant_id, scope, project_id, is_admin)
           select x.id, uuid_extract_timestamp(x.id), $1, 'C', $2, '00000000-0000-7000-8000-000000000001', 'developer', 'l9', false
           from (select uuidv7(-$3::interval) as id) x`,
          [id, context, ago],
        );
      const late = await save(db, 'L', 'the dyke holds');
      const old = await save(db, 'L', 'the sluice holds');
      await log(late, 'search', '2 hours');
      await log(late, 'get', '59 minutes');
      await log(old, 'search', '60 days 10 minutes');
      await log(old, 'get', '60 days');
      expect(await importance(late)).toBeCloseTo(0.5, 5);
      const aged = await importance(old);
      expect(aged - 0.5).toBeGreaterThan(0.005);
      expect(aged - 0.5).toBeLessThan(0.02);
    });

    it('counts for no memory that the reader of a forged log row could not read', async () => {
      const secret = await save(db, 'L', 'the vault of L', { scope: 'l-private' });
      for (const context of ['search', 'get']) {
        await db.sql(
          'C',
          `select importance.log_accesses('${context}', array[$1::uuid], array['developer'], array['l9'])`,
          [secret],
        );
      }
      await read('L', secret);
      expect(await importance(secret)).toBeCloseTo(0.5, 5);
    });
  });

  describe('a citation', () => {
    it('counts once for each agent that wrote a memory with this one as a parent', async () => {
      const id = await save(db, 'L', 'the survey of the valley');
      const cite = (caller: string, content: string, args = {}) =>
        save(db, caller, content, { parent_ids: [id], kind: 'finding', ...args });
      const first = await moves(id, () => cite('C', 'we build in the valley'));
      expect(first).toBeGreaterThan(0.09);
      const more = await moves(id, async () => {
        for (let n = 0; n < 10; n++) await cite('C', `we build house ${n}`);
      });
      expect(more).toBeCloseTo(0, 4);
      expect(await moves(id, () => cite('D', 'we do not')), 'another agent').toBeGreaterThan(0.06);
    });

    it('stops counting when the citing memory is changed or deleted', async () => {
      const id = await save(db, 'L', 'the map of the river');
      const child = await save(db, 'C', 'the river bends', { parent_ids: [id] });
      expect(await importance(id)).toBeGreaterThan(0.59);
      await db.sql('C', "select public.update_memory($1, parent_ids => '{}')", [child]);
      expect(await importance(id)).toBeCloseTo(0.5, 4);
      await db.sql('C', 'select public.update_memory($1, parent_ids => array[$2::uuid])', [child, id]);
      expect(await importance(id)).toBeGreaterThan(0.59);
      await db.sql('C', 'select public.delete_memory($1)', [child]);
      expect(await importance(id)).toBeCloseTo(0.5, 4);
      expect(await db.asSuperuser('select from importance.memory_citations where packet_id = $1', [id])).toHaveLength(
        0,
      );
    });

    it('reveals no memory that some readers may not read, or that expires before this one', async () => {
      const id = await save(db, 'C', 'the chart of the bay');
      const asSeen = () => importance(id, 'C');
      const before = await asSeen();
      const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000ab' };
      const hidden = await save(db, 'L', 'the bay in private', { parent_ids: [id], scope: 'l-private' });
      await db.sql(
        'D',
        "select public.save_memory('the bay of a user', project_id => 'l9', parent_ids => array[$1::uuid])",
        [id],
        user,
      );
      await save(db, 'E', 'the bay for a while', {
        parent_ids: [id],
        ttl: new Date(Date.now() + 3_600_000).toISOString(),
      });
      expect(await asSeen()).toBeCloseTo(before, 5);
      // It counts when it becomes readable, and no longer when it is hidden again.
      await moveMemory(db, 'L', hidden, 'developer');
      expect(await asSeen()).toBeGreaterThan(before + 0.09);
      await moveMemory(db, 'L', hidden, 'l-private');
      expect(await asSeen()).toBeCloseTo(before, 4);
      // The cited memory may move, too.
      await moveMemory(db, 'L', id, 'l-private');
      expect(await importance(id)).toBeGreaterThan(before + 0.09);
      const wide = await save(db, 'C', 'a law for all', { scope: 'global', project_id: null });
      await save(db, 'C', 'the law here', { parent_ids: [wide] });
      expect(await importance(wide, 'C'), 'a citation in one project').toBeCloseTo(0.5, 5);
    });

    it('is nobody’s if a job wrote the memory', async () => {
      const id = await save(db, 'L', 'the log of the day');
      const child = await save(db, 'C', 'a summary of the day', { parent_ids: [id] });
      await db.asSuperuser(
        `set session_replication_role = replica;
         update public.packet_store set metadata = metadata || '{"creator": "job"}' where packet_id = '${child}';
         reset session_replication_role`,
      );
      expect(await importance(id)).toBeCloseTo(0.5, 5);
    });
  });

  describe('a fact', () => {
    it('counts for a memory when others than its author assert what it states', async () => {
      const id = await save(db, 'L', 'the mill belongs to Ada');
      const state = (caller: string, object: string) =>
        assertFact(db, caller, ['mill', `belongs to ${object}`, object], { source_packet: id });
      expect(await moves(id, () => state('L', 'Ada')), 'its author').toBeCloseTo(0, 5);
      expect(await moves(id, () => state('C', 'Ada'))).toBeGreaterThan(0.09);
      expect(await moves(id, () => state('C', 'her heirs')), 'the same agent').toBeCloseTo(0, 4);
      const byD = await moves(id, () => state('D', 'Ada'));
      expect(byD).toBeGreaterThan(0.06);
    });

    it('counts against a memory once for each agent that contradicts it, however it came to', async () => {
      await registerPredicate(db, 'is painted');
      const id = await save(db, 'L', 'the gate is painted red');
      await assertFact(db, 'L', ['gate', 'is painted', 'red'], { source_packet: id });
      expect(await moves(id, () => assertFact(db, 'C', ['gate', 'is painted', 'blue']))).toBeLessThan(-0.09);
      // It repeats itself, from another memory too.
      const other = await save(db, 'C', 'blue, I say');
      expect(
        await moves(id, () => assertFact(db, 'C', ['gate', 'is painted', 'blue'], { source_packet: other })),
      ).toBeCloseTo(0, 4);
      // Another agent says the same as the first, which makes no new fact.
      const byD = await save(db, 'D', 'blue indeed');
      expect(
        await moves(id, () => assertFact(db, 'D', ['gate', 'is painted', 'blue'], { source_packet: byD })),
      ).toBeLessThan(-0.05);
      // It withdraws by deleting its memory.
      expect(await moves(id, () => db.sql('D', 'select public.delete_memory($1)', [byD]))).toBeGreaterThan(0.05);
      // The words of another in its mouth are its own voice.
      const ofL = await save(db, 'L', 'L said nothing of the sort');
      expect(
        await moves(id, () => assertFact(db, 'C', ['gate', 'is painted', 'blue'], { source_packet: ofL })),
      ).toBeCloseTo(0, 4);
    });

    it('reveals no evidence that expires before the memory, or is hidden', async () => {
      await registerPredicate(db, 'is tuned to');
      const id = await save(db, 'C', 'the bell is tuned to A');
      await assertFact(db, 'C', ['bell', 'is tuned to', 'A'], { source_packet: id });
      const before = await importance(id, 'C');
      const brief = await save(db, 'E', 'B for an hour', { ttl: new Date(Date.now() + 3_600_000).toISOString() });
      await assertFact(db, 'E', ['bell', 'is tuned to', 'B'], { source_packet: brief });
      await assertFact(db, 'L', ['bell', 'is tuned to', 'C sharp'], { scope: 'l-private' });
      expect(await importance(id, 'C')).toBeCloseTo(before, 5);
    });

    it('counts no more when it is retracted', async () => {
      await registerPredicate(db, 'stands at');
      const id = await save(db, 'L', 'the mast stands at the bow');
      await assertFact(db, 'L', ['mast', 'stands at', 'the bow'], { source_packet: id });
      const wrong = await assertFact(db, 'C', ['mast', 'stands at', 'the stern']);
      expect(await importance(id)).toBeLessThan(0.41);
      await retractFact(db, 'C', wrong.fact_id);
      expect(await importance(id)).toBeCloseTo(0.5, 4);
    });
  });

  it('shows agents no voices, and nobody the queue', async () => {
    for (const [caller, table] of [
      ['C', 'memory_voices'],
      ['C', 'pending_recounts'],
      ['L', 'pending_recounts'],
    ]) {
      await expect(db.sql(caller!, `select * from importance.${table}`), `${caller} ${table}`).rejects.toMatchObject({
        code: '42501',
      });
    }
  });

  it('shows voices to an administrator with a whole token, since they may come from memories of any scope', async () => {
    const id = await save(db, 'C', 'the capstan turns');
    await voteOn('D', id, 'capstan', true);
    await rollUp(db);
    const voices = (claims = {}) =>
      db.sql('L', 'select from importance.memory_voices where packet_id = $1', [id], claims);
    expect(await voices()).toHaveLength(1);
    expect(await voices({ 'jwt.claims.scopes': 'developer' })).toStrictEqual([]);
    expect(await voices({ 'jwt.claims.projects': 'l9' })).toStrictEqual([]);
  });

  it('shows callers the citations of those memories alone that they can read', async () => {
    const cited = await save(db, 'C', 'the anchor is made of iron');
    const open = await save(db, 'L', 'iron anchors rust', { parent_ids: [cited] });
    const hidden = await save(db, 'L', 'a rumour of rust', { parent_ids: [cited], scope: 'l-private' });
    const citing = async (caller: string) =>
      (await db.sql(caller, 'select cited_by from importance.memory_citations where packet_id = $1', [cited]))
        .map(({ cited_by }) => cited_by)
        .sort();
    expect(await citing('C')).toStrictEqual([open]);
    expect(await citing('L')).toStrictEqual([open, hidden].sort());
    await expect(db.sql('C', 'delete from importance.memory_citations')).rejects.toMatchObject({ code: '42501' });
  });
});
