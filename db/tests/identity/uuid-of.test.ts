// Casts of values that may be anything, with constants, which the planner folds before it runs a statement.
import { useTestDatabase } from '../support/test-database.ts';

describe('a value that does not fit the type it is read as', () => {
  const db = useTestDatabase({ rollsBack: true });
  const answer = async (expression: string) => (await db.asOwner(`select ${expression} as answer`))[0].answer;

  it.each([
    ["identity.uuid_of('no id')", null],
    ['identity.uuid_of(null)', null],
    ["identity.uuid_of('01900000-0000-7000-8000-000000000000')", '01900000-0000-7000-8000-000000000000'],
    [`kinds.field_uuid('"no id"')`, null],
    [`kinds.field_date('"2026-02-30"')`, null],
    [`kinds.field_time('"soon"')`, null],
    [`kinds.field_number('"1"')`, null],
    ["identity.is_exact_number('1e400')", false],
    ["identity.is_exact_number('1.5')", true],
  ])('is told by %s', async (expression, expected) => expect(await answer(expression)).toBe(expected));

  it('is refused with its field in a statement with a constant', async () => {
    const save = `select public.save_memory('far too large', project_id => 'l9', envelope => '{"n": 1e400}')`;
    await expect(db.sql('C', save)).rejects.toMatchObject({ code: 'L9VAL', column: 'envelope' });
  });

  it('does not keep a read of one row with a name for an id from being audited', async () => {
    await db.sql('C', `select audit.audit_graphql_read('names', '{"field_indexes": 1}', '{}', '["priority"]')`);
    const [row] = await db.asOwner(
      "select row_id, details -> 'ids' as ids from public.audit_log where details ->> 'operation_name' = 'names'",
    );
    expect(row).toStrictEqual({ row_id: null, ids: ['priority'] });
  });
});
