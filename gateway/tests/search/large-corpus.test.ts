// In a store of 50,000 memories a caller that can read a small part still finds its memories, and no table is read from end to end.
import type pg from 'pg';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { claimsOf } from '../../../db/tests/support/sessions.ts';
import { LOCAL_MODEL } from '../../src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { fillDatabase, type Query, SHARES } from './large-corpus.ts';

// On the embedded engine this takes minutes.
describeOnServer('a search among 50,000 memories', () => {
  let gateway: TestGateway;
  let queries: Query[];
  beforeAll(async () => {
    gateway = await startTestGateway();
    queries = await fillDatabase(gateway);
  });
  afterAll(() => gateway?.close());

  const search = (client: pg.ClientBase, args: Record<string, unknown>) =>
    client.query(
      `select coalesce(jsonb_agg(h.packet_id), '[]') as ids from public.search_memory(${Object.keys(args).map((name, at) => `${name} => $${at + 1}`)}) r, unnest(r.hits) h`,
      Object.values(args),
    );

  describe('by meaning', () => {
    // A thread lifts what stands in it, so that the ten best are not the ten nearest.
    beforeAll(() => gateway.sql('L', 'select set_search_settings(thread_weight => 0)'));
    afterAll(() => gateway?.sql('L', 'select set_search_settings(thread_weight => 0.25)'));

    for (const [project, share] of Object.entries(SHARES)) {
      for (const way of ['can read', 'asks for'] as const) {
        it(`finds the nearest memories when the caller ${way} ${share / 20} % of them`, async () => {
          const claims = way === 'can read' ? { 'jwt.claims.projects': project } : {};
          const filter = way === 'can read' ? {} : { project_id: project };
          let found = 0;
          await gateway.asCaller(
            'C',
            async (client) => {
              for (const { vector, tenth } of queries) {
                // Vectors at random are relevant to nothing; this is about which are nearest.
                const given = {
                  mode: 'semantic',
                  query: 'x',
                  query_vector: vector,
                  model: LOCAL_MODEL,
                  min_relevance: 0,
                  ...filter,
                };
                const { rows } = await search(client, given);
                expect(rows[0].ids.length).toBe(10);
                // A memory counts if it is as near as the tenth: half precision may swap two that are equally near.
                const { rows: distances } = await client.query(
                  `select vector operator(extensions.<=>) $1::extensions.vector as distance
                   from public.memory_embeddings where packet_id = any ($2) and project_id = $3`,
                  [vector, rows[0].ids.map(String), project],
                );
                found += distances.filter(({ distance }) => distance <= tenth[project]! + 1e-5).length;
              }
            },
            claims,
          );
          const recall = found / (10 * queries.length);
          console.log(`recall@10 ${recall.toFixed(3)}`);
          expect(recall, `recall@10 is ${recall}`).toBeGreaterThanOrEqual(0.95);
        });
      }
    }
  });

  /** Hands out the plans of all statements that each search runs, as l9_agent, in one session. */
  const withPlans = <T>(
    claims: Record<string, string>,
    work: (plansOf: (args: Record<string, unknown>) => Promise<string>) => Promise<T>,
  ): Promise<T> =>
    gateway.inSuperuserSession(async (session) => {
      const plans: string[] = [];
      session.on('notice', ({ message }) => plans.push(message ?? ''));
      // Each search is planned for its own arguments, as the first one of a session is.
      await session.query(
        `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
         set plan_cache_mode = force_custom_plan;
         set auto_explain.log_level = notice; set session authorization l9_gateway`,
      );
      for (const [name, value] of Object.entries(claimsOf('C', claims))) {
        await session.query('select set_config($1, $2, false)', [name, value]);
      }
      return work(async (args) => {
        plans.length = 0;
        await search(session, args);
        return plans.join('\n');
      });
    });
  const plansOf = (args: Record<string, unknown>, claims = {}) => withPlans(claims, (plans) => plans(args));

  const everySearch = () => {
    const [{ text, vector }] = queries as [Query];
    const hybrid = { query: text, query_vector: vector, model: LOCAL_MODEL };
    return {
      hybrid,
      'by words': { query: text, mode: 'lexical' },
      'by meaning': { ...hybrid, mode: 'semantic' },
      'by tags': { ...hybrid, tags: ['none has it'] },
      'of a kind': { ...hybrid, kinds: ['note'] },
      'of a creator': { ...hybrid, creator: 'L-CTO' },
      'of a thread': { ...hybrid, thread_id: 't7' },
      'of a project': { ...hybrid, project_id: 'p2' },
      'since a time': { ...hybrid, since: '2020-01-01' },
      'with a threshold': { ...hybrid, threshold: 0.01 },
      'as of a time': { ...hybrid, as_of: '2026-06-01' },
      'as of a time before all': { ...hybrid, as_of: '2020-06-01' },
      'by time only': { since: '2020-01-01' },
      'by tags only': { tags: ['none has it'] },
      'until a time only': { until: '2030-01-01' },
      'of a scope': { ...hybrid, scopes: ['developer'] },
      'explained and trimmed': { ...hybrid, explain: true, max_tokens: 500, k: 100 },
      'by the graph': { query: text, mode: 'graph' },
    };
  };
  const callers = {
    everything: {},
    'a few': { 'jwt.claims.projects': 'p005' },
    nothing: { 'jwt.claims.projects': 'none' },
    'its user': { 'jwt.claims.user_id': '11111111-1111-4111-8111-111111111111' },
  };

  /** Of the tables that are read from end to end. The tenants are one row here, for which an index would be a detour. */
  const scannedIn = (plans: string) =>
    [...plans.matchAll(/Seq Scan on (?!tenants )(\w+)[^\n]*/g)].map(([line]) => line);

  it('reads no table from end to end, for any search and any caller', async () => {
    for (const [who, claims] of Object.entries(callers)) {
      await withPlans(claims, async (ofSearch) => {
        for (const [what, args] of Object.entries(everySearch())) {
          const plans = await ofSearch(args);
          expect(plans, what).toMatch(/Scan/);
          expect(scannedIn(plans), `${what}, for a caller that can read ${who}`).toStrictEqual([]);
        }
      });
    }
    const [{ packet_id }] = await gateway.sql(
      'C',
      "select packet_id from public.packet_store where project_id = 'p60' order by packet_id limit 1",
    );
    for (const args of [{ packet_id }, { packet_id, as_of: '2026-06-01' }]) {
      const plans = await plansOf(args);
      expect(plans).toMatch(/Scan/);
      expect(scannedIn(plans), `like one, ${Object.keys(args)}`).toStrictEqual([]);
    }
  });

  it('scans the indexes if the caller can read much, and scores one by one if it can read little', async () => {
    const { hybrid } = everySearch();
    const much = await plansOf(hybrid);
    expect(much).toMatch(/Index Scan using packet_store_words_bm25/);
    expect(much).toMatch(/Index Scan using hnsw_content_/);
    // A thousand memories are enough for the indexes, where no filter narrows the search.
    expect(await plansOf(hybrid, { 'jwt.claims.projects': 'p2' })).toMatch(/Index Scan using packet_store_words_bm25/);
    expect(await plansOf(hybrid, callers['a few'])).not.toMatch(
      /Index Scan using (packet_store_words_bm25|hnsw_content_)/,
    );
    expect(await plansOf({ ...hybrid, tags: ['none has it'] }, { 'jwt.claims.projects': 'p15' })).not.toMatch(
      /Index Scan using (packet_store_words_bm25|hnsw_content_)/,
    );
  });

  it('answers a caller that can read little about as fast as one that can read all', async () => {
    const { hybrid } = everySearch();
    const medianOf = async (claims: Record<string, string>) => {
      const times: number[] = [];
      await gateway.asCaller(
        'C',
        async (client) => {
          for (const { text, vector } of [...queries.slice(0, 5), ...queries]) {
            const started = performance.now();
            await search(client, { ...hybrid, query: text, query_vector: vector });
            times.push(performance.now() - started);
          }
        },
        claims,
      );
      const sorted = times.slice(5).sort((a, b) => a - b);
      return sorted[Math.floor(sorted.length / 2)]!;
    };
    const all = await medianOf({});
    for (const [who, claims] of Object.entries(callers)) {
      const one = await medianOf(claims);
      // The limit is wide because the ratio varies under load. A scan past all other rows would take hundreds of times as long.
      expect(one, `a caller that can read ${who}: ${one} ms, one that can read all: ${all} ms`).toBeLessThan(10 * all);
    }
  });
});
