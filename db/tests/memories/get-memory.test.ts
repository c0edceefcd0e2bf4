import { functionCalls } from '../support/function-calls.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('reading one memory', () => {
  const db = useTestDatabase();

  const callsOf = (caller: string, statement: string, values: unknown[]) =>
    functionCalls(db, caller, statement, values);

  // A function in a subquery runs once for each place that the subquery is taken into: three times as often, unless that is prevented.
  it('finds out its standing once, looks once at what the audit row names, and asks once who is recorded', async () => {
    const id = await saveMemory(db, 'C', { content: 'We deploy on Tuesdays.' });
    const calls = await callsOf('C', 'select standing.memory_json(r) from public.get_memory($1) r', [id]);
    expect(calls).toMatchObject({
      'standing.standing_of': 1,
      'audit.add_audit_row': 1,
      'audit.as_kept': 1,
      'importance.insert_accesses': 1,
      'identity.require_identity': 1,
    });
  });

  it('looks for successors only where it names one or states facts', async () => {
    const json = 'select standing.memory_json(r) from public.get_memory($1) r';
    const plain = await saveMemory(db, 'C', { content: 'The website goes out on Tuesdays.' });
    expect(await callsOf('C', json, [plain])).not.toHaveProperty(['standing.place_hits']);
    await db.sql(
      'C',
      "select public.assert_fact(subject => 'website', predicate => 'goes out on', object => '\"Tuesday\"', source_packet => $1)",
      [plain],
    );
    expect(await callsOf('C', json, [plain])).toHaveProperty(['standing.place_hits'], 1);
  });
});
