import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { serverUrl } from '../support/engine.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['kitten', 'tuple', 'boat', 'wombat'], 0.3);

describe('search_memory', () => {
  const db = useTestDatabase();
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    await serveModel(db, model);
    ids.kitten = await save('C', {
      content: 'The kitten sleeps.',
      tags: ['pets', 'home'],
      kind: 'note',
      thread_id: 't1',
    });
    ids.tuple = await save('C', { content: 'PostgreSQL vacuums dead tuples.', tags: ['db'], kind: 'finding' });
    ids.revenue = await save('L', { content: 'Revenue grew by a tenth.', tags: ['home'], project_id: 'future-x' });
    ids.boat = await save('L', { content: 'A boat needs oil.', scope: 'global', project_id: null });
    ids.secret = await save('L', { content: 'The secret kitten likes cardamom.', scope: 'l-private', tags: ['home'] });
    await embed();
  });

  const save = (caller: string, args: { content: string; [name: string]: unknown }) => saveMemory(db, caller, args);
  const embed = () => embedPending(db, model);
  /** Searches with the vector of the query, as the gateway does. */
  const search = (caller: string, { query, ...args }: { query?: string; [name: string]: unknown }) =>
    searchMemory(db, caller, {
      ...(query !== undefined && { query, query_vector: model.vectorOf(query), model: model.name }),
      ...args,
    });
  const found = async (caller: string, args: { query?: string; [name: string]: unknown }) =>
    (await search(caller, args)).hits.map(({ packet_id }) => Object.keys(ids).find((name) => ids[name] === packet_id));

  it('filters by scope, project, kind, tags, thread, creator and time', async () => {
    const sorted = async (args: object) =>
      (await found('C', { query: 'the', mode: 'semantic', k: 100, ...args })).sort();
    expect(await sorted({ scopes: ['global'] })).toStrictEqual(['boat']);
    expect(await sorted({ scopes: ['l-private'] }), "another caller's scope is not searched").toStrictEqual([]);
    expect(await sorted({ project_id: 'future-x' })).toStrictEqual(['boat', 'revenue']);
    expect(await sorted({ kinds: ['finding'] })).toStrictEqual(['tuple']);
    expect(await sorted({ tags: ['home', 'db'] })).toStrictEqual(['kitten', 'revenue', 'tuple']);
    expect(await sorted({ tags: ['home', 'pets'], tags_match: 'all' })).toStrictEqual(['kitten']);
    expect(await sorted({ thread_id: 't1' })).toStrictEqual(['kitten']);
    expect(await sorted({ creator: 'L-CTO' })).toStrictEqual(['boat', 'revenue']);
    expect(await sorted({ until: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
    expect(await sorted({ since: '2020-01-01T00:00:00Z' })).toStrictEqual(['boat', 'kitten', 'revenue', 'tuple']);
  });

  it('finds for an operator, who reads every scope, only memories of the scopes that it asks for', async () => {
    const operator = await addOperator(db, 'P');
    for (const mode of ['lexical', 'semantic', 'hybrid']) {
      const args = {
        query: 'kitten',
        query_vector: model.vectorOf('kitten'),
        model: model.name,
        mode,
        min_relevance: 0,
      };
      const { hits } = await searchMemory(db, 'P', { ...args, scopes: ['l-private'] }, operator);
      expect(
        hits.map(({ packet_id }) => packet_id),
        mode,
      ).toStrictEqual([ids.secret]);
    }
  });

  it('lists the newest matches first without a query', async () => {
    const all = ['boat', 'revenue', 'tuple', 'kitten'];
    expect(await found('C', { since: '2020-01-01T00:00:00Z' })).toStrictEqual(all);
    expect(await found('C', { since: '2020-01-01T00:00:00Z', k: 2 })).toStrictEqual(all.slice(0, 2));
    expect(await found('C', { until: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
    expect(await found('C', { tags: ['home'] })).toStrictEqual(['revenue', 'kitten']);
    expect(await found('L', { tags: ['home'] })).toStrictEqual(['secret', 'revenue', 'kitten']);
    expect(await found('C', { tags: ['home', 'pets'], tags_match: 'all' })).toStrictEqual(['kitten']);
    expect(await found('C', { kinds: ['finding'] })).toStrictEqual(['tuple']);
    const { hits, searched } = await search('C', { tags: ['pets'], mode: 'semantic' });
    expect([searched.mode, searched.requested_mode, searched.vectors]).toStrictEqual([
      'recent',
      'semantic',
      'not asked for',
    ]);
    const [hit] = hits;
    expect([hit!.score, hit!.lexical_score, hit!.semantic_score]).toStrictEqual([1, null, null]);
  });

  it('refuses a search for nothing, and says what to give', async () => {
    await expect(search('C', {})).rejects.toThrow(/query: give a query, the packet_id .* or a filter/);
    for (const args of [{ project_id: 'l9' }, { query: '' }]) {
      await expect(search('C', args)).rejects.toMatchObject({ code: 'L9VAL', column: 'query' });
    }
    const both = search('C', { query: 'x', packet_id: ids.kitten });
    await expect(both).rejects.toMatchObject({ code: 'L9VAL', column: 'packet_id' });
  });

  it('refuses mode semantic without a vector, and searches by words in mode hybrid', async () => {
    await expect(searchMemory(db, 'C', { query: 'x', mode: 'semantic' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'mode',
    });
    const { searched } = await searchMemory(db, 'C', { query: 'kitten' });
    expect([searched.mode, searched.requested_mode, searched.vectors]).toStrictEqual([
      'lexical',
      'hybrid',
      'unavailable',
    ]);
    expect(searched.notice).toMatch(/words only/);
  });

  it('searches nothing where the vector is of a model that does not serve and the caller can make another', async () => {
    const audited = async () => (await db.asOwner("select from audit_log where operation = 'SEARCH'")).length;
    const before = await audited();
    for (const mode of ['hybrid', 'semantic']) {
      const args = { query: 'boat', mode, query_vector: model.vectorOf('boat'), model: 'of another year' };
      const waiting = await searchMemory(db, 'C', { ...args, retry_for: ['vector', 'model'] });
      expect([waiting.hits, waiting.searched]).toStrictEqual([[], { retry: 'model' }]);
      const lessons = await db.sql(
        'C',
        "select searched from recall_lessons('boat', query_vector => $1, model => 'of another year', retry_for => '{model}')",
        [args.query_vector],
      );
      expect(lessons[0].searched).toStrictEqual({ retry: 'model' });
      const found = await db.sql(
        'C',
        "select searched from memory_find('boat', query_vector => $1, model => 'of another year', retry_for => '{model}')",
        [args.query_vector],
      );
      expect(found[0].searched).toStrictEqual({ retry: 'model' });
    }
    expect(await audited()).toBe(before);
    const again = {
      query: 'boat',
      query_vector: model.vectorOf('boat'),
      model: 'of another year',
      retry_for: ['vector'],
    };
    expect((await searchMemory(db, 'C', again)).searched.vectors).toBe('unavailable');
    await expect(searchMemory(db, 'C', { ...again, mode: 'semantic' })).rejects.toMatchObject({ column: 'mode' });
  });

  it.each([
    ['boat', (trust: number) => trust === 1],
    ['a boat with words that no memory has', (trust: number) => trust > 0 && trust < 1],
  ])('explains each hit of %j on request, so that the parts make up its score', async (query, isTrusted) => {
    const { hits } = await search('C', { query, explain: true });
    const { explanation, score, lexical_score, semantic_score } = hits[0]!;
    expect(explanation.found_by).toStrictEqual(['lexical content', 'semantic content']);
    const { trust, ...words } = explanation.lexical;
    expect(words).toStrictEqual({ content: 1, context: null });
    expect(isTrusted(trust), `the trust in words is ${trust}`).toBe(true);
    expect(Math.abs(explanation.semantic.content - semantic_score!)).toBeLessThan(1e-6);
    expect(explanation.chunk).toStrictEqual({ index: 0 });
    const { lexical, semantic } = explanation.weights;
    const fused = (lexical * lexical_score! * trust + semantic * semantic_score!) / (lexical + semantic);
    expect(Math.abs(explanation.fused - fused)).toBeLessThan(1e-5);
    expect(Math.abs(score - fused * explanation.boosts.factor)).toBeLessThan(1e-5);
    expect(explanation.boosts.recency).toBeGreaterThan(0.99);
    expect((await search('C', { query })).hits[0]!.explanation).toBeNull();
  });

  it('always describes how it searched', async () => {
    for (const args of [{ query: 'boat' }, { query: 'nothing has this', mode: 'lexical' }]) {
      const { searched } = await search('C', args);
      expect(searched.scopes).toStrictEqual(['developer', 'global']);
      expect(searched.projects).toStrictEqual(['*']);
      expect(typeof searched.candidates).toBe('number');
      expect(searched.vectors).toBe('mode' in args ? 'not asked for' : 'used');
    }
  });

  it('answers any text with hits or none, never with an error of the database', async () => {
    const texts = [
      'x'.repeat(10_000),
      `${'boat '.repeat(2_000)}`,
      Array.from({ length: 1_500 }, (_, n) => `word${n}`).join(' '),
      'the of and a is',
      `"quoted' & | ! <-> :* () -- \\ $$ %L %s $1`,
      `"quoted' AND (OR) NOT -- ; drop table x`,
      "'); drop table public.packet_store; --",
      "'; select 1; --",
      '()()()',
      '!!!',
      '***',
      '{}[]',
      "'",
      '"',
      '\\',
      '..',
      'a+b=c*(d)',
      'C++ and C#',
      '[iy]$',
      '(?i)x',
      '^\\m',
      'лодка и яблоко',
      'ключ базы данных',
      '船和苹果',
      '数据库',
      'قارب',
      '🚢🍎',
      '🦊🦊',
      'ＢＯＡＴ',
      'İstanbul',
      'naïve café',
      '\u0001\u0002',
      'a\u0301',
      '%_\\%',
      '%_\\',
    ];
    for (const [n, query] of texts.entries()) {
      // On the embedded engine a search takes a tenth of a second, so callers and filters alternate.
      const inTurn = <T>(all: T[]) => (serverUrl ? all : [all[n % all.length]!]);
      for (const caller of inTurn(['C', 'L'])) {
        for (const mode of ['hybrid', 'lexical', 'semantic']) {
          const { hits, searched } = await search(caller, { query, mode });
          expect(Array.isArray(hits)).toBe(true);
          expect(searched.mode).toBe(mode);
        }
        for (const filter of inTurn([
          { tags: [query.slice(0, 200)] },
          { thread_id: query.slice(0, 40) },
          { creator: query.slice(0, 40) },
          { kinds: [query.slice(0, 40)] },
        ])) {
          await search(caller, { query: 'boat', as_of: new Date(Date.now() - 1000).toISOString(), ...filter });
        }
      }
    }
    const { hits } = await search('C', { query: 'boat '.repeat(2_000), mode: 'lexical' });
    expect(hits[0]!.packet_id).toBe(ids.boat);
  });

  it('returns k hits though the caller can read a small part of the nearest memories', async () => {
    await db.sql(
      'L',
      `insert into public.packet_store (envelope, scope, project_id)
       select jsonb_build_object('content', 'wombat burrow number ' || i), 'l-private', 'l9' from generate_series(1, 120) i`,
    );
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'wombat den number ' || i), 'l9' from generate_series(1, 12) i`,
    );
    await embed();
    for (const mode of ['semantic', 'lexical', 'hybrid']) {
      const { hits } = await search('C', { query: 'wombat burrow number', mode, k: 10 });
      expect(hits.length, mode).toBe(10);
      expect(
        hits.every(({ scope }) => scope !== 'l-private'),
        mode,
      ).toBe(true);
    }
  });

  it('returns k hits if k memories are visible, however far from the query', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'axolotl pond number ' || i), 'ponds' from generate_series(1, 12) i`,
    );
    await embed();
    // The query has the opposite vector of all of them.
    for (const mode of ['semantic', 'hybrid']) {
      const hits = await db.sql(
        'C',
        `select h.score, 1 - (e.vector operator(extensions.<=>) q.vector) as similarity
         from (
           select (vector operator(extensions.*) array_fill(-1::real, array[1536])::extensions.vector) as vector, model
           from public.memory_embeddings where project_id = 'ponds' and embedding_type = 'content' limit 1
         ) q,
         public.search_memory('wombat', 10, $1, project_id => 'ponds', scopes => '{developer}', query_vector => q.vector, model => q.model,
           min_relevance => 0) s,
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

  it('returns 100 hits also if few of many rows are scored one by one', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'quokka island number ' || i), 'islands' from generate_series(1, 110) i`,
    );
    const args = { mode: 'lexical', k: 100, project_id: 'islands', scopes: ['developer'] };
    expect((await search('C', { query: 'quokka', ...args })).hits).toHaveLength(100);
    // Only the last of many words matches.
    const others = Array.from(
      { length: 40 },
      (_, n) => `otherwise${'abcdefghij'[n % 10]}${'klmn'[Math.floor(n / 10)]}`,
    );
    expect((await search('C', { query: `${others.join(' ')} quokka`, ...args })).hits).toHaveLength(100);
  });
});
