import { callSaveMemory, saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the parents of a memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  const refused = (caller: string, args: object) =>
    expect(callSaveMemory(db, caller, { content: `child ${Math.random()}`, ...args })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'parent_ids',
    });

  it('stores parents that the writer can see', async () => {
    const parent = await saveMemory(db, 'L', { content: 'parent' });
    const { memory } = await callSaveMemory(db, 'C', { content: 'child', parent_ids: [parent, parent] });
    expect(memory.parent_ids).toStrictEqual([parent]);
  });

  it('refuses a hidden parent with the error for one that does not exist', async () => {
    const hidden = await saveMemory(db, 'L', { scope: 'l-private', content: 'hidden parent' });
    const messages = await Promise.all(
      [hidden, '01900000-0000-7000-8000-000000000000'].map((id) =>
        callSaveMemory(db, 'C', { content: 'curious child', parent_ids: [id] }).then(
          () => 'saved',
          (error: Error) => error.message,
        ),
      ),
    );
    expect(messages[0]).toBe(messages[1]);
    expect(messages[0]!).toMatch(/^parent_ids: /);
  });

  it('refuses a private parent of a memory that more callers may read', async () => {
    const hidden = await saveMemory(db, 'L', { scope: 'l-private', content: 'private source' });
    await refused('L', { parent_ids: [hidden] });
    const child = await callSaveMemory(db, 'L', { scope: 'l-private', content: 'private child', parent_ids: [hidden] });
    await expect(
      db.sql('L', "select public.update_memory($1, scope => 'developer')", [child.memory.packet_id]),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
  });

  it('refuses a parent of another project, org or user', async () => {
    const org = '11111111-1111-4111-8111-111111111111';
    const user = '22222222-2222-4222-8222-222222222222';
    const saveAs = async (claims: Record<string, string>, content: string, project = 'l9') => {
      const [{ id }] = await db.sql(
        'C',
        'select (memory).packet_id as id from public.save_memory($1, project_id => $2)',
        [content, project],
        claims,
      );
      return id;
    };
    const ofOrg = await saveAs({ 'jwt.claims.org_id': org }, 'parent of the org');
    const ofUser = await saveAs({ 'jwt.claims.user_id': user }, 'parent of the user');
    const ofProject = await saveAs({}, 'parent of a project', 'future-x');
    const wider = await saveMemory(db, 'C', { content: 'a child that all may read' });
    for (const parent of [ofOrg, ofUser, ofProject]) {
      await refused('L', { parent_ids: [parent] });
      await expect(
        db.sql('L', 'update public.packet_store set parent_ids = array[$2::uuid] where packet_id = $1', [
          wider,
          parent,
        ]),
      ).rejects.toMatchObject({ code: 'L9VAL' });
    }
    // A child can't move away from its parents' project either.
    const child = await callSaveMemory(db, 'L', {
      content: 'child in its project',
      project_id: 'future-x',
      parent_ids: [ofProject],
    });
    await expect(
      db.sql('L', "select public.update_memory($1, project_id => 'l9')", [child.memory.packet_id]),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
  });

  it('refuses to make a cycle', async () => {
    const a = await saveMemory(db, 'C', { content: 'cycle a' });
    const b = await saveMemory(db, 'C', { content: 'cycle b', parent_ids: [a] });
    for (const parents of [[b], [a]]) {
      await expect(
        db.sql('C', 'select public.update_memory($1, parent_ids => $2)', [a, parents]),
      ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
      await expect(
        db.sql('C', 'update public.packet_store set parent_ids = $2 where packet_id = $1', [a, parents]),
      ).rejects.toMatchObject({ code: 'L9VAL' });
    }
  });
});
