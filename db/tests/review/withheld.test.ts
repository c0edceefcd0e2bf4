// What is pending or rejected exists for its creator and for administrators only: no row, count, score, order, error or answer of
// anybody else depends on it.
import { attempt, MISSING } from '../support/attacker.ts';
import { callSaveMemory, saveMemory, searchMemory } from '../support/memories.ts';
import type { Rows } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { addColleague, decide, deleteRules, reads, setRule } from './support.ts';

const THREAD = 'thread of the harbour';
const HIDDEN = 'The quincunx lighthouse of the harbour burns whale oil at night';

describe('a memory that waits for a review', () => {
  const db = useTestDatabase();
  const visible: string[] = [];

  /** Everything that could show a hidden memory: statements of somebody who knows its words and guesses its id. */
  const probes = (id: string, seen: string): [string, unknown[]?][] => [
    ['select packet_id, content, tags from public.packet_store order by packet_id'],
    ['select count(*), count(distinct thread_id), max(updated_at) from public.packet_store'],
    ['select * from public.packet_store where packet_id = $1', [id]],
    ['select packet_id, content from public.packet_versions'],
    ...[
      'memory_embeddings',
      'field_values',
      'agent_memory_events',
      'knowledge_facts',
      'fact_evidence',
      'entity_relationships',
    ]
      .concat(
        'reflection_store',
        'memory_contexts',
        'importance.memory_citations',
        'world_model_entities',
        'memory_signals',
      )
      .map((table): [string] => [`select count(*) from ${table.includes('.') ? table : `public.${table}`}`]),
    ...['todos', 'decisions', 'documents', 'sections'].map((view): [string] => [`select count(*) from public.${view}`]),
    ...['lexical', 'hybrid', 'graph'].flatMap((mode): [string, unknown[]][] =>
      ['harbour lighthouse', 'quincunx', HIDDEN].map((query) => [
        'select to_jsonb((public.search_memory($1, mode => $2, explain => true, min_relevance => 0)).hits) as hits',
        [query, mode],
      ]),
    ),
    ["select (public.search_memory($1, include_pending => true)).searched - 'took_ms' as searched", [HIDDEN]],
    ['select to_jsonb((public.search_memory($1, as_of => now(), explain => true)).hits) as hits', ['harbour']],
    ['select to_jsonb((public.search_memory(thread_id => $1)).hits) as hits', [THREAD]],
    ['select to_jsonb((public.search_memory(packet_id => $1, explain => true)).hits) as hits', [seen]],
    ['select (public.search_memory(packet_id => $1)).hits', [id]],
    ["select to_jsonb((public.search_memory(tags => '{hiddentag}')).hits) as hits"],
    ['select to_jsonb((public.search_memory("where" => \'{"status": "open"}\')).hits) as hits'],
    ...['quincunx', 'quincunks lighthouse', 'harbour'].flatMap((query): [string, unknown[]][] =>
      ['auto', 'deep'].map((mode) => [
        `select to_jsonb(f.hits) as hits, f.suggestions, f.searched - '{took_ms,waiting}'::text[] as searched
         from public.memory_find($1, mode => $2, explain => true) f`,
        [query, mode],
      ]),
    ),
    ['select to_jsonb(s) from public.get_memory_stats() s'],
    ['select to_jsonb((public.recall_lessons($1)).lessons) as lessons', ['quincunx']],
    ...['keep', 'skip', 'merge'].flatMap((on_similar): [string, unknown[]][] =>
      [HIDDEN, `${HIDDEN}.`, `${HIDDEN}, still`].map((content) => [
        `select s.status, (s.memory).content, to_jsonb(s."similar") as near, (s.memory).review_state
         from public.save_memory($1, scope => 'global', on_similar => $2) s`,
        [content, on_similar],
      ]),
    ),
    [
      `select status, sqlstate, message from public.memory_store($1)`,
      [
        JSON.stringify([
          { scope: 'global', data: { content: HIDDEN } },
          { scope: 'global', kind: 'todo', data: { text: 'Paint the quincunx', status: 'open' } },
          {
            scope: 'global',
            kind: 'decision',
            data: { title: 'Burn oil', status: 'accepted', rationale: 'It is there.', supersedes: id },
          },
        ]),
      ],
    ],
    [
      "insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global') returning content",
      [HIDDEN],
    ],
    ['select (public.get_memory($1)).packet_id', [id]],
    ['select public.memory_history($1)', [id]],
    ["select (public.update_memory($1, tags => '{a}')).status", [id]],
    ['select public.delete_memory($1)', [id]],
    ["update public.packet_store set tags = '{a}' where packet_id = $1 returning 1", [id]],
    ['delete from public.packet_store where packet_id = $1 returning 1', [id]],
    ["select (public.save_memory('a child', scope => 'global', parent_ids => array[$1::uuid])).status", [id]],
    ["select public.assert_fact('a', 'b', '\"c\"', source_packet => $1)", [id]],
    ["select public.relate('a', 'b', 'c', source_packet => $1)", [id]],
    ["select public.add_alias('a', 'b', source_packet => $1)", [id]],
    ['select public.snapshot_world(source_packet => $1)', [id]],
    ["select public.save_summary('topic', 'harbour', 'In short.', array[$1::uuid])", [id]],
    [
      "select public.reflect_on_task('t', 'd', 'success', related_decisions => array[$1::uuid], scope => 'global')",
      [id],
    ],
    ["select subject, object, confidence from public.assert_fact('lighthouse', 'burns', '\"oil\"', scope => 'global')"],
    ["select status from public.reflect('Quincunx lamps need oil', scope => 'global')"],
    ["select to_jsonb(f) from public.find_facts('lighthouse') f"],
    ["select to_jsonb(g) from public.explore_graph('lighthouse') g"],
    ['select scope_type, scope_value, packet_count from public.due_summaries(min_packets => 1)'],
    ["select table_name, what from public.trace_of('trace of the harbour')"],
    ['select public.packet_store_importance_score(p), public.packet_store_access_count(p) from public.packet_store p'],
    ["select to_jsonb(w) from ranking.weigh_words('{quincunx,harbour,lighthous}') w"],
    [
      "select status, similarity from duplicates.find_similar($1, 'global', null, null, 'note', null, null), (values (1)) v (status)",
      [HIDDEN],
    ],
    ['select review_state, withheld_creator from public.packet_store where review_state is not null'],
    ['select count(*) from public.audit_log'],
    ['select count(*) from importance.memory_access_log'],
    [`select (public.save_memory('again', scope => 'global', idempotency_key => 'key of the harbour')).status`],
    // Counts, views that jobs refresh, and what is related to a memory that is seen.
    ["select to_jsonb(d) from public.memory_days('-infinity') d"],
    ...[
      'agent_recent_important',
      'high_confidence_facts',
      'entity_graph',
      'reflection_patterns',
      'recurring_lessons',
    ].map((name): [string] => [`select to_jsonb(v) from public.${name}() v`]),
    ["select to_jsonb(f) from public.facts_as_of('2099-01-01') f"],
    ["select to_jsonb(w) from public.get_world_model('global') w"],
    ['select public.packet_store_superseded_by(p) from public.packet_store p where packet_id = $1', [seen]],
    ['select public.packet_store_facts(p), public.packet_store_relationships(p) from public.packet_store p'],
    ["select to_jsonb(c) from public.query_cascade_memories('quincunx') c"],
    ['select to_jsonb(e) from public.estimate_storage_cost() e'],
    ['select parent_ids, cited_by from public.packet_store p, lateral (select count(*) as cited_by) c'],
    ['select idempotency_key from public.idempotency_keys'],
    // What names the memory by its id.
    ['select public.get_document($1)', [id]],
    ['select public.record_feedback($1, true)', [id]],
    ['insert into public.memory_feedback (packet_id, is_useful) values ($1, true)', [id]],
    ["select public.erase_memory($1, 'curious')", [id]],
    ["select public.restore_world('global', 1, source_packet => $1)", [id]],
    ['select public.apply_world_update(\'{"insight_type": "x", "content": "y"}\', source_packet => $1)', [id]],
    ["select (public.reflect('a lesson from it', scope => 'global', learned_from => array[$1::uuid])).status", [id]],
    ['select public.approve_memory(array[$1::uuid])', [id]],
    ["select public.reject_memory(array[$1::uuid], 'no')", [id]],
    ['select public.undo_review(array[$1::uuid])', [id]],
    ['select public.merge_memories($2, array[$1::uuid])', [id, seen]],
    ["select (review.decide($1, 'approved')).status", [id]],
    ['select public.review_queue()'],
    ['select * from review.merges'],
    ['select * from public.review_rules'],
    ['update public.packet_store set parent_ids = array[$1::uuid] where packet_id = $2 returning 1', [id, seen]],
  ];

  /** The answers of a caller to all probes, without the ids and times that differ from call to call. */
  const answers = (caller: string, id: string) =>
    db.asCaller(caller, async (client) => {
      const all: [string, unknown][] = [];
      for (const [statement, values = []] of probes(id, visible[0]!)) {
        const { rows, error } = await attempt(client, statement, values);
        const said = JSON.stringify(rows ?? error)
          .replaceAll(id, 'the id')
          .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, (found) => (visible.includes(found) ? found : 'an id'))
          .replaceAll(/\d+\.\d+(?:e-?\d+)?/g, (number) => `${Number(Number(number).toFixed(4))}`)
          .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|\+00(?::00)?)?/g, 'a time');
        all.push([`${statement} ${values}`.replaceAll(id, 'the id'), said]);
      }
      return all;
    });

  /** Everything that a caller can hide behind a rule. Returns the ids of all of it. */
  const plant = async (caller: string): Promise<string[]> => {
    const save = async (args: { content: string; [name: string]: unknown }) =>
      saveMemory(db, caller, { scope: 'global', project_id: null, ...args });
    const ids = [
      await save({
        content: HIDDEN,
        tags: ['hiddentag'],
        thread_id: THREAD,
        trace_id: 'trace of the harbour',
        parent_ids: [visible[0]],
        envelope: { status: 'open' },
        idempotency_key: 'key of the harbour',
      }),
      await save({ content: 'Bo: the quincunx is lit', kind: 'message', thread_id: THREAD }),
      await save({ content: 'A lighthouse was lit', kind: 'event', envelope: { event_type: 'lit' } }),
    ];
    const stored: Rows = await db.sql(caller, 'select packet_id, sqlstate, message from public.memory_store($1)', [
      JSON.stringify([
        { scope: 'global', kind: 'todo', data: { text: 'Paint the quincunx', status: 'open' } },
        {
          scope: 'global',
          kind: 'document',
          data: { source_url: 'docs/quincunx.md', title: 'Quincunx', body_md: '# Oil\nWhale.\n' },
        },
      ]),
    ]);
    expect(stored.map(({ sqlstate }) => sqlstate)).toStrictEqual([null, null]);
    ids.push(...stored.map(({ packet_id }) => packet_id));
    await db.sql(caller, "select public.assert_fact('lighthouse', 'burns', '\"oil\"', scope => 'global')");
    await db.sql(caller, "select public.relate('lighthouse', 'part of', 'harbour', scope => 'global')");
    await db.sql(caller, "select public.reflect('Quincunx lamps need oil', scope => 'global')");
    const all = await db.asSuperuser(
      "select packet_id, review_state, metadata ->> 'creator' as creator from public.packet_store where withheld_creator is not null",
    );
    for (const { review_state } of all) expect(review_state).toBe('pending');
    return [...ids, ...all.map(({ packet_id }) => packet_id)];
  };

  beforeAll(async () => {
    await addColleague(db);
    await db.sql('L', "select public.register_field_index('status')");
    for (const content of [
      'The harbour has one lighthouse at its northern end',
      'Ships wait outside the harbour until the tide turns',
      'The lighthouse keeper lives in the harbour office',
    ])
      visible.push(await saveMemory(db, 'L', { content, scope: 'global', project_id: null, thread_id: THREAD }));
    for (let n = 0; n < 6; n++)
      visible.push(
        await saveMemory(db, 'D', { content: `Boat ${n} lies in the harbour`, scope: 'global', project_id: null }),
      );
  });
  afterEach(async () => {
    await deleteRules(db);
    await db.asSuperuser('delete from public.packet_store where withheld_creator is not null');
  });

  const cases = [
    { writer: 'C', colleague: 'D' },
    { writer: 'L', colleague: 'C' },
  ];
  for (const { writer, colleague } of cases) {
    it(`tells ${colleague} nothing of what ${writer} saved, pending or rejected`, async () => {
      const refresh = () => db.asSuperuser('set role l9_worker; call public.refresh_memory_views(); reset role');
      await refresh();
      const before = await answers(colleague, MISSING);
      await setRule(db, { needs_review: true, caller: writer });
      const ids = await plant(writer);
      for (const id of ids) expect(await reads(db, colleague, id)).toBe(false);
      await refresh();
      expect(await answers(colleague, ids[0]!)).toStrictEqual(before);
      for (const id of ids)
        if (id !== ids[5]) await decide(db, id, 'rejected', 'Nobody needs a quincunx.').catch(() => null);
      expect(await answers(colleague, ids[0]!)).toStrictEqual(before);
    });
  }

  it('is read by its creator and by administrators, marked', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const id = await saveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    for (const caller of ['C', 'L']) {
      const [row] = await db.sql(
        caller,
        'select to_jsonb(standing.memory_json(p)) as it from public.get_memory($1) p',
        [id],
      );
      expect(row.it, caller).toMatchObject({ content: HIDDEN, review_state: 'pending' });
    }
    await decide(db, id, 'rejected', 'The harbour has no such lighthouse.');
    const [row] = await db.sql('C', 'select memories.memory_json(p) as it from public.get_memory($1) p', [id]);
    expect(row.it).toMatchObject({ review_state: 'rejected', review_reason: 'The harbour has no such lighthouse.' });
  });

  it('is found by its creator and reviewers only where they ask for it', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const id = await saveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    const rejected = await saveMemory(db, 'C', { content: `${HIDDEN} twice`, scope: 'global', project_id: null });
    await decide(db, rejected, 'rejected', 'No.');
    for (const caller of ['C', 'L']) {
      for (const args of [{ query: 'quincunx' }, { thread_id: THREAD }, { query: 'quincunx', mode: 'lexical' }])
        expect((await searchMemory(db, caller, args)).hits.map((hit) => hit.packet_id)).not.toContain(id);
      const { hits } = await searchMemory(db, caller, { query: 'quincunx', include_pending: true });
      expect(hits).toMatchObject([
        { packet_id: id, standing: { review_state: 'pending', is_own: caller === 'C', creator: 'Cursor-IDE' } },
      ]);
      const [{ found }] = await db.sql(
        caller,
        "select array(select h.packet_id from unnest((public.memory_find('quincunx', include_pending => true)).hits) h) as found",
      );
      expect(found).toStrictEqual([id]);
      const [{ count }] = await db.sql(caller, "select count(*) from unnest((public.memory_find('quincunx')).hits)");
      expect(count).toBe('0');
      const [{ stats }] = await db.sql(caller, 'select to_jsonb(s) as stats from public.get_memory_stats() s');
      expect(JSON.stringify(stats.by_creator)).not.toContain('Cursor');
      // The setting ends with the search.
      expect((await searchMemory(db, caller, { query: 'quincunx' })).hits).toStrictEqual([]);
    }
  });

  it('is no near-duplicate, and does not keep the same text of others from counting', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const mine = await callSaveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    expect(mine).toMatchObject({ status: 'inserted', memory: { review_state: 'pending' } });
    const again = await callSaveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    expect(again).toMatchObject({ status: 'skipped_dedupe', memory: { packet_id: mine.memory.packet_id } });
    const theirs = await callSaveMemory(db, 'D', { content: HIDDEN, scope: 'global', project_id: null });
    expect(theirs.status).toBe('inserted');
    const known = await callSaveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    expect(known).toMatchObject({ status: 'skipped_dedupe', memory: { packet_id: theirs.memory.packet_id } });
    await db.sql('D', 'select public.delete_memory($1)', [theirs.memory.packet_id]);
  });

  it('is not what somebody else saves who stores a memory that has ended', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const store = async (caller: string) =>
      (
        await db.sql(caller, 'select * from public.memory_store($1)', [
          JSON.stringify([{ scope: 'global', kind: 'todo', data: { text: 'Trim the quincunx', status: 'done' } }]),
        ])
      )[0];
    const waiting = await store('C');
    const counting = await store('L');
    expect(counting).toMatchObject({ status: 'inserted', sqlstate: null });
    expect(counting.packet_id).not.toBe(waiting.packet_id);
    expect(await reads(db, 'D', counting.packet_id)).toBe(true);
    expect(await store('C')).toMatchObject({ status: 'skipped_dedupe', packet_id: counting.packet_id });
    await db.sql('L', 'select public.delete_memory($1)', [counting.packet_id]);
    expect(await store('C')).toMatchObject({ status: 'skipped_dedupe', packet_id: waiting.packet_id });
    await deleteRules(db);
    const own = await store('C');
    expect(own).toMatchObject({ status: 'inserted' });
    await db.sql('L', 'select public.delete_memory($1)', [own.packet_id]);
  });

  it('is superseded by nothing that counts, and is no successor of that', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const store = async (caller: string, data: object) =>
      (
        await db.sql(caller, 'select * from public.memory_store($1)', [
          JSON.stringify([
            { scope: 'global', kind: 'decision', data: { status: 'accepted', rationale: 'It burns.', ...data } },
          ]),
        ])
      )[0];
    const held = await store('C', { title: 'Burn whale oil' });
    for (const data of [
      { title: 'Burn paraffin', supersedes: held.packet_id },
      { title: 'Burn peat', status: 'superseded', superseded_by: held.packet_id },
    ])
      expect(await store('L', data)).toMatchObject({ status: null, sqlstate: 'L9VAL' });
    const next = await store('C', { title: 'Burn gas', status: 'superseded', superseded_by: held.packet_id });
    expect(next).toMatchObject({ status: 'inserted', sqlstate: null });
  });

  it('is shown to no other by a session that turns the settings of searches on itself', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const id = await saveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    for (const value of ['pending', 'pending,rejected', 'approved', 'none', '', 'pending,pending', '*'])
      await db.asCaller('D', async (client) => {
        await client.query("select set_config('l9.withheld', $1, true)", [value]);
        const { rows } = await client.query('select 1 from public.packet_store where packet_id = $1', [id]);
        expect(rows, value).toStrictEqual([]);
        const hits = await client.query(
          "select (public.search_memory('quincunx', include_pending => true)).hits as hits",
        );
        expect(hits.rows[0].hits, value).toBe('{}');
      });
  });

  it('makes explain_access name the policy that hides it', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const id = await saveMemory(db, 'C', { content: HIDDEN, scope: 'global', project_id: null });
    const explain = async (caller: string) =>
      (await db.sql('L', 'select is_visible, decided_by from public.explain_access($1, $2)', [caller, id]))[0];
    expect(await explain('C')).toStrictEqual({ is_visible: true, decided_by: 'scope_access' });
    expect(await explain('L')).toStrictEqual({ is_visible: true, decided_by: 'admin_override' });
    expect(await explain('D')).toStrictEqual({ is_visible: false, decided_by: 'review_visibility' });
  });
});
