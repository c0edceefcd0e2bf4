// search_memory over MCP and GraphQL, with the bundled model.
import { useTestGateway } from '../support/gateway.ts';

describe('search_memory over the APIs', () => {
  const gateway = useTestGateway();
  let bicycle: string;
  beforeAll(async () => {
    await gateway.save('C', 'The kitten sleeps on the warm windowsill all afternoon.', { tags: ['pets', 'home'] });
    await gateway.save('C', 'PostgreSQL vacuums dead tuples in the background.', { tags: ['db'], kind: 'finding' });
    await gateway.save('L', 'The secret recipe uses cardamom.', { scope: 'l-private' });
    bicycle = await gateway.save('L', 'Bicycle chains need oil.', { scope: 'global' });
    await gateway.embedded();
  });

  const search = (caller: string, args: object) => gateway.call(caller, 'search_memory', args);
  const contents = async (caller: string, args: object) =>
    (await search(caller, args)).hits.map(({ content }: { content: string }) =>
      content.split(' ').slice(0, 2).join(' '),
    );

  it('finds a memory by words as soon as it is saved, before it has a vector', async () => {
    await gateway.sql('C', "select public.save_memory('an unembedded zeppelin', project_id => 'l9')");
    expect(await contents('C', { query: 'zeppelin', mode: 'lexical' })).toStrictEqual(['an unembedded']);
    expect((await contents('C', { query: 'zeppelin' }))[0]).toBe('an unembedded');
  });

  it('finds a memory by meaning when no word is shared', async () => {
    expect((await contents('C', { query: 'young cat resting', mode: 'semantic', k: 1 }))[0]).toBe('The kitten');
    expect((await contents('C', { query: 'young cat resting' }))[0]).toBe('The kitten');
    expect(await contents('C', { query: 'young cat resting', mode: 'lexical' })).toStrictEqual([]);
  });

  it('finds a long memory by an exact identifier in it, in every mode that reads words', async () => {
    const log =
      'The nightly job copied the ledger to the standby, checked the totals of each account and wrote a report for the auditors. ';
    const packet_id = await gateway.save(
      'C',
      `${log.repeat(8)}It failed on db-03 in setTraceId() after run once, v1.2.3.`,
    );
    await gateway.embedded();
    for (const query of ['setTraceId', 'db-03', '1.2.3', 'run once', 'standby ledger report']) {
      const found = async (tool: string, args: object) =>
        (await gateway.call('C', tool, { query, ...args })).hits.map((hit: { packet_id: string }) => hit.packet_id);
      expect(await found('search_memory', {}), query).toContain(packet_id);
      expect(await found('search_memory', { mode: 'lexical' }), query).toContain(packet_id);
      expect(await found('memory_find', {}), query).toContain(packet_id);
      const { searchMemory, memoryFind } = await gateway.query(
        'C',
        `query ($query: String!) {
          searchMemory(query: $query) { hits { packetId relevance } }
          memoryFind(query: $query) { hits { packetId } } }`,
        { query },
      );
      for (const { hits } of [searchMemory, memoryFind])
        expect(
          hits.map((hit: { packetId: string }) => hit.packetId),
          query,
        ).toContain(packet_id);
    }
  });

  it('lists what was searched, with hits or without', async () => {
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

  it('scores hits from 0 to 1, best first', async () => {
    const { hits } = await search('C', { query: 'vacuum of dead tuples' });
    expect(hits[0].content).toMatch(/^PostgreSQL/);
    expect(hits[0].lexical_score).toBe(1);
    expect(hits[0].semantic_score).toBeGreaterThan(0.3);
    const scores = hits.map(({ score }: { score: number }) => score);
    expect(scores).toStrictEqual([...scores].sort((a, b) => b - a));
    expect(scores.every((score: number) => score >= 0 && score <= 1)).toBe(true);
    expect(hits[0].snippet).toMatch(/\*\*vacuums\*\* \*\*dead\*\* \*\*tuples\*\*/);
  });

  it('finds memories by the fields of their envelopes', async () => {
    await gateway.save('C', 'A ticket about logins.', { envelope: { status: 'open', due: '2026-11-30' } });
    await gateway.save('C', 'A ticket about exports.', { envelope: { status: 'open', due: '2027-11-30' } });
    const where = { status: 'open', due: { lt: '2027-01-01' } };
    expect(await contents('C', { where })).toStrictEqual(['A ticket']);
    const { searchMemory } = await gateway.query(
      'C',
      'query ($where: JSON) { searchMemory(query: "tickets", where: $where, mode: lexical) { hits { content } searched { filters } } }',
      { where },
    );
    expect(searchMemory.hits).toStrictEqual([{ content: 'A ticket about logins.' }]);
    expect(searchMemory.searched.filters).toStrictEqual({ where });
    const refused = await gateway.tool('C', 'search_memory', { where: { due: { lt: 'soon' } } });
    expect(refused.text).toMatch(/where: lt takes a number, a date or a time/);
  });

  it('leaves out hits that are further in meaning than the threshold', async () => {
    const near = await contents('C', { query: 'young cat resting', mode: 'semantic', threshold: 0.7 });
    expect(near).toStrictEqual(['The kitten']);
    expect(await contents('C', { query: 'young cat resting', mode: 'semantic', threshold: 0.01 })).toStrictEqual([]);
  });

  it('finds a long memory by any of its chunks, once', async () => {
    const filler = 'This paragraph speaks at length of the weather in the northern counties. '.repeat(60);
    await gateway.save('C', `${filler} The password vault is named Heimdall. ${filler}`, { tags: ['long'] });
    await gateway.embedded();
    const { hits } = await search('C', {
      query: 'what is the credential store called?',
      mode: 'semantic',
      tags: ['long'],
      min_relevance: 0,
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

  it('refuses an argument out of range, and names it', async () => {
    const cases: [object, RegExp][] = [
      [{ query: '   ' }, /L9VAL.*query/],
      [{ query: '\u00a0\u3000\u2003\ufeff' }, /L9VAL.*query: give a query/],
      [{ query: '\u00a0', mode: 'semantic' }, /L9VAL.*query: give a query/],
      [{ query: '' }, /L9VAL.*query: give a query/],
      [{ query: 'x', k: 0 }, /L9VAL.*k: .*from 1 to 100/],
      [{ query: 'x', k: 101 }, /L9VAL.*k: .*from 1 to 100/],
      [{ query: 'x', mode: 'psychic' }, /L9VAL.*mode/],
      [{ query: 'x', threshold: 3 }, /L9VAL.*threshold/],
      [{ query: 'x', since: 'yesterday' }, /L9VAL.*since/],
      [{ query: 'x', since: '2026-02-01T00:00:00Z', until: '2026-01-01T00:00:00Z' }, /L9VAL.*since/],
      [{ query: 'y'.repeat(40_000) }, /L9LIM.*query/],
      [{ query: 'x', limit: 5 }, /L9VAL.*limit/],
      [{ query: 'x', max_tokens: 499 }, /L9VAL.*max_tokens/],
      [{ query: 'x', as_of: '2999-01-01T00:00:00Z' }, /L9VAL.*as_of/],
      [{ query: 'x', packet_id: bicycle }, /L9VAL.*packet_id/],
      [{}, /L9VAL.*query: give a query, the packet_id .* or a filter/],
      [{ project_id: 'l9' }, /L9VAL.*query/],
    ];
    for (const [args, expected] of cases) {
      const { isError, text } = await gateway.tool('C', 'search_memory', args);
      expect(isError, JSON.stringify(args)).toBe(true);
      expect(text).toMatch(expected);
    }
  });

  it('answers a hidden memory and a missing one with the same error', async () => {
    const hidden = await gateway.save('L', 'A second secret.', { scope: 'l-private' });
    const errors: string[] = [];
    for (const id of [hidden, '01900000-0000-7000-8000-000000000000']) {
      const { isError, text } = await gateway.tool('C', 'search_memory', { packet_id: id });
      expect(isError).toBe(true);
      errors.push(text.replace(id, 'ID'));
    }
    expect(errors[0]).toBe(errors[1]);
  });

  it('reports in the text of the answer how many hits became previews', async () => {
    for (let n = 0; n < 6; n++)
      await gateway.save('C', `Bulky number ${n}. ${'It goes on and on. '.repeat(200)}`, { tags: ['bulky'] });
    const args = { query: 'bulky', mode: 'lexical', max_tokens: 5000 };
    const { hits, searched } = await search('C', args);
    expect(searched.cut.previews).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(hits)) / 3).toBeLessThanOrEqual(5000);
    const { text } = await gateway.tool('C', 'search_memory', args);
    expect(text).toMatch(
      new RegExp(`${searched.cut.previews} as previews \\(get_memory gives the whole\\), 0 left out`),
    );
    const last = hits.at(-1);
    const { result } = await gateway.tool('C', 'get_memory', { packet_id: last.packet_id });
    expect(result.memory.content.startsWith(last.content)).toBe(true);
    expect(result.memory.content.length).toBeGreaterThan(3000);
  });

  describe('over GraphQL', () => {
    const graphql = async (query: string, variables = {}) => (await gateway.graphql('C', query, variables)).data;

    it('searches without a query', async () => {
      const data = await graphql('{ searchMemory(tags: ["pets"]) { hits { content } searched { mode } } }');
      expect(data.searchMemory).toStrictEqual({
        hits: [{ content: 'The kitten sleeps on the warm windowsill all afternoon.' }],
        searched: { mode: 'recent' },
      });
    });

    it('finds memories similar to one', async () => {
      const id = await gateway.save('C', 'A kitten slept on the windowsill in the afternoon.');
      await gateway.embedded();
      const data = await graphql(
        'query ($id: UUID!) { searchMemory(packetId: $id, k: 1) { hits { content } searched { like } } }',
        { id },
      );
      expect(data.searchMemory.searched).toStrictEqual({ like: id });
      expect(data.searchMemory.hits[0].content).toMatch(/^The kitten/);
    });

    it('explains each hit on request', async () => {
      const data = await graphql('{ searchMemory(query: "dead tuples", explain: true) { hits { explanation } } }');
      expect(data.searchMemory.hits[0].explanation.found_by).toStrictEqual(['lexical content', 'semantic content']);
    });

    it('changes search settings for an admin', async () => {
      const { data } = await gateway.graphql(
        'L',
        'mutation { admin { setSearchSettings(importanceBoost: 0.06) { importanceBoost lexicalWeight } } }',
      );
      expect(data.admin.setSearchSettings).toStrictEqual({ importanceBoost: 0.06, lexicalWeight: 0.35 });
    });
  });
});
