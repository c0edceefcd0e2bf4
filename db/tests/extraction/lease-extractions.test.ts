import { saveMemory } from '../support/memories.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { isPending, setSettings } from './support.ts';

describe('lease_extractions', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await setSettings(db, { is_enabled: true, kinds: ['note'] });
  });

  it('leases saved and changed memories of the enabled kinds and scopes', async () => {
    expect(await isPending(db, await saveMemory(db, 'C', { content: 'a note' }))).toBe(true);
    expect(await isPending(db, await saveMemory(db, 'C', { content: 'a decision', kind: 'finding' }))).toBe(false);
    expect(
      await isPending(
        db,
        await saveMemory(db, 'C', { content: 'expired', ttl: '2000-01-01' }).catch(() => DEFAULT_TENANT),
      ),
    ).toBe(false);
    const hidden = await saveMemory(db, 'L', { content: 'a private note', scope: 'l-private' });
    expect(await isPending(db, hidden)).toBe(false);
    await db.sql('L', "select public.update_memory($1, scope => 'developer')", [hidden]);
    expect(await isPending(db, hidden)).toBe(true);
    // Moved to a scope that is not enabled, it is not leased.
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
    const leased = await db.asWorker("select * from extraction.lease_extractions(100, '1 minute')");
    expect(leased.map(({ content }) => content)).toStrictEqual(['a note']);
    expect(await isPending(db, hidden)).toBe(false);
    expect(await db.asWorker("select * from extraction.lease_extractions(100, '1 minute')")).toStrictEqual([]);
  });

  it('gives up after five unusable answers, but not for provider errors', async () => {
    const packet = await saveMemory(db, 'C', { content: 'a hard one' });
    const postpone = async (counts: boolean) =>
      (
        await db.asWorker(
          "select extraction.postpone_extraction($1, '0 s', 'BadAnswer to the text of a memory', $2) as up",
          [packet, counts],
        )
      )[0].up;
    for (let i = 0; i < 10; i++) expect(await postpone(false)).toBe(false);
    for (let i = 0; i < 4; i++) expect(await postpone(true)).toBe(false);
    expect(await postpone(true)).toBe(true);
    const [row] = await db.asWorker(
      'select last_error, attempts from extraction.pending_extractions where packet_id = $1',
      [packet],
    );
    expect(row).toStrictEqual({ last_error: 'BadAnswer', attempts: 5 });
    const leased = await db.asWorker("select packet_id from extraction.lease_extractions(100, '1 minute')");
    expect(leased.some(({ packet_id }) => packet_id === packet)).toBe(false);
  });
});
