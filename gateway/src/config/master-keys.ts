// Reads the master keys of archives from their text, which the environment or credentials.json has.
import { createHash } from 'node:crypto';
import { KnownError } from '../base/errors.ts';

/** What to say to somebody who has no master key of archives. */
export const NEW_MASTER_KEY = '`echo "k1:$(openssl rand -base64 32)"` makes one';

const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** 32 bytes in base64, of either alphabet. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

export interface MasterKey {
  id: string;
  secret: Buffer;
}

/** The keys of `id:base64,…`, or what is wrong with them, without a word of them. */
function readKeys(text: string): MasterKey[] | string {
  const entries = text.split(/[\s,]+/).filter(Boolean);
  const each = entries.length > 1 ? 'each key ' : '';
  const keys: MasterKey[] = [];
  for (const entry of entries) {
    const [, id, encoded] = /^(?:([^:]*):)?(.*)$/.exec(entry)!;
    if (!KEY.test(encoded!)) return `${each}must be 32 bytes in base64; ${NEW_MASTER_KEY}`;
    const secret = Buffer.from(encoded!, 'base64');
    const named = id ?? createHash('sha256').update('l9-memory key id').update(secret).digest('hex').slice(0, 8);
    if (!KEY_ID.test(named)) return `the id of a key must be 1 to 64 letters, digits or ._-; ${NEW_MASTER_KEY}`;
    keys.push({ id: named, secret });
  }
  if (keys.length === 0) return `there is no key; ${NEW_MASTER_KEY}`;
  return new Set(keys.map(({ id }) => id)).size < keys.length ? 'two keys have the same id' : keys;
}

/** What is wrong with the text of master keys; null if nothing is. */
export function problemOfMasterKeys(text: string): string | null {
  const keys = readKeys(text);
  return typeof keys === 'string' ? keys : null;
}

/** Reads `id:base64,…`, of which the first key encrypts and all decrypt. A key without an id gets one from its hash. */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = readKeys(text);
  if (typeof keys === 'string') throw new KnownError('L9KEY', `ARCHIVE_KEY: ${keys}`);
  return keys;
}
