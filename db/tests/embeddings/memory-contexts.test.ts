// A memory is also found by its predecessor in the thread, and no caller learns anything by it that it may not read.

import { setTimeout as sleep } from 'node:timers/promises';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['zeppelin', 'harbour', 'blue', 'green', 'walnut']);

describe('the context of a memory', () => {
  const db = useTestDatabase();
  let thread = 0;
  beforeAll(async () => {
    await serveModel(db, model);
    await db.sql('L', "select public.register_scope('side-talk')");
  });
  beforeEach(() => {
    thread += 1;
  });

  const save = (caller: string, content: string, args: object = {}, claims = {}) =>
    saveMemory(db, caller, { content: `${content} (${thread})`, thread_id: `t${thread}`, ...args }, claims);
  const search = (caller: string, query: string, args: object) =>
    searchMemory(db, caller, { query, thread_id: `t${thread}`, ...args });
  /** The memories that a caller finds for a word, by words or by meaning. */
  const found = async (caller: string, word: string, mode = 'lexical'): Promise<string[]> => {
    const vectors = { query_vector: model.vectorOf(word), model: model.name };
    const { hits } = await search(caller, word, { mode, k: 100, threshold: 0.8, ...vectors });
    return hits.map(({ packet_id }) => packet_id);
  };
  const embed = () => embedPending(db, model);
  const contextOf = async (id: string): Promise<string | null> =>
    (await db.asSuperuser('select context from public.memory_contexts where packet_id = $1', [id]))[0]?.context ?? null;
  const vectorsOf = async (id: string) =>
    (
      await db.asSuperuser(
        "select 1 from public.memory_embeddings where packet_id = $1 and embedding_type = 'context'",
        [id],
      )
    ).length;

  it('lets a search find an answer by its question, by words and by meaning', async () => {
    const question = await save('C', 'Which colour shall the zeppelin have?');
    const answer = await save('C', 'The second one, please.');
    await embed();
    for (const mode of ['lexical', 'semantic', 'hybrid']) {
      expect(await found('C', 'zeppelin', mode), mode).toStrictEqual([question, answer]);
    }
    const { hits } = await search('C', 'zeppelin', { mode: 'lexical', explain: true });
    const hit = hits.find(({ packet_id }) => packet_id === answer)!;
    expect(hit.explanation.found_by).toStrictEqual(['lexical context']);
    expect(hit.explanation.lexical.content).toBeNull();
    expect(hit.explanation.lexical.context).toBeGreaterThan(0);
    expect(`${hit.content} ${hit.snippet}`, 'the hit shows the memory itself').not.toMatch(/zeppelin/);
    expect(hit.score, 'a context alone scores less').toBeLessThan(0.75);
  });

  it('holds the predecessor in the thread and no other memory', async () => {
    const first = await save('C', 'The harbour is full.');
    const second = await save('C', 'We waited.');
    const third = await save('C', 'Then we left.');
    const elsewhere = await save('C', 'Nothing to do with it.', { thread_id: `other${thread}` });
    await embed();
    expect(await found('C', 'harbour')).toStrictEqual([first, second]);
    expect((await contextOf(third))!).toMatch(/^We waited/);
    expect(await contextOf(first)).toBeNull();
    expect(await contextOf(elsewhere)).toBeNull();
  });

  describe('with a predecessor that some readers of the memory may not read', () => {
    const cases: [string, string, Record<string, unknown>, Record<string, string>][] = [
      ['of another scope', 'L', { scope: 'l-private' }, {}],
      ['of another project', 'C', { project_id: 'l8' }, {}],
      ['of a user', 'C', {}, { 'jwt.claims.user_id': '44444444-4444-4444-8444-444444444444' }],
      ['of an org', 'C', {}, { 'jwt.claims.org_id': '11111111-1111-4111-8111-111111111111' }],
    ];
    for (const [what, caller, args, claims] of cases) {
      it(`does not use a predecessor ${what}`, async () => {
        await save(caller, 'The walnut is hidden in the zeppelin.', args, claims);
        const follower = await save('C', 'Understood.');
        await embed();
        expect(await contextOf(follower)).toBeNull();
        for (const mode of ['lexical', 'semantic', 'hybrid']) {
          expect(await found('C', 'walnut', mode), mode).not.toContain(follower);
          expect(await found('L', 'walnut', mode), mode).not.toContain(follower);
        }
      });
    }

    it('uses the nearest predecessor that they may read', async () => {
      const first = await save('C', 'A green one.');
      await save('L', 'The walnut code.', { scope: 'l-private' });
      const follower = await save('C', 'Agreed.');
      await embed();
      expect((await contextOf(follower))!).toMatch(/^A green one/);
      expect(await found('C', 'green')).toStrictEqual([first, follower]);
    });
  });

  describe('after a change of the predecessor', () => {
    const cases: [string, (id: string) => Promise<unknown>][] = [
      ['is deleted', (id) => db.sql('C', 'select public.delete_memory($1)', [id])],
      ['is erased', (id) => db.sql('L', "select public.erase_memory($1, 'a test')", [id])],
      ['is edited', (id) => db.sql('C', "select public.update_memory($1, content => 'Nothing to see.')", [id])],
      [
        'changes its spelling',
        (id) =>
          db.sql(
            'C',
            "update public.packet_store set envelope = jsonb_build_object('content', upper(content)) where packet_id = $1",
            [id],
          ),
      ],
      ['moves to another scope', (id) => db.sql('L', "select public.update_memory($1, scope => 'l-private')", [id])],
      ['moves to another project', (id) => db.sql('C', "select public.update_memory($1, project_id => 'l8')", [id])],
      ['moves to another thread', (id) => db.sql('C', "select public.update_memory($1, thread_id => 'far')", [id])],
      [
        'gets an expiry',
        (id) => db.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [id]),
      ],
    ];
    for (const [what, change] of cases) {
      it(`loses the old words at once when the predecessor ${what}`, async () => {
        const first = await save('C', 'It begins.');
        const predecessor = await save('C', 'A walnut and a zeppelin.');
        const follower = await save('C', 'Noted.');
        await embed();
        expect(await found('C', 'walnut')).toContain(follower);
        expect(await vectorsOf(follower)).toBe(1);
        // The change is one transaction, so nobody sees a state in between.
        await change(predecessor);
        const left = await db.asSuperuser(
          "select 1 from public.memory_contexts where packet_id = $1 and context like '%walnut%'",
          [follower],
        );
        expect(left).toStrictEqual([]);
        if (what !== 'gets an expiry') {
          for (const caller of ['C', 'L']) {
            for (const mode of ['lexical', 'semantic', 'hybrid'])
              expect(await found(caller, 'walnut', mode), mode).not.toContain(follower);
          }
        }
        await embed();
        const now = await contextOf(follower);
        if (what === 'is edited') expect(now!).toMatch(/^Nothing to see/);
        else if (what === 'changes its spelling') expect(now!).toMatch(/^A WALNUT/);
        else if (what === 'gets an expiry') expect(now!).toMatch(/^A walnut/);
        else expect(now!, `its predecessor is now ${first}`).toMatch(/^It begins/);
        expect(await vectorsOf(follower)).toBe(1);
      });
    }
  });

  it('is hidden from the time when the predecessor expires', async () => {
    const predecessor = await save('C', 'A walnut for a while.', { ttl: new Date(Date.now() + 3_600_000) });
    const follower = await save('C', 'Thanks.');
    await embed();
    expect(await found('C', 'walnut')).toStrictEqual([predecessor, follower]);
    // Triggers are off, because they do not run when time passes either.
    await db.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 second' where packet_id = '${predecessor}';
       update public.memory_embeddings set ttl = now() - interval '1 second' where packet_id in ('${predecessor}') or context_id = (select context_id from public.memory_contexts where packet_id = '${follower}');
       update public.memory_contexts set ttl = now() - interval '1 second' where packet_id = '${follower}';
       set session_replication_role = origin`,
    );
    for (const mode of ['lexical', 'semantic', 'hybrid'])
      expect(await found('C', 'walnut', mode), mode).toStrictEqual([]);
    expect(await db.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower])).toStrictEqual(
      [],
    );
    await db.sql('L', 'select public.delete_expired_memories()');
    await embed();
    expect(await contextOf(follower)).toBeNull();
  });

  it('expires with the first of the two memories', async () => {
    await save('C', 'A walnut until tomorrow.', { ttl: '2099-01-01T00:00:00Z' });
    const follower = await save('C', 'Fine.');
    await embed();
    const [{ ttl }] = await db.asSuperuser('select ttl from public.memory_contexts where packet_id = $1', [follower]);
    expect(ttl.getUTCFullYear()).toBe(2099);
  });

  it('moves with the memory, and is deleted with it', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Yes, that one.');
    await embed();
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [follower]);
    await embed();
    expect(await contextOf(follower), 'the two memories have different readers').toBeNull();
    expect(await vectorsOf(follower)).toBe(0);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [predecessor]);
    await embed();
    expect((await contextOf(follower))!).toMatch(/walnut/);
    expect(await found('C', 'walnut')).toStrictEqual([]);
    expect(await found('L', 'walnut')).toStrictEqual([predecessor, follower]);
    await db.sql('L', 'select public.delete_memory($1)', [follower]);
    expect(await contextOf(follower)).toBeNull();
  });

  it('is created again when another memory comes between the two', async () => {
    const first = await save('C', 'A walnut.');
    const between = await save('C', 'A blue harbour.', { thread_id: `aside${thread}` });
    const last = await save('C', 'So be it.');
    await embed();
    expect((await contextOf(last))!).toMatch(/^A walnut/);
    await db.sql('C', 'select public.update_memory($1, thread_id => $2)', [between, `t${thread}`]);
    await embed();
    expect((await contextOf(between))!).toMatch(/^A walnut/);
    expect((await contextOf(last))!).toMatch(/^A blue harbour/);
    expect(await found('C', 'walnut')).toStrictEqual([first, between]);
  });

  itOnServer('is not written while one of the two memories is being changed', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'That is it.');
    await embed();
    await db.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'A secret to be.')", [predecessor]);
      const [refreshed] = await db.asWorker('select * from embeddings.refresh_contexts($1)', [[follower]]);
      expect([refreshed.is_busy, refreshed.context]).toStrictEqual([true, null]);
    });
    await embed();
    expect((await contextOf(follower))!).toMatch(/^A secret to be/);
  });

  itOnServer('lets every change of its memory succeed while the job queues stale contexts', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'That is it.');
    await embed();
    const requeue = 'select embeddings.requeue_stale_contexts()';
    const changes = {
      'update_memory()': ['select * from public.packet_store where packet_id = $1 for update', [follower]],
      'an update': ["update public.packet_store set tags = '{shelled}' where packet_id = $1", [follower]],
      'a change of the one before': ["select public.update_memory($1, tags => '{whole}')", [predecessor]],
    } as const;
    for (const [what, [text, values]] of Object.entries(changes)) {
      await db.asSuperuser('insert into embeddings.stale_contexts values ($1) on conflict do nothing', [follower]);
      let requeued: Promise<unknown> | undefined;
      await db.asCaller('C', async (client) => {
        await client.query(text, [...values]);
        requeued = db.asWorker(requeue).catch((error: Error) => error);
        // By now the job has either finished or waits for this transaction.
        await Promise.race([requeued, sleep(300)]);
        await client.query('select public.update_memory($1, thread_id => $2)', [values[0], `${what} ${thread}`]);
      });
      const error = await requeued;
      expect(error, `${what}: ${error}`).not.toBeInstanceOf(Error);
    }
  });

  it('stores no vector for a context that was deleted meanwhile', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Precisely.');
    await embed();
    const [refreshed] = await db.asWorker('select * from embeddings.refresh_contexts($1)', [[follower]]);
    const [{ content_hash }] = await db.asSuperuser(
      'select content_hash from public.packet_store where packet_id = $1',
      [follower],
    );
    await db.sql('C', 'select public.delete_memory($1)', [predecessor]);
    const vector = model.vectorOf('');
    const [{ stored }] = await db.asWorker(
      "select embeddings.store_vectors($1, $2, 'words', array[$3], '{}', '{}', '{}', $4, $3) as stored",
      [follower, content_hash, vector, refreshed.context_id],
    );
    expect(stored).toBe(false);
    await embed();
    expect(await vectorsOf(follower)).toBe(0);
  });

  it('is readable under the policies of memories, and not writable for callers', async () => {
    await save('L', 'A walnut.', { scope: 'l-private' });
    const follower = await save('L', 'Good.', { scope: 'l-private' });
    await embed();
    expect(await contextOf(follower)).not.toBeNull();
    expect(await db.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower])).toStrictEqual(
      [],
    );
    expect(await db.sql('L', 'select 1 from public.memory_contexts where packet_id = $1', [follower])).toHaveLength(1);
    for (const text of [
      'delete from public.memory_contexts',
      'update public.memory_contexts set created_at = now()',
      'delete from embeddings.stale_contexts',
    ]) {
      await expect(db.sql('L', text)).rejects.toMatchObject({ code: '42501' });
    }
  });
});
