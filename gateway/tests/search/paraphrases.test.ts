// Questions in other words than the notes that answer them, among a few notes, with the bundled model.
import { readCollection } from '../../../bench/eval/collections.ts';
import { useTestGateway } from '../support/gateway.ts';

const { documents, queries } = readCollection('paraphrases');
const stores = Map.groupBy(documents, ({ input }) => input.projectId);
const SMALL = ['bakery', 'infrastructure', 'shop'].map((name) => `eval-paraphrases-${name}`);

describe('the collection of paraphrases', () => {
  it('has 120 questions over stores of 5 to 50 notes', () => {
    expect(queries).toHaveLength(120);
    expect(stores.size).toBeGreaterThan(3);
    for (const [name, notes] of stores) {
      expect(notes.length, name).toBeGreaterThanOrEqual(5);
      expect(notes.length, name).toBeLessThanOrEqual(50);
    }
  });
});

describe('a question in other words than its note', () => {
  const gateway = useTestGateway();
  const packets = new Map<string, string>();
  beforeAll(async () => {
    for (const { id, input } of documents.filter(({ input }) => SMALL.includes(input.projectId)))
      packets.set(id, await gateway.save('C', input.content, { project_id: input.projectId }));
    await gateway.embedded();
  });

  it('shares no word with it', async () => {
    const contents = new Map(documents.map(({ id, input }) => [id, input.content]));
    const pairs = queries.map(({ text, relevant }) => [text, contents.get(relevant[0]!)]);
    const shared = await gateway.sql(
      'C',
      `select q.pair from jsonb_array_elements($1) as q (pair)
       where search.query_words(q.pair ->> 0, '{english}') && search.query_words(q.pair ->> 1, '{english}')`,
      [JSON.stringify(pairs)],
    );
    expect(shared).toStrictEqual([]);
  });

  it('finds it first in four of five cases, as a hit or as the nearest', async () => {
    const asked = queries.filter(({ project }) => SMALL.includes(project));
    let found = 0;
    for (const { text, project, relevant } of asked) {
      const { hits, nearest } = await gateway.call('C', 'search_memory', { query: text, project_id: project });
      if ([...hits, ...nearest][0]?.packet_id === packets.get(relevant[0]!)) found += 1;
    }
    expect(found / asked.length).toBeGreaterThanOrEqual(0.8);
  });

  it('finds where the test servers are', async () => {
    const { hits } = await gateway.call('C', 'search_memory', {
      query: 'where are the test servers located',
      project_id: SMALL[1],
    });
    expect(hits[0].content).toBe('The staging cluster lives in Frankfurt.');
    expect(hits).toHaveLength(8);
  });

  it('finds nothing about another subject, and is told what is nearest', async () => {
    const query = 'what is the boundary layer of a slender wing at hypersonic speed?';
    const args = { query, project_id: SMALL[1] };
    for (const [tool, list] of [
      ['search_memory', 'hits'],
      ['memory_find', 'hits'],
    ] as const) {
      const { text, result } = await gateway.tool('C', tool, args);
      expect(result[list], tool).toStrictEqual([]);
      expect(result.nearest, tool).toHaveLength(3);
      const [first, ...lines] = text.split('\n').slice(-4);
      expect(first, tool).toMatch(/^Nothing found: searched .*Nothing matched well; nearest has what comes closest\.$/);
      expect(lines, tool).toHaveLength(3);
      for (const [n, line] of lines.entries())
        expect(line, tool).toMatch(new RegExp(`^nearest: \\[${result.nearest[n].packet_id}\\] ".*"$`));
    }
    const data = await gateway.query(
      'C',
      `query ($query: String!, $projectId: String) {
        searchMemory(query: $query, projectId: $projectId) {
          hits { packetId } nearest { packetId snippet score relevance memory { content } } searched { notice } }
        memoryFind(query: $query, projectId: $projectId) { hits { packetId } nearest { snippet } }
        recallLessons(query: $query, projectId: $projectId) { lessons { packetId } nearest { snippet } } }`,
      { query, projectId: SMALL[1] },
    );
    const { hits, nearest } = data.searchMemory;
    expect([hits, nearest.length]).toStrictEqual([[], 3]);
    for (const { snippet, memory, relevance } of nearest) {
      expect(memory.content).toContain(snippet.replaceAll('**', ''));
      expect(relevance).toBeLessThan(0.2);
    }
    expect([data.memoryFind.hits, data.memoryFind.nearest.length]).toStrictEqual([[], 3]);
    expect(data.recallLessons).toStrictEqual({ lessons: [], nearest: [] });
  });
});
