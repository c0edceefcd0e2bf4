// Who may say that an archive was verified, and who may report what is wrong with it.
import { createHash, randomBytes } from 'node:crypto';
import { useTestDatabase } from '../support/test-database.ts';

describe('note_verification', () => {
  const db = useTestDatabase();
  let number = 0;

  /** An archive of this caller that C and L may read, as the gateway stores it. */
  async function archived(caller: string): Promise<string> {
    const blob = Buffer.concat([Buffer.from([1]), randomBytes(60)]);
    const hash = createHash('sha256').update(blob).digest();
    const [{ archive_id }] = await db.sql(
      caller,
      "select archive_id from archive.prepare_session_archive(jsonb_build_object('session_id', $1::text), 'developer', 'l9')",
      [`session ${++number}`],
    );
    await db.sql(caller, "select archive.finish_session_archive($1, $2, $3, '{postgres}', 'k1', $4, $5, $6)", [
      archive_id,
      hash,
      blob.length,
      randomBytes(60),
      [randomBytes(32)],
      blob,
    ]);
    return archive_id;
  }
  const note = async (caller: string, archiveId: string, problem: string | null = null) => {
    const [{ noted }] = await db.sql(caller, 'select archive.note_verification($1, $2) as noted', [archiveId, problem]);
    return noted;
  };
  const isVerified = async (archiveId: string) => {
    const [row] = await db.sql('L', 'select verified_at from public.session_archives where archive_id = $1', [
      archiveId,
    ]);
    return row.verified_at !== null;
  };

  it('sets verified_at for the creator of an archive and for administrators', async () => {
    for (const [creator, caller] of [
      ['C', 'C'],
      ['C', 'L'],
      ['L', 'L'],
    ] as const) {
      const archiveId = await archived(creator);
      expect([await note(caller, archiveId), await isVerified(archiveId)]).toStrictEqual([true, true]);
    }
  });

  it('changes nothing for an agent that may only read the archive', async () => {
    const archiveId = await archived('L');
    expect(await db.sql('C', 'select from public.session_archives where archive_id = $1', [archiveId])).toHaveLength(1);
    expect([await note('C', archiveId), await isVerified(archiveId)]).toStrictEqual([false, false]);
  });

  it('puts a problem that any reader reports on the record', async () => {
    const archiveId = await archived('L');
    expect([await note('C', archiveId, 'hash'), await isVerified(archiveId)]).toStrictEqual([true, false]);
    const rows = await db.sql(
      'L',
      "select caller, sqlstate, details ->> 'problem' as problem from public.audit_log where row_id = $1 and status = 'error'",
      [archiveId],
    );
    expect(rows).toStrictEqual([{ caller: 'C', sqlstate: 'L9INT', problem: 'hash' }]);
  });
});
