import { signToken } from '../auth/jwt.ts';
import { loadConfig } from '../config/config.ts';
import { loadCredentials } from '../home/credentials.ts';

export interface TokenOptions {
  caller: string;
  scopes?: string[];
  projects?: string[];
  tenant?: string;
  org?: string;
  user?: string;
  role?: string;
  expires: string;
}

/** Prints only a signed token, so that scripts can capture it. */
export async function token(env: NodeJS.ProcessEnv, options: TokenOptions): Promise<void> {
  const config = loadConfig(env);
  if (config.jwt.jwksUrl) throw new Error('JWKS_URL is set: get tokens from the issuer of that address');
  const { tenant, org, user, ...rest } = options;
  const signed = await signToken(config, loadCredentials(config), {
    ...rest,
    tenantId: tenant,
    orgId: org,
    userId: user,
  }).catch(() => {
    throw new Error(`--expires: must be a time such as 30m, 1h or 7d, not ${options.expires}`);
  });
  process.stdout.write(`${signed}\n`);
}
