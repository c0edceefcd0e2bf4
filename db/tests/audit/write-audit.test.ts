import { token } from '../secrets/support.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { runAsSuperuser } from './support.ts';

describe('the details of an audit row', () => {
  const db = useTestDatabase();

  const last = async () =>
    (await db.sql('L', 'select * from public.audit_log order by occurred_at desc, audit_id desc limit 1'))[0];

  it('names the caller, with nulls for work that no actor asked for', async () => {
    await db.sql('C', "select public.save_memory('x', scope => 'global')");
    await runAsSuperuser(db, ["update public.packet_store set tags = '{y}'", 'commit']).catch(() => {});
    await db.sql('C', "select audit.audit_refusal('INSERT', null, null, 'nowhere', 'L9SCP', '{}')");
    await db.sql('C', "select public.search_memory('x')");
    const rows = await runAsSuperuser(db, 'select details, caller, creator, source, tool_name from public.audit_log');
    expect(rows.length).toBeGreaterThanOrEqual(3);
    for (const { details, ...columns } of rows) {
      const { caller, creator, source, tool_name } = details;
      expect({ caller, creator, source, tool_name }).toStrictEqual(columns);
      for (const key of ['caller', 'creator', 'source', 'tool_name']) expect(key in details, key).toBe(true);
    }
    for (const details of [
      '{}',
      '{"caller": "x", "creator": null, "source": null}',
      '{"caller": null, "creator": null, "source": null, "tool_name": "x"}',
    ])
      await expect(
        runAsSuperuser(db, [
          `insert into public.audit_log (operation, table_name, details) values ('READ', 'x', '${details}')`,
        ]),
        details,
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|23502)$/) });
  });

  it('cannot be made to name another caller', async () => {
    const lie =
      '{"caller": "L", "creator": "L-CTO", "source": "l9-kernel", "tool_name": "x", "user_id": "01900000-0000-7000-8000-000000000002", "note": 1}';
    await db.sql('C', `select audit.audit_read('READ', '${lie}')`);
    expect((await last()).details).toStrictEqual({
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await db.sql('C', `select audit.audit_refusal('READ', null, null, null, 'L9OWN', '${lie}')`);
    expect((await last()).details).toStrictEqual({
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await expect(db.sql('C', "select audit.audit_export('{}')")).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('C', "select audit.audit_read('EXPORT', '{}')")).rejects.toMatchObject({ code: 'L9VAL' });
  });

  /** Rows of a scope that nobody has are hidden from administrators, too. */
  const newest = async () =>
    (await db.asSuperuser('select * from public.audit_log order by occurred_at desc, audit_id desc limit 1'))[0];

  it('keeps no secret that a caller gives as the name of a table, and takes only numbers of rows', async () => {
    await db.sql('C', "select audit.audit_graphql_read('x', $1, '{}', '[]', $2, $2)", [
      JSON.stringify({ [token]: 1 }),
      token,
    ]);
    const row = await newest();
    expect(row.details.tables).toStrictEqual({ '[redacted: github-token]': 1 });
    expect([row.table_name, row.project_id, row.scope]).toStrictEqual(Array(3).fill('[redacted: github-token]'));
    for (const tables of ['{"packet_store": "many"}', '{"packet_store": {"password": "x"}}', '[1]'])
      await expect(
        db.sql('C', "select audit.audit_graphql_read('x', $1, '{}', '[]')", [tables]),
        tables,
      ).rejects.toMatchObject({ code: 'L9VAL', message: expect.stringMatching(/^tables, totals: /) });
  });

  it('cuts a long project and scope, after the secrets in them were replaced', async () => {
    const project = `${'p'.repeat(180)} ${token}`;
    await db.sql('C', "select audit.audit_refusal('READ', null, $1, $2, 'L9OWN', '{}')", [project, 's'.repeat(100)]);
    const row = await newest();
    expect(row.project_id).toBe(`${'p'.repeat(180)} [redacted: github-t`);
    expect(row.scope).toBe('s'.repeat(63));
  });
});
