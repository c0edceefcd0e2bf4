// An agent in psql who knows the hash of another caller's archive: it can neither read, nor replace, nor delete the bytes, and is not
// told whether there are any.
import { createHash, randomBytes } from 'node:crypto';
import { errorOf } from '../support/errors.ts';
import { useTestDatabase } from '../support/test-database.ts';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
const newBlob = () => Buffer.concat([Buffer.from([1]), randomBytes(60)]);

describe.each([
  ['developer', 'postgres'],
  ['l-private', 'postgres'],
  ['developer', 'file'],
  ['l-private', 'file'],
])('an archive of L in the scope %s and the store %s', (scope, connector) => {
  const db = useTestDatabase();
  const one = async (caller: string, query: string, values: unknown[]) => (await db.sql(caller, query, values))[0];

  const prepare = async (caller: string, name: string, itsScope: string): Promise<string> =>
    (
      await one(
        caller,
        "select archive_id from archive.prepare_session_archive(jsonb_build_object('session_id', $1::text), $2, 'l9')",
        [name, itsScope],
      )
    ).archive_id;

  const remember = async (caller: string, name: string, itsScope: string): Promise<string> =>
    (
      await one(
        caller,
        "select ((public.save_memory(content => $1, scope => $2, project_id => 'l9', kind => 'session')).memory).packet_id",
        [name, itsScope],
      )
    ).packet_id;

  const announce = (caller: string, archiveId: string, hash: Buffer) =>
    one(caller, 'select archive.announce_archive_blob($1, $2, $3)', [archiveId, hash, [connector]]);

  const enter = (caller: string, archiveId: string, packetId: string, hash: Buffer, size: number) =>
    one(caller, "select a.pointer from archive.store_session_archive($1, $2, $3, $4, $5, 'k1', $6, $7) a", [
      archiveId,
      packetId,
      hash,
      size,
      [connector],
      randomBytes(60),
      randomBytes(32),
    ]);

  /** L's archive, as the gateway stores it. */
  async function archived() {
    const blob = newBlob();
    const hash = sha256(blob);
    const archiveId = await prepare('L', `session ${hash.readUInt16BE()}`, scope);
    if (connector === 'file') await announce('L', archiveId, hash);
    const { pointer } = await one(
      'L',
      "select f.pointer from archive.finish_session_archive($1, $2, $3, $4, 'k1', $5, $6, $7) f",
      [
        archiveId,
        hash,
        blob.length,
        [connector],
        randomBytes(60),
        [randomBytes(32)],
        connector === 'postgres' ? blob : null,
      ],
    );
    return { archiveId, blob, hash, pointer };
  }

  /** What comes of it when C enters an archive of its own with this hash. */
  async function forge(hash: Buffer, name: string) {
    const archiveId = await prepare('C', name, 'developer');
    const packetId = await remember('C', name, 'developer');
    if (connector === 'file') await announce('C', archiveId, hash);
    const entered = await enter('C', archiveId, packetId, hash, 61).then(
      () => 'entered',
      (error: Error) => error.message,
    );
    return { archiveId, packetId, entered };
  }

  const bytesFor = async (caller: string, archiveId: string): Promise<Buffer | null> =>
    (await one(caller, 'select archive.get_archive_blob($1) as blob', [archiveId])).blob;

  it('answers a forger who names its hash as if there were no such hash', async () => {
    const { hash } = await archived();
    const known = await forge(hash, 'forged with a known hash');
    const unknown = await forge(randomBytes(32), 'forged with an unknown hash');
    expect(known.entered).toBe(unknown.entered);
    if (connector === 'postgres') expect(known.entered).toBe('blob: must be stored before its archive');
  });

  it('gives its bytes to nobody but its readers, and keeps them when the forger deletes its own memory', async () => {
    const { archiveId, blob, hash, pointer } = await archived();
    const forged = await forge(hash, 'forged to read and to delete');
    if (connector === 'postgres') {
      expect(await bytesFor('C', archiveId)).toStrictEqual(scope === 'developer' ? blob : null);
    }
    const opened = await one('L', 'select archive_id from archive.open_session_archive($1)', [pointer]);
    expect(opened.archive_id).toBe(archiveId);
    await db.sql('C', 'select public.delete_memory($1)', [forged.packetId]);
    if (connector === 'postgres') expect(await bytesFor('L', archiveId)).toStrictEqual(blob);
    else expect(await toDelete()).not.toContainEqual(hash);
    await db.asWorker('select archive.collect_archives()');
    expect(await toDelete()).not.toContainEqual(hash);
  });

  it('takes its bytes with it when it is deleted, though a forger names them too', async () => {
    const { hash, pointer } = await archived();
    await forge(hash, 'forged to keep the bytes');
    const [{ packet_id }] = await db.sql(
      'L',
      "select packet_id from session_archives where pointer = $1 and creator = 'L-CTO'",
      [pointer],
    );
    await db.sql('L', 'select public.delete_memory($1)', [packet_id]);
    await db.asWorker('select archive.collect_archives()');
    if (connector === 'postgres')
      expect(await db.asSuperuser('select from archive_blobs where content_hash = $1', [hash])).toHaveLength(0);
    else expect(await toDelete()).toContainEqual(hash);
  });

  const toDelete = async (): Promise<Buffer[]> =>
    (await db.asWorker('select content_hash from archive.bytes_to_delete($1, 1000)', [connector])).map(
      (row) => row.content_hash,
    );

  if (connector === 'file') {
    it('keeps its bytes when a forger announces them and never enters an archive', async () => {
      const { hash } = await archived();
      await announce('C', await prepare('C', 'announced only', 'developer'), hash);
      await db.asSuperuser("update archive.pending_deletions set due_at = due_at - interval '3 hours'");
      expect(await toDelete()).not.toContainEqual(hash);
    });

    it('is entered only after its bytes were announced, for this archive and this store', async () => {
      const hash = randomBytes(32);
      const [first, second] = [await prepare('C', 'first', 'developer'), await prepare('C', 'second', 'developer')];
      const packetId = await remember('C', 'first and second', 'developer');
      await announce('C', first, hash);
      const { message } = await errorOf(enter('C', second, packetId, hash, 61));
      expect(message).toBe('blob: must be stored before its archive');
    });
  } else {
    it('is entered only with the bytes that were stored for it, in their size', async () => {
      const [blob, archiveId] = [newBlob(), await prepare('C', 'sized', 'developer')];
      const packetId = await remember('C', 'sized', 'developer');
      await db.sql('C', 'select archive.put_archive_blob($1, $2, $3)', [archiveId, sha256(blob), blob]);
      const { message } = await errorOf(enter('C', archiveId, packetId, sha256(blob), 60));
      expect(message).toBe('blob: must be stored before its archive');
      const another = await prepare('L', 'of L', 'developer');
      const put = db.sql('C', 'select archive.put_archive_blob($1, $2, $3)', [another, sha256(blob), blob]);
      expect((await errorOf(put)).message).toMatch(/^archive_id: must be a session that you prepared/);
    });

    it('does not notice that a forger stores the very same bytes', async () => {
      const { blob, hash, archiveId, pointer } = await archived();
      const own = await prepare('C', 'same bytes', 'developer');
      const packetId = await remember('C', 'same bytes', 'developer');
      await db.sql('C', 'select archive.put_archive_blob($1, $2, $3)', [own, hash, blob]);
      await enter('C', own, packetId, hash, blob.length);
      const opened = await one('L', 'select archive_id from archive.open_session_archive($1)', [pointer]);
      expect(opened.archive_id).toBe(archiveId);
      await db.sql('C', 'select public.delete_memory($1)', [packetId]);
      expect(await bytesFor('L', archiveId)).toStrictEqual(blob);
    });
  }
});
