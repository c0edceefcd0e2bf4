// What stays of an erased memory.
import { token } from '../secrets/support.ts';
import type { Claims } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { erasuresOf } from './support.ts';

describe('a tombstone', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { save, eraseMemory, tombstones } = erasuresOf(db);
  let acme: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
  });

  it('keeps owner, kind, writer and reason of a memory, and nothing of its content', async () => {
    const id = await save('C', { content: 'Secret words of the tombstone', tags: ['secret'], kind: 'finding' });
    const { erasure_id } = await eraseMemory('L', id, {}, 'asked for by the customer');
    const [tombstone] = await tombstones('L', [id]);
    expect(tombstone.erased_at).toBeInstanceOf(Date);
    expect({ ...tombstone, erased_at: 0 }).toStrictEqual({
      packet_id: id,
      erasure_id,
      tenant_id: '00000000-0000-7000-8000-000000000001',
      org_id: null,
      user_id: null,
      project_id: 'l9',
      scope: 'developer',
      packet_type: 'finding',
      creator: 'Cursor-IDE',
      reason: 'asked for by the customer',
      erased_by: 'L',
      erased_at: 0,
    });
  });

  it('keeps a reason without its secrets, whatever the tenant does with them, and the erasure succeeds', async () => {
    for (const onSecret of ['refuse', 'redact', 'allow']) {
      await db.sql('L', 'select public.set_secret_settings(on_secret => $1)', [onSecret]);
      const id = await save('C');
      await eraseMemory('L', id, {}, `held ${token}, see the ticket`);
      const [{ reason }] = await tombstones('L', [id]);
      expect(reason).toBe('held [redacted: github-token], see the ticket');
    }
    const long = await save('C');
    await eraseMemory('L', long, {}, `${'pwd: "Xq7wz3" '.repeat(14)}`);
    const [{ reason }] = await tombstones('L', [long]);
    expect(reason).toMatch(/^pwd: "\[redacted: named-secret\]"/);
  });

  it('keeps no secret of the reason for the erasure of a user either', async () => {
    const user = '01900000-0000-7000-8000-0000000000bb';
    const id = await save('C', {}, { 'jwt.claims.user_id': user });
    await db.sql('L', 'select public.erase_subject($1, $2)', [user, `left, knew ${token}`]);
    const [row] = await db.asSuperuser('select reason from public.memory_tombstones where packet_id = $1', [id]);
    expect(row).toStrictEqual({ reason: 'left, knew [redacted: github-token]' });
  });

  it('is visible to admins of the tenant within their scopes and projects only', async () => {
    const ids = [await save('L', { scope: 'l-private' }), await save('L', { project_id: 'other' })];
    for (const id of ids) await eraseMemory('L', id);
    const seen = async (caller: string, claims: Record<string, string>) =>
      (await tombstones(caller, ids, claims)).map(({ packet_id }) => packet_id);
    expect(await seen('L', {})).toStrictEqual([...ids].sort());
    expect(await seen('L', { 'jwt.claims.scopes': '["developer"]' })).toStrictEqual([ids[1]]);
    expect(await seen('L', { 'jwt.claims.projects': '["l9"]' })).toStrictEqual([ids[0]]);
    expect(await seen('L', acme)).toStrictEqual([]);
    await expect(tombstones('C', ids)).rejects.toMatchObject({ code: '42501' });
  });

  it('is protected from inserts, updates and deletes by all callers', async () => {
    const id = await save('L');
    await eraseMemory('L', id);
    for (const statement of [
      'delete from public.memory_tombstones',
      "update public.memory_tombstones set reason = 'x'",
      'insert into public.memory_tombstones select * from public.memory_tombstones',
      'truncate public.memory_tombstones',
    ]) {
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });
});
