import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { inTransaction } from '../../../gateway/src/database/index.ts';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { claimsOf, type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { named } from '../../../gateway/tests/support/named.ts';
import { different, same } from './judged-pairs.ts';

const SAVE = 'select r.status, (r.memory).packet_id, to_jsonb(r."similar") as similar from public.save_memory';

describe('near duplicates', () => {
  let house: House;
  let project = 0;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  /** A place of its own for each test. */
  const place = () => ({ project_id: `p${++project}` });
  const save = async (caller: string, args: Record<string, unknown>, claims = {}) => {
    const rows = await house.sql(caller, `${SAVE}(${named(args)}) r`, Object.values(args), claims);
    return rows[0];
  };
  const memory = async (id: string) =>
    (
      await house.sql('L', 'select content, tags, parent_ids, ttl from public.packet_store where packet_id = $1', [id])
    )[0];
  const count = async (p: { project_id: string }) =>
    (
      await house.sql('L', 'select count(*)::int as n from public.packet_store where project_id = $1', [p.project_id])
    )[0].n;

  const text = 'The release train leaves every Tuesday at ten from the main branch, after the smoke tests.';
  const variant = 'The release train leaves each Tuesday at ten from the main branch after the smoke tests';

  describe('as judged by hand', () => {
    const judge = async (pairs: [string, string][]) =>
      Promise.all(
        pairs.map(async ([one, other]) => {
          const [mine, theirs] = (await house.gateway.embedder.embed([one, other])) as [number[], number[]];
          const padded = (vector: number[]) => JSON.stringify([...vector, ...new Array(1536 - vector.length).fill(0)]);
          const p = place();
          const { packet_id } = await save('C', { ...p, content: one });
          await house.gateway.database.workerPool.query(
            `select embeddings.store_embeddings(p.packet_id, p.content_hash, $2, array[$3], '{}', '{}', '{}')
             from public.packet_store p where p.packet_id = $1`,
            [packet_id, house.gateway.servingModel(), padded(mine)],
          );
          const given = { ...p, content: other, on_similar: 'keep' };
          const byWords = await save('C', given);
          await house.sql('C', 'select public.delete_memory($1)', [byWords.packet_id]);
          const byBoth = await save('C', {
            ...given,
            content_vector: padded(theirs),
            model: house.gateway.servingModel(),
          });
          return { pair: [one, other], words: byWords.similar.length, both: byBoth.similar.length };
        }),
      );

    it('are found, by words alone and with their meaning', async () =>
      assert.deepEqual(
        (await judge(same)).filter(({ words, both }) => words !== 1 || both !== 1),
        [],
      ));

    it('are not what a number, a name, a negation or an opposite tells apart', async () =>
      assert.deepEqual(
        (await judge(different)).filter(({ words, both }) => words !== 0 || both !== 0),
        [],
      ));
  });

  it('are kept and reported where that is asked for, and not looked for where nothing is', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text });
    assert.equal(first.similar, null);
    const second = await save('C', { ...p, content: variant, on_similar: 'keep' });
    assert.equal(second.status, 'inserted');
    assert.deepEqual(
      second.similar.map((it: { packet_id: string }) => it.packet_id),
      [first.packet_id],
    );
    assert.ok(second.similar[0].similarity > 0.75 && second.similar[0].similarity < 1);
    assert.equal(await count(p), 2);
  });

  it('are skipped for: nothing is saved, and the answer is what says it', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text, tags: ['a'] });
    const second = await save('L', { ...p, content: variant, tags: ['b'], on_similar: 'skip' });
    assert.deepEqual([second.status, second.packet_id], ['skipped_dedupe', first.packet_id]);
    assert.equal(second.similar[0].packet_id, first.packet_id);
    assert.deepEqual((await memory(first.packet_id)).tags, ['a']);
    assert.equal(await count(p), 1);
  });

  it('are merged: the longer text, all tags and parents, the longer life, and a version of what was', async () => {
    const p = place();
    const [one, two] = [
      await save('C', { ...p, content: 'A parent.', kind: 'fact' }),
      await save('C', { ...p, content: 'Some other parent.', kind: 'fact' }),
    ];
    const first = await save('C', {
      ...p,
      content: variant,
      tags: ['a', 'b'],
      parent_ids: [one.packet_id],
      ttl: '2099-01-01',
    });
    const second = await save('C', {
      ...p,
      content: text,
      tags: ['b', 'c'],
      parent_ids: [two.packet_id],
      on_similar: 'merge',
    });
    assert.deepEqual([second.status, second.packet_id], ['updated', first.packet_id]);
    assert.deepEqual(await memory(first.packet_id), {
      content: text,
      tags: ['a', 'b', 'c'],
      parent_ids: [one.packet_id, two.packet_id].sort(),
      ttl: null,
    });
    const versions = await house.sql('C', 'select content, tags from public.packet_versions where packet_id = $1', [
      first.packet_id,
    ]);
    assert.deepEqual(versions, [{ content: variant, tags: ['a', 'b'] }]);

    const shorter = await save('C', { ...p, content: variant, tags: ['d'], on_similar: 'merge' });
    assert.equal(shorter.status, 'updated');
    assert.deepEqual(
      [(await memory(first.packet_id)).content, (await memory(first.packet_id)).tags],
      [text, ['a', 'b', 'c', 'd']],
    );
    const nothingNew = await save('C', { ...p, content: variant, tags: ['d'], on_similar: 'merge' });
    assert.equal(nothingNew.status, 'skipped_dedupe');
    // The parents are of another kind: they were not compared, and are two of the three memories here.
    assert.equal(await count(p), 3);
  });

  it('stay two where the caller may not change the other, and the answer says so', async () => {
    const p = place();
    const first = await save('L', { ...p, content: text });
    const second = await save('C', { ...p, content: variant, tags: ['c'], on_similar: 'merge' });
    assert.equal(second.status, 'inserted');
    assert.equal(second.similar[0].packet_id, first.packet_id);
    assert.deepEqual((await memory(first.packet_id)).tags, []);
    // Now there is one that it may change.
    const third = await save('C', { ...p, content: `${variant}!!`, tags: ['d'], on_similar: 'merge' });
    assert.deepEqual([third.status, third.packet_id], ['updated', second.packet_id]);
  });

  it('stay two where they don’t fit into one', async () => {
    const p = place();
    const tags = (from: number) => Array.from({ length: 40 }, (_, i) => `t${from + i}`);
    const first = await save('C', { ...p, content: text, tags: tags(0) });
    const second = await save('C', { ...p, content: variant, tags: tags(40), on_similar: 'merge' });
    assert.equal(second.status, 'inserted');
    assert.deepEqual((await memory(first.packet_id)).tags, tags(0));
    // A parent that is younger than the memory can't become its parent; the memory itself is left out.
    const young = await save('C', { ...p, content: 'younger', kind: 'fact' });
    const third = await save('C', {
      ...place(),
      ...p,
      content: `${text} `,
      parent_ids: [young.packet_id],
      on_similar: 'merge',
    });
    assert.notEqual(third.status, 'updated');
    const own = await save('C', {
      ...p,
      content: `${text} Always.`,
      parent_ids: [first.packet_id],
      on_similar: 'merge',
    });
    assert.deepEqual([own.status, own.packet_id], ['updated', first.packet_id]);
    assert.deepEqual((await memory(first.packet_id)).parent_ids, []);
  });

  it('are looked for in one scope, project, kind and owner only', async () => {
    const p = place();
    await save('C', { ...p, content: text });
    const others = [
      { ...place(), content: variant },
      { scope: 'global', content: variant },
      { ...p, kind: 'decision', content: variant },
    ];
    for (const other of others) {
      const { status, similar } = await save('C', { ...other, on_similar: 'skip' });
      assert.deepEqual([status, similar], ['inserted', []]);
    }
    const org = { 'jwt.claims.org_id': '0198c0de-0000-7000-8000-000000000001' };
    assert.equal((await save('C', { ...p, content: variant, on_similar: 'skip' }, org)).status, 'inserted');
  });

  it('give C no hint of l-private, nor of what has expired', async () => {
    const p = place();
    await save('L', { ...p, scope: 'l-private', content: text });
    const mine = await save('C', { ...p, content: variant, on_similar: 'skip' });
    assert.deepEqual([mine.status, mine.similar], ['inserted', []]);
    await assert.rejects(save('C', { ...p, scope: 'l-private', content: variant, on_similar: 'skip' }), {
      code: 'L9SCP',
    });

    const q = place();
    await save('C', { ...q, content: text, ttl: new Date(Date.now() + 100) });
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal((await save('C', { ...q, content: variant, on_similar: 'skip' })).status, 'inserted');
  });

  it('answer a repeated idempotency key as the first time', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text });
    const merge = { ...p, content: variant, tags: ['x'], on_similar: 'merge', idempotency_key: `k-${p.project_id}` };
    const answers = [await save('C', merge), await save('C', { ...merge, tags: ['y'] })];
    for (const { status, packet_id } of answers) assert.deepEqual([status, packet_id], ['updated', first.packet_id]);
    assert.deepEqual((await memory(first.packet_id)).tags, ['x']);
  });

  it('are found among many, in long texts, and in scripts without spaces', async () => {
    const p = place();
    const words = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november'.split(' ');
    await house.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', (
         select string_agg(($2::text[])[1 + (hashint4(i * 100 + j) & 2147483647) % 14], ' ') from generate_series(1, 30) j) || ' ' || i), $1
       from generate_series(1, 300) i`,
      [p.project_id, words],
    );
    const long = Array.from({ length: 3000 }, (_, i) => `sentence${i % 700} number${i}`).join(' ');
    const cjk = '部署は毎週火曜日の十時に行います。金曜日には決して行いません。';
    for (const [one, other] of [
      [text, variant],
      [long, `${long} and a last word`],
    ]) {
      const first = await save('C', { ...p, content: one });
      const second = await save('C', { ...p, content: other, on_similar: 'skip' });
      assert.deepEqual([second.status, second.packet_id], ['skipped_dedupe', first.packet_id]);
    }
    const q = place();
    const first = await save('C', { ...q, content: cjk });
    const second = await save('C', { ...q, content: cjk.replace('に行います', 'に実行します'), on_similar: 'skip' });
    assert.deepEqual([second.status, second.packet_id], ['skipped_dedupe', first.packet_id]);
  });

  it('refuse another word for what to do, and what any save refuses', async () => {
    await assert.rejects(save('C', { ...place(), content: text, on_similar: 'perhaps' }), {
      code: 'L9VAL',
      column: 'on_similar',
    });
    await assert.rejects(save('C', { ...place(), content: ' ', on_similar: 'skip' }), {
      code: 'L9VAL',
      column: 'content',
    });
    await assert.rejects(save('C', { content: text, on_similar: 'merge' }), { code: 'L9VAL', column: 'project_id' });
  });

  describe('of 20 savers at once', { skip: engine === 'embedded' && 'one connection' }, () => {
    let pool: pg.Pool;
    before(() => {
      pool = new pg.Pool({ connectionString: house.home.env.DATABASE_URL!, max: 20 });
    });
    after(() => pool.end());

    // Each differs from all others, by a word and a number.
    const fillers = ['always', 'still', 'usually', 'only', 'really', 'simply', 'again', 'now', 'then', 'also'];
    const texts = Array.from({ length: 20 }, (_, i) =>
      text.replace('leaves', `${fillers[i % 10]} leaves`).concat(i < 10 ? '' : ' Note.'),
    );
    const all = (p: object, onSimilar: string | null, caller = (_: number) => 'C') =>
      Promise.all(
        texts.map((content, i) =>
          inTransaction(pool, claimsOf(caller(i)), async (client) => {
            const { rows } = await client.query(
              `${SAVE}(content => $1, project_id => $2, tags => $3, on_similar => $4) r`,
              [content, (p as { project_id: string }).project_id, [`tag${i}`], onSimilar],
            );
            return rows[0];
          }),
        ),
      );

    it('one memory remains of those who skip', async () => {
      const p = place();
      const answers = await all(p, 'skip', (i) => (i % 2 ? 'C' : 'L'));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [
        'inserted',
        ...new Array(19).fill('skipped_dedupe'),
      ]);
      assert.equal(new Set(answers.map(({ packet_id }) => packet_id)).size, 1);
      assert.equal(await count(p), 1);
    });

    it('one memory with the tags of all remains of those who merge, and a version for each change', async () => {
      const p = place();
      const answers = await all(p, 'merge');
      assert.deepEqual(answers.map(({ status }) => status).sort(), ['inserted', ...new Array(19).fill('updated')]);
      assert.equal(await count(p), 1);
      const { content, tags } = await memory(answers[0].packet_id);
      assert.deepEqual(tags.sort(), texts.map((_, i) => `tag${i}`).sort());
      assert.equal(content.length, Math.max(...texts.map(({ length }) => length)));
      const versions = await house.sql('C', 'select 1 from public.packet_versions where packet_id = $1', [
        answers[0].packet_id,
      ]);
      assert.equal(versions.length, 19);
    });

    it('those who keep wait for nobody', async () => {
      const p = place();
      const slow = await pool.connect();
      try {
        await slow.query(
          `begin; ${Object.entries(claimsOf('C'))
            .map(([name, value]) => `select set_config('${name}', '${value}', true)`)
            .join(';')}`,
        );
        await slow.query(`${SAVE}(content => $1, project_id => $2, on_similar => 'skip') r`, [text, p.project_id]);
        // It holds the lock of the place, and has not committed.
        const kept = await save('C', { ...p, content: variant, on_similar: 'keep' });
        assert.deepEqual([kept.status, kept.similar], ['inserted', []]);
        const plain = await save('C', { ...p, content: texts[0] });
        assert.equal(plain.status, 'inserted');
        const waiting = save('C', { ...p, content: texts[1], on_similar: 'skip' });
        await slow.query('commit');
        assert.equal((await waiting).status, 'skipped_dedupe');
      } finally {
        slow.release();
      }
    });
  });

  describe('through the doors', () => {
    it('are reported by a plain save over MCP, with its answer', async () => {
      const p = place();
      const first = await house.tool('C', 'save_memory', { ...p, content: text });
      assert.deepEqual(first.result.similar, []);
      const second = await house.tool('C', 'save_memory', { ...p, content: variant });
      assert.equal(second.result.status, 'inserted');
      assert.equal(second.result.similar[0].packet_id, first.result.memory.packet_id);
      assert.match(second.text, new RegExp(`Nearly the same: ${first.result.memory.packet_id}`));
      const third = await house.tool('C', 'save_memory', { ...p, content: `${variant}?`, on_similar: 'skip' });
      assert.equal(third.result.status, 'skipped_dedupe');
      assert.equal(third.result.similar.length, 2);
    });

    it('are reported over GraphQL where they are asked for', async () => {
      const p = { projectId: place().project_id };
      const mutation = (fields: string) =>
        `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { ${fields} } }`;
      const first = await house.graphql('C', mutation('status memory { packetId }'), {
        input: { ...p, content: text },
      });
      const fields = 'status similar { packetId similarity memory { content } } memory { packetId tags }';
      const second = await house.graphql('C', mutation(fields), { input: { ...p, content: variant } });
      assert.equal(second.data.saveMemory.status, 'inserted');
      assert.deepEqual(second.data.saveMemory.similar[0].memory, { content: text });
      const third = await house.graphql('C', mutation(fields), {
        input: { ...p, content: `${text} Yes.`, tags: ['t'], onSimilar: 'merge' },
      });
      assert.equal(third.data.saveMemory.status, 'updated');
      assert.deepEqual(third.data.saveMemory.memory, {
        packetId: first.data.saveMemory.memory.packetId,
        tags: ['t'],
      });
      const refused = await house.graphql('C', mutation(fields), { input: { ...p, content: 'x', onSimilar: 'no' } });
      assert.ok(refused.errors);
    });
  });
});
