import { createRemoteJWKSet, errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { KnownError } from '../errors.ts';
import type { Actors } from './actors.ts';
import { DEFAULT_TENANT, type Identity } from './identity.ts';

const text = (limit: number) => z.string().min(1, 'must not be empty').max(limit, `at most ${limit} characters`);
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
// Any uuid, also the nil one and versions that RFC 9562 does not know: PostgreSQL takes them all.
const uuid = z.guid('must be a uuid');

const claims = z.object({
  caller: text(63),
  role: z.enum(['l9_agent', 'l9_admin', 'l9_platform_admin'], 'not a known role').optional(),
  tenant_id: uuid.default(DEFAULT_TENANT),
  org_id: uuid.nullish(),
  user_id: uuid.nullish(),
  scopes: list,
  projects: list,
  session_id: text(200).nullish(),
  trace_id: text(200).nullish(),
});

const denied = (reason: string, field: string | null = null) => new KnownError('L9AUT', reason, field);

export type TokenVerifier = (token: string) => Promise<Identity>;

/** Verifies tokens: algorithm, issuer, audience and expiry pinned, then the claims, then that the caller is known. */
export function tokenVerifier(config: Config, secret: string, actors: Actors): TokenVerifier {
  const rules = {
    issuer: config.jwt.issuer,
    audience: config.jwt.audience,
    requiredClaims: ['exp'],
    clockTolerance: 5,
  };
  const key = new TextEncoder().encode(secret);
  const remote = config.jwt.jwksUrl ? createRemoteJWKSet(new URL(config.jwt.jwksUrl)) : null;

  return async (token) => {
    const verified = await (remote
      ? jwtVerify(token, remote, { ...rules, algorithms: ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] })
      : jwtVerify(token, key, { ...rules, algorithms: ['HS256'] })
    ).catch((error: unknown) => {
      throw denied(reasonOf(error));
    });
    const parsed = claims.safeParse(verified.payload);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const name = String(issue?.path[0] ?? 'claims');
      throw denied(`claim ${name}: ${issue?.message ?? 'malformed'}`, name);
    }
    const given = parsed.data;
    const role = actors.roleOf(given.tenant_id.toLowerCase(), given.caller);
    if (given.role && given.role !== role) throw denied('claim role: not the role of this caller', 'role');
    return {
      caller: given.caller,
      role,
      tenantId: given.tenant_id.toLowerCase(),
      scopes: given.scopes,
      projects: given.projects,
      orgId: given.org_id ?? null,
      userId: given.user_id ?? null,
      sessionId: given.session_id ?? null,
      traceId: given.trace_id ?? null,
    };
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the token's claim ${error.claim} is missing or not accepted`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'the token is signed with an algorithm that is not accepted';
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
  expires: string;
}

/** Signs a token with this installation's secret. The claims may say more than the caller's actor has: the database cuts them down. */
export async function signToken(config: Config, secret: string, request: TokenRequest): Promise<string> {
  const given = {
    caller: request.caller,
    role: request.role,
    tenant_id: request.tenantId ?? DEFAULT_TENANT,
    org_id: request.orgId,
    user_id: request.userId,
    scopes: request.scopes,
    projects: request.projects ?? ['*'],
  };
  return new SignJWT(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setIssuer(config.jwt.issuer)
    .setAudience(config.jwt.audience)
    .setExpirationTime(request.expires)
    .sign(new TextEncoder().encode(secret));
}
