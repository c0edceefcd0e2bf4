import { useTestDatabase } from '../support/test-database.ts';

describe('legacy_uuid', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('gives the same row the same id, and orders ids by time', async () => {
    const [ids] = await db.asOwner(`select legacy.legacy_uuid('a', 'memory.x', '1', '2024-01-01') as one,
        legacy.legacy_uuid('a', 'memory.x', '1', '2024-01-01') as again,
        legacy.legacy_uuid('a', 'memory.x', '2', '2024-01-01') as two,
        legacy.legacy_uuid('a', 'memory.x', '2', '2024-01-02') as later,
        legacy.legacy_uuid('a', 'memory.x', '2', null) as unknown`);
    expect(ids.one).toBe(ids.again);
    expect(new Set(Object.values(ids)).size).toBe(4);
    expect(ids.later > ids.one).toBe(true);
    expect(ids.later > ids.two).toBe(true);
    expect(ids.unknown < ids.one).toBe(true);
    const [{ at, version }] = await db.asOwner(
      'select uuid_extract_timestamp($1::uuid) as at, uuid_extract_version($1::uuid) as version',
      [ids.one],
    );
    expect([at.toISOString(), version]).toStrictEqual(['2024-01-01T00:00:00.000Z', 7]);
  });
});
