// Archived sessions in a bucket of a server that speaks the protocol of S3 and checks signatures.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { s3Store } from '../../src/archive/stores/s3.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { type S3Server, startS3 } from './s3-server.ts';

const BUCKET = 'sessions';

const sessionOf = (name: string) => ({
  session_id: `session-${name}`,
  timestamp: '2026-11-20T09:30:00Z',
  tool_name: 'claude-code',
  summary: `Repaired the ${name}`,
});

describeOnEmbedded('the store s3', () => {
  it('says at the start what to install where its client is missing', () => {
    const bucket = { bucket: BUCKET, prefix: '', endpoint: null, region: 'us-east-1' };
    expect(() => s3Store(bucket, 1_000, '@aws-sdk/client-nowhere')).toThrow(
      /^ARCHIVE_STORE: s3 needs the package @aws-sdk\/client-nowhere.*npm install @aws-sdk\/client-nowhere/,
    );
  });
  let folder: string;
  let server: S3Server;
  let gateway: TestGateway;
  let client: S3Client;
  let restoreCredentials: () => void;

  const settings = () => ({
    ARCHIVE_STORE: `s3:${BUCKET}/l9/archive, file:${join(folder, 'files')}`,
    ARCHIVE_S3_ENDPOINT: server.url,
    ARCHIVE_TIMEOUT_MS: '5000',
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'l9-s3-'));
    server = await startS3(BUCKET);
    restoreCredentials = server.useCredentials();
    client = new S3Client({ endpoint: server.url, region: 'us-east-1', forcePathStyle: true });
    gateway = await startTestGateway({ embedder: standIn, env: settings() });
  });
  afterAll(async () => {
    restoreCredentials();
    client.destroy();
    await gateway.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const store = (session: object) =>
    gateway.call('C', 'store_session_to_cascade', { session, project_id: 'l9' }) as Promise<{
      pointer: string;
      packet_id: string;
    }>;
  const retrieve = (pointer: string) => gateway.tool('C', 'retrieve_session_from_cascade', { pointer });
  const keyOf = (pointer: string) => {
    const hash = pointer.slice('cascade://'.length);
    return `l9/archive/${hash.slice(0, 2)}/${hash}`;
  };
  const bytesOf = async (pointer: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: keyOf(pointer) }));
    return Buffer.from(await Body!.transformToByteArray());
  };

  it('has the bytes of a session under their hash, behind the prefix, and gives them back', async () => {
    const { pointer } = await store(sessionOf('valve'));
    expect(server.keys()).toStrictEqual([keyOf(pointer)]);
    expect((await bytesOf(pointer)).includes('valve')).toBe(false);
    const { result } = await retrieve(pointer);
    expect(result).toMatchObject({ verified: true, session_data: { summary: 'Repaired the valve' } });
    const [row] = await gateway.sql('C', 'select connectors from session_archives where pointer = $1', [pointer]);
    expect(row.connectors).toStrictEqual(['s3', 'file']);
    // The same session again writes nothing.
    expect((await store(sessionOf('valve'))).pointer).toBe(pointer);
    expect(server.keys()).toHaveLength(1);
  });

  it('is repaired from another store, when an object was changed or is gone', async () => {
    const { pointer } = await store(sessionOf('rotor'));
    const whole = await bytesOf(pointer);
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: keyOf(pointer), Body: 'other bytes' }));
    expect((await retrieve(pointer)).result.verified).toBe(true);
    expect((await bytesOf(pointer)).equals(whole)).toBe(true);
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: keyOf(pointer) }));
    expect(server.keys()).not.toContain(keyOf(pointer));
    expect((await retrieve(pointer)).result.verified).toBe(true);
    expect((await bytesOf(pointer)).equals(whole)).toBe(true);
  });

  it('loses the object of a session that is deleted, at the next look of the job', async () => {
    const { pointer, packet_id } = await store(sessionOf('lever'));
    expect(server.keys()).toContain(keyOf(pointer));
    await gateway.call('C', 'delete_memory', { packet_id });
    expect((await retrieve(pointer)).isError).toBe(true);
    await restart({ ARCHIVE_S3_ENDPOINT: server.url });
    await eventually(() => !server.keys().includes(keyOf(pointer)));
  });

  it('loses what a crash left before the archive was entered, and never what an archive names', async () => {
    const { pointer } = await store(sessionOf('piston'));
    const lost = createHash('sha256').update('bytes without an archive').digest();
    const keyOfLost = keyOf(`cascade://${lost.toString('hex')}`);
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: keyOfLost, Body: 'bytes without an archive' }));
    const announce = `select archive.announce_archive_blob(p.archive_id, $1, '{s3,file}')
      from archive.prepare_session_archive('{"session_id": "lost"}', project_id => 'l9') p`;
    await gateway.sql('C', announce, [lost]);
    await gateway.sql('C', announce, [Buffer.from(pointer.slice('cascade://'.length), 'hex')]);
    await restart({ ARCHIVE_S3_ENDPOINT: server.url });
    expect(server.keys()).toContain(keyOfLost);
    await gateway.asSuperuser("update archive.pending_deletions set due_at = due_at - interval '3 hours'");
    await restart({ ARCHIVE_S3_ENDPOINT: server.url });
    await eventually(() => !server.keys().includes(keyOfLost));
    expect(server.keys()).toContain(keyOf(pointer));
    expect((await retrieve(pointer)).result.verified).toBe(true);
  });

  it('leaves nothing half there when it refuses or is away, and says what was tried, without its address', async () => {
    const count = async () =>
      Number((await gateway.asSuperuser("select count(*) as n from packet_store where packet_type = 'session'"))[0].n);
    const then = { sessions: await count(), objects: server.keys().length };
    const refusal = async (env: Record<string, string>) => {
      await restart(env);
      return (await gateway.tool('C', 'store_session_to_cascade', { session: sessionOf('crank'), project_id: 'l9' }))
        .text;
    };
    const tried = 'BUSY (L9BSY): archive store s3: put failed twice';
    const at = { ARCHIVE_S3_ENDPOINT: server.url };
    expect(await refusal({ ...at, ARCHIVE_STORE: 's3:another-bucket' })).toContain(
      `${tried} (PUT was answered with HTTP 404)`,
    );
    process.env.AWS_SECRET_ACCESS_KEY = 'not-the-key';
    expect(await refusal({ ...at, ARCHIVE_STORE: `s3:${BUCKET}` })).toContain(
      `${tried} (PUT was answered with HTTP 403)`,
    );
    process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
    const nowhere = { ARCHIVE_S3_ENDPOINT: 'http://127.0.0.1:9', ARCHIVE_STORE: `s3:${BUCKET}` };
    expect(await refusal(nowhere)).toContain(`${tried} (ECONNREFUSED)`);
    expect({ sessions: await count(), objects: server.keys().length }).toStrictEqual(then);
  });

  async function restart(env: Record<string, string>) {
    const { home } = gateway;
    await gateway.instance.close();
    gateway = await startTestGateway({ embedder: standIn, home, env: { ...settings(), ...env } });
  }
});
