// A memory is also found by what was said before it in its thread; and nobody learns by that what they may not read.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Embedder } from '../../../gateway/src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { itOnServer } from '../support/on-engine.ts';

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
  let gateway: TestGateway;
  let thread = 0;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
    await gateway.sql('L', "select public.register_scope('side-talk')");
  });
  beforeEach(() => {
    thread += 1;
  });
  afterAll(() => gateway.close());

  const save = async (
    caller: string,
    content: string,
    args: Record<string, unknown> = {},
    claims = {},
  ): Promise<string> => {
    const given = { content: `${content} (${thread})`, project_id: 'l9', thread_id: `t${thread}`, ...args };
    const names = Object.keys(given).map((name, at) => `${name} => $${at + 1}`);
    const [{ id }] = await gateway.sql(
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
    const rows = await gateway.sql(
      caller,
      `select h.packet_id from public.search_memory($1, mode => $2, k => 100, thread_id => $3, threshold => 0.8,
         query_vector => ($4::real[] || array_fill(0::real, array[1530]))::extensions.vector, model => 'words') r, unnest(r.hits) h`,
      [word, mode, `t${thread}`, vector],
      claims,
    );
    return rows.map(({ packet_id }) => packet_id);
  };
  const settled = async () => {
    await gateway.tool('C', 'save_memory', { content: `kick ${thread} ${Math.random()}`, project_id: 'l9' });
    await eventually(async () => {
      await gateway.embedded();
      const [{ n }] = await gateway.asSuperuser('select count(*)::int as n from embeddings.stale_contexts');
      if (n === 0) return true;
      await gateway.tool('C', 'save_memory', { content: `kick ${thread} ${Math.random()}`, project_id: 'l9' });
      return false;
    });
  };
  const contextOf = async (id: string): Promise<string | null> =>
    (await gateway.asSuperuser('select context from public.memory_contexts where packet_id = $1', [id]))[0]?.context ??
    null;
  const vectorsOf = async (id: string) =>
    (
      await gateway.asSuperuser(
        "select 1 from public.memory_embeddings where packet_id = $1 and embedding_type = 'context'",
        [id],
      )
    ).length;

  it('lets an answer be found by what was asked, by words and by meaning', async () => {
    const question = await save('C', 'Which colour shall the zeppelin have?');
    const answer = await save('C', 'The second one, please.');
    await settled();
    for (const mode of ['lexical', 'semantic', 'hybrid']) {
      expect(await found('C', 'zeppelin', mode), mode).toStrictEqual([question, answer]);
    }
    const [hit] = await gateway.sql(
      'C',
      "select h.* from public.search_memory('zeppelin', mode => 'lexical', thread_id => $1, explain => true) r, unnest(r.hits) h where packet_id = $2",
      [`t${thread}`, answer],
    );
    expect(hit.explanation.found_by).toStrictEqual(['lexical context']);
    expect(hit.explanation.lexical.content).toBeNull();
    expect(hit.explanation.lexical.context).toBeGreaterThan(0);
    expect(`${hit.content} ${hit.snippet}`, 'what is shown is the memory itself').not.toMatch(/zeppelin/);
    expect(hit.score, 'by its context alone it counts for less').toBeLessThan(0.75);
  });

  it('is that of the one before, and of no other', async () => {
    const first = await save('C', 'The harbour is full.');
    const second = await save('C', 'We waited.');
    const third = await save('C', 'Then we left.');
    const elsewhere = await save('C', 'Nothing to do with it.', { thread_id: `other${thread}` });
    await settled();
    expect(await found('C', 'harbour')).toStrictEqual([first, second]);
    expect((await contextOf(third))!).toMatch(/^We waited/);
    expect(await contextOf(first)).toBeNull();
    expect(await contextOf(elsewhere)).toBeNull();
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
        expect(await contextOf(follower)).toBeNull();
        for (const mode of ['lexical', 'semantic', 'hybrid']) {
          expect(await found('C', 'walnut', mode), mode).not.toContain(follower);
          expect(await found('L', 'walnut', mode), mode).not.toContain(follower);
        }
      });
    }

    it('but the one before that, which they may', async () => {
      const first = await save('C', 'A green one.');
      await save('L', 'The walnut code.', { scope: 'l-private' });
      const follower = await save('C', 'Agreed.');
      await settled();
      expect((await contextOf(follower))!).toMatch(/^A green one/);
      expect(await found('C', 'green')).toStrictEqual([first, follower]);
    });
  });

  describe('loses the words of a predecessor at once, when that', () => {
    const cases: [string, (id: string) => Promise<unknown>][] = [
      ['is deleted', (id) => gateway.sql('C', 'select public.delete_memory($1)', [id])],
      ['is erased', (id) => gateway.sql('L', "select public.erase_memory($1, 'a test')", [id])],
      ['is edited', (id) => gateway.sql('C', "select public.update_memory($1, content => 'Nothing to see.')", [id])],
      [
        'is spelt otherwise',
        (id) =>
          gateway.sql(
            'C',
            "update public.packet_store set envelope = jsonb_build_object('content', upper(content)) where packet_id = $1",
            [id],
          ),
      ],
      [
        'moves to another scope',
        (id) => gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [id]),
      ],
      [
        'moves to another project',
        (id) => gateway.sql('C', "select public.update_memory($1, project_id => 'l8')", [id]),
      ],
      [
        'moves to another thread',
        (id) => gateway.sql('C', "select public.update_memory($1, thread_id => 'far')", [id]),
      ],
      [
        'is to expire',
        (id) => gateway.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [id]),
      ],
    ];
    for (const [what, change] of cases) {
      it(what, async () => {
        const first = await save('C', 'It begins.');
        const predecessor = await save('C', 'A walnut and a zeppelin.');
        const follower = await save('C', 'Noted.');
        await settled();
        expect(await found('C', 'walnut')).toContain(follower);
        expect(await vectorsOf(follower)).toBe(1);
        // In one transaction: nobody else sees anything in between.
        await change(predecessor);
        const left = await gateway.asSuperuser(
          "select 1 from public.memory_contexts where packet_id = $1 and context like '%walnut%'",
          [follower],
        );
        expect(left).toStrictEqual([]);
        if (what !== 'is to expire') {
          for (const caller of ['C', 'L']) {
            for (const mode of ['lexical', 'semantic', 'hybrid'])
              expect(await found(caller, 'walnut', mode), mode).not.toContain(follower);
          }
        }
        await settled();
        const now = await contextOf(follower);
        if (what === 'is edited') expect(now!).toMatch(/^Nothing to see/);
        else if (what === 'is spelt otherwise') expect(now!).toMatch(/^A WALNUT/);
        else if (what === 'is to expire') expect(now!).toMatch(/^A walnut/);
        else expect(now!, `${first} is before it now`).toMatch(/^It begins/);
        expect(await vectorsOf(follower)).toBe(1);
      });
    }
  });

  it('is not read any more from when the predecessor expires', async () => {
    const predecessor = await save('C', 'A walnut for a while.', { ttl: new Date(Date.now() + 3_600_000) });
    const follower = await save('C', 'Thanks.');
    await settled();
    expect(await found('C', 'walnut')).toStrictEqual([predecessor, follower]);
    // As time would do it: no trigger sees it.
    await gateway.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 second' where packet_id = '${predecessor}';
       update public.memory_embeddings set ttl = now() - interval '1 second' where packet_id in ('${predecessor}') or context_id = (select context_id from public.memory_contexts where packet_id = '${follower}');
       update public.memory_contexts set ttl = now() - interval '1 second' where packet_id = '${follower}';
       set session_replication_role = origin`,
    );
    for (const mode of ['lexical', 'semantic', 'hybrid'])
      expect(await found('C', 'walnut', mode), mode).toStrictEqual([]);
    expect(
      await gateway.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower]),
    ).toStrictEqual([]);
    await gateway.sql('L', 'select public.delete_expired_memories()');
    await settled();
    expect(await contextOf(follower)).toBeNull();
  });

  it('expires with the first of the two', async () => {
    await save('C', 'A walnut until tomorrow.', { ttl: '2099-01-01T00:00:00Z' });
    const follower = await save('C', 'Fine.');
    await settled();
    const [{ ttl }] = await gateway.asSuperuser('select ttl from public.memory_contexts where packet_id = $1', [
      follower,
    ]);
    expect(ttl.getUTCFullYear()).toBe(2099);
  });

  it('goes with the memory itself, and moves with it', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Yes, that one.');
    await settled();
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [follower]);
    await settled();
    expect(await contextOf(follower), "its readers are not the predecessor's").toBeNull();
    expect(await vectorsOf(follower)).toBe(0);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [predecessor]);
    await settled();
    expect((await contextOf(follower))!).toMatch(/walnut/);
    expect(await found('C', 'walnut')).toStrictEqual([]);
    expect(await found('L', 'walnut')).toStrictEqual([predecessor, follower]);
    await gateway.sql('L', 'select public.delete_memory($1)', [follower]);
    expect(await contextOf(follower)).toBeNull();
  });

  it('is put together anew where a memory comes in between', async () => {
    const first = await save('C', 'A walnut.');
    const between = await save('C', 'A blue harbour.', { thread_id: `aside${thread}` });
    const last = await save('C', 'So be it.');
    await settled();
    expect((await contextOf(last))!).toMatch(/^A walnut/);
    await gateway.sql('C', 'select public.update_memory($1, thread_id => $2)', [between, `t${thread}`]);
    await settled();
    expect((await contextOf(between))!).toMatch(/^A walnut/);
    expect((await contextOf(last))!).toMatch(/^A blue harbour/);
    expect(await found('C', 'walnut')).toStrictEqual([first, between]);
  });

  it('is there by words though the embedder is down', async () => {
    const broken = { ...embedder, embed: async () => Promise.reject(new Error('down')) };
    const other = await startTestGateway({ embedder: broken });
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

  itOnServer('is not written while one of the two is being changed', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'That is it.');
    await settled();
    await gateway.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'A secret to be.')", [predecessor]);
      const { rows } = await gateway.instance.database.workerPool.query(
        'select * from embeddings.refresh_contexts($1)',
        [[follower]],
      );
      expect([rows[0].is_busy, rows[0].context]).toStrictEqual([true, null]);
    });
    await settled();
    expect((await contextOf(follower))!).toMatch(/^A secret to be/);
  });

  itOnServer(
    'is never what a change of its memory fails of, while the job puts memories back on its list',
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
        await gateway.asSuperuser('insert into embeddings.stale_contexts values ($1) on conflict do nothing', [
          follower,
        ]);
        let requeued: Promise<unknown> | undefined;
        await gateway.asCaller('C', async (client) => {
          await client.query(text, [...values]);
          requeued = gateway.instance.database.workerPool.query(requeue).catch((error: Error) => error);
          // Either it has done what it could, or it waits for this transaction.
          await Promise.race([requeued, sleep(300)]);
          await client.query('select public.update_memory($1, thread_id => $2)', [values[0], `${what} ${thread}`]);
        });
        const error = await requeued;
        expect(error, `${what}: ${error}`).not.toBeInstanceOf(Error);
      }
    },
  );

  it('has no vector of a text that is no more', async () => {
    const predecessor = await save('C', 'A walnut.');
    const follower = await save('C', 'Precisely.');
    await settled();
    const pool = gateway.instance.database.workerPool;
    const { rows } = await pool.query('select * from embeddings.refresh_contexts($1)', [[follower]]);
    const [{ content_hash }] = await gateway.asSuperuser(
      'select content_hash from public.packet_store where packet_id = $1',
      [follower],
    );
    await gateway.sql('C', 'select public.delete_memory($1)', [predecessor]);
    const vector = JSON.stringify([1, ...new Array(1535).fill(0)]);
    const stored = await pool.query(
      "select embeddings.store_vectors($1, $2, 'words', array[$3], '{}', '{}', '{}', $4, $3) as stored",
      [follower, content_hash, vector, rows[0].context_id],
    );
    expect(stored.rows[0].stored).toBe(false);
    await settled();
    expect(await vectorsOf(follower)).toBe(0);
  });

  it('is for callers to read under the policies of memories, and not to write', async () => {
    await save('L', 'A walnut.', { scope: 'l-private' });
    const follower = await save('L', 'Good.', { scope: 'l-private' });
    await settled();
    expect(await contextOf(follower)).not.toBeNull();
    expect(
      await gateway.sql('C', 'select 1 from public.memory_contexts where packet_id = $1', [follower]),
    ).toStrictEqual([]);
    expect(
      await gateway.sql('L', 'select 1 from public.memory_contexts where packet_id = $1', [follower]),
    ).toHaveLength(1);
    for (const text of [
      'delete from public.memory_contexts',
      'update public.memory_contexts set created_at = now()',
      'delete from embeddings.stale_contexts',
    ]) {
      await expect(gateway.sql('L', text)).rejects.toMatchObject({ code: '42501' });
    }
  });
});
