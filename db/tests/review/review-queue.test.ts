// The queue of a reviewer: what waits, oldest first, and what there is to know about it.
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('review_queue', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('L', "select public.set_review_rule(true, caller => 'C')");
  });

  const queue = async (args = '', values: unknown[] = [], claims = {}) =>
    (await db.sql('L', `select to_jsonb(q) as page from public.review_queue(${args}) q`, values, claims))[0].page;
  const idsIn = ({ items }: { items: { packet_id: string }[] }) => items.map(({ packet_id }) => packet_id);

  it('lists what waits, oldest first, in pages and by filters', async () => {
    const ids = [];
    for (const n of [1, 2, 3]) ids.push(await saveMemory(db, 'C', { content: `note number ${n}`, tags: ['n'] }));
    const todo = await saveMemory(db, 'C', { content: 'a lead', kind: 'lead', project_id: 'sea' });
    const global = await saveMemory(db, 'C', { content: 'for everyone', scope: 'global', project_id: null });
    const counting = await saveMemory(db, 'L', { content: 'counts at once' });
    const whole = await queue();
    expect(idsIn(whole)).toStrictEqual([...ids, todo, global]);
    expect(idsIn(whole)).not.toContain(counting);
    expect(whole).toMatchObject({ waiting: 5, next_cursor: null });
    expect(whole.items[0]).toMatchObject({
      ...{ content: 'note number 1', kind: 'note', creator: 'Cursor-IDE', source: 'cursor-ide', tags: ['n'] },
      ...{ is_truncated: false, fields: {}, duplicates: [], contradictions: [], rejected_before: [] },
    });
    const first = await queue('k => 2');
    expect(idsIn(first)).toStrictEqual(ids.slice(0, 2));
    expect(idsIn(await queue('k => 2, "cursor" => $1', [first.next_cursor]))).toStrictEqual([ids[2], todo]);
    expect(idsIn(await queue("project_id => 'sea'"))).toStrictEqual([todo]);
    expect(idsIn(await queue("scope => 'global'"))).toStrictEqual([global]);
    expect(idsIn(await queue("kinds => '{lead}'"))).toStrictEqual([todo]);
    expect(idsIn(await queue("creator => 'L-CTO'"))).toStrictEqual([]);
    expect(
      idsIn(await queue('', [], { 'jwt.claims.projects': '["sea"]', 'jwt.claims.scopes': '["developer"]' })),
    ).toStrictEqual([todo]);
    for (const bad of ['k => 0', 'k => 101', '"cursor" => $$x$$'])
      await expect(queue(bad)).rejects.toMatchObject({ code: 'L9VAL' });
    const [{ ids: shown }] = await db.asSuperuser(
      "select details -> 'ids' as ids from public.audit_log where details ? 'review_queue' order by audit_id limit 1",
    );
    expect(shown).toStrictEqual(idsIn(whole));
  });

  it('shows near-duplicates that count, and none that wait', async () => {
    const text = 'The buoy north of the harbour is painted green every spring by the crew.';
    const known = await saveMemory(db, 'L', { content: text, project_id: 'dup' });
    const again = await saveMemory(db, 'C', { content: `${text} Again.`, project_id: 'dup' });
    await saveMemory(db, 'C', { content: `${text} Twice.`, project_id: 'dup' });
    const { items } = await queue("project_id => 'dup'");
    expect(items[0].packet_id).toBe(again);
    expect(items[0].duplicates).toMatchObject([{ packet_id: known, content: text, creator: 'L-CTO' }]);
    expect(items[0].duplicates[0].similarity).toBeGreaterThan(0.75);
  });

  it('shows the present facts that an approval would contradict', async () => {
    await db.sql('L', "select public.register_predicate('runs on', true)");
    await db.sql('L', "select public.assert_fact('billing', 'runs on', '\"MySQL\"', project_id => 'facts')");
    await db.sql('C', "select public.assert_fact('Billing', 'runs on', '\"Postgres\"', project_id => 'facts')");
    const extraction = {
      facts: [{ subject: 'billing', predicate: 'runs on', object: 'Oracle', confidence: 1 }, 'no fact'],
    };
    await saveMemory(db, 'C', {
      ...{ content: 'What a model read.', project_id: 'facts' },
      envelope: { on_approval: { statement: 'extract', arguments: { extraction } } },
    });
    const { items } = await queue("project_id => 'facts'");
    expect(items[1].contradictions).toMatchObject([{ present_object: 'MySQL', new_object: 'Oracle' }]);
    expect(items[0].contradictions).toMatchObject([
      {
        ...{ subject: 'billing', predicate: 'runs on', present_object: 'MySQL', new_object: 'Postgres' },
        ...{ creator: 'L-CTO', is_from_admin: true },
      },
    ]);
  });

  it('shows that the same text was rejected before', async () => {
    await db.sql('L', "select public.set_review_settings('hold')");
    const first = await saveMemory(db, 'C', { content: 'Friday is release day.', project_id: 'again' });
    await db.sql('L', "select public.reject_memory($1, 'Thursday is.')", [[first]]);
    await db.sql('L', "select public.set_review_rule(true, scope => 'developer', project_id => 'again')");
    await saveMemory(db, 'L', { content: 'Friday is release day.', project_id: 'again' });
    const { items } = await queue("project_id => 'again'");
    expect(items[0].rejected_before).toMatchObject([
      { packet_id: first, review_reason: 'Thursday is.', reviewed_by: 'L-CTO' },
    ]);
  });
});
