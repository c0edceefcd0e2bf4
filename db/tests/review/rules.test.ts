// Which saves wait for a reviewer: rules are rows, the most specific one decides, and only administrators write them.
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { deleteRules, type Rule, setRule, stateOf } from './support.ts';

describe('review_rules', () => {
  const db = useTestDatabase();
  let serial = 0;
  const text = () => `note ${++serial} of the tide`;
  const stateOfSave = async (caller: string, args: object) =>
    (await callSaveMemory(db, caller, { content: text(), ...args })).memory.review_state ?? null;
  const all = { caller: 'C', scope: 'developer', project_id: 'l9', kinds: ['note'], source: 'cursor-ide' };
  afterEach(() => deleteRules(db));

  it('lets everything count where there is no rule', async () => {
    expect(await stateOfSave('C', {})).toBeNull();
    expect(await stateOfSave('L', { scope: 'global', project_id: null })).toBeNull();
  });

  it('meets a save by each of its conditions', async () => {
    const others: Record<string, object> = {
      caller: { caller: 'L' },
      scope: { scope: 'global', project_id: null },
      project_id: { project_id: 'future-x' },
      kinds: { kind: 'idea' },
      source: { caller: 'L' },
    };
    for (const [name, { caller = 'C', ...other }] of Object.entries(others) as [string, Record<string, string>][]) {
      await setRule(db, { needs_review: true, [name]: all[name as keyof typeof all] } as Rule);
      expect(await stateOfSave('C', {}), name).toBe('pending');
      expect(await stateOfSave(caller, other), `not ${name}`).toBeNull();
      await deleteRules(db);
    }
  });

  it('decides by the rule with most conditions, then by the order caller, scope, project, kinds, source', async () => {
    const names = ['caller', 'scope', 'project_id', 'kinds', 'source'] as const;
    for (const [place, stronger] of names.entries()) {
      for (const weaker of names.slice(place + 1)) {
        await setRule(db, { needs_review: true, [stronger]: all[stronger] });
        await setRule(db, { needs_review: false, [weaker]: all[weaker] });
        expect(await stateOfSave('C', {}), `${stronger} before ${weaker}`).toBe('pending');
        await deleteRules(db);
      }
      if (stronger === 'caller') continue;
      const two = names.filter((name) => name !== 'caller').slice(-2);
      await setRule(db, { needs_review: true, caller: 'C' });
      await setRule(db, { needs_review: false, ...Object.fromEntries(two.map((name) => [name, all[name]])) });
      expect(await stateOfSave('C', {}), 'two conditions before one').toBeNull();
      await deleteRules(db);
    }
  });

  it('decides by the newest of rules with the same conditions', async () => {
    await setRule(db, { needs_review: true, kinds: ['note', 'idea'] });
    await setRule(db, { needs_review: false, kinds: ['note'] });
    expect(await stateOfSave('C', {})).toBeNull();
    await setRule(db, { needs_review: true, kinds: ['idea', 'note', 'idea'] });
    expect(await stateOfSave('C', {})).toBe('pending');
    expect(await db.sql('L', 'select kinds from public.review_rules order by kinds')).toStrictEqual([
      { kinds: ['idea', 'note'] },
      { kinds: ['note'] },
    ]);
  });

  it('meets what administrators and jobs save, too', async () => {
    await setRule(db, { needs_review: true, scope: 'global' });
    expect(await stateOfSave('L', { scope: 'global', project_id: null })).toBe('pending');
    const [{ needed }] = await db.asSuperuser(
      "select packets.needs_review($1, 'job', 'global', null, 'summary', 'l9-memory') as needed",
      ['00000000-0000-7000-8000-000000000001'],
    );
    expect(needed).toBe(true);
  });

  it('is written by administrators with a whole token only, and read by no agent', async () => {
    const rule = await setRule(db, { needs_review: true, scope: 'l-private' });
    const calls = [
      "public.set_review_rule(true, scope => 'global')",
      `public.delete_review_rule('${rule.rule_id}')`,
      'public.set_generated_review(true, true)',
      "public.set_review_settings('hold')",
    ];
    for (const call of calls) {
      expect(await errorOf(db.sql('C', `select ${call}`)), call).toMatchObject({ code: '42501' });
      const narrow = { 'jwt.claims.scopes': '["global"]' };
      expect(await errorOf(db.sql('L', `select ${call}`, [], narrow)), call).toMatchObject({ code: 'L9SCP' });
    }
    expect(await errorOf(db.sql('C', 'select * from public.review_rules'))).toMatchObject({ code: '42501' });
    for (const statement of [
      'insert into public.review_rules (needs_review) values (false)',
      'delete from public.review_rules',
    ])
      expect(await errorOf(db.sql('L', statement)), statement).toMatchObject({ code: '42501' });
  });

  it('refuses conditions that nothing could meet, and names the field', async () => {
    const wrong: [object, string, string][] = [
      [{ needs_review: null }, 'L9VAL', 'needs_review'],
      [{ needs_review: true, scope: 'nowhere' }, 'L9VAL', 'scope'],
      [{ needs_review: true, caller: 'nobody' }, 'L9VAL', 'caller'],
      [{ needs_review: true, project_id: 'no project' }, 'L9VAL', 'project_id'],
      [{ needs_review: true, kinds: ['Note'] }, 'L9VAL', 'kinds'],
      [{ needs_review: true, kinds: Array.from({ length: 65 }, (_, n) => `kind${n}`) }, 'L9LIM', 'kinds'],
      [{ needs_review: true, source: 'x'.repeat(201) }, 'L9LIM', 'source'],
    ];
    for (const [rule, code, column] of wrong)
      expect(await errorOf(setRule(db, rule as Rule)), column).toMatchObject({ code, column });
    expect(await errorOf(db.sql('L', "select public.set_review_settings('ask')"))).toMatchObject({
      code: 'L9VAL',
      column: 'rejected_again',
    });
  });

  it('switches generated memories to review with one call, and back', async () => {
    expect(await db.sql('L', 'select kinds, needs_review from public.set_generated_review(true, true)')).toStrictEqual([
      { kinds: ['extraction'], needs_review: true },
      { kinds: ['reflection'], needs_review: true },
    ]);
    expect(await stateOfSave('C', { kind: 'reflection' })).toBe('pending');
    expect(await stateOfSave('C', {})).toBeNull();
    await db.sql('L', 'select public.set_generated_review(reflection => false)');
    expect(await stateOfSave('C', { kind: 'reflection' })).toBeNull();
    expect(await db.sql('L', 'select kinds from public.review_rules')).toStrictEqual([{ kinds: ['extraction'] }]);
  });

  it('audits each change', async () => {
    const { rule_id } = await setRule(db, { needs_review: true, caller: 'C' });
    await setRule(db, { needs_review: false, caller: 'C' });
    await db.sql('L', 'select public.delete_review_rule($1)', [rule_id]);
    expect(await db.sql('L', 'select public.delete_review_rule($1) as was_there', [rule_id])).toStrictEqual([
      { was_there: false },
    ]);
    await db.sql('L', "select public.set_review_settings('hold')");
    const rows = await db.sql(
      'L',
      `select operation, table_name, details -> 'row' -> 'needs_review' as needs, details -> 'row' ->> 'rejected_again' as again
       from public.audit_log where row_id = $1 or table_name = 'review_settings' order by occurred_at, audit_id`,
      [rule_id],
    );
    expect(rows).toStrictEqual([
      { operation: 'INSERT', table_name: 'review_rules', needs: true, again: null },
      { operation: 'UPDATE', table_name: 'review_rules', needs: false, again: null },
      { operation: 'DELETE', table_name: 'review_rules', needs: false, again: null },
      { operation: 'INSERT', table_name: 'review_settings', needs: null, again: 'hold' },
    ]);
  });

  it('leaves what is pending as it is when a rule goes', async () => {
    await setRule(db, { needs_review: true, caller: 'C' });
    const id = await saveMemory(db, 'C', { content: text() });
    await deleteRules(db);
    expect(await stateOf(db, id)).toBe('pending');
  });
});
