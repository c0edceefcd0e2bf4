// Who sent a request: by its API key (MCP) or by its token (GraphQL).
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { KnownError } from '../errors.ts';
import type { KeyVerifier } from './api-keys.ts';
import type { Identity } from './identity.ts';
import type { TokenVerifier } from './jwt.ts';
import type { RateLimits } from './rate-limits.ts';
import { addressOf, apiKey, bearerToken, withHeaders } from './request.ts';

const REMEMBERED = 10_000;
const REMEMBERED_FOR_MS = 60 * 60_000;

const MONITOR = 'monitor';
const MONITORS: ReadonlySet<string> = new Set([MONITOR, 'l9_admin', 'l9_platform_admin']);

const digest = (key: string) => createHash('sha256').update(key).digest();
const isSame = (key: string, expected: string | null) =>
  expected !== null && timingSafeEqual(digest(key), digest(expected));

export interface Authentication {
  byKey(request: Request): Promise<Identity>;
  byToken(request: Request): Promise<Identity>;
  /** Accepts METRICS_KEY and the keys of admins. */
  asMonitor(request: Request): Promise<void>;
}

export interface AuthenticationOptions {
  verifyKey: KeyVerifier;
  verifyToken: TokenVerifier;
  rateLimits: Pick<RateLimits, 'countAttempt' | 'countMonitorAttempt'>;
  metricsKey: string | null;
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
}: AuthenticationOptions): Authentication {
  const accepted = new LRUCache<string, true>({ max: REMEMBERED, ttl: REMEMBERED_FOR_MS });

  async function verify<Accepted>(
    request: Request,
    secret: string,
    verifier: () => Accepted | Promise<Accepted>,
    countAttempt = rateLimits.countAttempt,
  ) {
    const address = addressOf(request);
    const attempt = createHash('sha256').update(`${address}\n${secret}`).digest('base64');
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
    throw new KnownError('L9AUT', 'an API key is required: Authorization: Bearer <key>, or X-API-Key: <key>');
  };

  return {
    async byKey(request) {
      const key = keyOf(request);
      return withHeaders(await verify(request, key, () => verifyKey(key)), request.headers);
    },
    async asMonitor(request) {
      const key = keyOf(request);
      const roleOf = () => (isSame(key, metricsKey) ? MONITOR : verifyKey(key).role);
      const role = await verify(request, key, roleOf, rateLimits.countMonitorAttempt);
      if (!MONITORS.has(role)) throw new KnownError('L9SCP', 'only for METRICS_KEY and the keys of admins');
    },
    async byToken(request) {
      const token = bearerToken(request.headers);
      if (!token) throw new KnownError('L9AUT', 'a token is required: Authorization: Bearer <JWT>');
      return withHeaders(await verify(request, token, () => verifyToken(token)), request.headers);
    },
  };
}
