// The file of a backup: what is written is what is read, any change is noticed, and nothing half-written stays.
import { pbkdf2 } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { decryption, encryption } from '../../src/commands/backup/encryption.ts';
import { type Cipher, draftOf, type Manifest, readBackup, writeBackup } from '../../src/commands/backup/file.ts';
import { deleteDrafts, deleteOld, readKeep } from '../../src/commands/backup/keep.ts';
import { loadConfig } from '../../src/config/config.ts';

const TEXT = 'The deploy key is rotated on Mondays. '.repeat(20);
const manifest = (created_at = '2026-11-26T03:15:00.000Z'): Manifest => ({
  ...{ engine: 'server', version: '1.0.0', postgres: '18.6', created_at, migrations: { 1: 'sha1:0' } },
  ...{ counts: { 'public.packet_store': 1 }, audit_head: null, archive_keys: [], roles: [] },
});
async function* textOf(text: string) {
  yield Buffer.from(text);
}
const derive = promisify(pbkdf2);
const never = new AbortController().signal;
const config = loadConfig({});

let folder: string;
let keyFile: string;
let encrypt: Cipher;
let decrypt: Cipher;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'l9-backup-'));
  keyFile = join(folder, 'key.txt');
  writeFileSync(keyFile, `# made for a test\n${await generateIdentity()}\n`);
  encrypt = (await encryption(config, { key: keyFile }))!;
  decrypt = await decryption(config, { key: keyFile });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, by: Cipher | null = null, text = TEXT, createdAt?: string) =>
  writeBackup(path, { manifest: manifest(createdAt), database: textOf(text), encrypt: by, signal: never });
const read = async (path: string): Promise<{ manifest: Manifest; text: string }> => {
  const backup = await readBackup(path, async () => decrypt);
  const parts: Buffer[] = [];
  for await (const part of backup.database()) parts.push(part);
  return { manifest: backup.manifest, text: Buffer.concat(parts).toString() };
};

const FORMS: [string, () => Cipher | null][] = [
  ['plain', () => null],
  ['encrypted', () => encrypt],
];
// No database has a part in these, so one run of them is enough.
describeOnEmbedded.each(FORMS)('a backup, %s', (how, by) => {
  it('brings back what was written, and is its owner’s alone', async () => {
    const path = join(folder, `${how}.backup`);
    await write(path, by());
    expect(await read(path)).toMatchObject({ manifest: manifest(), text: TEXT });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'latin1')).not.toContain('deploy key');
    expect(readFileSync(path, 'latin1').includes('packet_store')).toBe(how === 'plain');
  });

  it('is refused if any byte is another, missing or added', async () => {
    const path = join(folder, `${how}-changed.backup`);
    await write(path, by());
    const whole = readFileSync(path);
    const broken = join(folder, 'broken');
    const trial = async (bytes: Buffer): Promise<string> => {
      writeFileSync(broken, bytes);
      return read(broken).then(
        () => 'accepted',
        ({ message }: Error) =>
          /is damaged|is not a backup|is of version \d|can't be decrypted/.test(message) ? 'refused' : message,
      );
    };
    expect(await trial(whole)).toBe('accepted');
    const outcomes: Record<string, string> = {};
    for (let place = 0; place < whole.length; place++) {
      const changed = Buffer.from(whole);
      changed[place]! ^= 1;
      outcomes[`byte ${place}`] = await trial(changed);
    }
    for (let length = 0; length < whole.length; length += 7)
      outcomes[`first ${length} bytes`] = await trial(whole.subarray(0, length));
    outcomes['one more byte'] = await trial(Buffer.concat([whole, Buffer.from('x')]));
    expect(Object.entries(outcomes).filter(([, outcome]) => outcome !== 'refused')).toStrictEqual([]);
  });

  it('leaves nothing if what it is made of ends with an error, or if it is stopped', async () => {
    const inside = mkdtempSync(join(folder, 'failed-'));
    const path = join(inside, 'x.backup');
    const failing = async function* () {
      yield Buffer.alloc(1_000_000, 'x');
      throw new Error('the source broke');
    };
    // Opening a file waits for these, as it does on a busy machine.
    const busy = Array.from({ length: 16 }, () => derive('x', 'y', 50_000, 32, 'sha512'));
    await expect(
      writeBackup(path, { manifest: manifest(), database: failing(), encrypt: by(), signal: never }),
    ).rejects.toThrow('the source broke');
    await Promise.all(busy);
    expect(readdirSync(inside)).toStrictEqual([]);
    const stop = new AbortController();
    const endless = async function* () {
      for (;;) {
        yield Buffer.alloc(100_000, 'x');
        if (existsSync(draftOf(path))) stop.abort();
      }
    };
    await expect(
      writeBackup(path, { manifest: manifest(), database: endless(), encrypt: by(), signal: stop.signal }),
    ).rejects.toThrow(/abort/i);
    expect(readdirSync(inside)).toStrictEqual([]);
  });

  it('replaces no file', async () => {
    const path = join(folder, `${how}-there.backup`);
    writeFileSync(path, 'something else');
    await expect(write(path, by())).rejects.toThrow('which is never replaced');
    expect(readFileSync(path, 'utf8')).toBe('something else');
    expect(existsSync(draftOf(path))).toBe(false);
  });
});

describeOnEmbedded('the key of a backup', () => {
  it('is a passphrase, in whose place no other is taken', async () => {
    const given = (BACKUP_PASSPHRASE: string) => loadConfig({ BACKUP_PASSPHRASE });
    const path = join(folder, 'passphrase.backup');
    await write(path, await encryption(given('correct horse battery'), { encrypt: true }));
    const by = (passphrase: string) => readBackup(path, () => decryption(given(passphrase), {}));
    expect((await by('correct horse battery')).manifest).toStrictEqual(manifest());
    await expect(by('correct horse batterx')).rejects.toThrow(/can't be decrypted: give the passphrase/);
    // The file of a key does not help either.
    await expect(read(path)).rejects.toThrow(/can't be decrypted: name the file of a key/);
  });

  it('may be public where backups are made, and is secret where they are restored', async () => {
    const recipients = join(folder, 'public.txt');
    writeFileSync(recipients, `${await identityToRecipient(readFileSync(keyFile, 'utf8').split('\n')[1]!)}\n`);
    const path = join(folder, 'public.backup');
    await write(path, await encryption(config, { key: recipients }));
    expect((await read(path)).text).toBe(TEXT);
    await expect(decryption(config, { key: recipients })).rejects.toThrow(/has no secret key/);
  });

  it('is refused by line, and is not shown', async () => {
    const path = join(folder, 'bad.txt');
    for (const [content, message] of [
      ['', /has no key of age/],
      ['# only a comment\n', /has no key of age/],
      ['# first\nAGE-SECRET-KEY-1HUSHHUSH\n', /line 2 is not a key of age/],
      ['age1hushhush', /line 1 is not a key of age/],
      ['a passphrase, hush', /line 1 is not a key of age/],
    ] as const) {
      writeFileSync(path, content);
      const refused = await encryption(config, { key: path }).then(
        () => 'taken',
        ({ message }: Error) => message,
      );
      expect(refused).toMatch(message);
      expect(refused.toLowerCase()).not.toContain('hush');
    }
    await expect(encryption(config, { key: join(folder, 'none') })).rejects.toThrow('there is no such file');
    // Nobody can be asked where tests run.
    await expect(encryption(config, { encrypt: true })).rejects.toThrow(/^BACKUP_PASSPHRASE: set it/);
  });
});

describeOnEmbedded('--keep', () => {
  it('deletes the oldest backups of the same folder and name pattern, and nothing else', async () => {
    const inside = mkdtempSync(join(folder, 'keep-'));
    const day = (number: number) => `l9-2026-11-0${number}.backup`;
    for (const number of [3, 1, 4, 2, 5]) {
      await write(join(inside, day(number)), number === 2 ? encrypt : null, TEXT, `2026-11-0${number}T03:15:00.000Z`);
    }
    const others = [
      'other-2026-11-01.backup',
      'l9-2026-11-01.backup.old',
      'l9-2026-1-01.backup',
      'l9-2026-11-0x.backup',
    ];
    for (const name of others) await write(join(inside, name), null, TEXT, '2020-01-01T00:00:00.000Z');
    writeFileSync(join(inside, day(6)), 'a file of somebody else');
    mkdirSync(join(inside, day(7)));
    symlinkSync(join(inside, 'other-2026-11-01.backup'), join(inside, day(8)));
    mkdirSync(join(inside, 'deeper'));
    await write(join(inside, 'deeper', day(1)), null, TEXT, '2020-01-01T00:00:00.000Z');

    expect(await deleteOld(join(inside, day(5)), 3)).toStrictEqual([day(2), day(1)]);
    expect(readdirSync(inside).sort()).toStrictEqual([...others, ...[3, 4, 5, 6, 7, 8].map(day), 'deeper'].sort());
    expect(readdirSync(join(inside, 'deeper'))).toHaveLength(1);
    // The new one stays, whatever the clock said when the others were made.
    expect(await deleteOld(join(inside, day(3)), 1)).toStrictEqual([day(5), day(4)]);
    expect(existsSync(join(inside, day(3)))).toBe(true);
  });

  it('needs a name that changes, and a number', () => {
    expect(readKeep(undefined, 'x')).toBeNull();
    expect(readKeep('7', 'l9-2026.backup')).toBe(7);
    expect(() => readKeep('7', 'l-memory.backup')).toThrow('--keep: name a folder instead of a file');
    for (const bad of ['0', '-1', '1.5', 'all', '', '10001'])
      expect(() => readKeep(bad, '1'), bad).toThrow('--keep: a number from 1 to 10000');
  });

  it('clears away the drafts of backups that were killed, and leaves those of others that run', () => {
    const inside = mkdtempSync(join(folder, 'drafts-'));
    const [killed, running] = [
      draftOf(join(inside, 'l9-1.backup'), 2 ** 22 + 1),
      draftOf(join(inside, 'l9-2.backup'), process.pid),
    ];
    const other = draftOf(join(inside, 'x-1.backup'), 2 ** 22 + 1);
    for (const path of [killed, running, other]) writeFileSync(path, '');
    deleteDrafts(join(inside, 'l9-3.backup'));
    expect([killed, running, other].map(existsSync)).toStrictEqual([false, true, true]);
  });
});
