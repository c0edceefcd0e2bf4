// Secrets of this installation: generated on first use, never static, readable only by their owner.
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.ts';

export interface Credentials {
  jwtSecret: string;
  mcpApiKeys: Record<string, string>;
  archiveKey: string;
}

const file = z.object({
  jwt_secret: z.string().min(32),
  mcp_api_keys: z.record(z.string(), z.string().min(16)),
  archive_key: z.string().min(32),
});

const secret = () => randomBytes(32).toString('base64url');

export const credentialsPath = (home: string) => join(home, 'credentials.json');

/** The secrets of a home folder, made if it has none; what the environment gives goes before them. */
export function loadCredentials(config: Config): Credentials {
  const path = credentialsPath(config.home);
  mkdirSync(config.home, { recursive: true, mode: 0o700 });
  const stored = file.parse(JSON.parse(readOrCreate(path)));
  return {
    jwtSecret: config.jwt.secret ?? stored.jwt_secret,
    mcpApiKeys: { ...stored.mcp_api_keys, ...config.mcpApiKeys },
    archiveKey: config.archiveKey ?? stored.archive_key,
  };
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
    // A link fails where a file is already: of two processes that start at once, one's secrets hold for both.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8');
}
