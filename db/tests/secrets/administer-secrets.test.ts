// Settings, patterns and exceptions of a tenant: who may change them, what they change, and for whom.
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { SECRETS, token } from './support.ts';

const OTHER_TENANT = '01900000-0000-7000-8000-0000000000aa';

describe('administering secrets', () => {
  const db = useTestDatabase({ rollsBack: true });
  const save = (content: string) => saveMemory(db, 'C', { content });
  const register = (args = "'acme-badge', 'badges', 'ACME-[0-9]{6}'") =>
    db.sql('L', `select public.register_secret_pattern(${args})`);

  it.each([
    "public.set_secret_settings(on_secret => 'allow')",
    "public.register_secret_pattern('acme-badge', 'badges', 'ACME-[0-9]{6}')",
    "public.deactivate_secret_pattern('acme-badge')",
    "public.register_secret_exception('x', 'harmless')",
    'public.deactivate_secret_exception(uuidv7())',
    'public.scan_for_secrets()',
  ])('lets no agent call %s, and no administrator whose token is limited', async (call) => {
    await expect(db.sql('C', `select ${call}`)).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('L', `select ${call}`, [], { 'jwt.claims.projects': 'l9' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
  });

  it('lets no caller write the tables directly', async () => {
    for (const table of ['secret_patterns', 'secret_exceptions', 'secret_settings'])
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, `delete from public.${table}`), table).rejects.toMatchObject({ code: '42501' });
  });

  it('refuses what a pattern of the tenant finds, until it is switched off', async () => {
    await save('badge ACME-123456');
    await register();
    const error = await errorOf(save('the badge ACME-123456'));
    expect(error).toMatchObject({ code: 'L9SEC' });
    expect(error.message).toContain('acme-badge');
    await db.sql('L', "select public.deactivate_secret_pattern('acme-badge')");
    await save('the badge ACME-123456');
  });

  it('keeps patterns, exceptions and settings from other tenants', async () => {
    await db.asOwner("insert into public.tenants (tenant_id, name) values ($1, 'other')", [OTHER_TENANT]);
    await db.asOwner('select identity.seed_tenant($1)', [OTHER_TENANT]);
    await register();
    await db.sql('L', "select public.register_secret_exception('x', 'harmless')");
    await db.sql('L', "select public.set_secret_settings(on_secret => 'redact')");
    const claims = { 'jwt.claims.tenant_id': OTHER_TENANT };
    for (const query of [
      'select name from public.secret_patterns where tenant_id is not null',
      'select pattern from public.secret_exceptions',
      'select on_secret from public.secret_settings',
      "select pattern from public.find_secrets('the badge ACME-123456')",
    ]) {
      expect(await db.sql('C', query, [], claims), query).toStrictEqual([]);
      expect(await db.sql('C', query), query).toHaveLength(1);
    }
  });

  it('saves what an exception says is harmless, for its pattern alone', async () => {
    const described = `${token.slice(0, 10)}[A-Za-z0-9]{30}`;
    await db.sql('L', "select public.register_secret_exception($1, 'revoked', pattern => 'github-token')", [described]);
    await expect(save(`see ${token}`)).rejects.toMatchObject({ code: 'L9SEC' });
    const [row] = await db.sql('L', "select (public.register_secret_exception($1, 'revoked')).exception_id as id", [
      described,
    ]);
    await save(`see ${token}`);
    await db.sql('L', 'select public.deactivate_secret_exception($1)', [row.id]);
    await expect(save(`see also ${token}`)).rejects.toMatchObject({ code: 'L9SEC' });
    await expect(save(`and ${SECRETS['stripe-key']}`)).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('refuses a credential as an expression, which every caller may read', async () => {
    const inUrl = 'postgres://app:Xq7-wz3K9@db\\.internal/app';
    for (const secret of [token, `revoked|${SECRETS['stripe-key']}`, inUrl])
      for (const query of [
        "select public.register_secret_exception($1, 'revoked')",
        "select public.register_secret_exception('x', $1)",
        "select public.register_secret_pattern('old-key', 'an old key', $1)",
      ])
        await expect(db.sql('L', query, [secret]), query).rejects.toMatchObject({ code: 'L9SEC' });
    await db.sql('L', "select public.register_secret_exception('AKIA[A-Z0-9]*EXAMPLE', 'keys of the documentation')");
  });

  it.each([
    ["'Bad Name', 'x', 'y'", 'name'],
    ["'github-token', 'x', 'y'", 'name'],
    ["'p', '', 'y'", 'finds'],
    ["'p', 'x', null", 'expression'],
    ["'p', 'x', '('", 'expression'],
    ["'p', 'x', 'a*'", 'expression'],
    ["'p', 'x', '(a)\\1'", 'expression'],
    ["'p', 'x', '(a)(b)'", 'expression'],
    ["'p', 'x', 'y', '{ab}'", 'keywords'],
    ["'p', 'x', 'y', severity => 'strict'", 'severity'],
  ])('refuses the pattern %s because of its %s', async (args, field) => {
    await expect(register(args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
  });

  it('audits every change', async () => {
    await register();
    await db.sql('L', "select public.set_secret_settings(on_secret => 'allow')");
    await db.sql('L', "select public.register_secret_exception('x', 'harmless')");
    const rows = await db.sql(
      'L',
      "select table_name, operation, caller from public.audit_log where table_name ~ '^secret_' order by audit_id",
    );
    expect(rows.map((row) => row.table_name)).toEqual(
      expect.arrayContaining(['secret_patterns', 'secret_settings', 'secret_exceptions']),
    );
    expect(new Set(rows.map((row) => row.caller))).toStrictEqual(new Set(['L']));
  });

  async function scan() {
    const findings: object[] = [];
    let after: string | null = null;
    let steps = 0;
    do {
      const [row] = await db.sql('L', 'select to_jsonb(public.scan_for_secrets($1, 2)) as step', [after]);
      const step: { cursor: string | null; findings: object[] } = row.step;
      findings.push(...step.findings);
      after = step.cursor;
      steps += 1;
    } while (after !== null);
    return { findings, steps };
  }

  it('scans what is stored step by step, and tells ids and patterns, never a text', async () => {
    await db.sql('L', "select public.set_secret_settings(on_secret => 'allow')");
    const [first, , third] = [
      await save(`one ${token}`),
      await save('a plain note'),
      await save(`two ${SECRETS['stripe-key']}`),
    ];
    await db.sql('C', "select public.assert_fact('api', 'uses', to_jsonb($1::text), project_id => 'l9')", [token]);
    const { findings, steps } = await scan();
    expect(steps).toBeGreaterThan(5);
    expect(findings).toEqual(
      expect.arrayContaining([
        { table_name: 'packet_store', row_id: first, field: 'content', pattern: 'github-token', line: 1, column: 5 },
        { table_name: 'packet_store', row_id: third, field: 'content', pattern: 'stripe-key', line: 1, column: 5 },
        expect.objectContaining({ table_name: 'fact_evidence', field: 'object', pattern: 'github-token' }),
      ]),
    );
    expect(JSON.stringify(findings)).not.toContain(token.slice(4, 16));
  });

  it('scans earlier versions and idempotency keys of all callers, which an erasure of the memory removes', async () => {
    await db.sql('L', "select public.set_secret_settings(on_secret => 'allow')");
    const id = await saveMemory(db, 'C', { content: `see ${token}`, idempotency_key: SECRETS['stripe-key'] });
    for (const content of ['a first correction', 'a second correction', 'a third correction'])
      await db.sql('C', 'select public.update_memory($1, content => $2)', [id, content]);
    await saveMemory(db, 'C', { content: 'a plain note', idempotency_key: 'a plain key' });
    await db.sql('L', "select public.set_secret_settings(on_secret => 'refuse')");
    const { findings } = await scan();
    expect(findings).toStrictEqual([
      {
        table_name: 'idempotency_keys',
        row_id: id,
        field: 'idempotency_key',
        pattern: 'stripe-key',
        line: 1,
        column: 1,
      },
      { table_name: 'packet_versions', row_id: id, field: 'content', pattern: 'github-token', line: 1, column: 5 },
    ]);
    expect(JSON.stringify(findings)).not.toContain(SECRETS['stripe-key']!.slice(8, 20));
    await db.sql('L', "select public.erase_memory($1, 'held a key')", [id]);
    expect((await scan()).findings).toStrictEqual([]);
  });

  it('tells nobody but an administrator with an unlimited token which idempotency keys hold a secret', async () => {
    const query = 'select * from secrets.find_in_idempotency_keys(array[uuidv7()])';
    await expect(db.sql('C', query)).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('L', query, [], { 'jwt.claims.projects': 'l9' })).rejects.toMatchObject({ code: 'L9SCP' });
  });
});
