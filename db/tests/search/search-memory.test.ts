import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';

describe('search_memory', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
    const save = (caller: string, args: object) => gateway.tool(caller, 'save_memory', { project_id: 'l9', ...args });
    await save('C', {
      content: 'The kitten sleeps on the warm windowsill all afternoon.',
      tags: ['pets', 'home'],
      kind: 'note',
      thread_id: 't1',
    });
    await save('C', { content: 'PostgreSQL vacuums dead tuples in the background.', tags: ['db'], kind: 'decision' });
    await save('L', { content: 'Quarterly revenue grew by eleven percent.', tags: ['home'], project_id: 'future-x' });
    await save('L', { content: 'Bicycle chains need oil.', scope: 'global', project_id: undefined });
    await save('L', { content: 'The secret recipe uses cardamom.', scope: 'l-private' });
    await gateway.embedded();
  });
  afterAll(() => gateway.close());

  const search = async (caller: string, args: object) => {
    const { isError, text, result } = await gateway.tool(caller, 'search_memory', args);
    expect(isError, text).toBe(false);
    return result;
  };
  const contents = async (caller: string, args: object) =>
    (await search(caller, args)).hits.map(({ content }: { content: string }) =>
      content.split(' ').slice(0, 2).join(' '),
    );

  it('finds by words as soon as a memory is saved, before it has a vector', async () => {
    await gateway.sql('C', "select public.save_memory('an unembedded zeppelin', project_id => 'l9')");
    expect(await contents('C', { query: 'zeppelin', mode: 'lexical' })).toStrictEqual(['an unembedded']);
    expect((await contents('C', { query: 'zeppelin' }))[0]).toBe('an unembedded');
  });

  it('finds by meaning, though no word is shared', async () => {
    expect((await contents('C', { query: 'young cat resting', mode: 'semantic', k: 1 }))[0]).toBe('The kitten');
    expect((await contents('C', { query: 'young cat resting' }))[0]).toBe('The kitten');
    expect(await contents('C', { query: 'young cat resting', mode: 'lexical' })).toStrictEqual([]);
  });

  it('says what was searched, with hits or without', async () => {
    const { hits, searched } = await search('C', { query: 'cardamom', mode: 'lexical', project_id: 'l9' });
    expect(hits).toStrictEqual([]);
    expect([searched.mode, searched.scopes, searched.projects, searched.k]).toStrictEqual([
      'lexical',
      ['developer', 'global'],
      ['*'],
      10,
    ]);
    expect(searched.filters).toStrictEqual({ project_id: 'l9' });
    const { text } = await gateway.tool('C', 'search_memory', { query: 'cardamom', mode: 'lexical' });
    expect(text).toMatch(/Nothing found: searched developer, global/);
  });

  it('scores from 0 to 1, best first, and says how', async () => {
    const { hits } = await search('C', { query: 'vacuum of dead tuples' });
    expect(hits[0].content).toMatch(/^PostgreSQL/);
    expect(hits[0].lexical_score).toBe(1);
    expect(hits[0].semantic_score).toBeGreaterThan(0.3);
    const scores = hits.map(({ score }: { score: number }) => score);
    expect(scores).toStrictEqual([...scores].sort((a, b) => b - a));
    expect(scores.every((score: number) => score >= 0 && score <= 1)).toBe(true);
    expect(hits[0].snippet).toMatch(/\*\*vacuums\*\* \*\*dead\*\* \*\*tuples\*\*/);
  });

  it('filters by scope, project, kind, tags, thread, creator and time', async () => {
    const all = (args: object) => contents('C', { query: 'the', mode: 'semantic', k: 100, ...args });
    const sorted = async (args: object) => (await all(args)).sort();
    expect(await sorted({ scopes: ['global'] })).toStrictEqual(['Bicycle chains']);
    expect(await sorted({ scopes: ['l-private'] }), "a scope that is not the caller's is not searched").toStrictEqual(
      [],
    );
    expect(await sorted({ project_id: 'future-x' })).toStrictEqual(['Bicycle chains', 'Quarterly revenue']);
    expect(await sorted({ kinds: ['decision'] })).toStrictEqual(['PostgreSQL vacuums']);
    expect(await sorted({ tags: ['home', 'db'] })).toStrictEqual([
      'PostgreSQL vacuums',
      'Quarterly revenue',
      'The kitten',
    ]);
    expect(await sorted({ tags: ['home', 'pets'], tags_match: 'all' })).toStrictEqual(['The kitten']);
    expect(await sorted({ thread_id: 't1' })).toStrictEqual(['The kitten']);
    expect(await sorted({ creator: 'L-CTO' })).toStrictEqual(['Bicycle chains', 'Quarterly revenue']);
    expect(await sorted({ until: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
    expect((await sorted({ since: '2020-01-01T00:00:00Z' })).length >= 4).toBe(true);
  });

  it('fills k though what the caller sees is a small part of the nearest', async () => {
    await gateway.sql(
      'L',
      `insert into public.packet_store (envelope, scope, project_id)
       select jsonb_build_object('content', 'wombat burrow number ' || i), 'l-private', 'l9' from generate_series(1, 120) i`,
    );
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'wombat den number ' || i), 'l9' from generate_series(1, 12) i`,
    );
    await gateway.tool('C', 'save_memory', { content: 'kick the embedder', project_id: 'l9' });
    await gateway.embedded();
    for (const mode of ['semantic', 'lexical', 'hybrid']) {
      const { hits } = await search('C', { query: 'wombat burrow number', mode, k: 10 });
      expect(hits.length, mode).toBe(10);
      expect(
        hits.every(({ scope }: { scope: string }) => scope !== 'l-private'),
        mode,
      ).toBeTruthy();
    }
  });

  it('fills k with what is visible, however far from the query', async () => {
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'axolotl pond number ' || i), 'ponds' from generate_series(1, 12) i`,
    );
    await gateway.tool('C', 'save_memory', { content: 'kick the embedder again', project_id: 'l9' });
    await gateway.embedded();
    // Opposite to all of them: whatever a model says of two texts, what the caller asked to be searched is compared.
    for (const mode of ['semantic', 'hybrid']) {
      const hits = await gateway.sql(
        'C',
        `select h.score, 1 - (e.vector operator(extensions.<=>) q.vector) as similarity
         from (
           select (vector operator(extensions.*) array_fill(-1::real, array[1536])::extensions.vector) as vector, model
           from public.memory_embeddings where project_id = 'ponds' and embedding_type = 'content' limit 1
         ) q,
         public.search_memory('wombat', 10, $1, project_id => 'ponds', scopes => '{developer}', query_vector => q.vector, model => q.model) s,
         unnest(s.hits) with ordinality h
         join public.memory_embeddings e using (packet_id)
         where e.embedding_type = 'content'
         order by h.ordinality`,
        [mode],
      );
      expect(hits, mode).toHaveLength(10);
      expect(
        hits.every(({ score, similarity }) => score === 0 && similarity < 0),
        mode,
      ).toBe(true);
      const similarities = hits.map(({ similarity }) => similarity);
      expect(similarities).toStrictEqual([...similarities].sort((a, b) => b - a));
    }
  });

  it('fills a k of 100 also where few of many are scored one by one', async () => {
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'quokka island number ' || i), 'islands' from generate_series(1, 110) i`,
    );
    // As if there were a million, so that a walk would be the longer way.
    const indexes = "relname like 'packet_store_content_bm25_%' or relname like 'memory_contexts_bm25_%'";
    await gateway.asSuperuser(`update pg_catalog.pg_class set reltuples = 1000000 where ${indexes}`);
    const args = { mode: 'lexical', k: 100, project_id: 'islands', scopes: ['developer'] };
    expect((await search('C', { query: 'quokka', ...args })).hits.length).toBe(100);
    // More words than a row is looked at for in one go, the one that is there the last among them.
    const others = Array.from(
      { length: 40 },
      (_, n) => `otherwise${'abcdefghij'[n % 10]}${'klmn'[Math.floor(n / 10)]}`,
    );
    expect((await search('C', { query: `${others.join(' ')} quokka`, ...args })).hits.length).toBe(100);
    await gateway.asSuperuser(`update pg_catalog.pg_class set reltuples = 0 where ${indexes}`);
  });

  it('shows no more than a passage of a text without spaces, and of one at least within any max_tokens', async () => {
    const texts = {
      han: '数据库'.repeat(200),
      base64: 'QUJD'.repeat(300),
      'han-marked': `zygote ${'数据库'.repeat(200)} zygote`,
    };
    for (const [project_id, content] of Object.entries(texts)) {
      expect((await gateway.tool('C', 'save_memory', { content, project_id })).isError).toBe(false);
    }
    await gateway.embedded();
    for (const project_id of Object.keys(texts)) {
      for (const asked of [{ query: 'zygote' }, { query: 'zygote', mode: 'semantic' }, { creator: 'Cursor-IDE' }]) {
        for (const max_tokens of [undefined, 500]) {
          const { hits, searched } = await search('C', { ...asked, project_id, scopes: ['developer'], max_tokens });
          const what = JSON.stringify({ project_id, ...asked, max_tokens });
          expect(hits.length, what).toBe(1);
          expect(Buffer.byteLength(hits[0].snippet), `${what}: ${hits[0].snippet.length}`).toBeLessThanOrEqual(750);
          expect(hits[0].snippet.split('**').length % 2, `${what}: ${hits[0].snippet}`).toBe(1);
          if (max_tokens) expect(searched.cut.tokens <= max_tokens && hits[0].content.length > 50, what).toBe(true);
        }
      }
    }
    const { hits } = await search('C', { query: 'zygote', project_id: 'han-marked', scopes: ['developer'] });
    expect(hits[0].snippet).toMatch(/\*\*zygote\*\*/);
  });

  it('leaves out what is further in meaning than the threshold', async () => {
    const near = await contents('C', { query: 'young cat resting', mode: 'semantic', threshold: 0.7 });
    expect(near).toStrictEqual(['The kitten']);
    expect(await contents('C', { query: 'young cat resting', mode: 'semantic', threshold: 0.01 })).toStrictEqual([]);
  });

  it('finds a long memory by any of its chunks, once', async () => {
    const filler = 'This paragraph speaks at length of the weather in the northern counties. '.repeat(60);
    await gateway.tool('C', 'save_memory', {
      content: `${filler} The password vault is named Heimdall. ${filler}`,
      project_id: 'l9',
      tags: ['long'],
    });
    await gateway.embedded();
    const { hits } = await search('C', {
      query: 'what is the credential store called?',
      mode: 'semantic',
      tags: ['long'],
    });
    expect(hits.length).toBe(1);
    expect(hits[0].chunk_index).toBeGreaterThan(0);
    const [{ chunk_text }] = await gateway.sql(
      'C',
      'select chunk_text from public.memory_embeddings where packet_id = $1 and chunk_index = $2',
      [hits[0].packet_id, hits[0].chunk_index],
    );
    expect(chunk_text).toMatch(/Heimdall/);
    expect(hits[0].is_truncated).toBe(true);
  });

  it('survives every kind of query text', async () => {
    for (const query of [
      'the and of',
      `"quoted' AND (OR) NOT -- ; drop table x`,
      "'; select 1; --",
      'ключ базы данных',
      '数据库',
      '🦊🦊',
      '%_\\',
      'x'.repeat(10_000),
      'word '.repeat(2_000),
      '\u0001\u0002',
    ]) {
      for (const mode of ['hybrid', 'lexical']) await search('C', { query, mode });
    }
  });

  it('refuses what is out of range, naming the field', async () => {
    const cases: [object, RegExp][] = [
      [{ query: '   ' }, /L9VAL.*query/],
      [{ query: '\u00a0\u3000\u2003\ufeff' }, /L9VAL.*query: must not be blank/],
      [{ query: '\u00a0', mode: 'semantic' }, /L9VAL.*query: must not be blank/],
      [{ query: 'x', k: 0 }, /L9VAL.*k: from 1 to 100/],
      [{ query: 'x', k: 101 }, /L9VAL.*k: from 1 to 100/],
      [{ query: 'x', mode: 'psychic' }, /L9VAL.*mode/],
      [{ query: 'x', threshold: 3 }, /L9VAL.*threshold/],
      [{ query: 'x', since: 'yesterday' }, /L9VAL.*since/],
      [{ query: 'x', since: '2026-02-01T00:00:00Z', until: '2026-01-01T00:00:00Z' }, /L9VAL.*since/],
      [{ query: 'y'.repeat(40_000) }, /L9LIM.*query/],
      [{ query: 'x', limit: 5 }, /L9VAL.*limit/],
    ];
    for (const [args, expected] of cases) {
      const { isError, text } = await gateway.tool('C', 'search_memory', args);
      expect(isError).toBe(true);
      expect(text).toMatch(expected);
    }
  });

  it('asked for meaning without a vector is refused; for both, it goes by words and says so', async () => {
    await expect(gateway.sql('C', "select public.search_memory('x', mode => 'semantic')")).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'mode',
    });
    const [{ searched }] = await gateway.sql('C', "select (public.search_memory('kitten')).searched");
    expect([searched.mode, searched.requested_mode, searched.vectors]).toStrictEqual([
      'lexical',
      'hybrid',
      'unavailable',
    ]);
    expect(searched.notice).toMatch(/words only/);
  });
});
