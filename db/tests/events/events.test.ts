import { saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import type { Claims } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('events and reasoning traces', () => {
  const db = useTestDatabase({ rollsBack: true });

  let count = 0;
  const save = (caller: string, kind: string, envelope: object, args: object = {}, claims: Claims = {}) =>
    saveMemory(db, caller, { content: `text ${++count}`, kind, envelope: JSON.stringify(envelope), ...args }, claims);
  const update = (caller: string, id: string, args: Record<string, unknown>) =>
    db.sql(caller, `select public.update_memory($1, ${named(args, 2)})`, [id, ...Object.values(args)]);
  const rows = (caller: string, table: string, id: string, claims: Claims = {}) =>
    db.sql(caller, `select * from public.${table} where packet_id = $1`, [id], claims);
  const refusal = (code: string, column: string) => ({
    code,
    column,
    message: expect.stringMatching(new RegExp(`^${column.replaceAll('.', '\\.')}: `)),
  });

  it('fills agent_memory_events from the envelope of an event', async () => {
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
    const [{ timestamp }] = await db.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      plain,
    ]);
    expect([filled.agent_id, filled.timestamp]).toStrictEqual(['cursor', timestamp]);
  });

  it('fills reasoning_traces from the envelope of a reasoning trace', async () => {
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

  it('refuses an envelope with a missing or wrong field and names the field', async () => {
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
        refusal(code, field),
      );
    const id = await save('C', 'note', {});
    await expect(db.sql('C', "select public.update_memory($1, kind => 'event')", [id])).rejects.toMatchObject(
      refusal('L9VAL', 'envelope.event_type'),
    );
  });

  it('updates the rows when content, kind, scope or expiry of the memory change', async () => {
    const id = await save('C', 'event', { event_type: 'first' });
    const [before] = await rows('C', 'agent_memory_events', id);
    await update('C', id, { content: 'new words', envelope: '{"event_type": "second"}' });
    const [changed] = await rows('C', 'agent_memory_events', id);
    expect([changed.event_id, changed.event_type, changed.content]).toStrictEqual([
      before.event_id,
      'second',
      { content: 'new words' },
    ]);
    await update('C', id, { kind: 'reasoning_trace', envelope: '{"steps": ["why"]}' });
    expect(await rows('C', 'agent_memory_events', id)).toStrictEqual([]);
    expect((await rows('C', 'reasoning_traces', id))[0].steps).toStrictEqual(['why']);
    await update('L', id, { scope: 'l-private', ttl: new Date(Date.now() + 3_600_000) });
    expect(await rows('C', 'reasoning_traces', id)).toStrictEqual([]);
    const [moved] = await rows('L', 'reasoning_traces', id);
    expect(moved.scope).toBe('l-private');
    expect(moved.ttl > new Date()).toBe(true);
    await update('L', id, { scope: 'developer', kind: 'note' });
    expect(await rows('L', 'reasoning_traces', id)).toStrictEqual([]);
  });

  it('deletes the row with its memory', async () => {
    const id = await save('L', 'event', { event_type: 'x' });
    expect(await rows('L', 'agent_memory_events', id)).toHaveLength(1);
    await db.sql('L', 'select public.delete_memory($1)', [id]);
    expect(await db.asSuperuser('select 1 from public.agent_memory_events where packet_id = $1', [id])).toStrictEqual(
      [],
    );
  });

  it('hides events and traces of other scopes, tenants and users, even from counts', async () => {
    const word = 'Hush77';
    const own = { event_type: word, steps: [word] };
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };
    const second = await addTenant(db, 'the-other');
    await save('L', 'event', own, { scope: 'l-private' });
    await save('L', 'reasoning_trace', own, { scope: 'l-private' });
    await save('C', 'event', own, {}, second);
    await save('C', 'event', own, {}, user);
    for (const table of ['agent_memory_events', 'reasoning_traces']) {
      const [{ n }] = await db.sql(
        'C',
        `select count(*)::int as n from public.${table} t where t::text like '%${word}%'`,
      );
      expect(n, table).toBe(0);
      await expect(db.sql('C', `delete from public.${table}`)).rejects.toMatchObject({ code: '42501' });
    }
    const [{ n }] = await db.sql(
      'C',
      `select count(*)::int as n from public.agent_memory_events t where t::text like '%${word}%'`,
      [],
      user,
    );
    expect(n).toBe(1);
    for (const call of ['tg_packet_store__fill_columns()', 'fill_event(null)', 'fill_reasoning(null)'])
      await expect(db.sql('C', `select events.${call}`)).rejects.toMatchObject({
        code: expect.stringMatching(/42501|0A000/),
      });
    const samples = await db.asSuperuser("select 1 from pg_stats where most_common_vals::text like '%Hush77%'");
    expect(samples).toStrictEqual([]);
  });
});
