// POST /console/sign-in takes the one-time code of a link and answers with a token of the person at this machine.
import type { Express, Request, Response } from 'express';
import { PERSON } from '../auth/identity.ts';
import { type SigningKeys, signToken } from '../auth/jwt.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { addressOf } from '../auth/request.ts';
import { KnownError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { jsonBody } from '../http/json-body.ts';
import { codeVerifier } from './link.ts';

/** A working day; a new link renews it. */
const SIGNED_IN_FOR = '8h';
const takesLargeInput = () => false;

export interface SignInOptions {
  config: Config;
  /** The id of this server, which the codes of its links are made for. */
  instance: string;
  keys: () => SigningKeys;
  rateLimits: Pick<RateLimits, 'countAttempt'>;
}

export function mountSignIn(app: Express, { config, instance, keys, rateLimits }: SignInOptions): void {
  const isValid = codeVerifier(instance, keys);

  app.post('/console/sign-in', jsonBody(takesLargeInput), async (request: Request, response: Response) => {
    response.set('Cache-Control', 'no-store');
    if (config.jwt.jwksUrl)
      throw new KnownError('L9AUT', 'tokens come from the issuer of JWKS_URL: sign in with one of its tokens');
    const code: unknown = (request.body as { code?: unknown } | undefined)?.code;
    if (typeof code !== 'string') throw new KnownError('L9VAL', 'code: must be the code of a sign-in link', 'code');
    const takeBack = await rateLimits.countAttempt(addressOf(request));
    if (!isValid(code)) {
      throw new KnownError(
        'L9AUT',
        'code: this link has been used, has expired, or was made for another start of the server; `l9-memory console` prints a new one',
        'code',
      );
    }
    await takeBack();
    response.json({ token: await signToken(config, keys(), { caller: PERSON, expires: SIGNED_IN_FOR }) });
  });
}
