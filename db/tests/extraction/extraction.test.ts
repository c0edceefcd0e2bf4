// Who may say what a chat model reads, who sees what came of it, and what the functions of the job can be made to do.

import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';
import { grepDatabase } from '../support/dump.ts';
import { named } from '../support/named.ts';
import { addTenant } from '../support/tenants.ts';

const TENANT = '00000000-0000-7000-8000-000000000001';

describe('extraction', () => {
  let gateway: TestGateway;
  let acme: Record<string, string>;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    acme = await addTenant(gateway, 'acme');
  });
  afterAll(() => gateway.close());

  const settings = async (args: Record<string, unknown>, caller = 'L', claims = {}) => {
    const rows = await gateway.sql(
      caller,
      `select s.* from public.set_extraction_settings(${named(args)}) s`,
      Object.values(args),
      claims,
    );
    return rows[0];
  };
  const worker = async (query: string, values: unknown[] = []) =>
    (await gateway.instance.database.workerPool.query(query, values)).rows;
  const isPending = async (packet: string) =>
    (await worker('select from extraction.pending_extractions where packet_id = $1', [packet])).length === 1;
  const store = async (packet: string, found: object, model = 'a-model') => {
    const [{ content_hash: hash }] = await gateway.asSuperuser(
      'select content_hash from public.packet_store where packet_id = $1',
      [packet],
    );
    const [row] = await worker('select * from extraction.store_extraction($1, $2, $3, $4)', [
      packet,
      hash,
      JSON.stringify(found),
      model,
    ]);
    return row;
  };
  const fact = (subject: string, object: string) => ({ subject, predicate: 'is', object, confidence: 0.6 });
  const factsOf = (packet: string) =>
    gateway.asSuperuser(
      `select f.subject, f.object, f.scope, f.retracted_at is not null as is_retracted, e.extracted_by
       from public.fact_evidence e join public.knowledge_facts f using (fact_id) where e.packet_id = $1 order by 1, 2`,
      [packet],
    );

  it('is off until an administrator of every scope turns it on, on the record', async () => {
    const packet = await save(gateway, 'C', 'saved while nobody wanted it');
    expect(await isPending(packet)).toBe(false);
    await expect(settings({ is_enabled: true }, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(settings({ is_enabled: true }, 'L', { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    await expect(settings({ is_enabled: true, tenant_id: acme['jwt.claims.tenant_id'] })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    for (const [field, value] of Object.entries({
      kinds: ['No Kind'],
      scopes: ['no-such-scope'],
      tokens_per_day: 10,
    })) {
      await expect(settings({ [field]: value })).rejects.toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(new RegExp(`^${field}`)),
      });
    }
    const set = await settings({ is_enabled: true, kinds: ['note', 'note'] });
    expect([set.is_enabled, set.kinds, set.scopes, set.writes_summaries, set.tokens_per_day]).toStrictEqual([
      true,
      ['note'],
      ['developer', 'global'],
      false,
      '200000',
    ]);
    const [row] = await gateway.sql(
      'L',
      "select operation, details from public.audit_log where table_name = 'extraction_settings' order by audit_id desc limit 1",
    );
    expect([row.operation, row.details.row.kinds, row.details.caller ?? 'L']).toStrictEqual(['UPDATE', ['note'], 'L']);
  });

  it('lists what is saved or changed, where kind and scope are wanted', async () => {
    expect(await isPending(await save(gateway, 'C', 'a note'))).toBe(true);
    expect(await isPending(await save(gateway, 'C', 'a decision', { kind: 'decision' }))).toBe(false);
    expect(await isPending(await save(gateway, 'C', 'gone already', { ttl: '2000-01-01' }).catch(() => TENANT))).toBe(
      false,
    );
    const hidden = await save(gateway, 'L', 'a private note', { scope: 'l-private' });
    expect(await isPending(hidden)).toBe(false);
    await gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [hidden]);
    expect(await isPending(hidden)).toBe(true);
    // Wanted no more when a job comes: it is not shown to it.
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
    const claimed = await worker("select * from extraction.lease_extractions(100, '1 minute')");
    expect(claimed.map(({ content }) => content)).toStrictEqual(['a note']);
    expect(await isPending(hidden)).toBe(false);
    expect(await worker("select * from extraction.lease_extractions(100, '1 minute')")).toStrictEqual([]);
  });

  it('shows C nothing of settings, usage and the list, and L what is its tenant’s', async () => {
    await worker('select extraction.reserve_tokens($1, 10)', [TENANT]);
    for (const table of [
      'public.extraction_settings',
      'public.extraction_usage',
      'extraction.pending_extractions',
      'extraction.summary_leases',
    ]) {
      await expect(gateway.sql('C', `select * from ${table}`), table).rejects.toMatchObject({ code: '42501' });
    }
    for (const table of ['public.extraction_settings', 'public.extraction_usage']) {
      expect(await gateway.sql('L', `select * from ${table}`), table).toHaveLength(1);
      expect(await gateway.sql('L', `select * from ${table}`, [], acme), table).toHaveLength(0);
      const cut = { 'jwt.claims.scopes': '["developer"]' };
      expect(await gateway.sql('L', `select * from ${table}`, [], cut), `${table}: names other scopes`).toHaveLength(0);
    }
    for (const call of [
      "extraction.lease_extractions(1, '1 minute')",
      "extraction.store_extraction(null, null, '{}', 'm')",
      "extraction.store_model_summary(null, 'topic', 'x', '{}', '{}', '{}', 'm')",
      "extraction.lease_summaries(1, '1 minute')",
      `extraction.reserve_tokens('${TENANT}', 1)`,
      `extraction.record_token_usage('${TENANT}', '2026-01-01', 1, 1, 1)`,
      `extraction.withdraw_extracted_relationships('${TENANT}')`,
      'extraction.extraction_backlog()',
    ]) {
      for (const caller of ['C', 'L']) {
        await expect(gateway.sql(caller, `select ${call}`), call).rejects.toMatchObject({ code: '42501' });
      }
    }
    for (const table of ['public.extraction_settings', 'public.extraction_usage']) {
      await expect(gateway.sql('L', `delete from ${table}`), table).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('keeps within the budget, whoever reserves at once', async () => {
    await settings({ tokens_per_day: 50_000 });
    await gateway.asSuperuser('delete from public.extraction_usage');
    const days = await Promise.all(
      Array.from({ length: 8 }, () => worker('select extraction.reserve_tokens($1, 15000)::text as day', [TENANT])),
    );
    const granted = days.map(([row]) => row.day).filter(Boolean);
    expect(granted).toHaveLength(3);
    // Settled with less, there is room again; negative or absurd counts give nothing back.
    await worker('select extraction.record_token_usage($1, $2, 15000, -999999, 1000)', [TENANT, granted[0]]);
    const [row] = await gateway.asSuperuser('select * from public.extraction_usage');
    expect([row.prompt_tokens, row.completion_tokens, row.reserved_tokens]).toStrictEqual(['0', '1000', '30000']);
    expect((await worker('select extraction.reserve_tokens($1, 15000) as day', [TENANT]))[0].day).toBeTruthy();
    expect((await worker('select extraction.reserve_tokens($1, 15000) as day', [TENANT]))[0].day).toBeNull();
    // Nobody said that it wants a model.
    expect(
      (await worker('select extraction.reserve_tokens($1, 1) as day', [acme['jwt.claims.tenant_id']]))[0].day,
    ).toBeNull();
    await settings({ tokens_per_day: 1_000_000 });
    await gateway.asSuperuser('update public.tenants set is_active = false where tenant_id = $1', [TENANT]);
    expect((await worker('select extraction.reserve_tokens($1, 1) as day', [TENANT]))[0].day).toBeNull();
    await gateway.asSuperuser('update public.tenants set is_active = true where tenant_id = $1', [TENANT]);
  });

  it('replaces what was found before, leaves what callers say, and never finds again what was retracted', async () => {
    const packet = await save(gateway, 'C', 'The mast is oak and tall.');
    const first = { facts: [fact('mast', 'oak'), fact('mast', 'tall')], relations: [] };
    expect(await store(packet, first)).toStrictEqual({ is_stored: true, facts: 2, relations: 0, dropped: 0 });
    expect(await isPending(packet)).toBe(false);
    await gateway.sql('C', "select public.assert_fact('mast', 'is', '\"high\"', source_packet => $1)", [packet]);
    const [tall] = await gateway.sql('C', "select fact_id from public.find_facts('mast') where object = '\"tall\"'");
    await gateway.sql('L', 'select public.retract_fact($1)', [tall.fact_id]);
    await store(
      packet,
      { ...first, relations: [{ source: 'mast', type: 'part of', target: 'ship', confidence: 0.5 }] },
      'another',
    );
    const high = { subject: 'mast', object: 'high', scope: 'developer', is_retracted: false, extracted_by: null };
    expect(await factsOf(packet)).toStrictEqual([
      high,
      { ...high, object: 'oak', extracted_by: 'another' },
      { ...high, object: 'tall', is_retracted: true, extracted_by: 'a-model' },
    ]);
    // Its words change: what a model found in them is gone at once, whether or not it is read again.
    await gateway.sql('C', "select public.update_memory($1, content => 'The mast is gone.')", [packet]);
    expect((await factsOf(packet)).filter(({ is_retracted }) => !is_retracted)).toStrictEqual([high]);
    const relations = await gateway.asSuperuser('select from public.relationship_evidence where packet_id = $1', [
      packet,
    ]);
    expect(relations).toHaveLength(0);
    expect(await isPending(packet)).toBe(true);
  });

  it('stores nothing for what was changed, moved out of reach or turned off while the model answered', async () => {
    const packet = await save(gateway, 'C', 'The keel is iron.');
    const found = { facts: [fact('keel', 'iron')] };
    const nothing = { is_stored: false, facts: 0, relations: 0, dropped: 0 };
    const stale = Buffer.alloc(32);
    const [row] = await worker('select * from extraction.store_extraction($1, $2, $3, $4)', [
      packet,
      stale,
      found,
      'm',
    ]);
    expect(row).toStrictEqual(nothing);
    expect(await isPending(packet)).toBe(true);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [packet]);
    expect(await store(packet, found)).toStrictEqual(nothing);
    await gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [packet]);
    await settings({ is_enabled: false });
    expect(await store(packet, found)).toStrictEqual(nothing);
    await settings({ is_enabled: true });
    expect(await factsOf(packet)).toStrictEqual([]);
    expect((await store(packet, found)).facts).toBe(1);
  });

  it('takes nothing from an answer but names, values and confidence', async () => {
    const victim = await save(gateway, 'L', 'the vault', { scope: 'l-private' });
    const packet = await save(gateway, 'C', 'The lamp is red.');
    const far = {
      scope: 'l-private',
      tenant_id: acme['jwt.claims.tenant_id'],
      packet_id: victim,
      source_packet: victim,
    };
    const done = await store(packet, {
      ...far,
      facts: [
        { ...fact('lamp', 'red'), ...far },
        'no object',
        null,
        [1],
        { ...fact('lamp', 'x'), confidence: '1' },
        { ...fact('lamp', 'y'), subject: { $ne: 1 } },
        { ...fact('lamp', ' ') },
      ],
      relations: 'all',
      entities: { name: 'lamp' },
    });
    expect(done).toStrictEqual({ is_stored: true, facts: 1, relations: 0, dropped: 6 });
    expect(await factsOf(packet)).toStrictEqual([
      { subject: 'lamp', object: 'red', scope: 'developer', is_retracted: false, extracted_by: 'a-model' },
    ]);
    expect(await factsOf(victim)).toStrictEqual([]);
  });

  it('gives up after five attempts of its own, not for those of the provider', async () => {
    const packet = await save(gateway, 'C', 'a hard one');
    const postpone = async (counts: boolean) =>
      (
        await worker(
          "select extraction.postpone_extraction($1, '0 s', 'BadAnswer to the text of a memory', $2) as up",
          [packet, counts],
        )
      )[0].up;
    for (let i = 0; i < 10; i++) expect(await postpone(false)).toBe(false);
    for (let i = 0; i < 4; i++) expect(await postpone(true)).toBe(false);
    expect(await postpone(true)).toBe(true);
    const [row] = await worker('select last_error, attempts from extraction.pending_extractions where packet_id = $1', [
      packet,
    ]);
    expect(row).toStrictEqual({ last_error: 'BadAnswer', attempts: 5 });
    const claimed = await worker("select packet_id from extraction.lease_extractions(100, '1 minute')");
    expect(claimed.some(({ packet_id }) => packet_id === packet)).toBe(false);
  });

  it('leaves nothing behind when the memory is erased', async () => {
    const packet = await save(gateway, 'C', 'The zyxwv is a qponm.');
    await store(packet, {
      entities: [{ name: 'zyxwv', type: 'qponm', confidence: 0.5 }],
      facts: [fact('zyxwv', 'qponm')],
      relations: [{ source: 'zyxwv', type: 'is', target: 'qponm', confidence: 0.5 }],
    });
    await gateway.sql('L', "select public.erase_memory($1, 'asked to')", [packet]);
    const left = await gateway.inSuperuserSession((client) => grepDatabase(client, ['zyxwv', 'qponm']));
    expect(left).toStrictEqual({});
  });
});
