// A read on a replica, in its two halves. Here the database is told that it is a replica; cluster/replicas.test.ts has a real one.
import type pg from 'pg';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { claimsOf, type Rows } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['walrus', 'staging', 'private']);

describe('a read on a replica', () => {
  const db = useTestDatabase();
  let saved: string;

  const isOnReplica = (answer: string) =>
    db.asSuperuser(
      `create or replace function audit.is_on_replica() returns boolean language sql volatile parallel safe return ${answer}`,
    );
  const onReplica = async <T>(work: () => Promise<T>): Promise<T> => {
    await isOnReplica('true');
    try {
      return await work();
    } finally {
      await isOnReplica('pg_catalog.pg_is_in_recovery()');
    }
  };
  const read = (caller: string, query: string, settings = { 'l9.record_of_reads': '[]' } as Record<string, string>) =>
    onReplica(() =>
      db.asCaller(
        caller,
        async (client: pg.ClientBase) => {
          await client.query('set transaction read only');
          const { rows } = await client.query(query);
          const [{ record }] = (await client.query('select audit.record_of_reads() as record')).rows;
          return { rows, record };
        },
        settings,
      ),
    );
  const store = (caller: string, record: unknown) =>
    db.sql(caller, 'select audit.store_record($1)', [JSON.stringify(record)]);

  /** What is in the records, without what differs from one call to the next. */
  const records = async () => {
    const rows = await db.asSuperuser(
      `select jsonb_build_object('operation', a.operation, 'table', a.table_name, 'row', a.row_id, 'tenant', a.tenant_id,
          'project', a.project_id, 'scope', a.scope, 'status', a.status, 'details', a.details - 'duration_ms', 'query', q.query,
          'query_user', q.user_id, 'accesses', array(
            select to_jsonb(l) - '{access_id,accessed_at,xid,audit_id}'::text[] from importance.memory_access_log l
            where l.xid = a.xid order by l.access_id)) as record
        from public.audit_log a left join public.audit_query_texts q using (audit_id)
        where a.operation in ('SEARCH', 'READ', 'STATS', 'EXPORT') order by a.occurred_at, a.audit_id`,
    );
    return rows.map(({ record }) => record);
  };
  const recordsOf = async (work: () => Promise<unknown>): Promise<Rows> => {
    const before = (await records()).length;
    await work();
    return (await records()).slice(before);
  };

  beforeAll(async () => {
    await db.sql('L', 'select public.set_query_text_audit(true)');
    // A score that counts recency or importance changes from one moment to the next.
    await db.sql('L', 'select public.set_search_settings(recency_boost => 0, importance_boost => 0)');
    await db.sql('L', 'select public.set_find_settings(recency_weight => 0)');
    const [row] = await db.sql(
      'C',
      "select (memory).packet_id as id from public.save_memory('The walrus serves staging', scope => 'developer', project_id => 'l9')",
    );
    saved = row.id;
    await db.sql('L', "select public.save_memory('A private walrus', scope => 'l-private', project_id => 'l9')");
    await db.sql('C', "select public.assert_fact('walrus', 'serves', '\"staging\"', project_id => 'l9')");
    await serveModel(db, model);
    await embedPending(db, model);
  });

  const reads: Record<string, () => string> = {
    'a hybrid search': () =>
      `select * from public.search_memory('walrus', query_vector => '${model.vectorOf('walrus')}', model => 'words', project_id => 'l9')`,
    'a search by words': () => "select * from public.search_memory('walrus', mode => 'lexical', project_id => 'l9')",
    memory_find: () => "select * from public.memory_find('walrus', project_id => 'l9')",
    find_facts: () => "select * from public.find_facts(subject => 'walrus', project_id => 'l9')",
    explore_graph: () => "select * from public.explore_graph('walrus')",
    get_memory: () => `select * from public.get_memory('${saved}')`,
    memory_history: () => `select * from public.memory_history('${saved}')`,
    get_memory_stats: () => 'select * from public.get_memory_stats()',
    'a page of an export': () => "select public.export_memories('memory')",
  };

  it.each(Object.keys(reads))('leaves the same records as one on the primary: %s', async (name) => {
    for (const caller of ['C', 'L']) {
      const query = reads[name]!();
      const [answer, halves] = [{ rows: [] as Rows }, { rows: [] as Rows, record: null as unknown }];
      const direct = await recordsOf(async () => Object.assign(answer, { rows: await db.sql(caller, query) }));
      expect(await recordsOf(async () => Object.assign(halves, await read(caller, query)))).toStrictEqual([]);
      expect(direct).not.toHaveLength(0);
      expect(await recordsOf(() => store(caller, halves.record))).toStrictEqual(direct);
      // Ids of accesses and times differ, and so does the last digit of an importance, which fades.
      const plain = (rows: Rows) =>
        JSON.stringify(rows)
          .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ][\d:.Z+]*/g, '')
          .replaceAll(/\d+(\.\d+)?/g, (number) => Number(number).toFixed(3));
      if (!name.startsWith('a page')) expect(plain(halves.rows).length).toBe(plain(answer.rows).length);
    }
  });

  it('answers nobody who does not say that the record will be stored, and no login but the gateway', async () => {
    const search = "select * from public.search_memory('walrus', mode => 'lexical')";
    await expect(read('C', search, {})).rejects.toMatchObject({ code: '25006' });
    await expect(read('C', `select * from public.get_memory('${saved}')`, {})).rejects.toMatchObject({ code: '25006' });
    await onReplica(() =>
      db.inSuperuserSession(async (client) => {
        await client.query('begin');
        for (const [key, value] of Object.entries({ ...claimsOf('C'), 'l9.record_of_reads': '[]' }))
          await client.query('select set_config($1, $2, true)', [key, value]);
        await expect(client.query(search)).rejects.toMatchObject({ code: '25006' });
        await client.query('rollback');
      }),
    );
  });

  it('is recorded on the primary whatever the caller sets', async () => {
    const claims = { 'l9.record_of_reads': '[]' };
    const query = "select public.search_memory('walrus', mode => 'lexical'), audit.record_of_reads() as record";
    let rows: Rows = [];
    expect(
      await recordsOf(async () => {
        rows = await db.sql('C', query, [], claims);
      }),
    ).toHaveLength(1);
    expect(rows[0].record).toBeNull();
    await expect(db.sql('C', "select audit.hand_over('audit_row', '{}')")).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('C', "select audit.store_part('audit_row', '{}')")).rejects.toMatchObject({ code: '42501' });
  });

  it('stores only records of the caller itself, of what the caller may read, with ids of this moment', async () => {
    const { record } = await read('L', "select * from public.search_memory('walrus', mode => 'lexical')");
    // L's record names a memory of l-private, which C cannot have been shown.
    const [stored] = await recordsOf(() => store('C', record));
    expect(stored.details.caller).toBe('C');
    expect(stored.accesses.length).toBeGreaterThan(0);
    for (const { scope, agent_id } of stored.accesses) expect([scope, agent_id]).toStrictEqual(['developer', 'C']);
    await expect(store('C', record)).rejects.toMatchObject({ code: '23505' });
    const old = '01900000-0000-7000-8000-000000000000';
    const row = { audit_id: old, operation: 'READ', table_name: 'packet_store', details: {} };
    const { rows } = await db.asCaller('C', (client) => client.query('select uuidv7() as id'));
    for (const forged of [
      [{ audit_row: row }],
      [{ audit_row: { ...row, audit_id: null } }],
      [{ audit_row: { ...row, audit_id: rows[0].id, operation: 'DELETE' } }],
      [{ query_text: { audit_id: rows[0].id, query: 'x' } }],
      [{ accesses: { access_ids: [old], target_ids: [saved], scopes: ['developer'], access_context: 'get' } }],
      [{ other: {} }],
      ['x'],
      [],
      {},
    ])
      await expect(store('C', forged), JSON.stringify(forged)).rejects.toMatchObject({ code: 'L9VAL' });
    await expect(
      store('C', [{ accesses: { access_ids: [rows[0].id], target_ids: [saved], scopes: [], access_context: 'get' } }]),
    ).rejects.toMatchObject({ code: 'L9LIM' });
  });
});
