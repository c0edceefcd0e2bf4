import { useTestDatabase } from '../support/test-database.ts';

describe('audit_log', () => {
  const db = useTestDatabase();

  it('commits a write and its row together, or neither of them', async () => {
    const count = async () => (await db.sql('L', 'select count(*)::int as n from public.audit_log'))[0].n;
    const before = await count();
    await db
      .asCaller('C', async (client) => {
        await client.query("select public.save_memory('rolled back', project_id => 'l9')");
        throw new Error('on purpose');
      })
      .catch(() => {});
    expect(await count()).toBe(before);
    expect(await db.sql('C', "select 1 from public.packet_store where content = 'rolled back'")).toHaveLength(0);
  });

  it('has one row for each memory of a batch', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id)
       select jsonb_build_object('content', 'batch ' || i), 'l9' from generate_series(1, 50) i`,
    );
    const rows = await db.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'INSERT' and table_name = 'packet_store'",
    );
    expect(rows[0].n).toBe(50);
  });

  it('refuses every change, also by L and by jobs', async () => {
    for (const caller of ['C', 'L']) {
      for (const statement of [
        "update public.audit_log set details = '{}'",
        'delete from public.audit_log',
        'truncate public.audit_log',
        `insert into public.audit_log (operation, table_name, details)
         values ('READ', 'x', '{"caller": "C", "creator": null, "source": null, "tool_name": "x"}')`,
      ]) {
        await expect(db.sql(caller, statement), `${caller}: ${statement}`).rejects.toMatchObject({
          code: '42501',
        });
      }
    }
    await expect(db.asWorker('delete from public.audit_log')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('shows an agent no row and no count', async () => {
    await expect(db.sql('C', 'select count(*) from public.audit_log')).rejects.toMatchObject({ code: '42501' });
  });

  it('shows L only rows in the scopes of its token', async () => {
    await db.sql('L', "select public.save_memory('for all', scope => 'global')");
    await db.sql('L', "select public.save_memory('kept private', scope => 'l-private', project_id => 'l9')");
    const scopes = async (claims: Record<string, string>) =>
      (
        await db.sql('L', 'select distinct scope from public.audit_log where scope is not null order by 1', [], claims)
      ).map((row) => row.scope);
    expect(await scopes({})).toContain('l-private');
    expect(await scopes({ 'jwt.claims.scopes': '["global"]' })).toStrictEqual(['global']);
  });

  it('holds no content', async () => {
    await db.sql('C', "select public.save_memory('xylophone quartz', project_id => 'l9', tags => '{zither}')");
    await db.sql('C', "select public.search_memory('xylophone')");
    const rows = await db.sql('L', 'select audit_log::text as text from public.audit_log');
    expect(rows.filter(({ text }) => /xylophone|quartz/.test(text))).toHaveLength(0);
  });
});
