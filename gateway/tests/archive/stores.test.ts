// The stores of archives outside the database: what they keep, and what becomes of it when one fails.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { openStores, type Store } from '../../src/archive/stores/index.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';
import { standIn } from '../support/stand-in.ts';
import { type BlobServer, startBlobServer } from './blob-server.ts';
import { startS3 } from './s3-server.ts';
import { keepMessages, retrieve, sessionOf, store } from './support.ts';

describe('a store outside the database', () => {
  let folder: string;
  let blobs: BlobServer;
  let gateway: TestGateway;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'l9-archive-'));
    blobs = await startBlobServer();
    gateway = await startTestGateway({
      embedder: standIn,
      env: {
        ARCHIVE_STORE: `http:${blobs.url}, file:${folder}`,
        ARCHIVE_HTTP_TOKEN: blobs.token,
        ARCHIVE_TIMEOUT_MS: '2000',
      },
    });
    await keepMessages(gateway);
  });
  afterAll(async () => {
    await gateway.close();
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const files = () => readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

  it('has the bytes as every other store has them, and they tell nothing', async () => {
    const session = sessionOf('valve', 200_000);
    const { pointer } = await store(gateway, 'C', session);
    const name = pointer.slice('cascade://'.length);
    const copy = readFileSync(join(folder, name.slice(0, 2), name));
    expect(blobs.kept.get(name)!.equals(copy)).toBe(true);
    expect(copy.includes('valve')).toBe(false);
    expect((await retrieve(gateway, 'C', pointer)).result.session_data.messages).toStrictEqual(session.messages);
    const [row] = await gateway.sql('C', 'select connectors, redundancy from session_archives where pointer = $1', [
      pointer,
    ]);
    expect(row).toStrictEqual({ connectors: ['http', 'file'], redundancy: 2 });
  });

  it('is repaired from another when it lies or lost its copy', async () => {
    const { pointer } = await store(gateway, 'C', sessionOf('rotor'));
    const name = pointer.slice('cascade://'.length);
    const whole = blobs.kept.get(name)!;
    blobs.kept.set(name, Buffer.from('other bytes'));
    expect((await retrieve(gateway, 'C', pointer)).result.verified).toBe(true);
    expect(blobs.kept.get(name)!.equals(whole)).toBe(true);
    writeFileSync(join(folder, name.slice(0, 2), name), 'other bytes');
    blobs.behaviour = 'lying';
    expect((await retrieve(gateway, 'C', pointer)).text).toMatch(/^INTEGRITY_ERROR \(L9INT\)/);
    blobs.behaviour = 'honest';
    expect((await retrieve(gateway, 'C', pointer)).result.verified).toBe(true);
  });

  it('is not read without end when it sends more than any session has', async () => {
    const { pointer } = await store(gateway, 'C', sessionOf('spring'));
    blobs.behaviour = 'endless';
    // The other store has a good copy.
    expect((await retrieve(gateway, 'C', pointer)).result.verified).toBe(true);
    expect(blobs.sentMegabytes).toBeGreaterThan(25);
    expect(blobs.sentMegabytes).toBeLessThan(200);
    blobs.behaviour = 'honest';
    expect((await retrieve(gateway, 'C', pointer)).result.verified).toBe(true);
  });

  it.each([
    ['silent', /^BUSY \(L9BSY\): archive store http: put failed twice \(no answer within 2000 ms\)$/],
    ['full', /^BUSY \(L9BSY\): archive store http: put failed twice \(PUT was answered with HTTP 507\)$/],
  ] as const)('leaves nothing half there when it is %s, nor a connection', async (how, message) => {
    const before = { files: files().length, memories: await count() };
    const session = sessionOf(`bolt-${how}`);
    blobs.behaviour = how;
    const { text } = await gateway.tool('C', 'store_session_to_cascade', { session, project_id: 'l9' });
    blobs.behaviour = 'honest';
    expect(text).toMatch(message);
    expect({ files: files().length, memories: await count() }).toStrictEqual(before);
    await eventually(() => blobs.unanswered === 0);
    // Once it is well again, the same session is stored.
    expect((await store(gateway, 'C', session)).status).toBe('inserted');
  });

  it('leaves nothing half there when it is down, and is not asked by a search', async () => {
    const before = { files: files().length, memories: await count() };
    blobs.behaviour = 'down';
    const { isError, text } = await gateway.tool('C', 'store_session_to_cascade', {
      session: sessionOf('lever'),
      project_id: 'l9',
    });
    expect(isError).toBe(true);
    expect(text).toMatch(/^BUSY \(L9BSY\): archive store http: put failed twice/);
    const { sessions } = await gateway.call('C', 'query_cascade_memories', { query: 'valve' });
    expect(sessions).toHaveLength(1);
    // The other store still has a good copy.
    expect((await retrieve(gateway, 'C', sessions[0].pointer)).result.verified).toBe(true);
    blobs.behaviour = 'honest';
    expect({ files: files().length, memories: await count() }).toStrictEqual(before);
  });

  it('loses its copy at once when the archive is not entered', async () => {
    const before = { files: files().length, blobs: blobs.kept.size, memories: await count() };
    blobs.onPut = () => gateway.asSuperuser('delete from archive.prepared_sessions');
    const { text } = await gateway.tool('C', 'store_session_to_cascade', {
      session: sessionOf('ratchet'),
      project_id: 'l9',
    });
    blobs.onPut = async () => {};
    expect(text).toMatch(/^INVALID_INPUT \(L9VAL\): archive_id: must be a session that you prepared/);
    expect({ files: files().length, blobs: blobs.kept.size, memories: await count() }).toStrictEqual(before);
  });

  async function count() {
    const [row] = await gateway.asSuperuser(
      "select count(*)::integer as n from packet_store where packet_type = 'session'",
    );
    return row.n;
  }
});

describe('a store that is asked again', () => {
  let blobs: BlobServer;
  beforeAll(async () => {
    blobs = await startBlobServer();
    blobs.behaviour = 'down';
  });
  afterAll(() => blobs.close());

  const archive = () => {
    const settings = { L9_MEMORY_HOME: tmpdir(), ARCHIVE_STORE: `http:${blobs.url}` };
    return openStores(loadConfig(settings).archive, pino({ level: 'silent' }))[0]!;
  };
  const failure = async (store: Store) => (await errorOf(store.delete(Buffer.alloc(32)))).message;

  it('is tried twice, and the error says so', async () => {
    expect(await failure(archive())).toBe(
      'archive store http: delete failed twice (DELETE was answered with HTTP 503)',
    );
  });

  it('is not asked for a while after five failures, and the error says so', async () => {
    const store = archive();
    for (let n = 0; n < 2; n++) expect(await failure(store)).toMatch(/failed twice/);
    expect(await failure(store)).toMatch(/failed once/);
    expect(await failure(store)).toBe(
      'archive store http: delete was not tried, because the store is down; it is asked again within 10 s',
    );
  });
});

const noDisk = whyNoSmallDisk();
(noDisk ? describe.skip : describe)(`a full disk of the store file${noDisk ? ` (${noDisk})` : ''}`, () => {
  it('refuses a session with nothing half there, and takes it when there is room again', async () => {
    const disk = mountSmallDisk(4);
    const gateway = await startTestGateway({ embedder: standIn, env: { ARCHIVE_STORE: `file:${disk.folder}/blobs` } });
    try {
      await keepMessages(gateway);
      const session = sessionOf('flange', 2_000_000);
      disk.fill(1);
      const { text } = await gateway.tool('C', 'store_session_to_cascade', { session, project_id: 'l9' });
      expect(text).toBe('BUSY (L9BSY): archive store file: put failed twice (ENOSPC)');
      const kept = readdirSync(join(disk.folder, 'blobs'), { recursive: true, withFileTypes: true });
      expect(kept.filter((entry) => entry.isFile())).toStrictEqual([]);
      const [left] = await gateway.asSuperuser(
        "select (select count(*) from packet_store where packet_type = 'session')::integer as memories, (select count(*) from session_archives)::integer as archives",
      );
      expect(left).toStrictEqual({ memories: 0, archives: 0 });
      disk.clear();
      const { pointer } = await store(gateway, 'C', session);
      expect((await retrieve(gateway, 'C', pointer)).result.verified).toBe(true);
    } finally {
      await gateway.close();
      disk.drop();
    }
  });
});

describe('each of twenty sessions', () => {
  // The embedded engine keeps the memory that a session of 20 MB took, so it stores smaller ones here.
  const largest = serverUrl ? 20_000_000 : 200_000;
  const sizes = Array.from({ length: 20 }, (_, n) => Math.round(1_000 * (largest / 1_000) ** (n / 19)));

  it('comes back to the last byte from each store, whatever its size', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-archive-'));
    const blobs = await startBlobServer();
    const bucket = await startS3('sessions');
    const restoreCredentials = bucket.useCredentials();
    const stores = ['postgres', `file:${join(folder, 'files')}`, `http:${blobs.url}`, 's3:sessions'];
    const env = { ARCHIVE_S3_ENDPOINT: bucket.url, ARCHIVE_HTTP_TOKEN: blobs.token };
    let gateway = await startTestGateway({ embedder: standIn, env: { ...env, ARCHIVE_STORE: stores.join(',') } });
    try {
      await keepMessages(gateway);
      const sessions = new Map<string, ReturnType<typeof sessionOf>>();
      for (const [n, bytes] of sizes.entries()) {
        const session = sessionOf(`engine${n}`, bytes);
        sessions.set((await store(gateway, 'C', session)).pointer, session);
      }
      expect(sessions.size).toBe(sizes.length);
      for (const ARCHIVE_STORE of stores) {
        const { home } = gateway;
        await gateway.instance.close();
        gateway = await startTestGateway({ embedder: standIn, home, env: { ...env, ARCHIVE_STORE } });
        for (const [pointer, session] of sessions) {
          const { result } = await retrieve(gateway, 'C', pointer);
          expect(result.session_data).toStrictEqual({ ...session, tags: session.tags.toSorted() });
        }
      }
    } finally {
      restoreCredentials();
      await gateway.close();
      await Promise.all([blobs.close(), bucket.close()]);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
