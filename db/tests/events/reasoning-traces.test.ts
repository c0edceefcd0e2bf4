// Reasoning traces once they are embedded: search by the steps, semantic_memory, and erasure of the vectors.
import { grepDatabase } from '../support/dump.ts';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['zeppelin', 'harbour', 'blue', 'green', 'walnut', 'lantern', 'kettle']);

describe('an embedded reasoning trace', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));

  let count = 0;
  const save = (caller: string, kind: string, envelope: object, args: object = {}, claims: Claims = {}) =>
    saveMemory(db, caller, { content: `text ${++count}`, kind, envelope: JSON.stringify(envelope), ...args }, claims);
  const embedAll = () => embedPending(db, model);

  const find = async (caller: string, word: string, more = '') =>
    db.sql(
      caller,
      `select h.packet_id, h.semantic_score, h.explanation from public.search_memory($1, mode => 'semantic', k => 100, explain => true,
         threshold => 0.5, query_vector => $2, model => 'words'${more}) r, unnest(r.hits) h`,
      [word, model.vectorOf(word)],
    );
  const idsOf = async (caller: string, word: string, more = '') =>
    (await find(caller, word, more)).map(({ packet_id }) => packet_id);

  it('is found by its steps, as one hit of its memory', async () => {
    const id = await save('C', 'reasoning_trace', {
      steps: [{ thought: 'a zeppelin', deep: { er: ['over the harbour'] } }],
    });
    await embedAll();
    const vectors = await db.asSuperuser(
      'select embedding_type, chunk_index from public.memory_embeddings where packet_id = $1 order by 1, 2',
      [id],
    );
    expect(vectors.map(({ embedding_type }) => embedding_type)).toStrictEqual(['content', 'reasoning']);
    const hits = await find('C', 'zeppelin harbour');
    expect(hits.map(({ packet_id }) => packet_id)).toStrictEqual([id]);
    expect(hits[0].semantic_score).toBeGreaterThan(0.9);
    expect(hits[0].explanation.found_by).toContain('semantic reasoning');
    expect(await idsOf('C', 'zeppelin', ", kinds => '{note}'")).toStrictEqual([]);
    expect(await idsOf('C', 'zeppelin', ", project_id => 'other'")).toStrictEqual([]);
    // Found by its content and by its steps, it is still one hit.
    const both = await save('C', 'reasoning_trace', { steps: ['walnut'] }, { content: 'walnut' });
    await embedAll();
    expect(await idsOf('C', 'walnut')).toStrictEqual([both]);
  });

  it('is embedded again when only its steps change, and loses the vector when its kind changes', async () => {
    const id = await save('C', 'reasoning_trace', { steps: ['blue'] });
    await embedAll();
    expect(await idsOf('C', 'blue')).toStrictEqual([id]);
    await db.sql('C', `select public.update_memory($1, envelope => '{"steps": ["green"]}')`, [id]);
    expect(await idsOf('C', 'blue')).toStrictEqual([]);
    await embedAll();
    expect(await idsOf('C', 'green')).toStrictEqual([id]);
    await db.sql('C', "select public.update_memory($1, scope => 'global', kind => 'note')", [id]);
    await embedAll();
    expect(await idsOf('C', 'green')).toStrictEqual([]);
  });

  it('rejects a vector of steps that have changed since the job read them', async () => {
    const id = await save('C', 'reasoning_trace', { steps: ['blue'] });
    await embedAll();
    const store = (reasoning: string) =>
      db.asWorker("select embeddings.store_reasoning($1, $2, 'words', array[$3], '{}', '{}', '{}') as stored", [
        id,
        reasoning,
        '[1]',
      ]);
    expect((await store('something else'))[0].stored).toBe(false);
  });

  it('stays hidden from callers who can not read it', async () => {
    const id = await save('L', 'reasoning_trace', { steps: ['lantern'] }, { scope: 'l-private' });
    const shared = await save('C', 'reasoning_trace', { steps: ['lantern'] });
    await embedAll();
    expect(await idsOf('C', 'lantern')).toStrictEqual([shared]);
    expect((await idsOf('L', 'lantern')).sort()).toStrictEqual([id, shared].sort());
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [shared]);
    expect(await idsOf('C', 'lantern')).toStrictEqual([]);
  });

  it('appears in semantic_memory for callers who can read it, and nobody can write that view', async () => {
    const id = await save('C', 'reasoning_trace', { steps: ['kettle'] }, { content: 'about tea' });
    const secret = await save('L', 'note', {}, { content: 'secret tea', scope: 'l-private' });
    await embedAll();
    const visible = await db.sql(
      'C',
      'select packet_id, agent_id, embedding_type, payload, extensions.vector_dims(vector) as dims from public.semantic_memory where packet_id = any ($1) order by embedding_type',
      [[id, secret]],
    );
    expect(
      visible.map(({ embedding_type, agent_id, payload, dims }) => [embedding_type, agent_id, payload.text, dims]),
    ).toStrictEqual([
      ['content', 'cursor', 'about tea', 1536],
      ['reasoning', 'cursor', 'kettle', 1536],
    ]);
    expect(await db.sql('L', 'select 1 from public.semantic_memory where packet_id = $1', [secret])).toHaveLength(1);
    const ofUse =
      'select distinct importance_score, access_count::int from public.semantic_memory where packet_id = $1';
    const [before] = await db.sql('C', ofUse, [id]);
    expect(before).toStrictEqual({ importance_score: expect.any(Number), access_count: 0 });
    await db.asSuperuser(
      'insert into public.memory_signals (packet_id, tenant_id, access_count, useful) select packet_id, tenant_id, 7, 3 from public.packet_store where packet_id = any ($1)',
      [[id, secret]],
    );
    const [used] = await db.sql('C', ofUse, [id]);
    expect(used.access_count).toBe(7);
    const [payload] = await db.sql(
      'C',
      `select distinct (payload ->> 'importance')::real as importance_score, (payload ->> 'estimated_importance')::real as estimated
       from public.semantic_memory where packet_id = $1`,
      [id],
    );
    expect(payload, 'importance is one number').toStrictEqual({
      importance_score: used.importance_score,
      estimated: 0.5,
    });
    expect(used.importance_score).toBeGreaterThan(before.importance_score);
    expect(await db.sql('C', ofUse, [secret])).toStrictEqual([]);
    for (const statement of ['delete from public.semantic_memory', "update public.semantic_memory set agent_id = 'x'"])
      await expect(db.sql('L', statement)).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|55000)$/),
      });
  });

  it('leaves nothing in the database once its memory is erased', async () => {
    const word = `Zqe${Date.now()}`;
    const ids = [
      await save('C', 'event', { event_type: word, agent_id: word, more: word }, { content: `it was ${word}` }),
      await save(
        'C',
        'reasoning_trace',
        { steps: [word], confidence_scores: { [word]: 1 } },
        { content: `thus ${word}` },
      ),
    ];
    await embedAll();
    const grep = () => db.inSuperuserSession((client) => grepDatabase(client, [word]));
    const held = await grep();
    for (const table of ['agent_memory_events', 'reasoning_traces'])
      expect(held[`public.${table}`], table).toBeTruthy();
    for (const id of ids) await db.sql('L', "select public.erase_memory($1, 'a test')", [id]);
    expect(await grep()).toStrictEqual({});
  });
});
