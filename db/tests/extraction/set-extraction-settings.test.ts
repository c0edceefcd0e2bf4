import { saveMemory } from '../support/memories.ts';
import { type Claims, DEFAULT_TENANT } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { isPending, setSettings } from './support.ts';

describe('set_extraction_settings', () => {
  const db = useTestDatabase();
  let acme: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
  });

  it('keeps extraction off until an admin of every scope enables it, which is audited', async () => {
    const packet = await saveMemory(db, 'C', { content: 'saved while extraction is off' });
    expect(await isPending(db, packet)).toBe(false);
    await expect(setSettings(db, { is_enabled: true }, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(
      setSettings(db, { is_enabled: true }, 'L', { 'jwt.claims.scopes': '["developer"]' }),
    ).rejects.toMatchObject({
      code: 'L9SCP',
    });
    await expect(setSettings(db, { is_enabled: true, tenant_id: acme['jwt.claims.tenant_id'] })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    for (const [field, value] of Object.entries({
      kinds: ['No Kind'],
      scopes: ['no-such-scope'],
      tokens_per_day: 10,
    })) {
      await expect(setSettings(db, { [field]: value })).rejects.toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(new RegExp(`^${field}`)),
      });
    }
    const settings = await setSettings(db, { is_enabled: true, kinds: ['note', 'note'] });
    expect([
      settings.is_enabled,
      settings.kinds,
      settings.scopes,
      settings.writes_summaries,
      settings.tokens_per_day,
    ]).toStrictEqual([true, ['note'], ['developer', 'global'], false, '200000']);
    const [row] = await db.sql(
      'L',
      "select operation, details from public.audit_log where table_name = 'extraction_settings' order by audit_id desc limit 1",
    );
    expect([row.operation, row.details.row.kinds, row.details.caller ?? 'L']).toStrictEqual(['UPDATE', ['note'], 'L']);
  });

  it('shows settings and usage only to admins of every scope of the tenant', async () => {
    await db.asWorker('select extraction.reserve_tokens($1, 10)', [DEFAULT_TENANT]);
    for (const table of [
      'public.extraction_settings',
      'public.extraction_usage',
      'extraction.pending_extractions',
      'extraction.summary_leases',
    ]) {
      await expect(db.sql('C', `select * from ${table}`), table).rejects.toMatchObject({ code: '42501' });
    }
    for (const table of ['public.extraction_settings', 'public.extraction_usage']) {
      expect(await db.sql('L', `select * from ${table}`), table).toHaveLength(1);
      expect(await db.sql('L', `select * from ${table}`, [], acme), table).toHaveLength(0);
      const limited = { 'jwt.claims.scopes': '["developer"]' };
      expect(await db.sql('L', `select * from ${table}`, [], limited), `${table}: names other scopes`).toHaveLength(0);
    }
    for (const call of [
      "extraction.lease_extractions(1, '1 minute')",
      "extraction.store_extraction(null, null, '{}', 'm')",
      "extraction.store_model_summary(null, 'topic', 'x', '{}', '{}', '{}', 'm')",
      "extraction.lease_summaries(1, '1 minute')",
      `extraction.reserve_tokens('${DEFAULT_TENANT}', 1)`,
      `extraction.record_token_usage('${DEFAULT_TENANT}', '2026-01-01', 1, 1, 1)`,
      `extraction.withdraw_extracted_relationships('${DEFAULT_TENANT}')`,
      'extraction.extraction_backlog()',
    ]) {
      for (const caller of ['C', 'L']) {
        await expect(db.sql(caller, `select ${call}`), call).rejects.toMatchObject({ code: '42501' });
      }
    }
    for (const table of ['public.extraction_settings', 'public.extraction_usage']) {
      await expect(db.sql('L', `delete from ${table}`), table).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('keeps within the budget of the day, also under concurrent reservations', async () => {
    await setSettings(db, { tokens_per_day: 50_000 });
    await db.asSuperuser('delete from public.extraction_usage');
    const days = await Promise.all(
      Array.from({ length: 8 }, () =>
        db.asWorker('select extraction.reserve_tokens($1, 15000)::text as day', [DEFAULT_TENANT]),
      ),
    );
    const granted = days.map(([row]) => row.day).filter(Boolean);
    expect(granted).toHaveLength(3);
    // A call that cost less frees the rest; negative counts free nothing.
    await db.asWorker('select extraction.record_token_usage($1, $2, 15000, -999999, 1000)', [
      DEFAULT_TENANT,
      granted[0],
    ]);
    const [row] = await db.asSuperuser('select * from public.extraction_usage');
    expect([row.prompt_tokens, row.completion_tokens, row.reserved_tokens]).toStrictEqual(['0', '1000', '30000']);
    expect(
      (await db.asWorker('select extraction.reserve_tokens($1, 15000) as day', [DEFAULT_TENANT]))[0].day,
    ).toBeTruthy();
    expect(
      (await db.asWorker('select extraction.reserve_tokens($1, 15000) as day', [DEFAULT_TENANT]))[0].day,
    ).toBeNull();
    // This tenant has not enabled extraction.
    expect(
      (await db.asWorker('select extraction.reserve_tokens($1, 1) as day', [acme['jwt.claims.tenant_id']]))[0].day,
    ).toBeNull();
    await setSettings(db, { tokens_per_day: 1_000_000 });
    await db.asSuperuser('update public.tenants set is_active = false where tenant_id = $1', [DEFAULT_TENANT]);
    expect((await db.asWorker('select extraction.reserve_tokens($1, 1) as day', [DEFAULT_TENANT]))[0].day).toBeNull();
    await db.asSuperuser('update public.tenants set is_active = true where tenant_id = $1', [DEFAULT_TENANT]);
  });
});
