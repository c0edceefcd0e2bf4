import type pg from 'pg';
import { newPool } from '../support/migrations.ts';
import { named } from '../support/named.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { claimsOf, sessionsOf } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const SAVE = 'select r.status, (r.memory).packet_id, to_jsonb(r."similar") as similar from public.save_memory';

describe('on_similar', () => {
  const db = useTestDatabase();
  let project = 0;

  /** A project of its own for each test. */
  const place = () => ({ project_id: `p${++project}` });
  const save = async (caller: string, args: Record<string, unknown>, claims = {}) => {
    const rows = await db.sql(caller, `${SAVE}(${named(args)}) r`, Object.values(args), claims);
    return rows[0];
  };
  const memory = async (id: string) =>
    (await db.sql('L', 'select content, tags, parent_ids, ttl from public.packet_store where packet_id = $1', [id]))[0];
  const count = async (p: { project_id: string }) =>
    (await db.sql('L', 'select count(*)::int as n from public.packet_store where project_id = $1', [p.project_id]))[0]
      .n;

  const text = 'The release train leaves every Tuesday at ten from the main branch, after the smoke tests.';
  const variant = 'The release train leaves each Tuesday at ten from the main branch after the smoke tests';

  it('saves and reports near-duplicates with keep, and searches for none without on_similar', async () => {
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

  it('saves nothing with skip, and returns the near-duplicate', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text, tags: ['a'] });
    const second = await save('L', { ...p, content: variant, tags: ['b'], on_similar: 'skip' });
    expect([second.status, second.packet_id]).toStrictEqual(['skipped_dedupe', first.packet_id]);
    expect(second.similar[0].packet_id).toBe(first.packet_id);
    expect((await memory(first.packet_id)).tags).toStrictEqual(['a']);
    expect(await count(p)).toBe(1);
  });

  it('merges into the longer text, all tags and parents and the longer life, and keeps a version', async () => {
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
    const versions = await db.sql('C', 'select content, tags from public.packet_versions where packet_id = $1', [
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
    // The two parents are of another kind, so they were not compared.
    expect(await count(p)).toBe(3);
  });

  it('keeps both memories if the caller may not change the existing one, and says so', async () => {
    const p = place();
    const first = await save('L', { ...p, content: text });
    const second = await save('C', { ...p, content: variant, tags: ['c'], on_similar: 'merge' });
    expect(second.status).toBe('inserted');
    expect(second.similar[0].packet_id).toBe(first.packet_id);
    expect((await memory(first.packet_id)).tags).toStrictEqual([]);
    // This one may be changed by C.
    const third = await save('C', { ...p, content: `${variant}!!`, tags: ['d'], on_similar: 'merge' });
    expect([third.status, third.packet_id]).toStrictEqual(['updated', second.packet_id]);
  });

  it('keeps both memories if they do not fit into one', async () => {
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

  it('searches within one scope, project, kind and owner only', async () => {
    const p = place();
    await save('C', { ...p, content: text });
    const others = [
      { ...place(), content: variant },
      { scope: 'global', content: variant },
      { ...p, kind: 'finding', content: variant },
    ];
    for (const other of others) {
      const { status, similar } = await save('C', { ...other, on_similar: 'skip' });
      expect([status, similar]).toStrictEqual(['inserted', []]);
    }
    const org = { 'jwt.claims.org_id': '0198c0de-0000-7000-8000-000000000001' };
    expect((await save('C', { ...p, content: variant, on_similar: 'skip' }, org)).status).toBe('inserted');
  });

  it('gives C no hint of private or expired memories', async () => {
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

  it('returns the first answer for a repeated idempotency key', async () => {
    const p = place();
    const first = await save('C', { ...p, content: text });
    const merge = { ...p, content: variant, tags: ['x'], on_similar: 'merge', idempotency_key: `k-${p.project_id}` };
    const answers = [await save('C', merge), await save('C', merge)];
    for (const { status, packet_id } of answers)
      expect([status, packet_id]).toStrictEqual(['updated', first.packet_id]);
    await expect(save('C', { ...merge, tags: ['y'] })).rejects.toMatchObject({ code: 'L9VAL' });
    expect((await memory(first.packet_id)).tags).toStrictEqual(['x']);
  });

  it('finds near-duplicates among many memories, in long texts and in scripts without spaces', async () => {
    const p = place();
    const words = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november'.split(' ');
    await db.sql(
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

  it('refuses an unknown on_similar, and whatever any save refuses', async () => {
    await expect(save('C', { ...place(), content: text, on_similar: 'perhaps' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'on_similar',
    });
    await expect(save('C', { ...place(), content: ' ', on_similar: 'skip' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'content',
    });
  });

  describeOnServer('20 concurrent saves', () => {
    let pool: pg.Pool;
    beforeAll(() => {
      pool = newPool({ connectionString: db.gatewayUrl!, max: 20 });
    });
    afterAll(() => pool.end());

    // Each differs from all others, by a word and a number.
    const fillers = ['always', 'still', 'usually', 'only', 'really', 'simply', 'again', 'now', 'then', 'also'];
    const texts = Array.from({ length: 20 }, (_, i) =>
      text.replace('leaves', `${fillers[i % 10]} leaves`).concat(i < 10 ? '' : ' Note.'),
    );
    const all = (p: object, onSimilar: string | null, caller = (_: number) => 'C') =>
      Promise.all(
        texts.map((content, i) =>
          sessionsOf(pool, db.superuserUrl).asCaller(caller(i), async (client) => {
            const { rows } = await client.query(
              `${SAVE}(content => $1, project_id => $2, tags => $3, on_similar => $4) r`,
              [content, (p as { project_id: string }).project_id, [`tag${i}`], onSimilar],
            );
            return rows[0];
          }),
        ),
      );

    it('leaves one memory if all skip', async () => {
      const p = place();
      const answers = await all(p, 'skip', (i) => (i % 2 ? 'C' : 'L'));
      expect(answers.map(({ status }) => status).sort()).toStrictEqual([
        'inserted',
        ...new Array(19).fill('skipped_dedupe'),
      ]);
      expect(new Set(answers.map(({ packet_id }) => packet_id)).size).toBe(1);
      expect(await count(p)).toBe(1);
    });

    it('leaves one memory with all tags if all merge, and a version for each change', async () => {
      const p = place();
      const answers = await all(p, 'merge');
      expect(answers.map(({ status }) => status).sort()).toStrictEqual(['inserted', ...new Array(19).fill('updated')]);
      expect(await count(p)).toBe(1);
      const { content, tags } = await memory(answers[0].packet_id);
      expect(tags.sort()).toStrictEqual(texts.map((_, i) => `tag${i}`).sort());
      expect(content.length).toBe(Math.max(...texts.map(({ length }) => length)));
      const versions = await db.sql('C', 'select 1 from public.packet_versions where packet_id = $1', [
        answers[0].packet_id,
      ]);
      expect(versions).toHaveLength(19);
    });

    it('does not make a save with keep wait for the lock of another', async () => {
      const p = place();
      const slow = await pool.connect();
      try {
        await slow.query(
          `begin; ${Object.entries(claimsOf('C'))
            .map(([name, value]) => `select set_config('${name}', '${value}', true)`)
            .join(';')}`,
        );
        await slow.query(`${SAVE}(content => $1, project_id => $2, on_similar => 'skip') r`, [text, p.project_id]);
        // This transaction holds the lock and has not committed.
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
});
