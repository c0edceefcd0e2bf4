import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { claimsOfP, runAsSuperuser } from './support.ts';

describe('audit_query_texts', () => {
  const db = useTestDatabase();
  const user = '01900000-0000-7000-8000-000000000002';
  beforeAll(async () => {
    await addOperator(db, 'P');
  });

  const searchAsUser = (query: string) =>
    db.sql('C', 'select public.search_memory($1)', [query], {
      'jwt.claims.org_id': user,
      'jwt.claims.user_id': user,
    });
  const textsSeenBy = async (caller = 'L', claims = {}) =>
    (await db.sql(caller, 'select query from public.audit_query_texts order by audit_id', [], claims)).map(
      ({ query }) => query,
    );
  const setQueryTextAudit = (enabled: boolean) =>
    db.sql('L', 'select audits_query_text from public.set_query_text_audit($1)', [enabled]);

  it('holds texts only for a tenant that asks for it, and audits that setting', async () => {
    await searchAsUser('a secret wish');
    expect(await textsSeenBy()).toStrictEqual([]);
    expect(await setQueryTextAudit(true)).toStrictEqual([{ audits_query_text: true }]);
    const [row] = await db.sql(
      'L',
      "select operation, table_name, details from public.audit_log where table_name = 'tenants'",
    );
    expect([row.operation, row.details.row.audits_query_text, row.details.caller]).toStrictEqual(['UPDATE', true, 'L']);
    await searchAsUser('an open wish');
    expect(await textsSeenBy()).toStrictEqual(['an open wish']);
    await setQueryTextAudit(false);
    await searchAsUser('a second secret');
    expect(await textsSeenBy()).toStrictEqual(['an open wish']);
    const [{ n }] = await runAsSuperuser(
      db,
      "select count(*)::int as n from public.audit_log a where a::text like '%wish%' or a::text like '%second secret%'",
    );
    expect(n, 'audit_log itself, from which nothing can be erased, holds no text').toBe(0);
  });

  it('shows admins of the tenant the text beside its audit row', async () => {
    const searches = await db.sql(
      'L',
      `select public.audit_log_query_text(a) as text, a.details from public.audit_log a where operation = 'SEARCH'
       order by occurred_at, audit_id`,
    );
    expect(searches.map(({ text }) => text)).toStrictEqual([null, 'an open wish', null]);
    expect(searches[1].details.user_id).toBe(user);
    expect(await textsSeenBy('P', claimsOfP)).toStrictEqual(['an open wish']);
    const [row] = await db.sql(
      'P',
      "select public.audit_log_query_text(a) as text from public.audit_log a where operation = 'SEARCH' order by occurred_at offset 1 limit 1",
      [],
      claimsOfP,
    );
    expect(row.text).toBe('an open wish');
    const acme = await addTenant(db, 'acme');
    expect(await textsSeenBy('L', acme)).toStrictEqual([]);
    await expect(textsSeenBy('C')).rejects.toMatchObject({ code: '42501' });
    for (const query of ['select public.set_query_text_audit(true)', 'delete from public.audit_query_texts'])
      await expect(db.sql('C', query)).rejects.toMatchObject({ code: '42501' });
    await expect(db.sql('L', 'delete from public.audit_query_texts')).rejects.toMatchObject({ code: '42501' });
  });

  it('hides the texts of scopes that the token does not have', async () => {
    await setQueryTextAudit(true);
    await db.sql('L', "select public.search_memory('in private', scopes => '{l-private}')");
    expect(await textsSeenBy()).toContain('in private');
    expect(await textsSeenBy('L', { 'jwt.claims.scopes': '["global"]' })).not.toContain('in private');
  });

  it('allows erasing a text while the audit log stays verifiable', async () => {
    await runAsSuperuser(db, [
      'set local role l9_owner',
      `delete from public.audit_query_texts where user_id = '${user}'`,
      'commit',
    ]);
    expect(await textsSeenBy()).not.toContain('an open wish');
    expect((await db.sql('L', 'select v.ok from public.verify_audit() v'))[0].ok).toBe(true);
  });
});
