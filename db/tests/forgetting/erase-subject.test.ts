// Erasing all memories of a user.
import type { Claims } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { erasuresOf, missing } from './support.ts';

describe('erase_subject', () => {
  const db = useTestDatabase();
  const { save, eraseSubject, isThere } = erasuresOf(db);
  let acme: Claims;
  let operator: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
    operator = await addOperator(db, 'Ops');
  });
  const user = '01900000-0000-7000-8000-0000000000bb';
  const asUser = { 'jwt.claims.user_id': user };

  it('erases all memories of the user, by any author, and no others', async () => {
    const own = [
      await save('C', { thread_id: 'a thread' }, asUser),
      await save('L', { scope: 'l-private', project_id: 'other' }, asUser),
      await save('C', { ttl: new Date(Date.now() + 100).toISOString() }, asUser),
    ];
    await db.sql('C', "select public.update_memory($1, content => 'changed')", [own[0]], asUser);
    const others = [
      await save('C', { thread_id: 'a thread' }),
      await save('C', {}, { 'jwt.claims.user_id': missing }),
      await save('L', {}, { ...acme, ...asUser }),
    ];
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { memories, removed, erasure_id } = await eraseSubject('L', user);
    expect(memories).toBe(3);
    expect(removed.versions).toBe(1);
    for (const id of own) expect(await isThere(id)).toBe(false);
    for (const id of others) expect(await isThere(id)).toBe(true);

    const rows = await db.sql(
      'L',
      "select table_name, row_id, details from public.audit_log where operation = 'ERASE' and details ->> 'erasure_id' = $1 order by audit_id",
      [erasure_id],
    );
    expect(rows.map(({ row_id }) => row_id).sort()).toStrictEqual([...own, user].sort());
    const subject = rows.find(({ row_id }) => row_id === user);
    expect(subject.table_name).toBe('users');
    expect(subject.details.removed.memories).toBe(3);
  });

  it('requires a token that covers every scope and project of the tenant', async () => {
    const id = await save('C', {}, asUser);
    for (const claims of [{ 'jwt.claims.scopes': '["developer", "global"]' }, { 'jwt.claims.projects': '["l9"]' }]) {
      await expect(eraseSubject('L', user, claims)).rejects.toMatchObject({ code: 'L9SCP' });
    }
    await expect(eraseSubject('C', user)).rejects.toMatchObject({ code: 'L9SCP' });
    expect(await isThere(id)).toBe(true);
  });

  it('erases in one tenant: its own for L, the given one for operators', async () => {
    const someone = '01900000-0000-7000-8000-0000000000cc';
    const claims = { 'jwt.claims.user_id': someone };
    const ids = [await save('C', {}, claims), await save('C', {}, { ...acme, ...claims })];
    const tenant = acme['jwt.claims.tenant_id']!;
    await expect(eraseSubject('L', someone, {}, tenant)).rejects.toMatchObject({ code: 'L9SCP' });
    expect((await eraseSubject('Ops', someone, operator, tenant)).memories).toBe(1);
    expect([await isThere(ids[0]!), await isThere(ids[1]!)]).toStrictEqual([true, false]);
    expect((await eraseSubject('L', someone)).memories).toBe(1);
    expect((await eraseSubject('L', someone)).memories, 'nothing is left, which is no error').toBe(0);
  });
});
