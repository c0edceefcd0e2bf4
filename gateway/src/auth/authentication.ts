// Who sent a request, on every API: by an API key or by a token.
import { createHash, hash, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { KnownError } from '../base/errors.ts';
import type { KeyVerifier } from './api-keys.ts';
import type { NameClient } from './clients.ts';
import type { Identity } from './identity.ts';
import type { TokenVerifier } from './jwt.ts';
import type { RateLimits } from './rate-limits.ts';
import { addressOf, apiKey, textOf, withHeaders } from './request.ts';

const REMEMBERED = 10_000;
const REMEMBERED_FOR_MS = 60 * 60_000;

const MONITOR = 'monitor';
const MONITORS: ReadonlySet<string> = new Set([MONITOR, 'l9_admin', 'l9_platform_admin']);

const digest = (key: string) => createHash('sha256').update(key).digest();
const isSame = (key: string, expected: string | null) =>
  expected !== null && timingSafeEqual(digest(key), digest(expected));

/** A JWT has three parts, of which the first is a JSON object in Base64. A key that is configured so would have to be a token. */
const looksLikeToken = (secret: string) => /^eyJ[\w-]*\.[\w-]*\.[\w-]*/.test(secret);

export type Authentication = ReturnType<typeof createAuthentication>;

export interface AuthenticationOptions {
  verifyKey: KeyVerifier;
  verifyToken: TokenVerifier;
  rateLimits: Pick<RateLimits, 'countAttempt' | 'countMonitorAttempt'>;
  metricsKey: string | null;
  nameClient: NameClient;
}

/**
 * A key or token that was accepted from an address before is not limited there, so that one client with a wrong key does not
 * lock out the others behind the same address.
 */
export function createAuthentication({
  verifyKey,
  verifyToken,
  rateLimits,
  metricsKey,
  nameClient,
}: AuthenticationOptions) {
  const accepted = new LRUCache<string, true>({ max: REMEMBERED, ttl: REMEMBERED_FOR_MS });

  async function verify<Accepted>(
    request: Request,
    secret: string,
    verifier: () => Accepted | Promise<Accepted>,
    countAttempt = rateLimits.countAttempt,
  ) {
    const address = addressOf(request);
    const attempt = hash('sha256', `${address}\n${secret}`, 'base64');
    const takeBack = accepted.has(attempt) ? null : await countAttempt(address);
    try {
      const identity = await verifier();
      accepted.set(attempt, true);
      await takeBack?.();
      return identity;
    } catch (error) {
      accepted.delete(attempt);
      throw error;
    }
  }

  const keyOf = (request: Request) => {
    const key = apiKey(request.headers);
    if (key) return key;
    throw new KnownError(
      'L9AUT',
      'an API key or a token is required: Authorization: Bearer <key or JWT>, or X-API-Key: <key>',
    );
  };

  return {
    /** `usual` is what a secret is called in the error that is neither. */
    async identify(request: Request, usual: 'key' | 'token' = 'key'): Promise<Identity> {
      const secret = keyOf(request);
      const verifier = async () => {
        if (looksLikeToken(secret)) return verifyToken(secret);
        try {
          return verifyKey(secret);
        } catch (error) {
          // A known key whose caller is refused is no token.
          if (usual === 'key' || (error as KnownError).claimed) throw error;
          return verifyToken(secret);
        }
      };
      const identity = withHeaders(await verify(request, secret, verifier), request.headers);
      return nameClient(identity, textOf(request.headers, 'x-l9-client'));
    },
    /** Accepts METRICS_KEY and the keys of admins. */
    async asMonitor(request: Request) {
      const key = keyOf(request);
      const roleOf = () => (isSame(key, metricsKey) ? MONITOR : verifyKey(key).role);
      const role = await verify(request, key, roleOf, rateLimits.countMonitorAttempt);
      if (!MONITORS.has(role)) throw new KnownError('L9SCP', 'only for METRICS_KEY and the keys of admins');
    },
  };
}
