// What the record says of who looked: operators, at any table and through any door, and the texts of searches.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addPlatformAdmin, addTenant, asSuperuser, claimsOfP, sealAll } from './support.ts';

describe('a look of a platform admin', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await addPlatformAdmin(house);
    await house.tool('C', 'save_memory', { content: 'seen by operators', scope: 'global' });
    await house.embedded();
    await sealAll(house);
    const acme = await addTenant(house, 'acme');
    await house.sql('L', "select public.save_memory('of acme', 'l-private', 'x')", [], {
      'jwt.claims.tenant_id': acme,
    });
  });
  after(() => house.close());

  const looks = async (): Promise<string[]> =>
    (
      await asSuperuser(
        house,
        "select table_name from public.audit_log where details ->> 'look' = 'platform' and caller = 'P' order by occurred_at, audit_id",
      )
    ).map(({ table_name }) => table_name);
  const during = async (work: () => Promise<unknown>) => {
    const before = await looks();
    await work();
    return (await looks()).slice(before.length);
  };
  const asP = (query: string) => house.sql('P', query, [], claimsOfP);

  it('at any table of any tenant that has rows leaves one row a query and table', async () => {
    const tables = ['packet_store', 'memory_embeddings', 'tenants', 'scopes', 'actors', 'audit_log', 'audit_seals'];
    for (const table of tables) assert.deepEqual(await during(() => asP(`select * from public.${table}`)), [table]);
    let contents: string[] = [];
    await during(async () => {
      contents = (await asP('select content from public.packet_store')).map(({ content }) => content);
    });
    assert.deepEqual(contents.sort(), ['of acme', 'seen by operators']);
    assert.deepEqual(
      (
        await during(() => asP('select count(*) from public.packet_store p join public.tenants using (tenant_id)'))
      ).sort(),
      ['packet_store', 'tenants'],
    );
  });

  it('by a function or a search is one too', async () => {
    assert.ok((await during(() => asP('select public.get_memory_stats()'))).includes('packet_store'));
    assert.ok((await during(() => asP("select public.search_memory('operators')"))).includes('packet_store'));
  });

  it('through GraphQL works, and is one', async () => {
    const token = await house.token({ caller: 'P' });
    const seen = await during(async () => {
      const { data, errors } = await house.graphql(
        { token },
        '{ memories { nodes { content embeddings { nodes { model } } } } auditSeals { totalCount } }',
      );
      assert.equal(errors, undefined);
      assert.equal(data.memories.nodes.length, 2);
    });
    for (const table of ['packet_store', 'memory_embeddings', 'audit_seals']) assert.ok(seen.includes(table), table);
  });

  it('fails, and shows nothing, where it could not be recorded', async () => {
    await assert.rejects(
      house.asCaller(
        'P',
        async (client) => {
          await client.query('set transaction read only');
          return client.query('select * from public.packet_store');
        },
        claimsOfP,
      ),
      { code: '25006' },
    );
  });

  it('is nobody else’s: without a valid identity the role sees nothing, and leaves nothing', async () => {
    const seen = await during(async () => {
      for (const claims of [{ 'jwt.claims.caller': 'L' }, { 'jwt.claims.caller': '' }, { 'jwt.claims.tenant_id': 'x' }])
        assert.deepEqual(
          await house.sql('P', 'select * from public.packet_store', [], { ...claimsOfP, ...claims }),
          [],
        );
      await asSuperuser(house, "update public.actors set is_active = false where caller = 'P'");
      assert.deepEqual(await asP('select * from public.packet_store'), []);
      await asSuperuser(house, "update public.actors set is_active = true where caller = 'P'");
    });
    assert.deepEqual(seen, []);
    await assert.rejects(house.sql('C', "select identity.allow_and_audit_operator_read('x')"), { code: '42501' });
  });

  it('names whom it was for, and no content', async () => {
    const claims = {
      ...claimsOfP,
      'jwt.claims.org_id': '01900000-0000-7000-8000-000000000001',
      'jwt.claims.user_id': '01900000-0000-7000-8000-000000000002',
    };
    await house.sql('P', 'select * from public.packet_store', [], claims);
    const [row] = await asSuperuser(
      house,
      "select * from public.audit_log where details ->> 'look' = 'platform' order by occurred_at desc limit 1",
    );
    assert.deepEqual(row.details, {
      look: 'platform',
      caller: 'P',
      creator: 'Operator',
      source: 'operations',
      tool_name: 'sql',
      org_id: claims['jwt.claims.org_id'],
      user_id: claims['jwt.claims.user_id'],
    });
    assert.deepEqual(
      [row.operation, row.caller, row.creator, row.source, row.tool_name],
      ['READ', 'P', 'Operator', 'operations', 'sql'],
    );
  });
});

describe('the details of an audit row', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const last = async () =>
    (await house.sql('L', 'select * from public.audit_log order by occurred_at desc, audit_id desc limit 1'))[0];

  it('always say who, with nulls for work that no actor asked for', async () => {
    await house.tool('C', 'save_memory', { content: 'x', scope: 'global' });
    await asSuperuser(house, ["update public.packet_store set tags = '{y}'", 'commit']).catch(() => {});
    await house.tool('C', 'save_memory', { content: 'x', scope: 'nowhere' });
    await house.tool('C', 'search_memory', { query: 'x' });
    const rows = await asSuperuser(house, 'select details, caller, creator, source, tool_name from public.audit_log');
    assert.ok(rows.length >= 3);
    for (const { details, ...columns } of rows) {
      const { caller, creator, source, tool_name } = details;
      assert.deepEqual({ caller, creator, source, tool_name }, columns);
      for (const key of ['caller', 'creator', 'source', 'tool_name']) assert.ok(key in details, key);
    }
    for (const details of [
      '{}',
      '{"caller": "x", "creator": null, "source": null}',
      '{"caller": null, "creator": null, "source": null, "tool_name": "x"}',
    ])
      await assert.rejects(
        asSuperuser(house, [
          `insert into public.audit_log (operation, table_name, details) values ('READ', 'x', '${details}')`,
        ]),
        (error: { code: string }) => ['23514', '23502'].includes(error.code),
        details,
      );
  });

  it('can’t be made to name anybody else', async () => {
    const lie =
      '{"caller": "L", "creator": "L-CTO", "source": "l9-kernel", "tool_name": "x", "user_id": "01900000-0000-7000-8000-000000000002", "note": 1}';
    await house.sql('C', `select audit.audit_read('READ', '${lie}')`);
    assert.deepEqual((await last()).details, {
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await house.sql('C', `select audit.audit_refusal('READ', null, null, null, 'L9OWN', '${lie}')`);
    assert.deepEqual((await last()).details, {
      caller: 'C',
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      tool_name: 'sql',
      note: 1,
    });
    await assert.rejects(house.sql('C', "select audit.audit_export('{}')"), { code: '42501' });
    await assert.rejects(house.sql('C', "select audit.audit_read('EXPORT', '{}')"), { code: 'L9VAL' });
  });
});

describe('the texts of searches', () => {
  let house: House;
  const user = '01900000-0000-7000-8000-000000000002';
  before(async () => {
    house = await openHouse({ embedder: standIn });
    await addPlatformAdmin(house);
  });
  after(() => house.close());

  const searchAsUser = (query: string) =>
    house.sql('C', 'select public.search_memory($1)', [query], {
      'jwt.claims.org_id': user,
      'jwt.claims.user_id': user,
    });
  const kept = async (caller = 'L', claims = {}) =>
    (await house.sql(caller, 'select query from public.audit_query_texts order by audit_id', [], claims)).map(
      ({ query }) => query,
    );
  const allow = (enabled: boolean) =>
    house.graphql(
      'L',
      'mutation ($enabled: Boolean) { setQueryTextAudit(input: { enabled: $enabled }) { tenant { auditsQueryText } } }',
      { enabled },
    );

  it('are not kept, unless the tenant asks for it, which is on the record', async () => {
    await searchAsUser('a secret wish');
    assert.deepEqual(await kept(), []);
    const { data, errors } = await allow(true);
    assert.equal(errors, undefined);
    assert.equal(data.setQueryTextAudit.tenant.auditsQueryText, true);
    const [row] = await house.sql(
      'L',
      "select operation, table_name, details from public.audit_log where table_name = 'tenants'",
    );
    assert.deepEqual([row.operation, row.details.row.audits_query_text, row.details.caller], ['UPDATE', true, 'L']);
    await searchAsUser('an open wish');
    assert.deepEqual(await kept(), ['an open wish']);
    await allow(false);
    await searchAsUser('a second secret');
    assert.deepEqual(await kept(), ['an open wish']);
    const [{ n }] = await asSuperuser(
      house,
      "select count(*)::int as n from public.audit_log a where a::text like '%wish%' or a::text like '%second secret%'",
    );
    assert.equal(n, 0, 'audit_log itself, which nobody can erase from, holds none');
  });

  it('are for admins of the tenant, beside the row they belong to', async () => {
    const { data, errors } = await house.graphql(
      'L',
      '{ auditLogs(condition: { operation: "SEARCH" }) { nodes { queryText details } } }',
    );
    assert.equal(errors, undefined);
    assert.deepEqual(
      data.auditLogs.nodes.map(({ queryText }: { queryText: string | null }) => queryText),
      [null, 'an open wish', null],
    );
    assert.equal(data.auditLogs.nodes[1].details.user_id, user);
    assert.deepEqual(await kept('P', claimsOfP), ['an open wish']);
    const [row] = await house.sql(
      'P',
      "select public.audit_log_query_text(a) as text from public.audit_log a where operation = 'SEARCH' order by occurred_at offset 1 limit 1",
      [],
      claimsOfP,
    );
    assert.equal(row.text, 'an open wish');
    const acme = await addTenant(house, 'acme');
    assert.deepEqual(await kept('L', { 'jwt.claims.tenant_id': acme }), []);
    await assert.rejects(kept('C'), { code: '42501' });
    for (const query of ['select public.set_query_text_audit(true)', 'delete from public.audit_query_texts'])
      await assert.rejects(house.sql('C', query), { code: '42501' });
    await assert.rejects(house.sql('L', 'delete from public.audit_query_texts'), { code: '42501' });
  });

  it('of a scope the token has not are not shown', async () => {
    await allow(true);
    await house.sql('L', "select public.search_memory('in private', scopes => '{l-private}')");
    assert.ok((await kept()).includes('in private'));
    assert.ok(!(await kept('L', { 'jwt.claims.scopes': '["global"]' })).includes('in private'));
  });

  it('can be erased, and the record stays whole', async () => {
    await asSuperuser(house, [
      'set local role l9_owner',
      `delete from public.audit_query_texts where user_id = '${user}'`,
      'commit',
    ]);
    assert.ok(!(await kept()).includes('an open wish'));
    assert.equal((await house.sql('L', 'select v.ok from public.verify_audit() v'))[0].ok, true);
  });
});
