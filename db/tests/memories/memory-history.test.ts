import { errorOf } from '../support/errors.ts';
import { callUpdateMemory, saveMemory } from '../support/memories.ts';
import { itOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('memory_history', () => {
  const db = useTestDatabase();
  let acme: Record<string, string>;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
  });

  let serial = 0;
  const save = async (caller: string, args: object = {}, claims = {}): Promise<string> =>
    await saveMemory(db, caller, { content: `first words ${serial++}`, ...args }, claims);
  const update = (caller: string, id: string, args: object, claims = {}) =>
    callUpdateMemory(db, caller, id, args, claims);
  const history = (caller: string, id: string, claims = {}) =>
    db.sql(caller, 'select * from public.memory_history($1)', [id], claims);
  const versions = (caller: string, id: string, claims = {}) =>
    db.sql(caller, 'select * from public.packet_versions where packet_id = $1 order by version_id', [id], claims);

  it('lists who changed which fields when and with which tool, the newest first', async () => {
    const withTool = (tool: string) => ({ 'l9.tool_name': tool });
    const id = await save('C', { content: 'It is red.', tags: ['a'] }, withTool('save_memory'));
    await update('C', id, { content: 'It is green.' }, withTool('update_memory'));
    await update('L', id, { kind: 'finding', tags: ['a', 'b'] }, withTool('updateMemory'));
    const rows = await history('C', id);
    expect(
      rows.map((row) => [
        row.version,
        row.creator,
        row.source,
        row.tool_name,
        row.changed_fields,
        row.content,
        row.state.kind,
      ]),
    ).toStrictEqual([
      [3, 'L-CTO', 'l9-kernel', 'updateMemory', ['kind', 'tags'], 'It is green.', 'finding'],
      [2, 'Cursor-IDE', 'cursor-ide', 'update_memory', ['content'], 'It is green.', 'note'],
      [1, 'Cursor-IDE', 'cursor-ide', 'save_memory', [], 'It is red.', 'note'],
    ]);
    expect([rows[0].until, rows[0].version_id]).toStrictEqual([null, null]);
    expect(rows[1].until).toStrictEqual(rows[0].changed_at);
    expect(rows[2].until).toStrictEqual(rows[1].changed_at);
    const times = rows.map(({ changed_at }) => Number(changed_at));
    expect(times[2]).toBeLessThan(times[1]!);
    expect(times[1]).toBeLessThan(times[0]!);

    const [first, second] = await versions('C', id);
    expect([first.replaced_by, first.replaced_with]).toStrictEqual(['C', 'update_memory']);
    expect([second.replaced_by, second.replaced_with]).toStrictEqual(['L', 'updateMemory']);
    expect(second.metadata.creator).toBe('Cursor-IDE');
  });

  it('audits a READ', async () => {
    const id = await save('C');
    await history('C', id);
    const [row] = await db.sql('L', 'select * from public.audit_log where row_id = $1 order by audit_id desc limit 1', [
      id,
    ]);
    expect([row.operation, row.caller, row.scope, row.project_id]).toStrictEqual(['READ', 'C', 'developer', 'l9']);
  });

  it('gives C the same error for a private memory and for one that does not exist', async () => {
    const hidden = await save('L', { scope: 'l-private' });
    await update('L', hidden, { content: `still private ${serial++}` });
    const missing = '01900000-0000-7000-8000-000000000000';
    const refusal = async (id: string) => {
      const { code, message } = await errorOf(history('C', id));
      return `${code} ${message}`.replaceAll(id, '<id>');
    };
    expect(await refusal(hidden)).toMatch(/L9OWN/);
    expect(await refusal(hidden)).toBe(await refusal(missing));
    expect(await versions('C', hidden)).toStrictEqual([]);
    expect(
      (await db.sql('C', "select count(*)::int as n from public.packet_versions where scope = 'l-private'"))[0].n,
    ).toBe(0);
  });

  it('hides from C the states in which the memory was private, and that they existed', async () => {
    const id = await save('L', { content: `began in private ${serial++}`, scope: 'l-private' });
    await update('L', id, { content: `shared at last ${serial++}`, scope: 'developer' });
    await update('L', id, { content: `shared, and changed ${serial++}` });
    await update('L', id, { content: `back in private ${serial++}`, scope: 'l-private' });
    expect(await versions('C', id), 'a memory that moved to l-private hides all its versions').toStrictEqual([]);
    await expect(history('C', id)).rejects.toMatchObject({ code: 'L9OWN' });

    await update('L', id, { content: `shared again ${serial++}`, scope: 'developer' });
    const visible = await history('C', id);
    expect(visible.map((row) => [row.version, row.content.replace(/ \d+$/, ''), row.changed_fields])).toStrictEqual([
      [3, 'shared again', ['content']],
      [2, 'shared, and changed', ['content']],
      [1, 'shared at last', []],
    ]);
    expect(JSON.stringify(visible)).not.toMatch(/private/);
    expect(JSON.stringify((await versions('C', id)).map(({ scope, content }) => [scope, content]))).not.toMatch(
      /private/,
    );
    expect((await history('L', id)).map(({ version }) => version)).toStrictEqual([5, 4, 3, 2, 1]);
    expect((await history('L', id, { 'jwt.claims.scopes': '["developer"]' })).length).toStrictEqual(3);
  });

  it('shows a version only in the project, org, user and tenant that it had', async () => {
    const moved = await save('L', { project_id: 'secret-project' });
    await update('L', moved, { project_id: 'l9' });
    const only = { 'jwt.claims.projects': '["l9"]' };
    expect(await versions('C', moved, only)).toStrictEqual([]);
    expect(await history('C', moved, only)).toHaveLength(1);
    expect(await history('C', moved)).toHaveLength(2);

    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };
    const org = { 'jwt.claims.org_id': '01900000-0000-7000-8000-0000000000ab' };
    for (const claims of [user, org]) {
      const id = await save('C', {}, claims);
      await update('C', id, { tags: ['changed'] }, claims);
      expect(await versions('C', id, claims)).toHaveLength(1);
      expect(await versions('L', id), 'L sees those of every org and user').toHaveLength(1);
      expect(await versions('C', id)).toStrictEqual([]);
      expect(await versions('L', id, acme)).toStrictEqual([]);
      await expect(history('C', id)).rejects.toMatchObject({ code: 'L9OWN' });
      await expect(history('L', id, acme)).rejects.toMatchObject({ code: 'L9OWN' });
    }
  });

  it('returns at most max_versions states, the newest', async () => {
    const id = await save('C');
    for (const n of [1, 2, 3, 4]) await update('C', id, { importance: n / 10 });
    const rows = await db.sql('C', 'select version from public.memory_history($1, 2)', [id]);
    expect(rows.map(({ version }) => version)).toStrictEqual([5, 4]);
    for (const bad of [0, 1001, null]) {
      await expect(db.sql('C', 'select public.memory_history($1, $2)', [id, bad])).rejects.toMatchObject({
        code: 'L9VAL',
      });
    }
  });

  itOnServer('loses no version of concurrent changes', async () => {
    const id = await save('C');
    await Promise.all(Array.from({ length: 12 }, (_, n) => update('C', id, { importance: (n + 1) / 50 })));
    const rows = await history('C', id);
    expect(rows).toHaveLength(13);
    expect(new Set(rows.map(({ state }) => state.estimated_importance)).size).toBe(13);
    for (const [i, row] of rows.entries()) if (i > 0) expect(row.until).toStrictEqual(rows[i - 1].changed_at);
  });
});
