// Secrets of this installation: generated on first use, never static, readable only by their owner.
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { SigningKeys } from '../auth/jwt.ts';
import { type Config, ConfigError, refuseSharedKeys } from '../config.ts';
import { kidPattern } from '../environment.ts';

export interface Credentials extends SigningKeys {
  mcpApiKeys: Record<string, string[]>;
  archiveKey: string;
}

const apiKey = z.string().min(16);
const file = z
  .object({
    jwt_secret: z.string().min(32).nullish(),
    jwt_secrets: z.record(z.string().regex(kidPattern), z.string().min(32)).default({}),
    mcp_api_keys: z.record(
      z.string(),
      z.union([apiKey.transform((key) => [key]), z.array(apiKey).min(1)], 'a key, or a list of keys'),
    ),
    archive_key: z.string().min(32),
  })
  .refine((given) => given.jwt_secret || Object.keys(given.jwt_secrets).length > 0, {
    message: 'either this or jwt_secrets is required',
    path: ['jwt_secret'],
  });

const secret = () => randomBytes(32).toString('base64url');

export const credentialsPath = (home: string) => join(home, 'credentials.json');

/** The secrets of a home folder, generated on first use. Those of the environment take precedence. */
export function loadCredentials(config: Config): Credentials {
  const path = credentialsPath(config.home);
  mkdirSync(config.home, { recursive: true, mode: 0o700 });
  const stored = parse(path, readOrCreate(path));
  const mcpApiKeys = { ...stored.mcp_api_keys, ...config.mcpApiKeys };
  refuseSharedKeys(mcpApiKeys);
  return {
    jwtSecret: config.jwt.secret ?? stored.jwt_secret ?? undefined,
    jwtSecrets: Object.keys(config.jwt.secrets).length > 0 ? config.jwt.secrets : stored.jwt_secrets,
    mcpApiKeys,
    archiveKey: config.archiveKey ?? stored.archive_key,
  };
}

/** The error messages quote nothing of the file, since it contains secrets. */
function parse(path: string, text: string): z.output<typeof file> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new ConfigError(`${path}: not valid JSON`);
  }
  const parsed = file.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map((issue) => `${path}: ${issue.path.join('.')}: ${issue.message}`).join('\n'),
  );
}

function readOrCreate(path: string): string {
  try {
    chmodSync(path, 0o600);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const fresh = { jwt_secret: secret(), mcp_api_keys: { L: secret(), C: secret() }, archive_key: secret() };
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600 });
  try {
    // A link fails if the file exists, so two processes that start at once use the same secrets.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8');
}
