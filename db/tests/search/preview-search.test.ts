// A preview answers as a search with other weights does, and leaves nothing behind but its audit row.
import { claimsOfP } from '../audit/support.ts';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { type Answer, saveMemory, searchMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['lamp', 'mirror', 'nail']);
const WORDS = { lexical_weight: 1, semantic_weight: 0 };
const DEFAULTS = {
  lexical_weight: 0.4,
  semantic_weight: 0.6,
  min_relevance: 0.2,
  recency_boost: 0.04,
  importance_boost: 0.15,
};
const MEANING = { lexical_weight: 0, semantic_weight: 1 };

describe('preview_search', () => {
  const db = useTestDatabase();
  const query = 'zwieback nail';
  const vector = { query_vector: model.vectorOf(query), model: model.name };
  const preview = async (weights: unknown, args: object = {}, caller = 'L', claims = {}): Promise<Answer> => {
    const all = { query, ...vector, weights: JSON.stringify(weights), ...args };
    const text = `select to_jsonb(r) as answer from public.preview_search(${named(all)}) r`;
    return (await db.sql(caller, text, Object.values(all), claims))[0].answer;
  };
  const settings = () => db.asSuperuser('select to_jsonb(s) as row from public.search_settings s');
  const auditedSince = (id: string) =>
    db.asSuperuser(
      "select operation, status, caller, table_name, project_id, details from public.audit_log where audit_id > $1 and caller in ('L', 'P') order by audit_id",
      [id],
    );
  const newestAudit = async (): Promise<string> =>
    (await db.asSuperuser('select audit_id from public.audit_log order by audit_id desc limit 1'))[0].audit_id;
  const gist = ({ hits }: Answer) => hits.map(({ content, score }) => [content, score]);

  beforeAll(async () => {
    await serveModel(db, model);
    await saveMemory(db, 'L', { content: 'zwieback' });
    await saveMemory(db, 'L', { content: 'A nail of sorts, and no zebra at all among the many other words here.' });
    await embedPending(db, model);
  });

  const leavesNothing = async (work: () => Promise<unknown>) => {
    const uses = () =>
      db.asSuperuser(
        `select (select count(*) from importance.memory_access_log) as accesses,
           (select jsonb_agg(to_jsonb(p) order by p.packet_id) from public.packet_store p) as memories`,
      );
    const before = [await settings(), await uses()];
    await work();
    expect([await settings(), await uses()]).toStrictEqual(before);
  };

  it('leaves a tenant without settings without them, and no access of a memory', async () => {
    expect(await settings()).toStrictEqual([]);
    await leavesNothing(async () => {
      expect((await preview(WORDS)).hits[0]!.content).toBe('zwieback');
      expect((await preview(MEANING)).hits[0]!.content).toMatch(/^A nail/);
      expect((await preview({})).hits).toHaveLength(2);
    });
  });

  it('leaves one audit row, with the weights, the hits and no text of the query', async () => {
    const newest = await newestAudit();
    const { hits } = await preview({ ...WORDS, half_life_days: { note: 3 }, chunk_weight: null }, { project_id: 'l9' });
    const rows = await auditedSince(newest);
    expect(rows).toMatchObject([
      {
        operation: 'SEARCH',
        status: 'success',
        caller: 'L',
        project_id: 'l9',
        details: {
          preview: true,
          weights: { ...WORDS, half_life_days: { note: 3 } },
          ids: hits.map(({ packet_id }) => packet_id),
          mode: 'hybrid',
          k: 10,
        },
      },
    ]);
    expect(Object.keys(rows[0].details.weights).toSorted()).toStrictEqual([
      'half_life_days',
      'lexical_weight',
      'semantic_weight',
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/zwieback/);
    expect(await db.asSuperuser('select from public.audit_query_texts')).toStrictEqual([]);
    await db.sql('L', 'select public.set_query_text_audit(true)');
    await preview(WORDS);
    expect(await db.asSuperuser('select query from public.audit_query_texts')).toStrictEqual([{ query }]);
    await db.sql('L', 'select public.set_query_text_audit(false)');
  });

  it('finds nothing without a change', async () => {
    const newest = await newestAudit();
    await leavesNothing(async () => expect((await preview(WORDS, { project_id: 'none' })).hits).toStrictEqual([]));
    expect(await auditedSince(newest)).toMatchObject([{ details: { ids: [], preview: true } }]);
  });

  it('answers as a search does when the weights are set', async () => {
    const set = (weights: object) =>
      db.sql('L', `select public.set_search_settings(${named(weights)})`, Object.values(weights));
    for (const weights of [WORDS, MEANING, { min_relevance: 1 }, { importance_boost: 0, recency_boost: 0.2 }]) {
      await set(DEFAULTS);
      let tried: Answer;
      await leavesNothing(async () => {
        tried = await preview(weights);
      });
      await set(weights);
      const found = await searchMemory(db, 'L', { query, ...vector });
      expect(gist(tried!).map(([content]) => content)).toStrictEqual(gist(found).map(([content]) => content));
      for (const [place, [, score]] of gist(found).entries())
        expect(gist(tried!)[place]![1], JSON.stringify(weights)).toBeCloseTo(score as number, 4);
      expect(tried!.searched.min_relevance).toBe(found.searched.min_relevance);
    }
    await set(DEFAULTS);
  });

  it('takes every weight that set_search_settings takes, but no language and no tenant', async () => {
    const [{ names }] = await db.asSuperuser(
      `select array_agg(a.name) as names from pg_proc f cross join unnest(f.proargnames) as a (name)
       where f.oid = 'public.set_search_settings'::regproc`,
    );
    const values: Record<string, unknown> = { half_life_days: { default: 90 }, uses_chunks: false };
    for (const name of names) {
      const tried = leavesNothing(() => preview({ [name]: values[name] ?? 0.05 }));
      if (!['tenant_id', 'languages'].includes(name)) await tried;
      else await expect(tried).rejects.toMatchObject({ code: 'L9VAL', column: 'weights' });
    }
  });

  it.each<[unknown, string, string]>([
    [{ lexical_wait: 1 }, 'L9VAL', 'weights'],
    [{ updated_at: '2026-01-01T00:00:00Z' }, 'L9VAL', 'weights'],
    [[0.5], 'L9VAL', 'weights'],
    ['lexical_weight', 'L9VAL', 'weights'],
    [{ lexical_weight: 1.1 }, 'L9VAL', 'lexical_weight'],
    [{ lexical_weight: 'much' }, 'L9VAL', 'lexical_weight'],
    [{ lexical_context_weight: 'NaN' }, 'L9VAL', 'lexical_context_weight'],
    [{ chunk_weight: 1e300 }, 'L9VAL', 'chunk_weight'],
    [{ neighbour_weight: [1] }, 'L9VAL', 'neighbour_weight'],
    [{ uses_chunks: 3 }, 'L9VAL', 'uses_chunks'],
    [{ lexical_weight: 0, semantic_weight: 0 }, 'L9VAL', 'semantic_weight'],
    [{ recency_boost: 0.15, importance_boost: 0.1 }, 'L9VAL', 'importance_boost'],
    [{ half_life_days: 3 }, 'L9VAL', 'half_life_days'],
    [{ half_life_days: { note: 0 } }, 'L9VAL', 'half_life_days'],
  ])('refuses %j, names the field and changes nothing', async (weights, code, column) => {
    await leavesNothing(() => expect(preview(weights)).rejects.toMatchObject({ code, column }));
  });

  it('refuses more than 16384 bytes of weights', async () => {
    const weights = { half_life_days: { ['x'.repeat(16384)]: 1 } };
    await expect(preview(weights)).rejects.toMatchObject({ code: 'L9LIM', column: 'weights' });
  });

  it('passes on what a search refuses', async () => {
    for (const [args, column] of [
      [{ query: ' ' }, 'query'],
      [{ query: null }, 'query'],
      [{ k: 0 }, 'k'],
      [{ k: 101 }, 'k'],
    ] as const)
      await leavesNothing(() => expect(preview(WORDS, args)).rejects.toMatchObject({ code: 'L9VAL', column }));
  });

  it('refuses agents and administrators with a limited token', async () => {
    await leavesNothing(async () => {
      await expect(preview(WORDS, {}, 'C')).rejects.toMatchObject({ code: '42501' });
      for (const claims of [{ 'jwt.claims.scopes': 'developer' }, { 'jwt.claims.projects': 'l9' }])
        for (const weights of [WORDS, {}])
          await expect(preview(weights, {}, 'L', claims)).rejects.toMatchObject({ code: 'L9SCP' });
    });
  });

  it('asks again for a vector of a model that does not serve, and audits nothing by then', async () => {
    const newest = await newestAudit();
    const { hits, searched } = await preview(WORDS, { model: 'of another year', retry_for: ['vector', 'model'] });
    expect([hits, searched]).toStrictEqual([[], { retry: 'model' }]);
    expect(await auditedSince(newest)).toStrictEqual([]);
    const answer = await preview(WORDS, { model: 'of another year', retry_for: ['vector'] });
    expect(answer.searched.notice).toMatch(/does not serve/);
  });

  it('still audits that an operator read memories', async () => {
    await addOperator(db, 'P');
    const newest = await newestAudit();
    await leavesNothing(async () => expect((await preview(WORDS, {}, 'P', claimsOfP)).hits).toHaveLength(2));
    expect(await auditedSince(newest)).toMatchObject([
      { operation: 'READ', caller: 'P', table_name: 'packet_store', details: { reader: 'operator' } },
      { operation: 'SEARCH', caller: 'P', details: { preview: true } },
    ]);
  });
});
