import { createHash, timingSafeEqual } from 'node:crypto';
import { KnownError } from '../base/errors.ts';
import { claimsOf, type Directory } from './directory.ts';
import { DEFAULT_TENANT, type Identity } from './identity.ts';

const digest = (key: string) => createHash('sha256').update(key).digest();

export type KeyVerifier = (key: string) => Identity;

/** The configured keys by caller. A caller may have several, so that keys can be rotated without downtime. */
export type McpApiKeys = Readonly<Record<string, readonly string[]>>;

/**
 * Resolves an MCP API key, from the configuration or the database, to the identity of its caller. It is compared with
 * every configured key, in constant time. `keys` is called each time, because keys can change at run time.
 */
export function keyVerifier(keys: () => McpApiKeys, directory: Directory): KeyVerifier {
  let current: McpApiKeys | null = null;
  let digests: { caller: string; digest: Buffer }[] = [];
  return (key) => {
    if (keys() !== current) {
      current = keys();
      digests = Object.entries(current).flatMap(([caller, list]) =>
        list.map((one) => ({ caller, digest: digest(one) })),
      );
    }
    const hash = digest(key);
    let caller: string | null = null;
    for (const candidate of digests) {
      if (timingSafeEqual(candidate.digest, hash)) caller = candidate.caller;
    }
    const claims = caller === null ? directory.findKey(hash) : claimsOf(caller, DEFAULT_TENANT);
    if (!claims) throw new KnownError('L9AUT', 'the API key is not accepted');
    return directory.admit(claims);
  };
}
