// The keys of archives, which master keys wrap, and the form of encrypted bytes.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { MasterKey } from '../config/master-keys.ts';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** The form of the stored document. */
export const SCHEMA_VERSION = '1';

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
