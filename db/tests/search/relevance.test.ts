// How relevant a hit is, whatever else was found; and the text that the vector of a query is made of.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['orchard', 'apple', 'pear', 'engine'], 0.2);

describe('relevance', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await serveModel(db, model);
    // Half of all words in common is a relevance of a half.
    await db.asSuperuser('update public.embedding_models set relevance_midpoint = 0.5, relevance_slope = 20');
    await saveMemory(db, 'C', { content: 'The orchard has an apple tree.' });
    await saveMemory(db, 'C', { content: 'The orchard has a pear tree.' });
    await embedPending(db, model);
  });
  const search = (query: string, args: object = {}, caller = 'C') =>
    searchMemory(db, caller, { query, query_vector: model.vectorOf(query), model: model.name, ...args });

  it("maps the similarity by the model's map", async () => {
    const { hits } = await search('apple', { mode: 'semantic', min_relevance: 0 });
    expect(hits).toHaveLength(2);
    // Without words their share counts as 0.1, and fewer than eight memories count as eight.
    const others = 2 * (0.1 - 0.2) + Math.log(500 / 8);
    for (const { semantic_score, relevance } of hits) {
      expect(Math.abs(relevance! - 1 / (1 + Math.exp(-20 * (semantic_score! - 0.5) - others)))).toBeLessThan(1e-4);
    }
  });

  it('has no hits for what is off-topic, and says how many were left out', async () => {
    const { hits, searched } = await search('engine');
    expect(hits).toStrictEqual([]);
    expect([searched.left_out, searched.min_relevance]).toStrictEqual([2, 0.2]);
    const all = await search('engine', { min_relevance: 0 });
    expect([all.hits.length, all.searched.left_out]).toStrictEqual([2, 0]);
    const one = await search('apple', { min_relevance: 0.5, mode: 'semantic' });
    expect([one.hits.length, one.searched.left_out]).toStrictEqual([1, 1]);
  });

  it('counts no memory that the caller cannot read', async () => {
    const before = (await search('engine')).searched;
    await saveMemory(db, 'L', { content: 'The private orchard has an engine.', scope: 'l-private' });
    await embedPending(db, model);
    const { left_out, candidates } = (await search('engine')).searched;
    expect([left_out, candidates]).toStrictEqual([before.left_out, before.candidates]);
    expect((await search('engine', {}, 'L')).hits).toHaveLength(3);
  });

  it('is the share of the words that were found, without vectors', async () => {
    const words = await searchMemory(db, 'C', { query: 'apple tree', mode: 'lexical' });
    expect(words.hits[0]!.relevance).toBeCloseTo(1, 5);
    expect(words.hits[1]!.relevance!).toBeGreaterThan(0);
    expect(words.hits[1]!.relevance!).toBeLessThan(0.5);
    const few = await searchMemory(db, 'C', { query: 'apple tree', mode: 'lexical', min_relevance: 0.5 });
    expect([few.hits.length, few.searched.left_out]).toStrictEqual([1, 1]);
  });

  it('keeps what has the words of the query, however far it is in meaning', async () => {
    const id = await saveMemory(db, 'C', {
      content: 'The engine reads activeActors and max_rows from tab 7 of the sheet.',
    });
    await embedPending(db, model);
    const found = async (query: string, args: object = {}) => (await search(query, args)).hits;
    for (const query of ['activeActors', 'max_rows', 'the sheet', 'max_rows of the sheet: zeppelin']) {
      const [hit] = await found(query);
      expect(hit?.packet_id, query).toBe(id);
      expect(hit!.relevance!, query).toBeGreaterThan(0.2);
    }
    // Half of the words is not enough, and neither are words in mode semantic.
    expect(await found('rows zeppelin')).toStrictEqual([]);
    expect(await found('the sheet', { mode: 'semantic' })).toStrictEqual([]);
    await db.sql('C', 'select public.delete_memory($1)', [id]);
  });

  it('counts the parts of an identifier as found where the whole was', async () => {
    const [{ share }] = await db.sql(
      'C',
      `select search.word_share($$'2026' '2026-03-06' '6' 'march'$$::tsvector, search.word_tests(l.lexemes), array_fill(1::float8, array[cardinality(l.lexemes)])) as share
       from (select search.query_words('2026-03-06', '{english}') as lexemes) l`,
    );
    expect(share).toBe(1);
    const [{ tests }] = await db.sql('C', "select search.word_tests('{a,b/a,cab}')::text[] as tests");
    expect(tests, 'one letter is no part of a word').toStrictEqual(["'a' | 'b/a'", "'b/a'", "'cab'"]);
  });

  it('judges pairs of characters by their share', async () => {
    const id = await saveMemory(db, 'C', { content: '大熊猫主要以竹子为食 (apple, orchard)。' });
    await embedPending(db, model);
    expect((await search('熊猫吃竹子')).hits[0]!.packet_id).toBe(id);
    expect((await search('首都在哪里')).hits).toStrictEqual([]);
    await db.sql('C', 'select public.delete_memory($1)', [id]);
  });

  it('is null where nothing is ranked', async () => {
    const { hits } = await searchMemory(db, 'C', { since: '2020-01-01T00:00:00Z' });
    expect(hits.map(({ relevance }) => relevance)).toStrictEqual([null, null]);
  });

  it('refuses a bound that is no share', async () => {
    for (const min_relevance of [-0.1, 1.1, 'NaN']) {
      await expect(search('apple', { min_relevance })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'min_relevance',
      });
    }
  });

  it('has a map for every model', async () => {
    const maps = await db.asOwner(
      `select m.model, r.* from unnest(array['all-MiniLM-L6-v2-int8', 'text-embedding-3-small', 'text-embedding-ada-002', 'other']) as m (model)
       cross join embeddings.default_relevance(m.model) r`,
    );
    expect(maps.map(({ midpoint }) => midpoint)).toStrictEqual([0.43, 0.25, 0.76, 0.15]);
    const [unknown] = await db.asOwner(
      'select search.relevance_of(0::real, 0::real, false, 0::real, r.midpoint, r.slope, r.word_slope) as r from embeddings.default_relevance($1) r',
      ['other'],
    );
    expect(unknown.r, 'a model that nobody measured leaves out only what points away').toBeGreaterThan(0.2);
  });
});

describe('search.words_for_vector', () => {
  const db = useTestDatabase();
  const text = async (query: string, project: string | null, caller = 'C') => {
    const [row] = await db.sql(caller, 'select search.words_for_vector($1, $2) as text', [query, project]);
    return row.text as string;
  };
  const query = 'What did Ann say about the oil, Bob?';
  const insert = (caller: string, project: string, scope: string, content: string, count: number) =>
    db.sql(
      caller,
      `insert into public.packet_store (envelope, project_id, scope)
       select jsonb_build_object('content', $1 || i), $2, $3 from generate_series(1, ${count}) i`,
      [content, project, scope],
    );
  beforeAll(() => insert('C', 'talks', 'developer', 'Ann: this is number ', 25));

  it('leaves out words that most memories of the project have', async () => {
    expect(await text(query, 'talks')).toBe('What did say about the oil, Bob?');
  });

  it('leaves out a speaker in any case of letters, and no other word', async () => {
    await saveMemory(db, 'C', { content: 'Ann: this is one more number.', kind: 'message', project_id: 'talks' });
    expect(await text('what is the number that ann said?', 'talks')).toBe('what is the number that said?');
  });

  it('keeps the query if nothing else were left, without a project, and among few memories', async () => {
    expect(await text('Ann?', 'talks')).toBe('Ann?');
    expect(await text(query, null)).toBe(query);
    await insert('C', 'few', 'developer', 'Ann: this is number ', 5);
    expect(await text(query, 'few')).toBe(query);
  });

  it('counts only memories that the caller may read', async () => {
    await insert('L', 'talks', 'l-private', 'Bob: that oil is number ', 100);
    expect(await text(query, 'talks')).toBe('What did say about the oil, Bob?');
    expect(await text(query, 'talks', 'L')).not.toMatch(/Bob/);
  });
});
