// memory_find in SQL: its routes, its ranking, what it counts, and what it writes.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { expireMemories, saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['lamp', 'mirror', 'nail', 'oven'], 0.1);

describe('memory_find', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));

  const find = async (caller: string, args: object, claims: Claims = {}) => {
    const [{ answer }] = await db.sql(
      caller,
      `select to_jsonb(r) as answer from public.memory_find(${named(args)}) r`,
      Object.values(args),
      claims,
    );
    // biome-ignore lint/suspicious/noExplicitAny: its parts differ by request, and tests name those they expect
    return answer as { hits: any[]; searched: any };
  };
  const deep = (query: string, args: object = {}) =>
    find('C', { query, query_vector: model.vectorOf(query), model: model.name, ...args });

  it('chooses the route by the form of the query', async () => {
    const routes: [string, string][] = [
      ['getUserById', 'fast'],
      ['src/auth/jwt.ts', 'fast'],
      ['"exactly this phrase"', 'fast'],
      ['L9VAL', 'fast'],
      ['package.json', 'fast'],
      ['how do we log in users?', 'hybrid'],
      ['why does src/auth/jwt.ts fail on expired tokens', 'hybrid'],
      ['postgres', 'hybrid'],
      // No entity of this name is known.
      ['what depends on ledger-api?', 'hybrid'],
    ];
    for (const [query, route] of routes) {
      const [row] = await db.sql('C', "select find.choose_route($1, 'auto') as route", [query]);
      expect(row.route, query).toBe(route);
    }
    await db.sql('L', "select public.relate('web-shop', 'depends_on', 'ledger-api', project_id => 'l9', scope => 'l-private')");
    const route = (caller: string) =>
      db.sql(caller, "select find.choose_route('what depends on ledger-api?', 'auto') as route");
    expect(await route('L')).toStrictEqual([{ route: 'graph' }]);
    // An agent that can't read the relation is not told that there is one.
    expect(await route('C')).toStrictEqual([{ route: 'hybrid' }]);
  });

  it('finds by words alone in mode fast, and by meaning too in mode deep', async () => {
    await saveMemory(db, 'C', { content: 'A lamp hangs in the hall.', project_id: 'house' });
    await saveMemory(db, 'C', { content: 'The lamplight is dim, says the mirror.', project_id: 'house' });
    await embedPending(db, model);
    const fast = await find('C', { query: 'lamp', mode: 'fast', project_id: 'house' });
    expect(fast.hits.map(({ snippet }) => snippet)).toStrictEqual(['A **lamp** hangs in the hall.']);
    expect([fast.searched.route_used, fast.searched.vectors]).toStrictEqual(['fast', 'not asked for']);
    const { hits, searched } = await deep('lamp', { mode: 'deep', project_id: 'house' });
    expect(hits.length).toBe(2);
    expect([searched.route_used, searched.vectors]).toStrictEqual(['deep', 'used']);
  });
});
