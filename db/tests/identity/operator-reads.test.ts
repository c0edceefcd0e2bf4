import { claimsOfP, runAsSuperuser, sealAll } from '../audit/support.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a read of a platform admin', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await addOperator(db, 'P');
    await db.sql('C', "select public.save_memory('seen by operators', scope => 'global')");
    await db.asSuperuser(
      `insert into public.embedding_models (model, dimensions, relevance_midpoint, relevance_slope) values ('test', 3, 0, 1);
       insert into public.memory_embeddings (packet_id, model, vector, tenant_id, scope)
       select packet_id, 'test', array_fill(0.1, array[1536])::extensions.vector, tenant_id, scope from public.packet_store`,
    );
    await sealAll(db);
    const acme = await addTenant(db, 'acme');
    await db.sql('L', "select public.save_memory('of acme', 'l-private', 'x')", [], acme);
  });

  const auditedReads = async (): Promise<string[]> =>
    (
      await runAsSuperuser(
        db,
        "select table_name from public.audit_log where details ->> 'reader' = 'operator' and caller = 'P' order by occurred_at, audit_id",
      )
    ).map(({ table_name }) => table_name);
  const during = async (work: () => Promise<unknown>) => {
    const before = await auditedReads();
    await work();
    return (await auditedReads()).slice(before.length);
  };
  const asP = (query: string) => db.sql('P', query, [], claimsOfP);

  it('leaves one audit row per query and table, for every table that has rows', async () => {
    const tables = ['packet_store', 'memory_embeddings', 'tenants', 'scopes', 'actors', 'audit_log', 'audit_seals'];
    for (const table of tables) expect(await during(() => asP(`select * from public.${table}`))).toStrictEqual([table]);
    let contents: string[] = [];
    await during(async () => {
      contents = (await asP('select content from public.packet_store')).map(({ content }) => content);
    });
    expect(contents.sort()).toStrictEqual(['of acme', 'seen by operators']);
    expect(
      (
        await during(() => asP('select count(*) from public.packet_store p join public.tenants using (tenant_id)'))
      ).sort(),
    ).toStrictEqual(['packet_store', 'tenants']);
  });

  it('is audited in functions and searches too', async () => {
    expect(await during(() => asP('select public.get_memory_stats()'))).toContain('packet_store');
    expect(await during(() => asP("select public.search_memory('operators')"))).toContain('packet_store');
  });

  it('fails and returns nothing if it cannot be audited', async () => {
    await expect(
      db.asCaller(
        'P',
        async (client) => {
          await client.query('set transaction read only');
          return client.query('select * from public.packet_store');
        },
        claimsOfP,
      ),
    ).rejects.toMatchObject({ code: '25006' });
  });

  it('returns no row and leaves no audit row without a valid identity', async () => {
    const seen = await during(async () => {
      for (const claims of [{ 'jwt.claims.caller': 'L' }, { 'jwt.claims.caller': '' }, { 'jwt.claims.tenant_id': 'x' }])
        expect(await db.sql('P', 'select * from public.packet_store', [], { ...claimsOfP, ...claims })).toStrictEqual(
          [],
        );
      await runAsSuperuser(db, "update public.actors set is_active = false where caller = 'P'");
      expect(await asP('select * from public.packet_store')).toStrictEqual([]);
      await runAsSuperuser(db, "update public.actors set is_active = true where caller = 'P'");
    });
    expect(seen).toStrictEqual([]);
    await expect(db.sql('C', "select identity.allow_and_audit_operator_read('x')")).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('names the org and user it was for, and holds no content', async () => {
    const claims = {
      ...claimsOfP,
      'jwt.claims.org_id': '01900000-0000-7000-8000-000000000001',
      'jwt.claims.user_id': '01900000-0000-7000-8000-000000000002',
    };
    await db.sql('P', 'select * from public.packet_store', [], claims);
    const [row] = await runAsSuperuser(
      db,
      "select * from public.audit_log where details ->> 'reader' = 'operator' order by occurred_at desc limit 1",
    );
    expect(row.details).toStrictEqual({
      reader: 'operator',
      caller: 'P',
      creator: 'P',
      source: 'operations',
      tool_name: 'sql',
      org_id: claims['jwt.claims.org_id'],
      user_id: claims['jwt.claims.user_id'],
    });
    expect([row.operation, row.caller, row.creator, row.source, row.tool_name]).toStrictEqual([
      'READ',
      'P',
      'P',
      'operations',
      'sql',
    ]);
  });
});
