// The encrypted file of an exported tenant: without its key nobody reads or imports anything of it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { sealAll } from '../../../db/tests/audit/support.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { addTenant } from '../../../db/tests/support/tenants.ts';
import { openTestDatabase, type TestDatabase } from '../../../db/tests/support/test-database.ts';
import { useFolder } from './support/backups.ts';
import { exported, imported, rowsOfTenant } from './support/tenants.ts';

const inFolder = useFolder();

describeOnServer('an encrypted file of a tenant', () => {
  const SECRET = 'The vault of acme opens at nine.';
  const BACKUP_PASSPHRASE = 'correct horse battery';
  let from: TestDatabase;
  let to: TestDatabase;
  let tenant: string;
  const keys: Record<'own' | 'others' | 'recipient', string> = { own: '', others: '', recipient: '' };

  beforeAll(async () => {
    [from, to] = [await openTestDatabase(), await openTestDatabase()];
    const claims = await addTenant(from, 'acme');
    tenant = claims['jwt.claims.tenant_id'];
    await from.sql('C', 'select public.save_memory($1, project_id => $2)', [SECRET, 'l9'], claims);
    await sealAll(from);
    const own = await generateIdentity();
    for (const [name, text] of [
      ['own', own],
      ['others', await generateIdentity()],
      ['recipient', await identityToRecipient(own)],
    ] as const) {
      keys[name] = inFolder(name);
      writeFileSync(keys[name], `${text}\n`);
    }
  });
  afterAll(async () => {
    for (const db of [from, to]) await db?.close();
  });

  const refused = async (file: string, reason: RegExp, more = {}) => {
    const { code, said } = await imported(file, to, more);
    expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    expect(said).not.toMatch(/vault|AGE-SECRET-KEY-1|correct horse|battery/);
    expect(await to.asSuperuser('select from public.tenants where tenant_id = $1', [tenant])).toStrictEqual([]);
  };

  it('shows nothing of its rows, and is not written without a key', async () => {
    const plain = inFolder('plain.tenant');
    expect((await exported(from, plain, tenant)).code).toBe(0);
    expect(readFileSync(plain, 'latin1')).toContain('"name":"acme"');
    for (const [name, more] of [
      ['key', { key: keys.recipient }],
      ['phrase', { encrypt: true, BACKUP_PASSPHRASE }],
    ] as const) {
      const { code, said } = await exported(from, inFolder(name), tenant, more);
      expect([code, said]).toStrictEqual([0, expect.stringMatching(/tenant acme of .*, encrypted\n$/)]);
      const bytes = readFileSync(inFolder(name));
      for (const clear of ['acme', tenant, SECRET]) expect(bytes.includes(clear)).toBe(false);
    }
    const { code, said } = await exported(from, inFolder('none'), tenant, { encrypt: true });
    expect([code, said]).toStrictEqual([1, expect.stringMatching(/^BACKUP_PASSPHRASE: set it/)]);
    expect(existsSync(inFolder('none'))).toBe(false);
  });

  it('is refused without its key, with another one, and when it was cut off or changed', async () => {
    const [key, phrase] = [inFolder('key'), inFolder('phrase')];
    await refused(key, /BACKUP_PASSPHRASE: set it/);
    await refused(key, /can't be decrypted: name the file of a key/, { key: keys.others });
    await refused(key, /has no secret key/, { key: keys.recipient });
    await refused(key, /can't be decrypted: give the passphrase/, { BACKUP_PASSPHRASE });
    await refused(phrase, /can't be decrypted: give the passphrase/, { BACKUP_PASSPHRASE: 'correct horse batterx' });
    await refused(phrase, /can't be decrypted: name the file of a key/, { key: keys.own });
    const whole = readFileSync(key);
    writeFileSync(inFolder('cut'), whole.subarray(0, -100));
    await refused(inFolder('cut'), /is damaged|can't be decrypted/, { key: keys.own });
    writeFileSync(inFolder('half'), whole.subarray(0, whole.length / 2));
    await refused(inFolder('half'), /is damaged|can't be decrypted/, { key: keys.own });
    whole[whole.length - 500]! ^= 1;
    writeFileSync(inFolder('flipped'), whole);
    await refused(inFolder('flipped'), /is damaged|can't be decrypted/, { key: keys.own });
  });

  it.each([
    ['a key', 'key', () => ({ key: keys.own })],
    ['a passphrase', 'phrase', () => ({ BACKUP_PASSPHRASE })],
  ])('is imported with %s, row by row', async (_, name, more) => {
    const place = await openTestDatabase();
    try {
      const { code, said } = await imported(inFolder(name), place, more());
      expect([code, said]).toStrictEqual([0, expect.stringMatching(/tenant acme is in \S+: 1 memories/)]);
      expect(await rowsOfTenant(place, tenant)).toStrictEqual(await rowsOfTenant(from, tenant));
    } finally {
      await place.close();
    }
  });
});
