// The drill on the embedded engine: a backup of a server in use is restored elsewhere, and is the whole memory again.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { generateIdentity } from 'age-encryption';
import { packTar, unpackTar } from 'modern-tar/fs';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { type BackupOptions, backup } from '../../src/commands/backup/backup.ts';
import { readBackup, writeBackup } from '../../src/commands/backup/file.ts';
import { restore } from '../../src/commands/backup/restore.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createPglite } from '../../src/database/pglite.ts';
import { takeHome } from '../../src/home/examine.ts';
import type { HomeLock } from '../../src/home/lock.ts';
import type { TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import {
  CONTENTS,
  expectWhole,
  keepSaving,
  never,
  noKey,
  run,
  start,
  tamper,
  use,
  useFolder,
} from './support/backups.ts';

const inFolder = useFolder();

describeOnEmbedded('a backup of the embedded engine', () => {
  let home: TestHome;
  let lock: HomeLock;
  let gateway: TestGateway;
  let head: string;
  const path = () => inFolder('embedded.backup');
  const place = (name: string) => ({ L9_MEMORY_HOME: inFolder(name) });
  const back = (file: string, env: Record<string, string>, options = {}) =>
    run(() => restore(env, file, { database: 'l9_memory', ...options }));
  const make = (file: string, options: BackupOptions = {}, env = home.env) => run(() => backup(env, file, options));
  const startAt = ({ L9_MEMORY_HOME }: { L9_MEMORY_HOME: string }) =>
    start({ ...home, home: L9_MEMORY_HOME, env: { ...home.env, L9_MEMORY_HOME } });

  beforeAll(async () => {
    home = await createTestHome();
    lock = await takeHome(loadConfig(home.env));
    gateway = await start(home);
    head = await use(gateway);
  });
  afterAll(async () => {
    await gateway?.close();
    lock?.release();
    await home?.drop();
  });

  it('is made while the server saves, and is the whole memory again in a new home folder', async () => {
    const saving = keepSaving(gateway);
    const before = [...saving.saved];
    const made = await make(path());
    await saving.stop();
    expect(made).toMatchObject({
      code: 0,
      said: expect.stringMatching(
        / memories, \d+ rows in \d+ tables, .*not encrypted\nnot in it: the keys of .*credentials\.json/,
      ),
    });
    expect(readdirSync(home.home).filter((name) => name.startsWith('backup'))).toStrictEqual([]);
    expect(statSync(path()).mode & 0o777).toBe(0o600);

    const restored = await back(path(), place('restored'));
    expect(restored.code, restored.said).toBe(0);
    expect(restored.said).toMatch(
      /rows in \d+ tables, as many as were backed up\n.* [1-9]\d* seals of [1-9]\d* audit rows are right.*\n.*by words, and [1-9] of \d by meaning/,
    );
    const other = await startAt(place('restored'));
    await expectWhole(other, head, [CONTENTS[0]!, ...before]);
    await other.close();
    // The server that was backed up goes on.
    await expectWhole(gateway, head);
  });

  it('is never restored over a database, nor over keys', async () => {
    const again = await back(path(), place('restored'));
    expect([again.code, again.said]).toStrictEqual([
      1,
      expect.stringContaining('has a database, and a restore never replaces one'),
    ]);
    const secret = inFolder('key.txt');
    writeFileSync(secret, await generateIdentity());
    const encrypted = inFolder('with-keys.backup');
    expect((await make(encrypted, { key: secret, withKeys: true })).code).toBe(0);
    const own = place('own');
    mkdirSync(own.L9_MEMORY_HOME);
    writeFileSync(join(own.L9_MEMORY_HOME, 'credentials.json'), readFileSync(join(home.home, 'credentials.json')));
    const refused = await back(encrypted, own, { key: secret });
    expect([refused.code, refused.said]).toStrictEqual([
      1,
      expect.stringContaining('the backup brings keys, and there are others'),
    ]);
  });

  it('brings the keys back if they were asked for, and they are asked for only where they are encrypted', async () => {
    const refused = await make(inFolder('x.backup'), { withKeys: true });
    expect([refused.code, refused.said]).toStrictEqual([
      1,
      '--with-keys: only in an encrypted backup; add --encrypt, or --key FILE\n',
    ]);
    const options = { key: inFolder('key.txt') };
    const restored = await back(inFolder('with-keys.backup'), place('keys'), options);
    expect(restored.code, restored.said).toBe(0);
    const file = join(inFolder('keys'), 'credentials.json');
    expect(readFileSync(file, 'utf8')).toBe(readFileSync(join(home.home, 'credentials.json'), 'utf8'));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = await startAt(place('keys'));
    // A key of the former server opens the new one.
    const mcp = await fetch(`${other.instance.url}/attach`, {
      headers: { authorization: `Bearer ${gateway.apiKey('C')}` },
    });
    expect(mcp.status).toBe(200);
    await mcp.body!.cancel();
    await other.close();
  });

  const change = (name: string, sql: string) => async (): Promise<string> => {
    const path_ = inFolder(`${name}.backup`);
    await tamper(path(), path_, async (database) => {
      const data = inFolder(`${name}-data`);
      await pipeline(database, unpackTar(data));
      const engine = await createPglite(data);
      await engine.exec(`set session_replication_role = replica; ${sql}`);
      await engine.close();
      return packTar(data);
    });
    return path_;
  };
  it.each([
    [
      'lacks a row',
      change(
        'row',
        `delete from public.packet_versions where ctid in (select ctid from public.packet_versions limit 1)`,
      ),
      /public\.packet_versions: the backup was made of 1 rows, and 0 rows came back/,
    ],
    [
      'has a changed row of the audit log',
      change(
        'audit',
        `alter table public.audit_log disable trigger all;
        update public.audit_log set details = details || '{"caller": "X"}' where caller = 'C'`,
      ),
      /the audit log of the backup is not what its seals say: a row was altered/,
    ],
    [
      'can be searched by nobody',
      change('search', 'revoke execute on function public.search_memory from l9_admin'),
      /a search by words fails in the restored database/,
    ],
  ])('is refused if it %s, and leaves no database', async (_what, tampered, reason) => {
    const at = place(`refused-${_what.replaceAll(' ', '-')}`);
    const { code, said } = await back(await tampered(), at);
    expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    expect(readdirSync(at.L9_MEMORY_HOME).filter((name) => !name.startsWith('lock'))).toStrictEqual([]);
  });

  it('is refused if a byte of it has changed, and of another kind of file', async () => {
    const bytes = readFileSync(path());
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(inFolder('byte.backup'), bytes);
    const damaged = await back(inFolder('byte.backup'), place('never'));
    expect([damaged.code, damaged.said]).toStrictEqual([
      1,
      expect.stringMatching(/is damaged: it is not what was written/),
    ]);
    const foreign = await back(join(home.home, 'credentials.json'), place('never'));
    expect([foreign.code, foreign.said]).toStrictEqual([1, expect.stringMatching(/is not a backup of l9-memory/)]);
    expect(existsSync(inFolder('never'))).toBe(false);
  });

  it('is of another version if its migrations are unknown, and says which', async () => {
    const { manifest, database } = await readBackup(path(), noKey);
    const newer = { ...manifest, version: '9.1.0', migrations: { ...manifest.migrations, 99: 'sha1:0' } };
    const file = inFolder('newer.backup');
    await writeBackup(file, { manifest: newer, database: database(), encrypt: null, signal: never });
    const { code, said } = await back(file, place('never'));
    expect([code, said]).toStrictEqual([
      1,
      expect.stringMatching(
        /made by l9-memory 9\.1\.0, whose migration 99 is unknown here: restore it with that version/,
      ),
    ]);
  });

  it('needs no server, and cleans up after a backup that was killed', async () => {
    await gateway.close();
    lock.release();
    const killed = join(home.home, `backup.${2 ** 22 + 1}`);
    writeFileSync(killed, '');
    const files = inFolder('daily');
    expect((await make(`${files}/`)).said).toMatch(/there is no such folder; make it first/);
    mkdtempSync(`${files}-`);
    const [daily] = readdirSync(inFolder()).filter((name) => name.startsWith('daily-'));
    const made = await make(inFolder(daily!), { keep: '7' });
    expect(made.code, made.said).toBe(0);
    expect(readdirSync(inFolder(daily!))).toStrictEqual([expect.stringMatching(/^l9-memory-\d{8}T\d{6}Z\.backup$/)]);
    expect(existsSync(killed)).toBe(false);
    const none = await make(inFolder('none.backup'), {}, { L9_MEMORY_HOME: inFolder('nothing') });
    expect([none.code, none.said]).toStrictEqual([1, expect.stringMatching(/there is no database to back up/)]);
    expect(existsSync(inFolder('nothing'))).toBe(false);
  });
});
