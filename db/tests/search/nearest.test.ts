// Whether a query is answered is decided once for the answer: all hits come, or none and the nearest memories in their place.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['orchard', 'apple', 'pear', 'engine', 'violin'], 0.2);
const NOTICE = /Nothing matched well; nearest has what comes closest\./;

describe('an answer to a query', () => {
  const db = useTestDatabase();
  const ids: string[] = [];
  beforeAll(async () => {
    await serveModel(db, model);
    await db.asSuperuser(
      'update public.embedding_models set relevance_midpoint = 0.5, relevance_slope = 40, relevance_word_slope = 4',
    );
    for (const content of [
      'The orchard has an apple tree.',
      'The orchard has a pear tree.',
      'Pear and apple grow beside each other.',
      'The orchard is watered at noon.',
    ])
      ids.push(await saveMemory(db, 'C', { content, project_id: 'farm' }));
    await saveMemory(db, 'L', { content: 'The violin is hidden.', scope: 'l-private', project_id: 'farm' });
    await db.sql('C', "select public.reflect('An apple keeps longer when it is cold.', project_id => 'farm')");
    await embedPending(db, model);
  });
  const vector = (query: string) => ({ query_vector: model.vectorOf(query), model: model.name });
  const search = (query: string, args: object = {}) =>
    searchMemory(db, 'C', { query, project_id: 'farm', kinds: ['note'], ...vector(query), ...args });
  const call = async (name: string, args: object) => {
    const [{ answer }] = await db.sql('C', `select to_jsonb(r) as answer from public.${name}(${named(args)}) r`, [
      ...Object.values(args),
    ]);
    return answer;
  };

  it('has all hits where one of them is relevant, each with its relevance', async () => {
    const { hits, nearest, searched } = await search('apple');
    expect(hits).toHaveLength(4);
    expect(hits.map(({ relevance }) => relevance! >= 0.2)).toContain(false);
    expect(nearest).toStrictEqual([]);
    expect([searched.left_out, searched.notice]).toStrictEqual([0, null]);
  });

  it('has the nearest in place of hits where none is relevant, and says so', async () => {
    const { hits, nearest, searched } = await search('engine');
    expect(hits).toStrictEqual([]);
    expect(nearest).toHaveLength(3);
    expect(Object.keys(nearest[0]!).sort()).toStrictEqual(
      ['kind', 'packet_id', 'project_id', 'relevance', 'scope', 'score', 'snippet', 'standing'].sort(),
    );
    for (const { relevance, snippet, packet_id } of nearest) {
      expect(relevance!).toBeLessThan(0.2);
      expect(snippet).not.toBe('');
      expect(ids).toContain(packet_id);
    }
    const scores = nearest.map(({ score }) => score);
    expect(scores).toStrictEqual([...scores].sort((a, b) => b - a));
    expect(searched.notice).toMatch(NOTICE);
    expect([searched.left_out, searched.min_relevance]).toStrictEqual([4, 0.2]);
  });

  it('is decided by meaning alone, and by words alone only where the caller asks for it', async () => {
    for (const mode of ['hybrid', 'lexical', 'semantic']) {
      expect((await search('apple pear', { mode })).hits, mode).not.toStrictEqual([]);
      expect((await search('engine zeppelin', { mode })).hits, mode).toStrictEqual([]);
    }
    expect((await search('engine', { mode: 'semantic' })).nearest).toHaveLength(3);
    const query = 'watered zeppelins engines violins carburettors exhausts';
    const asked = async (args: object) => {
      const { hits, nearest } = await search(query, { mode: 'lexical', ...args });
      return [hits.length, nearest.length];
    };
    expect(await asked({})).toStrictEqual([1, 0]);
    expect(await asked({ min_relevance: 0.2 })).toStrictEqual([0, 1]);
  });

  it('leaves out each hit below a bound that the caller gives', async () => {
    const all = await search('engine', { min_relevance: 0 });
    expect([all.hits.length, all.nearest]).toStrictEqual([4, []]);
    const some = await search('apple', { min_relevance: 0.5 });
    expect(some.hits.length).toBeLessThan(4);
    expect([some.hits.length + some.searched.left_out, some.nearest]).toStrictEqual([4, []]);
    const none = await search('engine', { min_relevance: 0.5 });
    expect([none.hits.length, none.nearest.length]).toStrictEqual([0, 3]);
  });

  it('keeps what is like a memory, and what was not ranked', async () => {
    const like = await searchMemory(db, 'C', { packet_id: ids[3]! });
    expect([like.hits.length > 0, like.nearest]).toStrictEqual([true, []]);
    const newest = await searchMemory(db, 'C', { kinds: ['note'] });
    expect([newest.hits.length, newest.nearest]).toStrictEqual([4, []]);
  });

  it('names no memory that the caller cannot read', async () => {
    const before = JSON.stringify(await search('violin'));
    const { nearest } = JSON.parse(before);
    expect(nearest.map((one: { packet_id: string }) => ids.includes(one.packet_id))).toStrictEqual([true, true, true]);
    await saveMemory(db, 'L', { content: 'Another violin, an engine.', scope: 'l-private', project_id: 'farm' });
    await embedPending(db, model);
    expect((await search('violin')).nearest).toStrictEqual(nearest);
  });

  it('is in the audit log with the memories that it shows, and in the access log with hits only', async () => {
    const accesses = async () => {
      const [{ count }] = await db.asSuperuser('select count(*)::integer from public.memory_access_log');
      return count;
    };
    const before = await accesses();
    for (const name of ['search_memory', 'memory_find', 'recall_lessons']) {
      const { nearest } = await call(name, { query: 'engine', project_id: 'farm', ...vector('engine') });
      expect(nearest, name).not.toStrictEqual([]);
      const [audited] = await db.asSuperuser(
        "select a.details -> 'ids' as ids from public.audit_log a where a.operation = 'SEARCH' order by a.audit_id desc limit 1",
      );
      expect(audited.ids, name).toStrictEqual(nearest.map((one: { packet_id: string }) => one.packet_id));
    }
    expect(await accesses()).toBe(before);
  });

  it('is decided in the same way by memory_find', async () => {
    const find = (query: string, args: object = {}) =>
      call('memory_find', { query, project_id: 'farm', kinds: ['note'], ...vector(query), ...args });
    const answered = await find('which apple?');
    expect([answered.hits.length, answered.nearest]).toStrictEqual([4, []]);
    for (const mode of ['auto', 'fast', 'deep']) {
      const { hits, nearest, searched } = await find(
        'watered zeppelins with carburettors, exhausts, fenders and violins',
        { mode },
      );
      expect(hits, mode).toStrictEqual([]);
      expect(nearest.length, mode).toBeGreaterThan(0);
      expect(nearest.length, mode).toBeLessThanOrEqual(3);
      expect(searched.notice, mode).toMatch(NOTICE);
    }
  });

  it('has in memory_find what is hardly relevant after what is relevant, however new it is', async () => {
    const { hits } = await call('memory_find', {
      query: 'apple',
      project_id: 'farm',
      kinds: ['note'],
      ...vector('apple'),
      explain: true,
    });
    const scores = hits.map(({ score }: { score: number }) => score);
    expect(scores).toStrictEqual([...scores].sort((a, b) => b - a));
    expect([ids[0], ids[2]]).toContain(hits[0].packet_id);
    expect(new Set(hits.slice(0, 2).map((hit: { packet_id: string }) => hit.packet_id))).toStrictEqual(
      new Set([ids[0], ids[2]]),
    );
  });

  it('is decided in the same way by recall_lessons', async () => {
    const recall = (query: string) => call('recall_lessons', { query, project_id: 'farm', ...vector(query) });
    expect((await recall('apple')).lessons).toHaveLength(1);
    const { lessons, nearest, searched } = await recall('engine');
    expect([lessons, nearest.length]).toStrictEqual([[], 1]);
    expect(searched.notice).toMatch(NOTICE);
  });

  it('fits into max_tokens', async () => {
    const long = `${'A sentence about nothing much, in many words. '.repeat(40)}`;
    for (const n of [1, 2, 3])
      await saveMemory(db, 'C', { content: `${long} ${'x'.repeat(n)}`, project_id: 'long', kind: 'note' });
    await embedPending(db, model);
    const { nearest } = await search('engine', { project_id: 'long', max_tokens: 500 });
    expect(nearest.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(nearest)) / 3).toBeLessThanOrEqual(500);
  });
});

describe('a hybrid search among a few notes', () => {
  const db = useTestDatabase();

  it('is not led astray by one common word of a long question', async () => {
    await serveModel(db, model);
    const right = await saveMemory(db, 'C', { content: 'The orchard lies beyond the river.' });
    await saveMemory(db, 'C', { content: 'We meet where the engine is.' });
    await saveMemory(db, 'C', { content: 'Tickets are closed by whoever opened them.' });
    await embedPending(db, model);
    const query = 'where do we meet the people who pick fruit, orchard keepers perhaps, and who opened it?';
    const { hits } = await searchMemory(db, 'C', { query, query_vector: model.vectorOf('orchard'), model: model.name });
    expect(hits[0]!.packet_id).toBe(right);
  });

  it('counts words in full among many memories, where a word can be rare', async () => {
    await db.sql(
      'C',
      "select count((public.save_memory('The pear of row ' || n)).status) from generate_series(1, 600) as n",
    );
    const query = 'where do we meet the people who pick fruit, orchard keepers perhaps?';
    const { hits } = await searchMemory(db, 'C', {
      query,
      mode: 'hybrid',
      explain: true,
      ...{ query_vector: model.vectorOf('orchard'), model: model.name },
    });
    expect(hits[0]!.explanation.lexical.trust).toBe(1);
  });
});
