// Secrets of this installation: generated on first use, never static, readable only by their owner.
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { SigningKeys } from '../auth/jwt.ts';
import { type Config, refuseSharedKeys } from '../config/config.ts';
import { kidPattern, masterKeys } from '../config/environment.ts';
import { dataFolderOf, isWithoutData } from '../database/data-folder.ts';
import { readMarker } from '../database/marker.ts';
import { checkHome, makeHome } from './folder.ts';
import { causeOf, codeOf, HomeProblem } from './problem.ts';

export interface Credentials extends SigningKeys {
  mcpApiKeys: Record<string, string[]>;
  /** Empty if there is none yet. */
  archiveKey: string;
}

const apiKey = z.string().min(16);
const file = z
  .object({
    jwt_secret: z.string().min(32).nullish(),
    jwt_secrets: z.record(z.string().regex(kidPattern), z.string().min(32)).default({}),
    mcp_api_keys: z.record(
      z.string(),
      z.union([apiKey.transform((key) => [key]), z.array(apiKey).min(1)], 'must be a key, or a list of keys'),
    ),
    /** Null where it is given in the environment, or is made by the next start. */
    archive_key: z.string().min(32).pipe(masterKeys).nullable(),
  })
  .refine((given) => given.jwt_secret || Object.keys(given.jwt_secrets).length > 0, {
    message: 'is missing, as is jwt_secrets',
    path: ['jwt_secret'],
  });
type Stored = z.output<typeof file>;

const secret = () => randomBytes(32).toString('base64url');

export const credentialsPath = (home: string) => join(home, 'credentials.json');

const WAY_OUT =
  'put a backup of the file in its place, or move it away: the next start makes new keys, and asks for the former archive key if archives need it';

/**
 * The secrets of a home folder, generated on first use. Those of the environment take precedence. Only where there can be no archives
 * yet is a key for them made: a start looks first.
 */
export function loadCredentials(config: Config, warn: (text: string) => void = warnOnStderr): Credentials {
  const path = credentialsPath(config.home);
  let stored = readCredentials(config.home);
  if (!stored) {
    refuseLostArchiveKey(config, null);
    const isNew = config.databaseUrl === null && isWithoutData(dataFolderOf(config.home));
    create(config.home, isNew && config.archiveKey === null ? secret() : null);
    if (!isNew && config.databaseUrl === null) warn(newKeys(path));
    stored = readCredentials(config.home)!;
  }
  return withEnvironment(config, stored);
}

/** The secrets of a file that must be there. */
export function rereadCredentials(config: Config): Credentials {
  const stored = readCredentials(config.home);
  if (!stored) throw new HomeProblem(credentialsPath(config.home), 'is missing', WAY_OUT);
  return withEnvironment(config, stored);
}

function withEnvironment(config: Config, stored: Stored): Credentials {
  const path = credentialsPath(config.home);
  if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
  const mcpApiKeys = { ...stored.mcp_api_keys, ...config.mcpApiKeys };
  const nameOf = (caller: string) => (caller in config.mcpApiKeys ? `MCP_API_KEY_${caller}` : `mcp_api_keys.${caller}`);
  refuseSharedKeys(Object.fromEntries(Object.entries(mcpApiKeys).map(([caller, keys]) => [nameOf(caller), keys])));
  return {
    jwtSecret: config.jwt.secret ?? stored.jwt_secret ?? undefined,
    jwtSecrets: Object.keys(config.jwt.secrets).length > 0 ? config.jwt.secrets : stored.jwt_secrets,
    mcpApiKeys,
    archiveKey: config.archiveKey ?? stored.archive_key ?? '',
  };
}

/**
 * What a start adds to the file, once it knows which master keys the archives in the database need: the file itself, and the archive
 * key. A key that archives need is asked for instead.
 */
export function completeCredentials(
  config: Config,
  { needed, hasOldData }: { needed: readonly string[]; hasOldData: boolean },
  warn: (text: string) => void,
): void {
  const path = credentialsPath(config.home);
  const stored = readCredentials(config.home);
  if (config.archiveKey !== null || stored?.archive_key) {
    if (!stored) create(config.home, null);
  } else {
    if (needed.length > 0) throw archiveKeyLost(path, needed, stored);
    if (stored) addArchiveKey(path);
    else create(config.home, secret());
  }
  if (!stored && hasOldData) warn(newKeys(path));
}

/** Refuses an archive key that would be new, if the data folder says that archives need the former one. */
export function refuseLostArchiveKey(config: Config, stored: Stored | null): void {
  if (config.databaseUrl !== null || config.archiveKey !== null || stored?.archive_key) return;
  const needed = readMarker(dataFolderOf(config.home))?.archive_keys ?? [];
  if (needed.length > 0) throw archiveKeyLost(credentialsPath(config.home), needed, stored);
}

const archiveKeyLost = (path: string, needed: readonly string[], stored: Stored | null) =>
  new HomeProblem(
    path,
    `${stored ? 'has no archive_key' : 'is missing'}, and archives are encrypted with the former archive key (${needed.join(', ')})`,
    `put the former file back, or the value of its archive_key into ARCHIVE_KEY; only if it is lost for good put a new key there, with which those archives stay closed`,
  );

const newKeys = (path: string) =>
  `new keys were made in ${path}, because the file was missing beside an existing database: clients and tokens with the former keys are refused unless you put the former file back`;

const warnOnStderr = (text: string) => {
  process.stderr.write(`l9-memory: warning: ${text}\n`);
};

/** Null if there is no such file. The errors quote nothing of it, since it contains secrets. */
export function readCredentials(home: string): Stored | null {
  checkHome(home);
  const path = credentialsPath(home);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !lstatSync(path, { throwIfNoEntry: false })) return null;
    throw new HomeProblem(path, `cannot be read, ${causeOf(error)}`, WAY_OUT);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new HomeProblem(path, 'is not valid JSON', WAY_OUT);
  }
  const parsed = file.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new HomeProblem(path, `cannot be used, ${parsed.error.issues.map(inWords).join(', and ')}`, WAY_OUT);
}

const inWords = ({ path, message }: z.core.$ZodIssue) => {
  const field = path.join('.') || 'its content';
  if (message.endsWith('received undefined')) return `${field} is missing`;
  return `${field}${message.startsWith('is ') ? '' : ':'} ${message}`;
};

function create(home: string, archiveKey: string | null): void {
  makeHome(home);
  const path = credentialsPath(home);
  const fresh = { jwt_secret: secret(), mcp_api_keys: { L: secret(), C: secret() }, archive_key: archiveKey };
  const draft = `${path}.${process.pid}`;
  writeJson(draft, fresh);
  try {
    // A link fails if the file exists, so two processes that start at once use the same secrets.
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
}

function addArchiveKey(path: string): void {
  const draft = `${path}.${process.pid}`;
  writeJson(draft, { ...JSON.parse(readFileSync(path, 'utf8')), archive_key: secret() });
  renameSync(draft, path);
}

const writeJson = (path: string, content: object) =>
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
