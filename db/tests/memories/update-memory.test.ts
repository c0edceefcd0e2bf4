import { callSaveMemory, callUpdateMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('update_memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  let serial = 0;
  const save = async (caller: string, args: object = {}) =>
    (await callSaveMemory(db, caller, { content: `something to change ${serial++}`, ...args })).memory;
  const update = async (caller: string, id: string, args: object) =>
    (await callUpdateMemory(db, caller, id, args)).memory;
  const get = async (caller: string, id: string) =>
    (await db.sql(caller, 'select memories.memory_json(m) as memory from public.get_memory($1) m', [id]))[0].memory;

  it('changes the given fields and keeps the others', async () => {
    const memory = await save('C', { tags: ['a'], importance: 0.7, envelope: { title: 'T' } });
    const answer = await callUpdateMemory(db, 'C', memory.packet_id, { kind: 'finding', envelope: { more: 1 } });
    expect(answer.status).toBe('updated');
    // The kind is part of what importance is learned from.
    expect({ ...answer.memory, updated_at: 0, importance: 0 }).toStrictEqual({
      ...memory,
      importance: 0,
      kind: 'finding',
      envelope: { title: 'T', more: 1 },
      metadata: { ...memory.metadata, updated_by: answer.memory.metadata.updated_by },
      updated_at: 0,
    });
    expect(Date.parse(answer.memory.updated_at)).toBeGreaterThan(Date.parse(memory.updated_at));
  });

  it('leaves a memory that L changes to the agent that saved it', async () => {
    const { packet_id } = await save('C');
    const { metadata } = await update('L', packet_id, { tags: ['by L'] });
    expect([metadata.creator, metadata.updated_by.creator]).toStrictEqual(['Cursor-IDE', 'L-CTO']);
    expect((await update('C', packet_id, { tags: ['by C'] })).metadata.updated_by.creator).toBe('Cursor-IDE');
  });

  it('sets an expiry and removes it with infinity', async () => {
    const { packet_id } = await save('C');
    expect((await update('C', packet_id, { ttl: '2099-01-01T00:00:00Z' })).ttl).toMatch(/^2099/);
    expect((await update('C', packet_id, { ttl: 'infinity' })).ttl).toBeNull();
  });

  it('moves a memory between scopes, and drops its project if the new scope has none', async () => {
    const { packet_id } = await save('L');
    expect((await update('L', packet_id, { scope: 'global' })).project_id).toBeNull();
    await expect(update('L', packet_id, { scope: 'developer' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'project_id',
    });
    expect((await update('L', packet_id, { scope: 'l-private', project_id: 'l9' })).scope).toBe('l-private');
  });

  it('refuses to move a memory of C into a scope that C may not write, and leaves it unchanged', async () => {
    const memory = await save('C');
    await expect(update('C', memory.packet_id, { scope: 'l-private' })).rejects.toMatchObject({ code: 'L9SCP' });
    expect(await get('C', memory.packet_id)).toStrictEqual(memory);
  });

  it('refuses a content that another memory already has', async () => {
    const [a, b] = [await save('C'), await save('C')];
    await expect(update('C', a.packet_id, { content: b.content.toUpperCase() })).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/^content: another memory/),
    });
  });

  it('changes a child whose parent was deleted, and keeps its parents until it gets others or moves', async () => {
    const parent = await save('C');
    const { packet_id } = await save('C', { parent_ids: [parent.packet_id] });
    await db.sql('C', 'select public.delete_memory($1)', [parent.packet_id]);
    const changed = await update('C', packet_id, { content: 'the parent was deleted' });
    expect(changed.parent_ids).toStrictEqual([parent.packet_id]);
    // Whether readers of the new scope may know the id of the parent can't be checked any more.
    await expect(update('C', packet_id, { scope: 'global' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'parent_ids',
    });
    expect((await update('C', packet_id, { scope: 'global', parent_ids: [] })).scope).toBe('global');
  });

  it('refuses to change or delete a memory in a scope that the reader may not write, even to an admin', async () => {
    await db.asSuperuser(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       select tenant_id, 'Auditor', 'Auditor', 'auditor', 'auditor', 'l9_admin', '{*}', '{global}' from public.tenants`,
    );
    const { packet_id, content } = await save('C');
    const attempt = (statement: string) => db.sql('Auditor', statement, [packet_id], { role: 'l9_admin' });
    expect((await attempt('select content from public.get_memory($1)'))[0].content).toBe(content);
    for (const call of ["update_memory($1, kind => 'finding')", 'delete_memory($1)']) {
      await expect(attempt(`select public.${call}`), call).rejects.toMatchObject({ code: 'L9OWN' });
    }
    const raw = ["update public.packet_store set tags = '{x}'", 'delete from public.packet_store'];
    for (const statement of raw) {
      expect(await attempt(`${statement} where packet_id = $1 returning 1`), statement).toStrictEqual([]);
    }
    expect((await get('C', packet_id)).metadata.creator).toBe('Cursor-IDE');
  });
});
