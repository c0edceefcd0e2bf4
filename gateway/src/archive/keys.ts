// Master keys of archives, the keys that they wrap, and the form of encrypted bytes.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { NEW_MASTER_KEY } from '../environment.ts';
import { KnownError } from '../errors.ts';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** The form of the stored document. */
export const SCHEMA_VERSION = '1';
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

export interface MasterKey {
  id: string;
  secret: Buffer;
}

/** What encrypted bytes are bound to: bytes or keys that are moved to another archive do not open there. */
export interface Place {
  tenantId: string;
  archiveId: string;
  schemaVersion: string;
}

const bindingOf = ({ tenantId, archiveId, schemaVersion }: Place) =>
  Buffer.from(`l9-memory archive|${tenantId}|${archiveId}|${schemaVersion}`);
const keyBindingOf = ({ tenantId, archiveId }: Place, keyId: string) =>
  Buffer.from(`l9-memory archive key|${tenantId}|${archiveId}|${keyId}`);

/** Reads `id:base64,…`, of which the first key encrypts and all decrypt. A key without an id gets one from its hash. */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((entry) => {
      const [, id, encoded] = /^(?:([^:]*):)?(.*)$/.exec(entry)!;
      const secret = Buffer.from(encoded!, 'base64');
      if (secret.length !== KEY_BYTES)
        throw new KnownError('L9KEY', `ARCHIVE_KEYS: a key must be 32 bytes in base64; ${NEW_MASTER_KEY}`);
      const named = id ?? createHash('sha256').update('l9-memory key id').update(secret).digest('hex').slice(0, 8);
      if (!KEY_ID.test(named))
        throw new KnownError(
          'L9KEY',
          `ARCHIVE_KEYS: the id of a key must be 1 to 64 letters, digits or ._-; ${NEW_MASTER_KEY}`,
        );
      return { id: named, secret };
    });
  if (keys.length === 0) throw new KnownError('L9KEY', `ARCHIVE_KEYS: there is no key; ${NEW_MASTER_KEY}`);
  if (new Set(keys.map(({ id }) => id)).size < keys.length)
    throw new KnownError('L9KEY', 'ARCHIVE_KEYS: two keys have the same id');
  return keys;
}

/** Nonce, encrypted bytes and tag, behind so many free bytes. */
function seal(key: Buffer, plain: readonly Buffer[], binding: Buffer, free = 0): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(binding);
  const length = plain.reduce((sum, piece) => sum + piece.length, 0);
  const sealed = Buffer.alloc(free + NONCE_BYTES + length + TAG_BYTES);
  let end = free + nonce.copy(sealed, free);
  for (const piece of plain) end += cipher.update(piece).copy(sealed, end);
  cipher.final();
  cipher.getAuthTag().copy(sealed, end);
  return sealed;
}

/** Null if the bytes were changed, or belong to another key or place. */
function unseal(key: Buffer, sealed: Buffer, binding: Buffer): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES)).setAAD(binding);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
    // It adds no bytes, but throws if the tag is wrong.
    decipher.final();
    return plain;
  } catch {
    return null;
  }
}

export const hashOf = (blob: Buffer) => createHash('sha256').update(blob).digest();

export function wrapKey(master: MasterKey, dataKey: Buffer, place: Place): Buffer {
  return seal(master.secret, [dataKey], keyBindingOf(place, master.id));
}

export function unwrapKey(master: MasterKey, wrapped: Buffer, place: Place): Buffer | null {
  return unseal(master.secret, wrapped, keyBindingOf(place, master.id));
}

/** Encrypts the pieces of a document with a new key: version (1 byte), nonce, encrypted bytes, tag. */
export function encrypt(master: MasterKey, document: readonly Buffer[], place: Place) {
  const dataKey = randomBytes(KEY_BYTES);
  const blob = seal(dataKey, document, bindingOf(place), 1);
  blob[0] = VERSION;
  return { blob, hash: hashOf(blob), wrappedKey: wrapKey(master, dataKey, place) };
}

export function decrypt(dataKey: Buffer, blob: Buffer, place: Place): string | null {
  if (blob[0] !== VERSION) return null;
  return unseal(dataKey, blob.subarray(1), bindingOf(place))?.toString('utf8') ?? null;
}

/** A keyed hash of a document, by which the same one is known again; it tells nothing without the master key. */
export function fingerprint(master: MasterKey, tenantId: string, document: readonly Buffer[]): Buffer {
  const key = Buffer.from(hkdfSync('sha256', master.secret, '', 'l9-memory archive fingerprint', KEY_BYTES));
  const hmac = createHmac('sha256', key).update(`${tenantId}|`);
  for (const piece of document) hmac.update(piece);
  return hmac.digest();
}
