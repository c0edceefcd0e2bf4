// A memory is also found by what was said before it in its thread; and nobody learns by that what they may not read.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Embedder } from '../../../gateway/src/embeddings/index.ts';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { eventually } from '../../../gateway/tests/support/eventually.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';

// A text means its words: so what is near in meaning can be told, and no model takes its time.
const words = ['zeppelin', 'harbour', 'blue', 'green', 'walnut'];
const embedder: Embedder = {
  model: 'words',
  dimensions: words.length + 1,
  embed: async (texts) =>
    texts.map((text) => {
      const vector = [0.2, ...words.map((word) => (text.toLowerCase().includes(word) ? 1 : 0))];
      return vector.map((value) => value / Math.hypot(...vector));
    }),
  chunk: async () => [],
  close: async () => {},
};

describe('the context of a memory', () => {
  let house: House;
  let thread = 0;
  before(async () => {
    house = await openHouse({ embedder });
    await house.sql('L', "select public.register_scope('side-talk')");
  });
  beforeEach(() => {
    thread += 1;
  });
  after(() => house.close());

  const save = async (
    caller: string,
    content: string,
    args: Record<string, unknown> = {},
    claims = {},
  ): Promise<string> => {
    const given = { content: `${content} (${thread})`, project_id: 'l9', thread_id: `t${thread}`, ...args };
    const names = Object.keys(given).map((name, at) => `${name} => $${at + 1}`);
    const [{ id }] = await house.sql(
      caller,
      `select (memory).packet_id as id from public.save_memory(${names})`,
      Object.values(given),
      claims,
    );
    return id;
  };
  /** Who is found for a word, by words or by meaning, as this caller. */
  const found = async (caller: string, word: string, mode = 'lexical', claims = {}): Promise<string[]> => {
    const [vector] = await embedder.embed([word]);
    const rows = await house.sql(
      caller,
      `select h.packet_id from public.search_memory($1, mode => $2, k => 100, thread_id => $3, threshold => 0.8,
         query_vector => ($4::real[] || array_fill(0::real, array[1530]))::extensions.vector, model => 'words') r, unnest(r.hits) h`,
      [word, mode, `t${thread}`, vector],
      claims,
    );
    return rows.map(({ packet_id }) => packet_id);
  };
  const settled = async () => {
    await house.tool('C', 'save_memory', { content: `kick ${thread} ${Math.random()}`, project_id: 'l9' });
    await eventually(async () => {
      await house.embedded();
      const [{ n }] = await house.asSuperuser('select count(*)::int as n from embeddings.stale_contexts');
      if (n === 0) return true;
      await house.tool('C', 'save_memory', { content: `kick ${thread} ${Math.random()}`, project_id: 'l9' });
      return false;
    });
  };
  const contextOf = async (id: string): Promise<string | null> =>
    (await house.asSuperuser('select context from public.memory_contexts where packet_id = $1', [id]))[0]?.context ??
    null;
  const vectorsOf = async (id: string) =>
    (
      await house.asSuperuser(
        "select 1 from public.memory_embeddings where packet_id = $1 and embedding_type = 'context'",
        [id],
      )
    ).length;

  it('lets an answer be found by what was asked, by words and by meaning', async () => {
    const question = await save('C', 'Which colour shall the zeppelin have?');
    const answer = await save('C', 'The second one, please.');
    await settled();
    for (const mode of ['lexical', 'semantic', 'hybrid']) {
      assert.deepEqual(await found('C', 'zeppelin', mode), [question, answer], mode);
    }
    const [hit] = await house.sql(
      'C',
      "select h.* from public.search_memory('zeppelin', mode => 'lexical', thread_id => $1, explain => true) r, unnest(r.hits) h where packet_id = $2",
      [`t${thread}`, answer],
    );
    assert.deepEqual(hit.explanation.found_by, ['lexical context']);
    assert.equal(hit.explanation.lexical.content, null);
    assert.ok(hit.explanation.lexical.context > 0);
    assert.doesNotMatch(`${hit.content} ${hit.snippet}`, /zeppelin/, 'what is shown is the memory itself');
    assert.ok(hit.score < 0.75, 'by its context alone it counts for less');
  });

  it('is that of the one before, and of no other', async () => {
    const first = await save('C', 'The harbour is full.');
    const second = await save('C', 'We waited.');
    const third = await save('C', 'Then we left.');
    const elsewhere = await save('C', 'Nothing to do with it.', { thread_id: `other${thread}` });
    await settled();
    assert.deepEqual(await found('C', 'harbour'), [first, second]);
    assert.match((await contextOf(third))!, /^We waited/);
    assert.equal(await contextOf(first), null);
    assert.equal(await contextOf(elsewhere), null);
  });

  describe('takes no predecessor that some reader of the memory may not read:', () => {
    const cases: [string, string, Record<string, unknown>, Record<string, string>][] = [
      ['of another scope', 'L', { scope: 'l-private' }, {}],
      ['of another project', 'C', { project_id: 'l8' }, {}],
      ['of a user', 'C', {}, { 'jwt.claims.user_id': '44444444-4444-4444-8444-444444444444' }],
      ['of an org', 'C', {}, { 'jwt.claims.org_id': '11111111-1111-4111-8111-111111111111' }],
    ];
    for (const [what, caller, args, claims] of cases) {
      it(what, async () => {
        await save(caller, 'The walnut is hidden in the zeppelin.', args, claims);
        const follower = await save('C', 'Understood.');
        await settled();
        assert.equal(await contextOf(follower), null);
        for (const mode of ['lexical', 'semantic', 'hybrid']) {
          assert.ok(!(await found('C', 'walnut', mode)).includes(follower), mode);
          assert.ok(!(await found('L', 'walnut', mode)).includes(follower), mode);
        }
      });
    }

    it('but the one before that, which they may', async () => {
      const first = await save('C', 'A green one.');
      await save('L', 'The walnut code.', { scope: 'l-private' });
      const follower = await save('C', 'Agreed.');
      await settled();
      assert.match((await contextOf(follower))!, /^A green one/);
      assert.deepEqual(await found('C', 'green'), [first, follower]);
    });
  });

  describe('loses the words of a predecessor at once, when that', () => {
    const cases: [string, (id: string) => Promise<unknown>][] = [
      ['is deleted', (id) => house.sql('C', 'select public.delete_memory($1)', [id])],
      ['is erased', (id) => house.sql('L', "select public.erase_memory($1, 'a test')", [id])],
      ['is edited', (id) => house.sql('C', "select public.update_memory($1, content => 'Nothing to see.')", [id])],
      [
        'is spelt otherwise',
        (id) =>
          house.sql(
            'C',
            "update public.packet_store set envelope = jsonb_build_object('content', upper(content)) where packet_id = $1",
            [id],
          ),
      ],
      ['moves to another scope', (id) => house.sql('L', "select public.update_memory($1, scope => 'l-private')", [id])],
      ['moves to another project', (id) => house.sql('C', "select public.update_memory($1, project_id => 'l8')", [id])],
      ['moves to another thread', (id) => house.sql('C', "select public.update_memory($1, thread_id => 'far')", [id])],
      [
        'is to expire',
        (id) => house.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [id]),
      ],
    ];
    for (const [what, change] of cases) {
      it(what, async () => {
        const first = await save('C', 'It begins.');
        const predecessor = await save('C', 'A walnut and a zeppelin.');
        const follower = await save('C', 'Noted.');
        await settled();
        assert.ok((await found('C', 'walnut')).includes(follower));
        assert.equal(await vectorsOf(follower), 1);
        // In one transaction: nobody else sees anything in between.
        await change(predecessor);
        const left = await house.asSuperuser(
          "select 1 from public.memory_contexts where packet_id = $1 and context like '%walnut%'",
          [follower],
        );
        assert.deepEqual(left, []);
        if (what !== 'is to expire') {
          for (const caller of ['C', 'L']) {
            for (const mode of ['lexical', 'semantic', 'hybrid'])
              assert.ok(!(await found(caller, 'walnut', mode)).includes(follower), mode);
          }
        }
        await settled();
        const now = await contextOf(follower);
        if (what === 'is edited') assert.match(now!, /^Nothing to see/);
        else if (what === 'is spelt otherwise') assert.match(now!, /^A WALNUT/);
        else if (what === 'is to expire') assert.match(now!, /^A walnut/);
        else assert.match(now!, /^It begins/, `${first} is before it now`);
        assert.equal(await vectorsOf(follower), 1);
      });
    }
  });

  it('is not read any more from when the predecessor expires', async () => {
    const predecessor = await save('C', 'A walnut for a while.', { ttl: new Date(Date.now() + 3_600_000) });
    const follower = await save('C', 'Thanks.');
    await settled();
    assert.deepEqual(await found('C', 'walnut'), [predecessor, follower]);
    // As time would do it: no trigger sees it.
    await house.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 second' where packet_id = '${predecessor}';
       update public.memory_embeddings set ttl = now() - interval '1 second' where packet_id in ('${predecessor}') or context_id = (select context_id from public.memory_contexts where packet_id = '${follower}');
       update public.memory_contexts set ttl = now() - interval '1 second' where packet_id = '${follower}';
       set session_replication_role = origin`,
    );
    for (const mode of ['lexical', 'semantic', 'hybrid']) assert.deepEqual(await found('C', 'walnut', mode), [], mode);
    assert.deepEqual(await house.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower]), []);
    await house.sql('L', 'select public.delete_expired_memories()');
    await settled();
    assert.equal(await contextOf(follower), null);
  });

  it('expires with the first of the two', async () => {
    await save('C', 'A walnut until tomorrow.', { ttl: '2099-01-01T00:00:00Z' });
    const follower = await save('C', 'Fine.');
    await settled();
    const [{ ttl }] = await house.asSuperuser('select ttl from public.memory_contexts where packet_id = $1', [
      follower,
    ]);
    assert.equal(ttl.getUTCFullYear(), 2099);
  });

  it('goes with the memory itself, and moves with it', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Yes, that one.');
    await settled();
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [follower]);
    await settled();
    assert.equal(await contextOf(follower), null, "its readers are not the predecessor's");
    assert.equal(await vectorsOf(follower), 0);
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [predecessor]);
    await settled();
    assert.match((await contextOf(follower))!, /walnut/);
    assert.deepEqual(await found('C', 'walnut'), []);
    assert.deepEqual(await found('L', 'walnut'), [predecessor, follower]);
    await house.sql('L', 'select public.delete_memory($1)', [follower]);
    assert.equal(await contextOf(follower), null);
  });

  it('is put together anew where a memory comes in between', async () => {
    const first = await save('C', 'A walnut.');
    const between = await save('C', 'A blue harbour.', { thread_id: `aside${thread}` });
    const last = await save('C', 'So be it.');
    await settled();
    assert.match((await contextOf(last))!, /^A walnut/);
    await house.sql('C', 'select public.update_memory($1, thread_id => $2)', [between, `t${thread}`]);
    await settled();
    assert.match((await contextOf(between))!, /^A walnut/);
    assert.match((await contextOf(last))!, /^A blue harbour/);
    assert.deepEqual(await found('C', 'walnut'), [first, between]);
  });

  it('is there by words though the embedder is down', async () => {
    const broken = { ...embedder, embed: async () => Promise.reject(new Error('down')) };
    const other = await openHouse({ embedder: broken });
    try {
      const add = (content: string) => other.tool('C', 'save_memory', { content, project_id: 'l9', thread_id: 't' });
      await add('A walnut.');
      await add('Yes.');
      await eventually(async () => {
        const { result } = await other.tool('C', 'search_memory', { query: 'walnut', mode: 'lexical' });
        return result.hits.length === 2;
      });
    } finally {
      await other.close();
    }
  });

  it(
    'is not written while one of the two is being changed',
    { skip: engine === 'embedded' && 'one session' },
    async () => {
      const predecessor = await save('C', 'A walnut.');
      const follower = await save('C', 'That is it.');
      await settled();
      await house.asCaller('C', async (client) => {
        await client.query("select public.update_memory($1, content => 'A secret to be.')", [predecessor]);
        const { rows } = await house.gateway.database.workerPool.query(
          'select * from embeddings.refresh_contexts($1)',
          [[follower]],
        );
        assert.deepEqual([rows[0].is_busy, rows[0].context], [true, null]);
      });
      await settled();
      assert.match((await contextOf(follower))!, /^A secret to be/);
    },
  );

  it(
    'is never what a change of its memory fails of, while the job puts memories back on its list',
    { skip: engine === 'embedded' && 'one session' },
    async () => {
      const before_ = await save('C', 'A walnut.');
      const follower = await save('C', 'That is it.');
      await settled();
      const requeue = 'select embeddings.requeue_stale_contexts()';
      const changes = {
        'update_memory()': ['select * from public.packet_store where packet_id = $1 for update', [follower]],
        'an update': ["update public.packet_store set tags = '{shelled}' where packet_id = $1", [follower]],
        'a change of the one before': ["select public.update_memory($1, tags => '{whole}')", [before_]],
      } as const;
      for (const [what, [text, values]] of Object.entries(changes)) {
        await house.asSuperuser('insert into embeddings.stale_contexts values ($1) on conflict do nothing', [follower]);
        let requeued: Promise<unknown> | undefined;
        await house.asCaller('C', async (client) => {
          await client.query(text, [...values]);
          requeued = house.gateway.database.workerPool.query(requeue).catch((error: Error) => error);
          // Either it has done what it could, or it waits for this transaction.
          await Promise.race([requeued, sleep(300)]);
          await client.query('select public.update_memory($1, thread_id => $2)', [values[0], `${what} ${thread}`]);
        });
        const error = await requeued;
        assert.ok(!(error instanceof Error), `${what}: ${error}`);
      }
    },
  );

  it('has no vector of a text that is no more', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Precisely.');
    await settled();
    const pool = house.gateway.database.workerPool;
    const { rows } = await pool.query('select * from embeddings.refresh_contexts($1)', [[follower]]);
    const [{ content_hash }] = await house.asSuperuser(
      'select content_hash from public.packet_store where packet_id = $1',
      [follower],
    );
    await house.sql('C', 'select public.delete_memory($1)', [predecessor]);
    const vector = JSON.stringify([1, ...new Array(1535).fill(0)]);
    const stored = await pool.query(
      "select embeddings.store_vectors($1, $2, 'words', array[$3], '{}', '{}', '{}', $4, $3) as stored",
      [follower, content_hash, vector, rows[0].context_id],
    );
    assert.equal(stored.rows[0].stored, false);
    await settled();
    assert.equal(await vectorsOf(follower), 0);
  });

  it('is for callers to read under the policies of memories, and not to write', async () => {
    await save('L', 'A walnut.', { scope: 'l-private' });
    const follower = await save('L', 'Good.', { scope: 'l-private' });
    await settled();
    assert.notEqual(await contextOf(follower), null);
    assert.deepEqual(await house.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower]), []);
    assert.equal(
      (await house.sql('L', 'select 1 from public.memory_contexts where packet_id = $1', [follower])).length,
      1,
    );
    for (const text of [
      'delete from public.memory_contexts',
      'update public.memory_contexts set created_at = now()',
      'delete from embeddings.stale_contexts',
    ]) {
      await assert.rejects(house.sql('L', text), { code: '42501' });
    }
  });
});
