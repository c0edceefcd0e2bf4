// Memories of kind event and reasoning_trace are checked, laid out, kept in step, and gone when they go.

import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { grepDatabase } from '../support/dump.ts';

import { named } from '../support/named.ts';
import { addTenant } from '../support/tenants.ts';
import { embedder, vectorOf } from './words.ts';

describe('events and traces of reasoning', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
  });
  afterAll(() => gateway.close());

  let count = 0;
  const save = async (
    caller: string,
    kind: string,
    envelope: object,
    args: Record<string, unknown> = {},
    claims = {},
  ) => {
    const given: Record<string, unknown> = {
      content: `text ${++count}`,
      project_id: 'l9',
      kind,
      envelope: JSON.stringify(envelope),
      ...args,
    };
    const [{ id }] = await gateway.sql(
      caller,
      `select (memory).packet_id as id from public.save_memory(${named(given)})`,
      Object.values(given),
      claims,
    );
    return id as string;
  };
  /** A save over MCP has the job look at once. */
  const settled = async () => {
    await gateway.tool('C', 'save_memory', { content: `kick ${++count}`, project_id: 'l9' });
    await gateway.embedded();
  };
  const rows = (caller: string, table: string, id: string, claims = {}) =>
    gateway.sql(caller, `select * from public.${table} where packet_id = $1`, [id], claims);
  const refused = (code: string, column: string) => ({
    code,
    column,
    message: expect.stringMatching(new RegExp(`^${column.replaceAll('.', '\\.')}: `)),
  });

  it('lays an event out', async () => {
    const id = await save('C', 'event', {
      event_type: 'deploy.finished',
      timestamp: '2026-03-01T12:00:00Z',
      agent_id: 'runner-7',
      host: 'web-1',
    });
    const [row] = await rows('C', 'agent_memory_events', id);
    expect([
      row.event_type,
      row.agent_id,
      row.timestamp.toISOString(),
      row.content,
      row.creator,
      row.scope,
      row.project_id,
    ]).toStrictEqual([
      'deploy.finished',
      'runner-7',
      '2026-03-01T12:00:00.000Z',
      { content: `text ${count}`, host: 'web-1' },
      'Cursor-IDE',
      'developer',
      'l9',
    ]);
    const plain = await save('C', 'event', { event_type: 'x' });
    const [filled] = await rows('C', 'agent_memory_events', plain);
    const [{ timestamp }] = await gateway.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      plain,
    ]);
    expect([filled.agent_id, filled.timestamp]).toStrictEqual(['cursor', timestamp]);
  });

  it('lays a trace of reasoning out', async () => {
    const trace = {
      steps: ['look', { thought: 'then leap' }],
      extracted_features: { height: 3 },
      inference_steps: [{ from: 'a', to: 'b' }],
      reasoning_tokens: 120,
      decision_tokens: ['go'],
      confidence_scores: { leap: 0.9 },
    };
    const id = await save('C', 'reasoning_trace', trace);
    const [row] = await rows('C', 'reasoning_traces', id);
    for (const [name, value] of Object.entries(trace)) expect(row[name], name).toStrictEqual(value);
    const [bare] = await rows(
      'C',
      'reasoning_traces',
      await save('C', 'reasoning_trace', { steps: ['one'], inference_steps: null }),
    );
    expect([
      bare.extracted_features,
      bare.inference_steps,
      bare.reasoning_tokens,
      bare.decision_tokens,
      bare.confidence_scores,
    ]).toStrictEqual([{}, [], [], [], {}]);
  });

  it('refuses an envelope that does not say what is asked of it, naming the field', async () => {
    const steps = ['one'];
    for (const [kind, envelope, code, field] of [
      ['event', {}, 'L9VAL', 'envelope.event_type'],
      ['event', { event_type: 7 }, 'L9VAL', 'envelope.event_type'],
      ['event', { event_type: ' ' }, 'L9VAL', 'envelope.event_type'],
      ['event', { event_type: null }, 'L9VAL', 'envelope.event_type'],
      ['event', { event_type: 'x'.repeat(201) }, 'L9LIM', 'envelope.event_type'],
      ['event', { event_type: 'x', agent_id: [] }, 'L9VAL', 'envelope.agent_id'],
      ['event', { event_type: 'x', timestamp: 'tomorrow' }, 'L9VAL', 'envelope.timestamp'],
      ['event', { event_type: 'x', timestamp: '2026-13-01T00:00:00Z' }, 'L9VAL', 'envelope.timestamp'],
      ['event', { event_type: 'x', timestamp: '2026-01-01T00:00:00' }, 'L9VAL', 'envelope.timestamp'],
      ['event', { event_type: 'x', timestamp: { a: 1 } }, 'L9VAL', 'envelope.timestamp'],
      ['reasoning_trace', {}, 'L9VAL', 'envelope.steps'],
      ['reasoning_trace', { steps: [] }, 'L9VAL', 'envelope.steps'],
      ['reasoning_trace', { steps: 'one' }, 'L9VAL', 'envelope.steps'],
      ['reasoning_trace', { steps: [1] }, 'L9VAL', 'envelope.steps'],
      ['reasoning_trace', { steps: Array(1001).fill('s') }, 'L9LIM', 'envelope.steps'],
      ['reasoning_trace', { steps, inference_steps: {} }, 'L9VAL', 'envelope.inference_steps'],
      ['reasoning_trace', { steps, extracted_features: [] }, 'L9VAL', 'envelope.extracted_features'],
      ['reasoning_trace', { steps, reasoning_tokens: -1 }, 'L9VAL', 'envelope.reasoning_tokens'],
      ['reasoning_trace', { steps, reasoning_tokens: 1.5 }, 'L9VAL', 'envelope.reasoning_tokens'],
      ['reasoning_trace', { steps, decision_tokens: [1] }, 'L9VAL', 'envelope.decision_tokens'],
      ['reasoning_trace', { steps, decision_tokens: Array(10001).fill('') }, 'L9LIM', 'envelope.decision_tokens'],
      ['reasoning_trace', { steps, confidence_scores: { a: 2 } }, 'L9VAL', 'envelope.confidence_scores'],
      ['reasoning_trace', { steps, confidence_scores: { a: 'x' } }, 'L9VAL', 'envelope.confidence_scores'],
    ] as const)
      await expect(save('C', kind, envelope), JSON.stringify(envelope).slice(0, 80)).rejects.toMatchObject(
        refused(code, field),
      );
    const id = await save('C', 'note', {});
    await expect(gateway.sql('C', "select public.update_memory($1, kind => 'event')", [id])).rejects.toMatchObject(
      refused('L9VAL', 'envelope.event_type'),
    );
  });

  it('follows changes of content, kind, scope and expiry, and goes with the memory', async () => {
    const id = await save('C', 'event', { event_type: 'first' });
    const [before] = await rows('C', 'agent_memory_events', id);
    await gateway.sql(
      'C',
      `select public.update_memory($1, content => 'new words', envelope => '{"event_type": "second"}')`,
      [id],
    );
    const [changed] = await rows('C', 'agent_memory_events', id);
    expect([changed.event_id, changed.event_type, changed.content]).toStrictEqual([
      before.event_id,
      'second',
      { content: 'new words' },
    ]);
    await gateway.sql(
      'C',
      `select public.update_memory($1, kind => 'reasoning_trace', envelope => '{"steps": ["why"]}')`,
      [id],
    );
    expect(await rows('C', 'agent_memory_events', id)).toStrictEqual([]);
    expect((await rows('C', 'reasoning_traces', id))[0].steps).toStrictEqual(['why']);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private', ttl => now() + interval '1 hour')", [
      id,
    ]);
    expect(await rows('C', 'reasoning_traces', id)).toStrictEqual([]);
    const [moved] = await rows('L', 'reasoning_traces', id);
    expect(moved.scope).toBe('l-private');
    expect(moved.ttl > new Date()).toBe(true);
    await gateway.sql('L', "select public.update_memory($1, scope => 'developer', kind => 'note')", [id]);
    expect(await rows('L', 'reasoning_traces', id)).toStrictEqual([]);
    await gateway.sql('L', `select public.update_memory($1, kind => 'event')`, [id]);
    await gateway.sql('L', 'select public.delete_memory($1)', [id]);
    expect(
      await gateway.asSuperuser('select 1 from public.agent_memory_events where packet_id = $1', [id]),
    ).toStrictEqual([]);
  });

  it('shows C nothing of l-private, of another tenant, or of another user, not even a count', async () => {
    const word = 'Hush77';
    const own = { event_type: word, steps: [word] };
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };
    const second = await addTenant(gateway, 'the-other');
    await save('L', 'event', own, { scope: 'l-private' });
    await save('L', 'reasoning_trace', own, { scope: 'l-private' });
    await save('C', 'event', own, {}, second);
    await save('C', 'event', own, {}, user);
    for (const table of ['agent_memory_events', 'reasoning_traces']) {
      const [{ n }] = await gateway.sql(
        'C',
        `select count(*)::int as n from public.${table} t where t::text like '%${word}%'`,
      );
      expect(n, table).toBe(0);
      await expect(gateway.sql('C', `delete from public.${table}`)).rejects.toMatchObject({ code: '42501' });
    }
    const [{ n }] = await gateway.sql(
      'C',
      `select count(*)::int as n from public.agent_memory_events t where t::text like '%${word}%'`,
      [],
      user,
    );
    expect(n).toBe(1);
    for (const name of ['tg_packet_store__fill_event', 'tg_packet_store__fill_reasoning'])
      await expect(gateway.sql('C', `select events.${name}()`)).rejects.toMatchObject({
        code: expect.stringMatching(/42501|0A000/),
      });
    const samples = await gateway.asSuperuser("select 1 from pg_stats where most_common_vals::text like '%Hush77%'");
    expect(samples).toStrictEqual([]);
  });

  it('is nowhere once the memory is erased', async () => {
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
    await settled();
    const grep = () => gateway.inSuperuserSession((client) => grepDatabase(client, [word]));
    const held = await grep();
    for (const table of ['agent_memory_events', 'reasoning_traces'])
      expect(held[`public.${table}`], table).toBeTruthy();
    for (const id of ids) await gateway.sql('L', "select public.erase_memory($1, 'a test')", [id]);
    expect(await grep()).toStrictEqual({});
  });

  describe('what the steps say', () => {
    const find = async (caller: string, word: string, more = '') =>
      gateway.sql(
        caller,
        `select h.packet_id, h.semantic_score, h.explanation from public.search_memory($1, mode => 'semantic', k => 100, explain => true,
           threshold => 0.5, query_vector => $2, model => 'words'${more}) r, unnest(r.hits) h`,
        [word, await vectorOf(word)],
      );
    const idsOf = async (caller: string, word: string, more = '') =>
      (await find(caller, word, more)).map(({ packet_id }) => packet_id);

    it('is embedded as type reasoning, and found as one hit of its memory', async () => {
      const id = await save('C', 'reasoning_trace', {
        steps: [{ thought: 'a zeppelin', deep: { er: ['over the harbour'] } }],
      });
      await settled();
      const vectors = await gateway.asSuperuser(
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
      await settled();
      expect(await idsOf('C', 'walnut')).toStrictEqual([both]);
    });

    it('is embedded anew when the steps alone change, and gone when it is no trace any more', async () => {
      const id = await save('C', 'reasoning_trace', { steps: ['blue'] });
      await settled();
      expect(await idsOf('C', 'blue')).toStrictEqual([id]);
      await gateway.sql('C', `select public.update_memory($1, envelope => '{"steps": ["green"]}')`, [id]);
      expect(await idsOf('C', 'blue')).toStrictEqual([]);
      await settled();
      expect(await idsOf('C', 'green')).toStrictEqual([id]);
      await gateway.tool('C', 'update_memory', { packet_id: id, scope: 'global', kind: 'note' });
      await settled();
      expect(await idsOf('C', 'green')).toStrictEqual([]);
    });

    it('is not stored where the steps have changed since they were handed out', async () => {
      const id = await save('C', 'reasoning_trace', { steps: ['blue'] });
      await settled();
      const store = (reasoning: string) =>
        gateway.instance.database.workerPool.query(
          "select embeddings.store_reasoning($1, $2, 'words', array[$3], '{}', '{}', '{}') as stored",
          [id, reasoning, '[1]'],
        );
      expect((await store('something else')).rows[0].stored).toBe(false);
    });

    it('is not found by C where the trace is private, moved away, or of another tenant', async () => {
      const id = await save('L', 'reasoning_trace', { steps: ['lantern'] }, { scope: 'l-private' });
      const shared = await save('C', 'reasoning_trace', { steps: ['lantern'] });
      await settled();
      expect(await idsOf('C', 'lantern')).toStrictEqual([shared]);
      expect((await idsOf('L', 'lantern')).sort()).toStrictEqual([id, shared].sort());
      await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [shared]);
      expect(await idsOf('C', 'lantern')).toStrictEqual([]);
    });
  });

  it('shows it all in semantic_memory to old readers, under their own policies, and nobody can write it', async () => {
    const id = await save('C', 'reasoning_trace', { steps: ['kettle'] }, { content: 'about tea' });
    const secret = await save('L', 'note', {}, { content: 'secret tea', scope: 'l-private' });
    await settled();
    const seen = await gateway.sql(
      'C',
      'select packet_id, agent_id, embedding_type, payload, extensions.vector_dims(vector) as dims from public.semantic_memory where packet_id = any ($1) order by embedding_type',
      [[id, secret]],
    );
    expect(
      seen.map(({ embedding_type, agent_id, payload, dims }) => [embedding_type, agent_id, payload.text, dims]),
    ).toStrictEqual([
      ['content', 'cursor', 'about tea', 1536],
      ['reasoning', 'cursor', 'kettle', 1536],
    ]);
    expect(await gateway.sql('L', 'select 1 from public.semantic_memory where packet_id = $1', [secret])).toHaveLength(
      1,
    );
    for (const statement of ['delete from public.semantic_memory', "update public.semantic_memory set agent_id = 'x'"])
      await expect(gateway.sql('L', statement)).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|55000)$/),
      });
  });
});
