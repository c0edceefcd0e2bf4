import { createHash, timingSafeEqual } from 'node:crypto';
import { KnownError } from '../errors.ts';
import type { Actors } from './actors.ts';
import { DEFAULT_TENANT, type Identity } from './identity.ts';

const digest = (key: string) => createHash('sha256').update(key).digest();

export type KeyVerifier = (key: string | null) => Identity;

/** Turns an MCP API key into the identity of its caller. Every key is compared, each in constant time. */
export function keyVerifier(keys: Readonly<Record<string, string>>, actors: Actors): KeyVerifier {
  const known = Object.entries(keys).map(([caller, key]) => ({ caller, digest: digest(key) }));
  return (key) => {
    if (!key) throw new KnownError('L9AUT', 'an API key is required: Authorization: Bearer <key>, or X-API-Key: <key>');
    const given = digest(key);
    let caller: string | null = null;
    for (const candidate of known) {
      if (timingSafeEqual(candidate.digest, given)) caller = candidate.caller;
    }
    if (!caller) throw new KnownError('L9AUT', 'the API key is not accepted');
    return {
      caller,
      role: actors.roleOf(DEFAULT_TENANT, caller),
      tenantId: DEFAULT_TENANT,
      scopes: null,
      projects: null,
      orgId: null,
      userId: null,
      sessionId: null,
      traceId: null,
    };
  };
}
