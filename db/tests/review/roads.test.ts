// No road leads around a rule: whatever C calls, what it writes where its saves need a review counts for nobody before an
// administrator approves it.
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, callUpdateMemory, saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { addColleague, decide, setRule, stateOf } from './support.ts';

describe('a caller whose saves to global need a review', () => {
  const db = useTestDatabase({ rollsBack: true });
  let shared: string;
  let local: string;
  let serial = 0;
  const text = () => `The pelican counts ${++serial} fish`;
  const inGlobal = { scope: 'global', project_id: null };
  /** How many rows are derived from anything. */
  const derived = async () =>
    (
      await db.asSuperuser(
        [
          'knowledge_facts',
          'entity_relationships',
          'entity_aliases',
          'reflection_store',
          'task_reflections',
          'memory_summaries',
        ]
          .concat(
            'world_model_updates',
            'world_model_snapshots',
            'agent_memory_events',
            'field_values',
            'memory_embeddings',
          )
          .map((table) => `select '${table}' as name, count(*)::integer as n from public.${table}`)
          .concat("select 'queue', count(*)::integer from embeddings.pending_embeddings")
          .concat("select 'citations', count(*)::integer from importance.memory_citations")
          .join(' union all '),
      )
    ).filter(({ n }) => n > 0);

  beforeAll(async () => {
    await addColleague(db);
    await db.asWorker("select public.register_embedding_model('model', 8)").catch(() => null);
    shared = await saveMemory(db, 'C', { content: 'The pelican lives at the harbour', ...inGlobal });
    local = await saveMemory(db, 'C', { content: 'The pelican sleeps at noon' });
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
  });

  it('saves pending memories by every way to save, and derives nothing', async () => {
    const before = await derived();
    const items = [
      { kind: 'note', scope: 'global', data: { content: text() } },
      { kind: 'note', scope: 'global', data: { content: text() } },
      { kind: 'todo', scope: 'global', data: { text: text(), status: 'open' } },
      { kind: 'event', scope: 'global', data: { content: text(), event_type: 'seen' } },
      { kind: 'document', scope: 'global', data: { title: text(), body_md: '# One\nFish.\n\n# Two\nMore fish.\n' } },
      { kind: 'message', scope: 'global', thread_id: 'pelican', data: { content: `Ann: ${text()}` } },
    ];
    const calls: [string, unknown[]?][] = [
      ["select public.save_memory($1, scope => 'global', parent_ids => array[$2::uuid])", [text(), shared]],
      [
        "select public.save_memory($1, scope => 'global', on_similar => 'merge')",
        ['The pelican lives at the harbours'],
      ],
      ['select public.memory_store($1)', [JSON.stringify(items)]],
      [
        "insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global')",
        [text()],
      ],
      [
        `insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global')
         on conflict do nothing`,
        [text()],
      ],
      [
        `merge into public.packet_store p using (values ($1::text)) v (content) on false
         when not matched then insert (envelope, scope) values (jsonb_build_object('content', v.content), 'global')`,
        [text()],
      ],
      ["select public.assert_fact('pelican', 'eats', '\"fish\"', scope => 'global')"],
      ["select public.relate('pelican', 'part of', 'harbour', scope => 'global')"],
      ["select public.reflect('Pelicans fish at dawn', scope => 'global')"],
    ];
    const [{ n: saved }] = await db.asSuperuser('select count(*)::integer as n from public.packet_store');
    for (const [statement, values] of calls) await db.sql('C', statement, values);
    const rows = await db.asSuperuser(
      `select packet_type, review_state from public.packet_store where packet_id <> all ($1) order by packet_id`,
      [[shared, local]],
    );
    // Those of memory_store, the section of its document, and one of each other call.
    expect(rows).toHaveLength(items.length + 1 + calls.length - 1);
    expect(saved).toBe(2);
    for (const row of rows) expect(row, row.packet_type).toMatchObject({ review_state: 'pending' });
    expect(await derived()).toStrictEqual(before);
    const { hits } = await searchMemory(db, 'D', { query: 'pelican fish' });
    expect(hits.map((hit) => hit.packet_id).sort()).toStrictEqual([shared, local].sort());
  });

  it('is refused to state something from a memory that counts, and what cannot wait', async () => {
    const before = await derived();
    const insight = '{"insight_type": "seen", "content": "A pelican was seen", "entities": [{"entity_id": "pelican"}]}';
    const refused: [string, unknown[]?][] = [
      ["select public.assert_fact('pelican', 'eats', '\"sand\"', source_packet => $1)", [shared]],
      ["select facts.assert_fact_from($1, 'pelican', 'eats', '\"sand\"')", [shared]],
      ["select public.relate('pelican', 'eats', 'sand', source_packet => $1)", [shared]],
      ["select graph.relate_from($1, 'pelican', 'eats', 'sand')", [shared]],
      ["select public.add_alias('bird', 'pelican', source_packet => $1)", [shared]],
      ["select public.add_alias('bird', 'pelican', scope => 'global')"],
      ['select public.apply_world_update($1, source_packet => $2)', [insight, shared]],
      ["select public.apply_world_update($1, scope => 'global')", [insight]],
      ['select public.snapshot_world(source_packet => $1)', [shared]],
      ["select public.snapshot_world(scope => 'global')"],
      ["select public.save_summary('topic', 'pelican', 'In short: fish.', array[$1::uuid])", [shared]],
      ["select public.reflect_on_task('t', 'Watch it', 'success', scope => 'global')"],
      [`select archive.prepare_session_archive('{"session_id": "s", "timestamp": "2026-11-01T00:00:00Z"}', 'global')`],
    ];
    for (const [statement, values] of refused)
      expect(await errorOf(db.sql('C', statement, values)), statement).toMatchObject({ code: 'L9IMM' });
    expect(await derived()).toStrictEqual(before);
  });

  it('is refused to change what a memory says that counts, and where it counts', async () => {
    const changes = [
      { content: 'The pelican eats the harbour' },
      { tags: ['taken'] },
      { metadata: { note: 'taken' } },
      { envelope: { status: 'taken' } },
      { kind: 'idea' },
      { thread_id: 'taken' },
      { timestamp: '2026-01-01T00:00:00Z' },
      { parent_ids: [] as string[], clear: ['parent_ids'], tags: ['x'] },
      { speaker: 'Ann' },
    ];
    for (const change of changes) {
      const refused = errorOf(callUpdateMemory(db, 'C', shared, change));
      expect(await refused, JSON.stringify(change)).toMatchObject({ code: 'L9IMM', column: 'packet_id' });
    }
    for (const [set, values] of [
      ['envelope = envelope || \'{"content": "taken"}\''],
      ['provenance = \'{"a": 1}\''],
      ['routing = \'{"a": 1}\''],
    ] as [string, unknown[]?][])
      expect(
        await errorOf(
          db.sql('C', `update public.packet_store set ${set} where packet_id = $1`, [shared, ...(values ?? [])]),
        ),
        set,
      ).toMatchObject({ code: 'L9IMM' });
    // A memory of another scope does not move there.
    expect(await errorOf(callUpdateMemory(db, 'C', local, { scope: 'global' }))).toMatchObject({ code: 'L9IMM' });
    expect(await stateOf(db, local)).toBeNull();
    const allowed = await callUpdateMemory(db, 'C', shared, {
      importance: 0.4,
      ttl: '2090-01-01T00:00:00Z',
      language: 'german',
    });
    expect(allowed).toMatchObject({ status: 'updated', memory: { estimated_importance: 0.4 } });
  });

  it('proposes a change of a memory that its kind identifies by saving it again', async () => {
    const fields = { title: 'Use one queue', status: 'proposed', rationale: 'Two drift.', component: 'payments' };
    const store = async (caller: string, data: object) =>
      (
        await db.sql(caller, 'select * from public.memory_store($1)', [
          JSON.stringify([{ kind: 'decision', scope: 'global', data }]),
        ])
      )[0];
    const first = await store('L', fields);
    expect(await store('C', fields)).toMatchObject({ status: 'skipped_dedupe', packet_id: first.packet_id });
    const proposed = await store('C', { ...fields, status: 'accepted' });
    expect(proposed).toMatchObject({ status: 'inserted', sqlstate: null });
    expect(await stateOf(db, proposed.packet_id)).toBe('pending');
    const changed = await store('C', { ...fields, status: 'deprecated' });
    expect(changed).toMatchObject({ status: 'updated', message: null, packet_id: proposed.packet_id });
    const status = async () =>
      (
        await db.sql('D', "select envelope ->> 'status' as status from public.packet_store where packet_id = $1", [
          first.packet_id,
        ])
      )[0];
    expect(await status()).toStrictEqual({ status: 'proposed' });
    expect(await decide(db, proposed.packet_id, 'approved')).toMatchObject({
      status: 'merged',
      packet_id: first.packet_id,
    });
    expect(await status()).toStrictEqual({ status: 'deprecated' });
    expect(await stateOf(db, proposed.packet_id)).toBeUndefined();
  });

  it('supersedes a decision only when the new one is approved', async () => {
    const store = async (caller: string, data: object) =>
      (
        await db.sql(caller, 'select * from public.memory_store($1)', [
          JSON.stringify([{ kind: 'decision', scope: 'global', data }]),
        ])
      )[0];
    await db.sql('L', 'select public.delete_review_rule(rule_id) from public.review_rules');
    const old = await store('C', { title: 'Use two queues', status: 'accepted', rationale: 'One is slow.' });
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
    const next = await store('C', {
      title: 'Use one',
      status: 'accepted',
      rationale: 'Fast.',
      supersedes: old.packet_id,
    });
    const status = async () =>
      (
        await db.asSuperuser("select envelope ->> 'status' as status from public.packet_store where packet_id = $1", [
          old.packet_id,
        ])
      )[0].status;
    expect(await status()).toBe('accepted');
    await decide(db, next.packet_id, 'approved');
    expect(await status()).toBe('superseded');
  });

  it('can neither set nor clear a state, a reviewer or a reason', async () => {
    const id = await saveMemory(db, 'C', { content: text(), ...inGlobal });
    for (const column of ['review_state', 'reviewed_by', 'reviewed_at', 'review_reason', 'withheld_creator']) {
      for (const statement of [
        `update public.packet_store set ${column} = null where packet_id = '${id}'`,
        `insert into public.packet_store (envelope, scope, ${column}) values ('{"content": "mine"}', 'global', null)`,
      ])
        expect((await errorOf(db.sql('C', statement))).code, statement).toMatch(/^(42501|428C9)$/);
    }
    expect(await errorOf(db.sql('C', "select review.decide($1, 'approved')", [id]))).toMatchObject({ code: '42501' });
    expect(await stateOf(db, id)).toBe('pending');
  });

  it('keeps its own pending memory pending through every change', async () => {
    const id = await saveMemory(db, 'C', { content: text(), ...inGlobal });
    const before = await derived();
    await callUpdateMemory(db, 'C', id, { content: text(), tags: ['a'], envelope: { status: 'open' } });
    await callUpdateMemory(db, 'C', id, { scope: 'developer', project_id: 'l9' });
    expect(await stateOf(db, id)).toBe('pending');
    expect(await derived()).toStrictEqual(before);
    expect(
      await errorOf(db.sql('C', "select public.assert_fact('a', 'b', '1', source_packet => $1)", [id])),
    ).toMatchObject({
      code: 'L9IMM',
      column: 'source_packet',
    });
    expect(await errorOf(callSaveMemory(db, 'C', { content: text(), parent_ids: [id] }))).toMatchObject({
      code: 'L9VAL',
      column: 'parent_ids',
    });
    await db.sql('C', 'select public.delete_memory($1)', [id]);
    expect(await stateOf(db, id)).toBeUndefined();
  });

  it('adds no section to a document that counts', async () => {
    await db.sql('L', 'select public.delete_review_rule(rule_id) from public.review_rules');
    const document = {
      kind: 'document',
      scope: 'global',
      data: { title: 'Birds', source_url: 'birds.md', body_md: '# Pelican\nFish.\n' },
    };
    const [stored] = await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify([document])]);
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
    const sections = () =>
      db.asSuperuser('select envelope from public.packet_store where part_of = $1 order by packet_id', [
        stored.packet_id,
      ]);
    const before = await sections();
    const longer = { ...document, data: { ...document.data, body_md: '# Pelican\nFish.\n\n# Gull\nChips.\n' } };
    const [again] = await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify([longer])]);
    expect(again).toMatchObject({ sqlstate: 'L9IMM' });
    const section = {
      heading: 'Gull',
      body_md: '# Gull\nChips.\n',
      document_id: stored.packet_id,
      position: 2,
      level: 1,
    };
    const [part] = await db.sql('C', 'select * from public.memory_store($1)', [
      JSON.stringify([{ kind: 'section', scope: 'global', data: section }]),
    ]);
    expect(part).toMatchObject({ sqlstate: 'L9IMM' });
    expect(await sections()).toStrictEqual(before);
  });
});
