// One-time links that sign in the person at this machine. A code is made of its expiry, a random part and a MAC with the secret that
// signs tokens, so that the server and `l9-memory console`, which share the home folder, both make codes and need no memory in common.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SigningKeys } from '../auth/jwt.ts';

const VALID_FOR_MS = 10 * 60_000;
const EXPIRY_BYTES = 6;
const RANDOM_BYTES = 10;
const MAC_BYTES = 16;
/** A few typing errors are forgiven; then all links made so far end. */
const MAX_WRONG_CODES = 5;

/** `instance` is the id of the running server: a link ends with the server that it was made for. */
function mac(head: Buffer, instance: string, { jwtSecret, jwtSecrets }: SigningKeys): Buffer {
  const secret = Object.values(jwtSecrets)[0] ?? jwtSecret;
  if (secret === undefined) throw new Error('there is no secret that signs tokens');
  return createHmac('sha256', secret)
    .update(`l9-memory console\n${instance}\n`)
    .update(head)
    .digest()
    .subarray(0, MAC_BYTES);
}

/** The address of the console with a code in its fragment, which browsers send to no server. */
export function signInLink(url: string, instance: string, keys: SigningKeys, now = Date.now()): string {
  const head = Buffer.alloc(EXPIRY_BYTES + RANDOM_BYTES);
  head.writeUIntBE(now + VALID_FOR_MS, 0, EXPIRY_BYTES);
  randomBytes(RANDOM_BYTES).copy(head, EXPIRY_BYTES);
  return `${url}/console#code=${Buffer.concat([head, mac(head, instance, keys)]).toString('base64url')}`;
}

/** Accepts each valid code once. After a few wrong ones, the codes made before end. */
export function codeVerifier(instance: string, keys: () => SigningKeys, clock = Date.now) {
  const used = new Map<string, number>();
  let endedUntil = 0;
  let wrong = 0;

  const isGenuine = (bytes: Buffer) => {
    if (bytes.length !== EXPIRY_BYTES + RANDOM_BYTES + MAC_BYTES) return false;
    const head = bytes.subarray(0, EXPIRY_BYTES + RANDOM_BYTES);
    return timingSafeEqual(bytes.subarray(head.length), mac(head, instance, keys()));
  };

  return (code: string): boolean => {
    const now = clock();
    for (const [past, end] of used) if (end <= now) used.delete(past);
    const bytes = Buffer.from(code, 'base64url');
    const name = bytes.toString('base64url');
    if (name !== code || !isGenuine(bytes)) {
      wrong += 1;
      if (wrong < MAX_WRONG_CODES) return false;
      wrong = 0;
      endedUntil = now + VALID_FOR_MS;
      return false;
    }
    const expiry = bytes.readUIntBE(0, EXPIRY_BYTES);
    if (expiry <= now || expiry <= endedUntil || used.has(name)) return false;
    used.set(name, expiry);
    wrong = 0;
    return true;
  };
}
