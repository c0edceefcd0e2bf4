// Moving archives to another store: name both, verify all, name the new one alone.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommandHere } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { type S3Server, startS3 } from './s3-server.ts';
import { retrieve, sessionOf, store } from './support.ts';

describe('an archive that moves to another store', () => {
  let folder: string;
  let bucket: S3Server;
  let restoreCredentials: () => void;
  let gateway: TestGateway;
  let pointer: string;
  let packetId: string;
  const files = () => join(folder, 'files');
  const file = () => {
    const name = pointer.slice('cascade://'.length);
    return join(files(), name.slice(0, 2), name);
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'l9-move-'));
    bucket = await startS3('sessions');
    restoreCredentials = bucket.useCredentials();
    gateway = await startTestGateway({ embedder: standIn });
    ({ pointer, packet_id: packetId } = await store(gateway, 'C', sessionOf('anchor')));
  });
  afterAll(async () => {
    restoreCredentials();
    await gateway.close();
    await bucket.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function restart(...stores: string[]) {
    const { home } = gateway;
    await gateway.instance.close();
    const env = { ARCHIVE_STORE: stores.join(','), ARCHIVE_S3_ENDPOINT: bucket.url };
    gateway = await startTestGateway({ embedder: standIn, home, env });
  }
  const verify = (caller = 'L') =>
    runCommandHere(['archive', 'verify', '--all', '--caller', caller, '--url', gateway.instance.url], {
      home: gateway.home.home,
    });
  const opens = async () => (await retrieve(gateway, 'C', pointer)).result?.verified;
  const connectors = async () =>
    (await gateway.sql('L', 'select connectors from session_archives where pointer = $1', [pointer]))[0].connectors;
  const blobs = async () => (await gateway.asSuperuser('select count(*)::integer as n from archive_blobs'))[0].n;

  it('goes from postgres to file, and leaves the database', async () => {
    await restart('postgres', `file:${files()}`);
    expect(await verify()).toStrictEqual({ code: 0, out: '1 whole, 0 not, copies added: 1\n', err: '' });
    expect(await connectors()).toStrictEqual(['postgres', 'file']);
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not\n' });
    await restart(`file:${files()}`);
    expect(await opens()).toBe(true);
    expect(await blobs()).toBe(1);
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not\n' });
    expect(await connectors()).toStrictEqual(['file']);
    expect(await blobs()).toBe(0);
    expect(await opens()).toBe(true);
  });

  it('goes from file to s3, whose bad copy is reported and repaired', async () => {
    await restart(`file:${files()}`, 's3:sessions/archive');
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not, copies added: 1\n' });
    const whole = readFileSync(file());
    writeFileSync(file(), 'other bytes');
    expect(await verify()).toMatchObject({
      code: 0,
      out: `${pointer}: hash in file, repaired\n1 whole, 0 not, copies repaired: 1\n`,
    });
    expect(readFileSync(file()).equals(whole)).toBe(true);
    const [row] = await gateway.asSuperuser(
      "select sqlstate, details ->> 'problem' as problem, details ->> 'connector' as connector from audit_log where operation = 'RETRIEVE' and status = 'error' order by audit_id desc limit 1",
    );
    expect(row).toStrictEqual({ sqlstate: 'L9INT', problem: 'hash', connector: 'file' });
    rmSync(file());
    expect((await verify()).out).toBe(`${pointer}: missing in file, repaired\n1 whole, 0 not, copies repaired: 1\n`);
    await restart('s3:sessions/archive');
    rmSync(files(), { recursive: true });
    expect(await opens()).toBe(true);
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not\n' });
    expect(await connectors()).toStrictEqual(['s3']);
  });

  it('goes back into the database, and is deleted in every store that has it', async () => {
    await restart('s3:sessions/archive', 'postgres');
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not, copies added: 1\n' });
    await restart('postgres');
    expect(await opens()).toBe(true);
    await gateway.call('C', 'delete_memory', { packet_id: packetId });
    expect(await blobs()).toBe(0);
    const [{ waiting }] = await gateway.asSuperuser(
      'select array_agg(connector order by connector) as waiting from archive.pending_deletions',
    );
    expect(waiting).toStrictEqual(['s3']);
  });

  it('is not moved by a caller that may read but not change it, which is told so', async () => {
    const { pointer: its } = await store(gateway, 'L', sessionOf('rudder'), { scope: 'developer' });
    await restart('postgres', `file:${files()}`);
    expect(await verify('C')).toMatchObject({
      code: 1,
      out: `${its}: missing in file\n1 whole, 1 not\n`,
    });
    expect(readdirSync(folder)).not.toContain('files');
    expect(await verify()).toMatchObject({ code: 0, out: '1 whole, 0 not, copies added: 1\n' });
  });
});
