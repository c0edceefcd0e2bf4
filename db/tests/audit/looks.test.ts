// What the record says of who looked: operators, at any table and through any API, and the texts of searches.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addTenant } from '../support/tenants.ts';
import { addPlatformAdmin, claimsOfP, runAsSuperuser, sealAll } from './support.ts';

describe('a look of a platform admin', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
    await gateway.tool('C', 'save_memory', { content: 'seen by operators', scope: 'global' });
    await gateway.embedded();
    await sealAll(gateway);
    const acme = await addTenant(gateway, 'acme');
    await gateway.sql('L', "select public.save_memory('of acme', 'l-private', 'x')", [], {
      ...acme,
    });
  });
  afterAll(() => gateway.close());

  const looks = async (): Promise<string[]> =>
    (
      await runAsSuperuser(
        gateway,
        "select table_name from public.audit_log where details ->> 'look' = 'platform' and caller = 'P' order by occurred_at, audit_id",
      )
    ).map(({ table_name }) => table_name);
  const during = async (work: () => Promise<unknown>) => {
    const before = await looks();
    await work();
    return (await looks()).slice(before.length);
  };
  const asP = (query: string) => gateway.sql('P', query, [], claimsOfP);

  it('at any table of any tenant that has rows leaves one row a query and table', async () => {
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

  it('by a function or a search is one too', async () => {
    expect(await during(() => asP('select public.get_memory_stats()'))).toContain('packet_store');
    expect(await during(() => asP("select public.search_memory('operators')"))).toContain('packet_store');
  });

  it('through GraphQL works, and is one', async () => {
    const token = await gateway.token({ caller: 'P' });
    const seen = await during(async () => {
      const { data, errors } = await gateway.graphql(
        { token },
        '{ memories { nodes { content embeddings { nodes { model } } } } auditSeals { totalCount } }',
      );
      expect(errors).toBeUndefined();
      expect(data.memories.nodes.length).toBe(2);
    });
    for (const table of ['packet_store', 'memory_embeddings', 'audit_seals']) expect(seen, table).toContain(table);
  });

  it('fails, and shows nothing, where it could not be recorded', async () => {
    await expect(
      gateway.asCaller(
        'P',
        async (client) => {
          await client.query('set transaction read only');
          return client.query('select * from public.packet_store');
        },
        claimsOfP,
      ),
    ).rejects.toMatchObject({ code: '25006' });
  });

  it('is nobody else’s: without a valid identity the role sees nothing, and leaves nothing', async () => {
    const seen = await during(async () => {
      for (const claims of [{ 'jwt.claims.caller': 'L' }, { 'jwt.claims.caller': '' }, { 'jwt.claims.tenant_id': 'x' }])
        expect(
          await gateway.sql('P', 'select * from public.packet_store', [], { ...claimsOfP, ...claims }),
        ).toStrictEqual([]);
      await runAsSuperuser(gateway, "update public.actors set is_active = false where caller = 'P'");
      expect(await asP('select * from public.packet_store')).toStrictEqual([]);
      await runAsSuperuser(gateway, "update public.actors set is_active = true where caller = 'P'");
    });
    expect(seen).toStrictEqual([]);
    await expect(gateway.sql('C', "select identity.allow_and_audit_operator_read('x')")).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('names whom it was for, and no content', async () => {
    const claims = {
      ...claimsOfP,
      'jwt.claims.org_id': '01900000-0000-7000-8000-000000000001',
      'jwt.claims.user_id': '01900000-0000-7000-8000-000000000002',
    };
    await gateway.sql('P', 'select * from public.packet_store', [], claims);
    const [row] = await runAsSuperuser(
      gateway,
      "select * from public.audit_log where details ->> 'look' = 'platform' order by occurred_at desc limit 1",
    );
    expect(row.details).toStrictEqual({
      look: 'platform',
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

describe('the details of an audit row', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const last = async () =>
    (await gateway.sql('L', 'select * from public.audit_log order by occurred_at desc, audit_id desc limit 1'))[0];

  it('always say who, with nulls for work that no actor asked for', async () => {
    await gateway.tool('C', 'save_memory', { content: 'x', scope: 'global' });
    await runAsSuperuser(gateway, ["update public.packet_store set tags = '{y}'", 'commit']).catch(() => {});
    await gateway.tool('C', 'save_memory', { content: 'x', scope: 'nowhere' });
    await gateway.tool('C', 'search_memory', { query: 'x' });
    const rows = await runAsSuperuser(
      gateway,
      'select details, caller, creator, source, tool_name from public.audit_log',
    );
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
        runAsSuperuser(gateway, [
          `insert into public.audit_log (operation, table_name, details) values ('READ', 'x', '${details}')`,
        ]),
        details,
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|23502)$/) });
  });

  it('can’t be made to name anybody else', async () => {
    const lie =
      '{"caller": "L", "creator": "L-CTO", "source": "l9-kernel", "tool_name": "x", "user_id": "01900000-0000-7000-8000-000000000002", "note": 1}';
    await gateway.sql('C', `select audit.audit_read('READ', '${lie}')`);
    expect((await last()).details).toStrictEqual({
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await gateway.sql('C', `select audit.audit_refusal('READ', null, null, null, 'L9OWN', '${lie}')`);
    expect((await last()).details).toStrictEqual({
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await expect(gateway.sql('C', "select audit.audit_export('{}')")).rejects.toMatchObject({ code: '42501' });
    await expect(gateway.sql('C', "select audit.audit_read('EXPORT', '{}')")).rejects.toMatchObject({ code: 'L9VAL' });
  });
});

describe('the texts of searches', () => {
  let gateway: TestGateway;
  const user = '01900000-0000-7000-8000-000000000002';
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    await addPlatformAdmin(gateway);
  });
  afterAll(() => gateway.close());

  const searchAsUser = (query: string) =>
    gateway.sql('C', 'select public.search_memory($1)', [query], {
      'jwt.claims.org_id': user,
      'jwt.claims.user_id': user,
    });
  const kept = async (caller = 'L', claims = {}) =>
    (await gateway.sql(caller, 'select query from public.audit_query_texts order by audit_id', [], claims)).map(
      ({ query }) => query,
    );
  const allow = (enabled: boolean) =>
    gateway.graphql(
      'L',
      'mutation ($enabled: Boolean) { setQueryTextAudit(input: { enabled: $enabled }) { tenant { auditsQueryText } } }',
      { enabled },
    );

  it('are not kept, unless the tenant asks for it, which is on the record', async () => {
    await searchAsUser('a secret wish');
    expect(await kept()).toStrictEqual([]);
    const { data, errors } = await allow(true);
    expect(errors).toBeUndefined();
    expect(data.setQueryTextAudit.tenant.auditsQueryText).toBe(true);
    const [row] = await gateway.sql(
      'L',
      "select operation, table_name, details from public.audit_log where table_name = 'tenants'",
    );
    expect([row.operation, row.details.row.audits_query_text, row.details.caller]).toStrictEqual(['UPDATE', true, 'L']);
    await searchAsUser('an open wish');
    expect(await kept()).toStrictEqual(['an open wish']);
    await allow(false);
    await searchAsUser('a second secret');
    expect(await kept()).toStrictEqual(['an open wish']);
    const [{ n }] = await runAsSuperuser(
      gateway,
      "select count(*)::int as n from public.audit_log a where a::text like '%wish%' or a::text like '%second secret%'",
    );
    expect(n, 'audit_log itself, which nobody can erase from, holds none').toBe(0);
  });

  it('are for admins of the tenant, beside the row they belong to', async () => {
    const { data, errors } = await gateway.graphql(
      'L',
      '{ auditLogs(condition: { operation: "SEARCH" }) { nodes { queryText details } } }',
    );
    expect(errors).toBeUndefined();
    expect(data.auditLogs.nodes.map(({ queryText }: { queryText: string | null }) => queryText)).toStrictEqual([
      null,
      'an open wish',
      null,
    ]);
    expect(data.auditLogs.nodes[1].details.user_id).toBe(user);
    expect(await kept('P', claimsOfP)).toStrictEqual(['an open wish']);
    const [row] = await gateway.sql(
      'P',
      "select public.audit_log_query_text(a) as text from public.audit_log a where operation = 'SEARCH' order by occurred_at offset 1 limit 1",
      [],
      claimsOfP,
    );
    expect(row.text).toBe('an open wish');
    const acme = await addTenant(gateway, 'acme');
    expect(await kept('L', acme)).toStrictEqual([]);
    await expect(kept('C')).rejects.toMatchObject({ code: '42501' });
    for (const query of ['select public.set_query_text_audit(true)', 'delete from public.audit_query_texts'])
      await expect(gateway.sql('C', query)).rejects.toMatchObject({ code: '42501' });
    await expect(gateway.sql('L', 'delete from public.audit_query_texts')).rejects.toMatchObject({ code: '42501' });
  });

  it('of a scope the token has not are not shown', async () => {
    await allow(true);
    await gateway.sql('L', "select public.search_memory('in private', scopes => '{l-private}')");
    expect(await kept()).toContain('in private');
    expect(await kept('L', { 'jwt.claims.scopes': '["global"]' })).not.toContain('in private');
  });

  it('can be erased, and the record stays whole', async () => {
    await runAsSuperuser(gateway, [
      'set local role l9_owner',
      `delete from public.audit_query_texts where user_id = '${user}'`,
      'commit',
    ]);
    expect(await kept()).not.toContain('an open wish');
    expect((await gateway.sql('L', 'select v.ok from public.verify_audit() v'))[0].ok).toBe(true);
  });
});
