// Where few memories match, a search scores each of them; where the counts of words tell that there are many, it need not look.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { functionCalls } from '../support/function-calls.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const MANY = 5_000;
const COUNTS_MEMORIES = 'search.count_range_of_packet_store';
const model = wordModel(['nail', 'shelf', 'mirror'], 0.3);

describe('a search among many memories', () => {
  const db = useTestDatabase();
  const query = { query: 'nail shelf', query_vector: model.vectorOf('nail shelf'), model: model.name };
  const call =
    'select public.search_memory(query => $1, query_vector => $2, model => $3, mode => $4, project_id => $5, kinds => $6)';
  const callsOf = (mode: string, project: string | null = 'shop', kinds: string[] | null = null) =>
    functionCalls(db, 'C', call, [...Object.values(query), mode, project, kinds]);
  const found = async (mode: string) =>
    (await searchMemory(db, 'C', { ...query, mode, project_id: 'shop' })).hits.map(({ packet_id }) => packet_id);

  beforeAll(async () => {
    await serveModel(db, model);
    for (const content of ['Nail 1 holds the shelf.', 'Nail 2 holds the mirror.', 'The shelf is of oak.'])
      await saveMemory(db, 'C', { content, project_id: 'shop' });
    await embedPending(db, model);
    await db.asSuperuser(
      `insert into ranking.audiences (audience_id, tenant_id, project_id, scope, memories, sampled, average_length, unlisted)
       select gen_random_uuid(), p.tenant_id, p.project_id, s.scope, s.memories, 5000, 4, 5
       from (select tenant_id, project_id from public.packet_store limit 1) p, unnest($1::text[], $2::integer[]) as s (scope, memories)`,
      [
        ['developer', 'l-private'],
        [MANY - 1, 1_000_000],
      ],
    );
  });
  const count = (memories: number) =>
    db.asSuperuser("update ranking.audiences set memories = $1 where scope = 'developer'", [memories]);

  it.each([
    'hybrid',
    'lexical',
  ])('does not count memories again that were counted, and finds the same: %s', async (mode) => {
    await count(MANY - 1);
    // C cannot read l-private, so the million memories counted there do not make its search skip the count.
    expect(await callsOf(mode)).toHaveProperty([COUNTS_MEMORIES]);
    const before = await found(mode);
    expect(before.length).toBeGreaterThan(1);
    await count(MANY);
    expect(await callsOf(mode)).not.toHaveProperty([COUNTS_MEMORIES]);
    expect(await found(mode)).toStrictEqual(before);
  });

  it('weighs the words of a query once', async () => {
    for (const memories of [MANY - 1, MANY]) {
      await count(memories);
      expect(await callsOf('hybrid')).toHaveProperty(['ranking.weigh_words'], 1);
    }
  });

  it('looks where a filter can leave few of many, and where it does not search words', async () => {
    await count(MANY);
    const filtered = await callsOf('hybrid', 'shop', ['note']);
    expect(Object.keys(filtered).some((name) => ['search.few_matches', COUNTS_MEMORIES].includes(name))).toBe(true);
    expect(await callsOf('semantic')).toHaveProperty([COUNTS_MEMORIES]);
    expect(await callsOf('hybrid', 'elsewhere')).toHaveProperty([COUNTS_MEMORIES]);
  });
});
