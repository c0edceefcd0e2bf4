import { callUpdateMemory, saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('packet_versions', () => {
  const db = useTestDatabase();

  let serial = 0;
  const save = async (caller: string, args: object = {}, claims = {}): Promise<string> =>
    await saveMemory(db, caller, { content: `first words ${serial++}`, ...args }, claims);
  const update = (caller: string, id: string, args: object, claims = {}) =>
    callUpdateMemory(db, caller, id, args, claims);
  const history = (caller: string, id: string, claims = {}) =>
    db.sql(caller, 'select * from public.memory_history($1)', [id], claims);
  const versions = (caller: string, id: string, claims = {}) =>
    db.sql(caller, 'select * from public.packet_versions where packet_id = $1 order by version_id', [id], claims);

  it('keeps every column that an update can change', async () => {
    const id = await save('L', {
      content: 'all of it',
      kind: 'decision',
      branch: 'main',
      tags: ['t'],
      thread_id: 'thread',
      parent_ids: [await save('L')],
      ttl: '2099-01-01T00:00:00Z',
      importance: 0.25,
      metadata: { notes: { n: 1 } },
      envelope: { title: 'T' },
      routing: { r: 1 },
      provenance: { p: 1 },
      correlation_id: 'c',
      session_id: 's',
      trace_id: 'tr',
    });
    const columns = (
      await db.sql(
        'L',
        `select attname from pg_attribute where attrelid = 'public.packet_store'::regclass and attnum > 0
           and has_column_privilege('l9_admin', attrelid, attnum, 'update')`,
      )
    ).map(({ attname }) => attname);
    expect(columns.length).toBeGreaterThan(10);
    const [before] = await db.sql('L', `select ${columns} from public.packet_store where packet_id = $1`, [id]);
    await db.sql(
      'L',
      `update public.packet_store set envelope = '{"content": "nothing of it"}', packet_type = 'note', tags = '{}', thread_id = null,
         parent_ids = '{}', ttl = null, importance_score = 0.5, metadata = '{}', routing = '{}', provenance = '{}', scope = 'global',
         project_id = null, branch = null, correlation_id = null, session_id = null, trace_id = null where packet_id = $1`,
      [id],
    );
    const [kept] = await db.sql('L', `select ${columns} from public.packet_versions where packet_id = $1`, [id]);
    expect(kept).toStrictEqual(before);
    const [now, first] = await history('L', id);
    expect(now.changed_fields).toStrictEqual([
      'branch',
      'content',
      'correlation_id',
      'envelope',
      'estimated_importance',
      'kind',
      'metadata',
      'parent_ids',
      'project_id',
      'provenance',
      'routing',
      'scope',
      'session_id',
      'tags',
      'thread_id',
      'trace_id',
      'ttl',
    ]);
    expect([first.content, first.state.envelope]).toStrictEqual(['all of it', { title: 'T' }]);
  });

  it('stores no version for an update that changes nothing, nor for bookkeeping by jobs', async () => {
    const id = await save('C');
    await update('C', id, { tags: [] });
    await db.asWorker('update public.packet_store set chunk_count = 2 where packet_id = $1', [id]);
    const [{ chunk_count }] = await db.sql('C', 'select chunk_count from public.packet_store where packet_id = $1', [
      id,
    ]);
    expect(chunk_count).toBeGreaterThan(0);
    expect(await versions('L', id)).toStrictEqual([]);
    // The next version still begins when the memory was saved.
    await update('C', id, { tags: ['x'] });
    const [version] = await versions('L', id);
    const [{ timestamp }] = await db.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [id]);
    expect(version.valid_from).toStrictEqual(timestamp);
  });

  it('keeps each of several changes in one transaction, for every row of a batch', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => save('C', { thread_id: 'batch' })));
    await db.asCaller('C', async (client) => {
      for (const n of [1, 2, 3]) {
        await client.query("update public.packet_store set importance_score = $1 where thread_id = 'batch'", [n / 10]);
      }
    });
    const rows = await db.sql(
      'C',
      'select packet_id, array_agg(importance_score::numeric order by version_id) as was from public.packet_versions where packet_id = any ($1) group by 1',
      [ids],
    );
    expect(rows).toHaveLength(20);
    for (const { was } of rows) expect(was.map(Number)).toStrictEqual([0.5, 0.1, 0.2]);
    const audited = await db.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'UPDATE' and row_id = any ($1)",
      [ids],
    );
    expect(audited[0].n).toBe(60);
  });

  it('hides the versions of an expired memory, and deletes them with it', async () => {
    const id = await save('C');
    await update('C', id, { ttl: new Date(Date.now() + 400).toISOString() });
    expect(await versions('C', id)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 450));
    for (const caller of ['C', 'L']) expect(await versions(caller, id)).toStrictEqual([]);
    const count = () =>
      db.inSuperuserSession(
        async (client) =>
          (await client.query('select 1 from public.packet_versions where packet_id = $1', [id])).rowCount,
      );
    expect(await count()).toBe(1);
    await db.sql('L', 'select public.delete_expired_memories()');
    expect(await count()).toBe(0);
  });

  it('lets nobody insert, update or delete versions', async () => {
    const id = await save('C');
    await update('C', id, { tags: ['x'] });
    for (const statement of [
      "update public.packet_versions set replaced_by = 'X'",
      'delete from public.packet_versions',
      'insert into public.packet_versions (packet_id) select packet_id from public.packet_store',
      'truncate public.packet_versions',
    ]) {
      for (const caller of ['C', 'L']) await expect(db.sql(caller, statement)).rejects.toMatchObject({ code: '42501' });
      await expect(db.asWorker(statement)).rejects.toMatchObject({ code: '42501' });
    }
    expect(await versions('C', id)).toHaveLength(1);
  });
});
