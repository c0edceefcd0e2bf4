// The other ways to search: by filters only, by likeness, as of a time; what is explained, weighed, and cut to fit.
import type { Embedder } from '../../../gateway/src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { serverUrl } from '../support/engine.ts';

const words = ['apple', 'boat', 'candle', 'drum', 'eagle'];
const embedder: Embedder = {
  model: 'words',
  dimensions: words.length + 1,
  embed: async (texts) =>
    texts.map((text) => {
      const vector = [0.3, ...words.map((word) => (text.toLowerCase().includes(word) ? 1 : 0))];
      return vector.map((value) => value / Math.hypot(...vector));
    }),
  chunk: async () => [],
  close: async () => {},
};

describe('a search', () => {
  let gateway: TestGateway;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
    ids.apple = await save('C', { content: 'An apple a day.', tags: ['fruit'] });
    ids.boat = await save('C', { content: 'A boat with an apple in it.', tags: ['fruit', 'ship'] });
    ids.candle = await save('L', { content: 'A candle burns.', kind: 'decision', importance: 1 });
    ids.secret = await save('L', { content: 'An apple, in secret.', scope: 'l-private', tags: ['fruit'] });
    await gateway.embedded();
  });
  afterAll(() => gateway.close());

  async function save(caller: string, args: object): Promise<string> {
    const { isError, text, result } = await gateway.tool(caller, 'save_memory', { project_id: 'l9', ...args });
    expect(isError, text).toBe(false);
    return result.memory.packet_id;
  }
  const search = async (caller: string, args: object) => {
    const { isError, text, result } = await gateway.tool(caller, 'search_memory', args);
    expect(isError, text).toBe(false);
    return result;
  };
  const found = async (caller: string, args: object): Promise<string[]> =>
    (await search(caller, args)).hits.map(({ packet_id }: { packet_id: string }) =>
      Object.keys(ids).find((name) => ids[name] === packet_id),
    );
  const now = async () => (await gateway.asSuperuser('select clock_timestamp() as now'))[0].now.toISOString();
  const refused = async (args: object, expected: RegExp) => {
    const { isError, text } = await gateway.tool('C', 'search_memory', args);
    expect(isError, JSON.stringify(args)).toBe(true);
    expect(text).toMatch(expected);
  };

  it('without a query lists what matches, the newest first', async () => {
    expect(await found('C', { since: '2020-01-01T00:00:00Z' })).toStrictEqual(['candle', 'boat', 'apple']);
    expect(await found('C', { since: '2020-01-01T00:00:00Z', k: 2 })).toStrictEqual(['candle', 'boat']);
    expect(await found('C', { until: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
    expect(await found('C', { tags: ['fruit'] })).toStrictEqual(['boat', 'apple']);
    expect(await found('L', { tags: ['fruit'] })).toStrictEqual(['secret', 'boat', 'apple']);
    expect(await found('C', { tags: ['fruit', 'ship'], tags_match: 'all' })).toStrictEqual(['boat']);
    expect(await found('C', { kinds: ['decision'] })).toStrictEqual(['candle']);
    const { hits, searched } = await search('C', { tags: ['ship'], mode: 'semantic' });
    expect([searched.mode, searched.requested_mode, searched.vectors]).toStrictEqual([
      'recent',
      'semantic',
      'not asked for',
    ]);
    expect([hits[0].score, hits[0].lexical_score, hits[0].semantic_score]).toStrictEqual([1, null, null]);
    const { data } = await gateway.graphql(
      'C',
      '{ searchMemory(tags: ["ship"]) { hits { packetId } searched { mode } } }',
    );
    expect(data.searchMemory).toStrictEqual({ hits: [{ packetId: ids.boat }], searched: { mode: 'recent' } });
  });

  it('for nothing at all is refused, with words that say what to give', async () => {
    await refused({}, /L9VAL.*query: give a query, the packet_id .* or a filter/);
    await refused({ project_id: 'l9' }, /L9VAL.*query/);
    await refused({ query: '' }, /L9VAL.*query: must not be blank/);
    await refused({ query: 'x', packet_id: ids.apple }, /L9VAL.*packet_id/);
  });

  it('finds more like one memory, by words and by meaning, and not that one', async () => {
    for (const mode of ['hybrid', 'lexical', 'semantic']) {
      const like = await found('C', { packet_id: ids.apple, mode, threshold: 0.6 });
      expect(like, mode).toStrictEqual(['boat']);
    }
    expect((await found('L', { packet_id: ids.apple, threshold: 0.6 })).sort()).toStrictEqual(['boat', 'secret']);
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { searchMemory(packetId: $id, threshold: 0.6) { hits { packetId } searched { like } } }',
      { id: ids.apple },
    );
    expect(data.searchMemory).toStrictEqual({ hits: [{ packetId: ids.boat }], searched: { like: ids.apple } });
  });

  it('tells a memory that the caller may not see from none in no way', async () => {
    const errors: string[] = [];
    for (const id of [ids.secret!, '01900000-0000-7000-8000-000000000000']) {
      const { isError, text } = await gateway.tool('C', 'search_memory', { packet_id: id });
      expect(isError).toBe(true);
      errors.push(text.replace(id, 'ID'));
      await expect(gateway.sql('C', 'select public.search_memory(packet_id => $1)', [id])).rejects.toMatchObject({
        code: 'L9OWN',
      });
    }
    expect(errors[0]).toBe(errors[1]);
  });

  describe('as of a time', () => {
    it('finds what a memory said then, and shows it so', async () => {
      const id = await save('C', { content: 'The drum is red.', tags: ['old'] });
      await gateway.embedded();
      const before = await now();
      await gateway.sql('C', "select public.update_memory($1, content => 'The eagle is blue.', tags => '{new}')", [id]);
      await gateway.embedded();
      const after = await now();
      ids.changing = id;

      const then = await search('C', { query: 'drum', as_of: before });
      expect([then.hits[0].content, then.hits[0].tags]).toStrictEqual(['The drum is red.', ['old']]);
      expect(then.searched.notice).toMatch(/as of that time/i);
      expect(await found('C', { query: 'eagle', mode: 'lexical', as_of: before })).not.toContain('changing');
      expect(await found('C', { query: 'eagle', mode: 'semantic', threshold: 0.5, as_of: before })).not.toContain(
        'changing',
      );
      expect(await found('C', { tags: ['old'], as_of: before })).toStrictEqual(['changing']);
      expect(await found('C', { tags: ['new'], as_of: before })).toStrictEqual([]);

      for (const at of [after, undefined]) {
        const is = await search('C', { query: 'eagle', as_of: at });
        expect(is.hits[0].content).toBe('The eagle is blue.');
        expect(await found('C', { query: 'drum', mode: 'lexical', as_of: at })).not.toContain('changing');
      }
    });

    it('finds by meaning what still says the same, though something else of it changed', async () => {
      const id = await save('C', { content: 'A drum and an eagle.', tags: ['first'] });
      await gateway.embedded();
      const before = await now();
      await gateway.sql('C', "select public.update_memory($1, tags => '{second}')", [id]);
      const { hits } = await search('C', { query: 'drum eagle', mode: 'semantic', threshold: 0.2, as_of: before });
      expect([hits[0].packet_id, hits[0].tags]).toStrictEqual([id, ['first']]);
    });

    it('finds nothing that was not there yet', async () => {
      expect(await found('L', { query: 'apple', as_of: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
      const before = await now();
      ids.later = await save('C', { content: 'One more apple.' });
      expect(await found('C', { query: 'apple', as_of: before })).not.toContain('later');
      expect(await found('C', { query: 'apple' })).toContain('later');
    });

    it('shows neither what is private now, nor what was private then', async () => {
      const hidden = await save('C', { content: 'A candle on a drum.' });
      const shown = await save('L', { content: 'A candle on an eagle.', scope: 'l-private' });
      await gateway.embedded();
      const before = await now();
      await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
      await gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [shown]);
      await gateway.embedded();
      for (const mode of ['hybrid', 'lexical', 'semantic']) {
        for (const scopes of [undefined, ['developer'], ['l-private']]) {
          const { hits } = await search('C', { query: 'candle', mode, as_of: before, k: 100, scopes });
          const seen = hits.map(({ packet_id }: { packet_id: string }) => packet_id);
          expect(seen, `${mode} in ${scopes}`).not.toContain(hidden);
          expect(seen, `${mode} in ${scopes}`).not.toContain(shown);
        }
        const { hits } = await search('L', { query: 'candle', mode, as_of: before, k: 100 });
        const seen = hits.map(({ packet_id }: { packet_id: string }) => packet_id);
        expect(seen, `L, ${mode}`).toContain(hidden);
        expect(seen, `L, ${mode}`).toContain(shown);
      }
      for (const args of [{ since: '2020-01-01T00:00:00Z' }, { kinds: ['note'] }]) {
        const { hits } = await search('C', { ...args, as_of: before, k: 100 });
        const seen = hits.map(({ packet_id }: { packet_id: string }) => packet_id);
        expect(seen, 'a list').not.toContain(hidden);
        expect(seen, 'a list').not.toContain(shown);
      }
    });

    it('to come is refused', () => refused({ query: 'x', as_of: '2999-01-01T00:00:00Z' }, /L9VAL.*as_of/));
  });

  it('explains each hit, where that is asked for', async () => {
    const { hits } = await search('C', { query: 'boat', explain: true });
    const { explanation, score, lexical_score, semantic_score } = hits[0];
    expect(explanation.found_by).toStrictEqual(['lexical content', 'semantic content']);
    expect(explanation.lexical).toStrictEqual({ content: 1, context: null });
    expect(Math.abs(explanation.semantic.content - semantic_score)).toBeLessThan(1e-6);
    expect(explanation.chunk).toStrictEqual({ index: 0 });
    const { lexical, semantic } = explanation.weights;
    const fused = (lexical * lexical_score + semantic * semantic_score) / (lexical + semantic);
    expect(Math.abs(explanation.fused - fused)).toBeLessThan(1e-5);
    expect(Math.abs(score - fused * explanation.boosts.factor)).toBeLessThan(1e-5);
    expect(explanation.boosts.recency).toBeGreaterThan(0.99);
    expect((await search('C', { query: 'boat' })).hits[0].explanation).toBeNull();
    const { data } = await gateway.graphql(
      'C',
      '{ searchMemory(query: "boat", explain: true) { hits { explanation } } }',
    );
    expect(data.searchMemory.hits[0].explanation.found_by).toStrictEqual(['lexical content', 'semantic content']);
  });

  it('always says how it searched', async () => {
    for (const args of [{ query: 'boat' }, { query: 'nothing has this', mode: 'lexical' }]) {
      const { searched } = await search('C', args);
      expect(searched.scopes).toStrictEqual(['developer', 'global']);
      expect(searched.projects).toStrictEqual(['*']);
      expect(typeof searched.candidates).toBe('number');
      expect(searched.vectors).toBe('mode' in args ? 'not asked for' : 'used');
    }
  });

  describe('that is to fit so many tokens', () => {
    beforeAll(async () => {
      for (let n = 0; n < 6; n++)
        await save('C', { content: `Bulky number ${n}. ${'It goes on and on. '.repeat(200)}`, tags: ['bulky'] });
    });

    it('shows previews, the last hits first, and says what was cut', async () => {
      const whole = await search('C', { query: 'bulky', mode: 'lexical' });
      expect(whole.searched.cut).toBeNull();
      const { hits, searched } = await search('C', { query: 'bulky', mode: 'lexical', max_tokens: 5000 });
      const { max_tokens, tokens, previews, left_out } = searched.cut;
      expect(max_tokens).toBe(5000);
      expect(tokens, JSON.stringify(searched.cut)).toBeLessThanOrEqual(5000);
      expect(previews, JSON.stringify(searched.cut)).toBeGreaterThan(0);
      expect(previews, JSON.stringify(searched.cut)).toBeLessThan(6);
      expect(left_out, JSON.stringify(searched.cut)).toBe(0);
      expect(Buffer.byteLength(JSON.stringify(hits)) / 3).toBeLessThanOrEqual(5000);
      expect(hits[0].is_truncated).toBe(false);
      for (const hit of hits.slice(6 - previews)) {
        expect(hit.is_truncated).toBe(true);
        expect(hit.content.length).toBe(240);
        const { result } = await gateway.tool('C', 'get_memory', { packet_id: hit.packet_id });
        expect(result.memory.content.startsWith(hit.content)).toBeTruthy();
        expect(result.memory.content.length).toBeGreaterThan(3000);
      }
      const { text } = await gateway.tool('C', 'search_memory', { query: 'bulky', mode: 'lexical', max_tokens: 5000 });
      expect(text).toMatch(new RegExp(`${previews} as previews \\(get_memory gives the whole\\), 0 left out`));
    });

    it('leaves out what has no room even as a preview, and that from the record, too', async () => {
      const { hits, searched } = await search('C', { query: 'bulky', mode: 'lexical', max_tokens: 700 });
      expect(hits.length).toBeGreaterThanOrEqual(1);
      expect(hits.length).toBeLessThan(6);
      expect(searched.cut.left_out).toBe(6 - hits.length);
      const [{ ids: recorded }] = await gateway.sql(
        'L',
        "select details -> 'ids' as ids from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1",
      );
      expect(recorded).toStrictEqual(hits.map(({ packet_id }: { packet_id: string }) => packet_id));
    });

    it('is refused where nothing would fit', () => refused({ query: 'x', max_tokens: 499 }, /L9VAL.*max_tokens/));
  });

  it('answers any text with hits or none, never with an error of the database', async () => {
    const texts = [
      'x'.repeat(10_000),
      `${'boat '.repeat(2_000)}`,
      Array.from({ length: 1_500 }, (_, n) => `word${n}`).join(' '),
      'the of and a is',
      `"quoted' & | ! <-> :* () -- \\ $$ %L %s $1`,
      "'); drop table public.packet_store; --",
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
      '船和苹果',
      'قارب',
      '🚢🍎',
      'ＢＯＡＴ',
      'İstanbul',
      'naïve café',
      '\u0001\u0002',
      'a\u0301',
      '%_\\%',
    ];
    for (const [n, query] of texts.entries()) {
      // In turns where each takes WebAssembly a tenth of a second.
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
    expect((await search('C', { query: 'boat '.repeat(2_000), mode: 'lexical' })).hits[0].packet_id).toBe(ids.boat);
  });
});
