// A write that names the version it was made for never overwrites what somebody else has written since.
import type pg from 'pg';
import { callSaveMemory, callUpdateMemory } from '../support/memories.ts';
import { newPool } from '../support/migrations.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { sessionsOf } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('expected_version', () => {
  const db = useTestDatabase();
  let serial = 0;

  const save = async (caller: string, args: object = {}) =>
    (await callSaveMemory(db, caller, { content: `a text that two agents change, number ${serial++}`, ...args }))
      .memory;
  const update = (caller: string, id: string, args: object) => callUpdateMemory(db, caller, id, args);
  const remove = (caller: string, id: string, version: string) =>
    db.sql(caller, 'select public.delete_memory($1, $2)', [id, version]);
  const now = async (id: string) =>
    (
      await db.sql('L', 'select memories.memory_json(p) as memory from public.packet_store p where packet_id = $1', [
        id,
      ])
    )[0]?.memory;
  const store = (caller: string, ...items: object[]) =>
    db.sql(caller, 'select * from public.memory_store($1)', [JSON.stringify(items)]);
  const conflict = (version: string) => ({
    code: 'L9VER',
    column: 'expected_version',
    detail: expect.stringContaining(version),
    hint: expect.stringContaining('Nothing was written'),
  });

  it('lets the first of two writers through and refuses the second, to change and to delete', async () => {
    const read = await save('C');
    const first = (await update('C', read.packet_id, { tags: ['first'], expected_version: read.updated_at })).memory;
    await expect(
      update('L', read.packet_id, { content: 'second', expected_version: read.updated_at }),
    ).rejects.toMatchObject(conflict(first.updated_at));
    await expect(remove('L', read.packet_id, read.updated_at)).rejects.toMatchObject(conflict(first.updated_at));
    expect(await now(read.packet_id)).toMatchObject({ content: read.content, tags: ['first'] });
    await remove('L', read.packet_id, first.updated_at);
    expect(await now(read.packet_id)).toBeUndefined();
  });

  it('never holds the text of the memory in the error, which a log may keep', async () => {
    const read = await save('C', { content: 'the words of this memory stay out of every log' });
    await update('C', read.packet_id, { tags: ['x'] });
    const error = await update('C', read.packet_id, { tags: ['y'], expected_version: read.updated_at }).catch((e) => e);
    expect(error.code).toBe('L9VER');
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain('the words of this memory');
  });

  it('takes a time in milliseconds, as clients keep it that know no finer one', async () => {
    const read = await save('C');
    const rounded = new Date(read.updated_at).toISOString();
    expect((await update('C', read.packet_id, { tags: ['a'], expected_version: rounded })).status).toBe('updated');
    await new Promise((resolve) => setTimeout(resolve, 2));
    await update('C', read.packet_id, { tags: ['b'] });
    await expect(update('C', read.packet_id, { tags: ['c'], expected_version: rounded })).rejects.toMatchObject({
      code: 'L9VER',
    });
  });

  it.each<[string, (id: string, content: string) => Promise<unknown>]>([
    ['an administrator', (id) => update('L', id, { importance: 0.9 })],
    [
      'a merge',
      async (_, content) =>
        expect(
          (await callSaveMemory(db, 'C', { content: `${content}!`, tags: ['m'], on_similar: 'merge' })).status,
        ).toBe('updated'),
    ],
    [
      'an UPDATE in psql',
      (id) => db.sql('C', "update public.packet_store set tags = '{psql}' where packet_id = $1", [id]),
    ],
  ])('counts a change by %s', async (_, change) => {
    const read = await save('C', {
      content: `The export of the ledger goes to the site of number${serial++} after the tests ran`,
    });
    await change(read.packet_id, read.content);
    await expect(
      update('C', read.packet_id, { tags: ['late'], expected_version: read.updated_at }),
    ).rejects.toMatchObject({
      code: 'L9VER',
    });
  });

  it('tells nothing about a memory that the caller may not read', async () => {
    const hidden = await save('L', { scope: 'l-private', project_id: 'l9' });
    const missing = '01900000-0000-7000-8000-000000000000';
    for (const id of [hidden.packet_id, missing])
      for (const attempt of [
        () => update('C', id, { tags: ['x'], expected_version: '2026-01-01T00:00:00Z' }),
        () => remove('C', id, '2026-01-01T00:00:00Z'),
      ])
        await expect(attempt()).rejects.toMatchObject({ code: 'L9OWN', detail: undefined });
  });

  it('refuses the item of a batch by itself and answers what is there', async () => {
    const item = (status: string, more: object = {}) => ({
      kind: 'todo',
      project_id: 'l9',
      data: { text: `Rotate the keys ${serial}`, status },
      ...more,
    });
    serial++;
    const [made] = await store('C', item('open'));
    expect(made).toMatchObject({ status: 'inserted', sqlstate: null });
    const [theirs] = await store('L', item('in_progress', { expected_version: made!.updated_at }));
    expect(theirs).toMatchObject({ status: 'updated', packet_id: made!.packet_id });
    const answers = await store(
      'C',
      item('blocked', { expected_version: made!.updated_at }),
      { project_id: 'l9', data: { content: `another item ${serial}` } },
      { project_id: 'l9', data: { content: `gone meanwhile ${serial}` }, expected_version: made!.updated_at },
      { project_id: 'l9', data: { content: `no time ${serial}` }, expected_version: 'yesterday' },
    );
    expect(answers).toMatchObject([
      {
        sqlstate: 'L9VER',
        field: 'expected_version',
        current: { packet_id: made!.packet_id, content: expect.stringContaining('Rotate the keys') },
      },
      { status: 'inserted' },
      { sqlstate: 'L9VER', current: null },
      { sqlstate: 'L9VAL', field: 'expected_version' },
    ]);
    expect(new Date(answers[0]!.current.updated_at)).toStrictEqual(theirs!.updated_at);
    expect((await now(made!.packet_id)).envelope.status).toBe('in_progress');
  });

  describeOnServer('with two writers at once', () => {
    let pool: pg.Pool;
    beforeAll(() => {
      pool = newPool({ connectionString: db.gatewayUrl!, max: 10 });
    });
    afterAll(() => pool.end());

    it('lets one of ten through', async () => {
      const read = await save('C');
      const attempts = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) =>
          sessionsOf(pool, db.superuserUrl).asCaller(i % 2 ? 'C' : 'L', (client) =>
            client.query('select public.update_memory($1, tags => $2, expected_version => $3)', [
              read.packet_id,
              [`w${i}`],
              read.updated_at,
            ]),
          ),
        ),
      );
      expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const attempt of attempts) if (attempt.status === 'rejected') expect(attempt.reason.code).toBe('L9VER');
    });
  });
});
