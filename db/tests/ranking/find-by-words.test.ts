// The index of words holds the rows of everybody. What the search takes from it must not depend on rows that are hidden.
import { useTestDatabase } from '../support/test-database.ts';

const WORDS = ['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'glade', 'heath', 'islet', 'juniper'];

/** Numbers that are the same in every run. */
function* numbers(seed: number): Generator<number> {
  let state = seed;
  for (;;) {
    state = (state * 1103515245 + 12345) % 2147483648;
    yield state / 2147483648;
  }
}

interface Text {
  id: string;
  counts: Map<string, number>;
}

describe('find_by_words', () => {
  const db = useTestDatabase();
  const visible: Text[] = [];
  let tenant: string;
  let saved = 0;

  /** Rows of the default tenant, newest last, without the triggers of a save. */
  const plant = async (contents: readonly string[], scope: string) => {
    const { rows } = await db.inSuperuserSession(async (session) => {
      await session.query('set session_replication_role = replica');
      const answer = await session.query(
        `insert into public.packet_store (packet_id, envelope, scope, project_id, tenant_id, metadata, content_hash, identity_hash, "timestamp", language, words)
       select (lpad(to_hex($4 + n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, jsonb_build_object('content', c), $2, 'stones', $3,
         '{"creator": "Cursor-IDE", "source": "cursor-ide"}', h.hash, h.hash,
         '2026-01-01'::timestamptz + make_interval(secs => $4 + n), 'english', words.of_memory(c, 'english', now(), 'note')
       from unnest($1::text[]) with ordinality as t (c, n)
       cross join lateral (select sha256(convert_to(c || ($4 + n), 'UTF8')) as hash) h
       returning packet_id as id, envelope ->> 'content' as content`,
        [contents, scope, tenant, saved],
      );
      await session.query('reset session_replication_role');
      return answer;
    });
    saved += contents.length;
    return rows.map(({ id, content }: { id: string; content: string }): Text => {
      const counts = new Map<string, number>();
      for (const word of content.split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
      return { id, counts };
    });
  };

  beforeAll(async () => {
    tenant = (await db.asSuperuser(`select tenant_id from public.tenants limit 1`))[0].tenant_id;
    const random = numbers(7);
    const next = () => random.next().value as number;
    const contents = Array.from({ length: 900 }, () =>
      Array.from({ length: 4 + Math.floor(next() * 12) }, () => WORDS[Math.floor(next() ** 2.5 * WORDS.length)]).join(
        ' ',
      ),
    );
    visible.push(...(await plant(contents, 'developer')));
  });

  const find = async (lexemes: string[], weights: number[], wanted: number): Promise<string[]> =>
    (await db.sql('C', 'select (ranking.find_by_words($1, $2, null, $3)).ids', [lexemes, weights, wanted]))[0].ids;

  const stems = async (query: string): Promise<string[]> =>
    (await db.asSuperuser(`select words.of_query($1, 'english') as words`, [query]))[0].words;

  /** The best by BM25 with b = 0, counted here. */
  const expected = async (queryWords: string[], weights: number[], wanted: number) => {
    const score = ({ counts }: Text) =>
      queryWords.reduce((sum, word, n) => {
        const tf = counts.get(word) ?? 0;
        return sum + (weights[n]! * 1.9 * tf) / (tf + 0.9);
      }, 0);
    return visible
      .map((text) => ({ id: text.id, score: score(text) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => (Math.abs(b.score - a.score) > 1e-9 ? b.score - a.score : b.id < a.id ? -1 : 1))
      .slice(0, wanted)
      .map(({ id }) => id);
  };
  const queries: [string[], number[]][] = [
    [['juniper'], [3]],
    [
      ['amber', 'juniper'],
      [0.3, 3],
    ],
    [
      ['amber', 'basalt', 'cedar'],
      [0.3, 0.5, 0.8],
    ],
    [
      ['islet', 'heath', 'glade', 'fjord'],
      [2.5, 2.2, 2, 1.8],
    ],
    [
      ['ember', 'dune'],
      [5, 0.1],
    ],
  ];
  const checkAll = async () => {
    for (const [queryWords, weights] of queries) {
      const lexemes: string[] = [];
      for (const word of queryWords) lexemes.push(...(await stems(word)));
      expect(await find(lexemes, weights, 20), queryWords.join(' ')).toStrictEqual(
        await expected(queryWords, weights, 20),
      );
    }
  };

  it('finds those of the highest scores by the given weights, the newest of equal ones first', checkAll);

  it('finds the same when hidden rows hold the words', async () => {
    const before = await Promise.all(queries.map(([words, weights]) => expected(words, weights, 20)));
    await plant(
      Array.from({ length: 600 }, (_, n) => (n % 3 === 0 ? 'juniper juniper islet' : 'ember juniper')),
      'l-private',
    );
    await checkAll();
    expect(await Promise.all(queries.map(([words, weights]) => expected(words, weights, 20)))).toStrictEqual(before);
  });

  it('finds the newest of a crowd that the words do not tell apart, and what stands above it', async () => {
    const crowd = await plant(
      Array.from({ length: 2500 }, (_, n) => `quartz ${n}`),
      'developer',
    );
    const above = await plant(['quartz quartz quartz', 'quartz quartz'], 'developer');
    const newest = crowd.map(({ id }) => id).reverse();
    const answer = [...above.map(({ id }) => id), ...newest.slice(0, 8)];
    expect(await find(['quartz'], [1], 10)).toStrictEqual(answer);
    await plant(
      Array.from({ length: 300 }, () => 'quartz quartz'),
      'l-private',
    );
    expect(await find(['quartz'], [1], 10)).toStrictEqual(answer);
  });

  it('finds nothing for a word that no visible row holds', async () => {
    await plant(['zircon zircon'], 'l-private');
    expect(await find(['zircon'], [3], 10)).toStrictEqual([]);
    expect(await find(['nowhere'], [3], 10)).toStrictEqual([]);
    expect(await find([], [], 10)).toStrictEqual([]);
  });

  it('shows the raw scores of the index to no caller, however they are asked for', async () => {
    const [{ bucket, condition }] = await db.asSuperuser(
      `select b.bucket, packets.in_bucket('p', b.bucket) as condition from packets.tenant_bucket($1) as b (bucket)`,
      [tenant],
    );
    const index = `packet_store_words_bm25_${bucket}`;
    for (const query of [
      `select to_bm25query('juniper', 'public.${index}')`,
      `select packet_id from public.packet_store p where ${condition}
       order by words.index_text(words) <@> '${index}:juniper'::bm25query limit 3`,
      `select packet_id from public.packet_store p
       order by words.index_text(words) <@> '${index}:juniper'::bm25query limit 3`,
      `select ranking.walk_words(0, null, '{juniper}', '{1}', null, 10)`,
      `select * from ranking.audiences`,
      `select * from ranking.audience_words`,
      `set role l9_searcher`,
    ])
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, query), query).rejects.toMatchObject({ code: '42501' });
  });
});

describe('weigh_words', () => {
  const db = useTestDatabase();
  const weigh = async () =>
    (await db.sql('C', `select w.* from ranking.weigh_words(array['harbour', 'harbor', 'lantern', 'absent']) w`))[0];
  const save = (content: string, scope: string) =>
    db.sql('L', 'select public.save_memory($1, scope => $2, project_id => $3)', [content, scope, 'port']);
  const count = () => db.asWorker('select ranking.count_stale_audiences(100) as counted');

  it('weighs words by the memories that the caller may read, counted or not', async () => {
    for (let n = 0; n < 110; n++)
      await save(`A lantern${n % 11 === 0 ? ' in the harbor' : ''}, number ${n}.`, 'developer');
    const fresh = await weigh();
    for (let n = 0; n < 60; n++) await save(`Harbor ${n}.`, 'l-private');
    expect(await weigh()).toStrictEqual(fresh);
    expect((await count())[0].counted).toBe(1);
    const counted = await weigh();
    for (let n = 60; n < 130; n++) await save(`Harbor ${n}.`, 'l-private');
    expect((await count())[0].counted).toBe(1);
    expect(await weigh()).toStrictEqual(counted);
    expect((await count())[0].counted).toBe(0);

    const idf = (holders: number) => Math.log(1 + (110 - holders + 0.5) / (holders + 0.5));
    for (const { weights } of [fresh, counted]) {
      const [, harbor, lantern, absent] = weights;
      expect(harbor).toBeCloseTo(idf(10), 6);
      expect(lantern).toBeCloseTo(idf(110), 6);
      expect(absent).toBeGreaterThan(harbor);
    }
    expect(counted.average_length).toBeCloseTo(fresh.average_length, 6);
  });

  it('takes memories without any word to be one word long', async () => {
    for (let n = 1; n <= 100; n++)
      await db.sql('C', 'select public.save_memory($1, project_id => $2)', ['!'.repeat(n), 'signs']);
    const weighSigns = async () =>
      (await db.sql('C', "select w.* from ranking.weigh_words(array['sign'], null, 'signs') w"))[0];
    expect((await weighSigns()).average_length).toBe(1);
    expect((await count())[0].counted).toBe(1);
    expect((await weighSigns()).average_length).toBe(1);
  });
});
