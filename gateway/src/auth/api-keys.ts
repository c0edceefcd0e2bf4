import { createHash, timingSafeEqual } from 'node:crypto';
import { KnownError } from '../errors.ts';
import { claimsOf, type Directory } from './directory.ts';
import { DEFAULT_TENANT, type Identity } from './identity.ts';

const digest = (key: string) => createHash('sha256').update(key).digest();

export type KeyVerifier = (key: string | null) => Identity;

/** The keys of the configuration, by caller; each caller may have several at a time, so that they rotate with no downtime. */
export type McpApiKeys = Readonly<Record<string, readonly string[]>>;

/**
 * Turns an MCP API key, of the configuration or of the table, into the identity of its caller. Every key of the
 * configuration is compared, each in constant time. `keys` is asked each time, for they can change while we run.
 */
export function keyVerifier(keys: () => McpApiKeys, directory: Directory): KeyVerifier {
  let current: McpApiKeys | null = null;
  let known: { caller: string; digest: Buffer }[] = [];
  return (key) => {
    if (!key) throw new KnownError('L9AUT', 'an API key is required: Authorization: Bearer <key>, or X-API-Key: <key>');
    if (keys() !== current) {
      current = keys();
      known = Object.entries(current).flatMap(([caller, list]) => list.map((one) => ({ caller, digest: digest(one) })));
    }
    const given = digest(key);
    let caller: string | null = null;
    for (const candidate of known) {
      if (timingSafeEqual(candidate.digest, given)) caller = candidate.caller;
    }
    const claims = caller === null ? directory.findKey(given) : claimsOf(caller, DEFAULT_TENANT);
    if (!claims) throw new KnownError('L9AUT', 'the API key is not accepted');
    return directory.admit(claims);
  };
}
