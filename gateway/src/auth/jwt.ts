import { hash } from 'node:crypto';
import { createRemoteJWKSet, errors, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { KnownError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { claimsOf, type Directory } from './directory.ts';
import { DEFAULT_TENANT, type Identity } from './identity.ts';

const text = (limit: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(limit, `at most ${limit} characters`)
    .refine((value) => !value.includes('\0'), 'must not contain the character NUL');
const list = z
  .union([
    z.array(text(200)).max(1000, 'at most 1000 entries'),
    z
      .string()
      .max(10_000)
      .transform((value) => value.split(/[\s,]+/).filter(Boolean)),
  ])
  .nullish()
  .transform((value) => value ?? null);
// Any uuid, including nil and versions unknown to RFC 9562, because PostgreSQL accepts all of them.
const uuid = z.guid('must be a uuid');

const claims = z.object({
  caller: text(63),
  role: z.enum(['l9_agent', 'l9_admin', 'l9_platform_admin'], 'not a known role').optional(),
  tenant_id: uuid.default(DEFAULT_TENANT),
  org_id: uuid.nullish(),
  user_id: uuid.nullish(),
  scopes: list,
  projects: list,
  default_project: text(200).nullish(),
  correlation_id: text(200).nullish(),
  session_id: text(200).nullish(),
  trace_id: text(200).nullish(),
});

const denied = (reason: string, field: string | null = null) => new KnownError('L9AUT', reason, field);

export type TokenVerifier = (token: string) => Promise<Identity>;

/** The secrets that sign and verify tokens (HS256). */
export interface SigningKeys {
  /** Secrets by the `kid` in the header of a token. The first one signs. */
  jwtSecrets: Readonly<Record<string, string>>;
  /** The secret of tokens without a `kid`. It signs if there is no named one. */
  jwtSecret: string | undefined;
}

const bytes = (secret: string) => new TextEncoder().encode(secret);

function secretFor({ kid }: JWTHeaderParameters, { jwtSecrets, jwtSecret }: SigningKeys): Uint8Array {
  const isNamed = kid !== undefined && Object.keys(jwtSecrets).length > 0;
  const secret = isNamed ? (Object.hasOwn(jwtSecrets, kid) ? jwtSecrets[kid] : undefined) : jwtSecret;
  if (secret === undefined) throw new errors.JWKSNoMatchingKey();
  return bytes(secret);
}

// An application sends the same token with each of its requests.
const REMEMBERED = 10_000;
const REMEMBERED_FOR_MS = 60_000;

interface Verified {
  given: z.output<typeof claims>;
  /** Seconds since 1970. */
  expiresAt: number;
  /** The keys that verified it. */
  keys: SigningKeys;
}

/**
 * Verifies tokens: signature, algorithm, issuer, audience and expiry, then the claims, then the caller. With a JWKS_URL
 * only public keys verify, without one only secrets do. `keys` is called each time, because keys can change at run time. What is known of a
 * token by its hash is used for a minute; expiry, keys and the caller are checked with each request.
 */
export function tokenVerifier(config: Config, keys: () => SigningKeys, directory: Directory): TokenVerifier {
  const rules = {
    issuer: config.jwt.issuer,
    audience: config.jwt.audience,
    requiredClaims: ['exp'],
    clockTolerance: 5,
  };
  const remote = config.jwt.jwksUrl ? createRemoteJWKSet(new URL(config.jwt.jwksUrl)) : null;
  const remembered = new LRUCache<string, Verified>({ max: REMEMBERED, ttl: REMEMBERED_FOR_MS });

  /** The claims of a token whose signature and rules hold. */
  async function read(token: string, current: SigningKeys): Promise<Verified> {
    const { payload } = await (remote
      ? jwtVerify(token, remote, { ...rules, algorithms: ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] })
      : jwtVerify(token, (header) => secretFor(header, current), { ...rules, algorithms: ['HS256'] })
    ).catch((error: unknown) => {
      throw denied(reasonOf(error));
    });
    const parsed = claims.safeParse(payload);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const name = String(issue?.path[0] ?? 'claims');
      throw denied(`claim ${name}: ${issue?.message ?? 'malformed'}`, name);
    }
    return { given: parsed.data, expiresAt: payload.exp! + rules.clockTolerance, keys: current };
  }

  return async (token) => {
    const current = keys();
    const key = hash('sha256', token, 'base64');
    const known = remembered.get(key);
    // Keys that were read again are another object, so a key that was taken away stops its tokens at once.
    const isValid = known !== undefined && known.keys === current && Date.now() < known.expiresAt * 1_000;
    const { given } = isValid
      ? known
      : await read(token, current).then((verified) => {
          remembered.set(key, verified);
          return verified;
        });
    return directory.admit({
      ...claimsOf(given.caller, given.tenant_id.toLowerCase()),
      role: given.role ?? null,
      scopes: given.scopes,
      projects: given.projects,
      defaultProject: given.default_project ?? null,
      orgId: given.org_id?.toLowerCase() ?? null,
      userId: given.user_id?.toLowerCase() ?? null,
      correlationId: given.correlation_id ?? null,
      sessionId: given.session_id ?? null,
      traceId: given.trace_id ?? null,
    });
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the token's claim ${error.claim} is missing or not accepted`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'the algorithm of the token is not accepted';
  if (error instanceof errors.JWKSNoMatchingKey) return 'the token is signed with a key that is not known';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature of the token is wrong';
  return 'the token is malformed';
}

export interface TokenRequest {
  caller: string;
  role?: string | undefined;
  tenantId?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  scopes?: readonly string[] | undefined;
  projects?: readonly string[] | undefined;
  defaultProject?: string | undefined;
  expires: string;
}

/** Signs a token with the secret of this installation. Claims beyond the rights of the actor have no effect. */
export async function signToken(config: Config, keys: SigningKeys, request: TokenRequest): Promise<string> {
  const given = {
    caller: request.caller,
    role: request.role,
    tenant_id: request.tenantId ?? DEFAULT_TENANT,
    org_id: request.orgId,
    user_id: request.userId,
    scopes: request.scopes,
    projects: request.projects ?? ['*'],
    default_project: request.defaultProject,
  };
  const [kid] = Object.keys(keys.jwtSecrets);
  const header = { alg: 'HS256', ...(kid === undefined ? {} : { kid }) };
  return new SignJWT(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))
    .setProtectedHeader(header)
    .setIssuedAt()
    .setIssuer(config.jwt.issuer)
    .setAudience(config.jwt.audience)
    .setExpirationTime(request.expires)
    .sign(secretFor(header, keys));
}
