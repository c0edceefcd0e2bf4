import pg from 'pg';
import { inTransaction } from '../../../gateway/src/database/index.ts';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { named } from '../support/named.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { claimsOf } from '../support/sessions.ts';
import { different, same } from './judged-pairs.ts';

const SAVE = 'select r.status, (r.memory).packet_id, to_jsonb(r."similar") as similar from public.save_memory';

describe('near duplicates', () => {
  let gateway: TestGateway;
  let project = 0;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  /** A place of its own for each test. */
  const place = () => ({ project_id: `p${++project}` });
  const save = async (caller: string, args: Record<string, unknown>, claims = {}) => {
    const rows = await gateway.sql(caller, `${SAVE}(${named(args)}) r`, Object.values(args), claims);
    return rows[0];
  };
  const memory = async (id: string) =>
    (
      await gateway.sql('L', 'select content, tags, parent_ids, ttl from public.packet_store where packet_id = $1', [
        id,
      ])
    )[0];
  const count = async (p: { project_id: string }) =>
    (
      await gateway.sql('L', 'select count(*)::int as n from public.packet_store where project_id = $1', [p.project_id])
    )[0].n;

  const text = 'The release train leaves every Tuesday at ten from the main branch, after the smoke tests.';
  const variant = 'The release train leaves each Tuesday at ten from the main branch after the smoke tests';

  describe('as judged by hand', () => {
    const judge = async (pairs: [string, string][]) =>
      Promise.all(
        pairs.map(async ([one, other]) => {
          const [mine, theirs] = (await gateway.instance.embedder.embed([one, other])) as [number[], number[]];
          const padded = (vector: number[]) => JSON.stringify([...vector, ...new Array(1536 - vector.length).fill(0)]);
          const p = place();
          const { packet_id } = await save('C', { ...p, content: one });
          await gateway.instance.database.workerPool.query(
            `select embeddings.store_embeddings(p.packet_id, p.content_hash, $2, array[$3], '{}', '{}', '{}')
             from public.packet_store p where p.packet_id = $1`,
            [packet_id, gateway.instance.servingModel(), padded(mine)],
          );
          const given = { ...p, content: other, on_similar: 'keep' };
          const byWords = await save('C', given);
          await gateway.sql('C', 'select public.delete_memory($1)', [byWords.packet_id]);
          const byBoth = await save('C', {
            ...given,
            content_vector: padded(theirs),
            model: gateway.instance.servingModel(),
          });
          return { pair: [one, other], words: byWords.similar.length, both: byBoth.similar.length };
        }),
      );

    it('are found, by words alone and with their meaning', async () =>
      expect((await judge(same)).filter(({ words, both }) => words !== 1 || both !== 1)).toStrictEqual([]));

    it('are not what a number, a name, a negation or an opposite tells apart', async () =>
      expect((await judge(different)).filter(({ words, both }) => words !== 0 || both !== 0)).toStrictEqual([]));
  });

  it('are kept and reported where that is asked for, and not looked for where nothing is', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text });
    expect(first.similar).toBeNull();
    const second = await save('C', { ...p, content: variant, on_similar: 'keep' });
    expect(second.status).toBe('inserted');
    expect(second.similar.map((it: { packet_id: string }) => it.packet_id)).toStrictEqual([first.packet_id]);
    expect(second.similar[0].similarity).toBeGreaterThan(0.75);
    expect(second.similar[0].similarity).toBeLessThan(1);
    expect(await count(p)).toBe(2);
  });

  it('are skipped for: nothing is saved, and the answer is what says it', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text, tags: ['a'] });
    const second = await save('L', { ...p, content: variant, tags: ['b'], on_similar: 'skip' });
    expect([second.status, second.packet_id]).toStrictEqual(['skipped_dedupe', first.packet_id]);
    expect(second.similar[0].packet_id).toBe(first.packet_id);
    expect((await memory(first.packet_id)).tags).toStrictEqual(['a']);
    expect(await count(p)).toBe(1);
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
    expect([second.status, second.packet_id]).toStrictEqual(['updated', first.packet_id]);
    expect(await memory(first.packet_id)).toStrictEqual({
      content: text,
      tags: ['a', 'b', 'c'],
      parent_ids: [one.packet_id, two.packet_id].sort(),
      ttl: null,
    });
    const versions = await gateway.sql('C', 'select content, tags from public.packet_versions where packet_id = $1', [
      first.packet_id,
    ]);
    expect(versions).toStrictEqual([{ content: variant, tags: ['a', 'b'] }]);

    const shorter = await save('C', { ...p, content: variant, tags: ['d'], on_similar: 'merge' });
    expect(shorter.status).toBe('updated');
    expect([(await memory(first.packet_id)).content, (await memory(first.packet_id)).tags]).toStrictEqual([
      text,
      ['a', 'b', 'c', 'd'],
    ]);
    const nothingNew = await save('C', { ...p, content: variant, tags: ['d'], on_similar: 'merge' });
    expect(nothingNew.status).toBe('skipped_dedupe');
    // The parents are of another kind: they were not compared, and are two of the three memories here.
    expect(await count(p)).toBe(3);
  });

  it('stay two where the caller may not change the other, and the answer says so', async () => {
    const p = place();
    const first = await save('L', { ...p, content: text });
    const second = await save('C', { ...p, content: variant, tags: ['c'], on_similar: 'merge' });
    expect(second.status).toBe('inserted');
    expect(second.similar[0].packet_id).toBe(first.packet_id);
    expect((await memory(first.packet_id)).tags).toStrictEqual([]);
    // Now there is one that it may change.
    const third = await save('C', { ...p, content: `${variant}!!`, tags: ['d'], on_similar: 'merge' });
    expect([third.status, third.packet_id]).toStrictEqual(['updated', second.packet_id]);
  });

  it('stay two where they don’t fit into one', async () => {
    const p = place();
    const tags = (from: number) => Array.from({ length: 40 }, (_, i) => `t${from + i}`);
    const first = await save('C', { ...p, content: text, tags: tags(0) });
    const second = await save('C', { ...p, content: variant, tags: tags(40), on_similar: 'merge' });
    expect(second.status).toBe('inserted');
    expect((await memory(first.packet_id)).tags).toStrictEqual(tags(0));
    // A parent that is younger than the memory can't become its parent; the memory itself is left out.
    const young = await save('C', { ...p, content: 'younger', kind: 'fact' });
    const third = await save('C', {
      ...place(),
      ...p,
      content: `${text} `,
      parent_ids: [young.packet_id],
      on_similar: 'merge',
    });
    expect(third.status).not.toBe('updated');
    const own = await save('C', {
      ...p,
      content: `${text} Always.`,
      parent_ids: [first.packet_id],
      on_similar: 'merge',
    });
    expect([own.status, own.packet_id]).toStrictEqual(['updated', first.packet_id]);
    expect((await memory(first.packet_id)).parent_ids).toStrictEqual([]);
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
      expect([status, similar]).toStrictEqual(['inserted', []]);
    }
    const org = { 'jwt.claims.org_id': '0198c0de-0000-7000-8000-000000000001' };
    expect((await save('C', { ...p, content: variant, on_similar: 'skip' }, org)).status).toBe('inserted');
  });

  it('give C no hint of l-private, nor of what has expired', async () => {
    const p = place();
    await save('L', { ...p, scope: 'l-private', content: text });
    const mine = await save('C', { ...p, content: variant, on_similar: 'skip' });
    expect([mine.status, mine.similar]).toStrictEqual(['inserted', []]);
    await expect(save('C', { ...p, scope: 'l-private', content: variant, on_similar: 'skip' })).rejects.toMatchObject({
      code: 'L9SCP',
    });

    const q = place();
    await save('C', { ...q, content: text, ttl: new Date(Date.now() + 100) });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await save('C', { ...q, content: variant, on_similar: 'skip' })).status).toBe('inserted');
  });

  it('answer a repeated idempotency key as the first time', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text });
    const merge = { ...p, content: variant, tags: ['x'], on_similar: 'merge', idempotency_key: `k-${p.project_id}` };
    const answers = [await save('C', merge), await save('C', { ...merge, tags: ['y'] })];
    for (const { status, packet_id } of answers)
      expect([status, packet_id]).toStrictEqual(['updated', first.packet_id]);
    expect((await memory(first.packet_id)).tags).toStrictEqual(['x']);
  });

  it('are found among many, in long texts, and in scripts without spaces', async () => {
    const p = place();
    const words = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november'.split(' ');
    await gateway.sql(
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
      expect([second.status, second.packet_id]).toStrictEqual(['skipped_dedupe', first.packet_id]);
    }
    const q = place();
    const first = await save('C', { ...q, content: cjk });
    const second = await save('C', { ...q, content: cjk.replace('に行います', 'に実行します'), on_similar: 'skip' });
    expect([second.status, second.packet_id]).toStrictEqual(['skipped_dedupe', first.packet_id]);
  });

  it('refuse another word for what to do, and what any save refuses', async () => {
    await expect(save('C', { ...place(), content: text, on_similar: 'perhaps' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'on_similar',
    });
    await expect(save('C', { ...place(), content: ' ', on_similar: 'skip' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'content',
    });
    await expect(save('C', { content: text, on_similar: 'merge' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'project_id',
    });
  });

  describeOnServer('of 20 savers at once', () => {
    let pool: pg.Pool;
    // biome-ignore lint/suspicious/noDuplicateTestHooks: Biome does not know describeOnServer
    beforeAll(() => {
      pool = new pg.Pool({ connectionString: gateway.home.env.DATABASE_URL!, max: 20 });
    });
    // biome-ignore lint/suspicious/noDuplicateTestHooks: Biome does not know describeOnServer
    afterAll(() => pool.end());

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
      expect(answers.map(({ status }) => status).sort()).toStrictEqual([
        'inserted',
        ...new Array(19).fill('skipped_dedupe'),
      ]);
      expect(new Set(answers.map(({ packet_id }) => packet_id)).size).toBe(1);
      expect(await count(p)).toBe(1);
    });

    it('one memory with the tags of all remains of those who merge, and a version for each change', async () => {
      const p = place();
      const answers = await all(p, 'merge');
      expect(answers.map(({ status }) => status).sort()).toStrictEqual(['inserted', ...new Array(19).fill('updated')]);
      expect(await count(p)).toBe(1);
      const { content, tags } = await memory(answers[0].packet_id);
      expect(tags.sort()).toStrictEqual(texts.map((_, i) => `tag${i}`).sort());
      expect(content.length).toBe(Math.max(...texts.map(({ length }) => length)));
      const versions = await gateway.sql('C', 'select 1 from public.packet_versions where packet_id = $1', [
        answers[0].packet_id,
      ]);
      expect(versions).toHaveLength(19);
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
        expect([kept.status, kept.similar]).toStrictEqual(['inserted', []]);
        const plain = await save('C', { ...p, content: texts[0] });
        expect(plain.status).toBe('inserted');
        const waiting = save('C', { ...p, content: texts[1], on_similar: 'skip' });
        await slow.query('commit');
        expect((await waiting).status).toBe('skipped_dedupe');
      } finally {
        slow.release();
      }
    });
  });

  describe('through the APIs', () => {
    it('are reported by a plain save over MCP, with its answer', async () => {
      const p = place();
      const first = await gateway.tool('C', 'save_memory', { ...p, content: text });
      expect(first.result.similar).toStrictEqual([]);
      const second = await gateway.tool('C', 'save_memory', { ...p, content: variant });
      expect(second.result.status).toBe('inserted');
      expect(second.result.similar[0].packet_id).toBe(first.result.memory.packet_id);
      expect(second.text).toMatch(new RegExp(`Nearly the same: ${first.result.memory.packet_id}`));
      const third = await gateway.tool('C', 'save_memory', { ...p, content: `${variant}?`, on_similar: 'skip' });
      expect(third.result.status).toBe('skipped_dedupe');
      expect(third.result.similar.length).toBe(2);
    });

    it('are reported over GraphQL where they are asked for', async () => {
      const p = { projectId: place().project_id };
      const mutation = (fields: string) =>
        `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { ${fields} } }`;
      const first = await gateway.graphql('C', mutation('status memory { packetId }'), {
        input: { ...p, content: text },
      });
      const fields = 'status similar { packetId similarity memory { content } } memory { packetId tags }';
      const second = await gateway.graphql('C', mutation(fields), { input: { ...p, content: variant } });
      expect(second.data.saveMemory.status).toBe('inserted');
      expect(second.data.saveMemory.similar[0].memory).toStrictEqual({ content: text });
      const third = await gateway.graphql('C', mutation(fields), {
        input: { ...p, content: `${text} Yes.`, tags: ['t'], onSimilar: 'merge' },
      });
      expect(third.data.saveMemory.status).toBe('updated');
      expect(third.data.saveMemory.memory).toStrictEqual({
        packetId: first.data.saveMemory.memory.packetId,
        tags: ['t'],
      });
      const refused = await gateway.graphql('C', mutation(fields), { input: { ...p, content: 'x', onSimilar: 'no' } });
      expect(refused.errors).toBeTruthy();
    });
  });
});
