// The variables of the environment: their forms, limits and defaults, and secrets that are read from files.

import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { readFileWithin, reasonOfRefusal } from '../input/files.ts';
import { isBranch, isProject } from '../input/names.ts';
import { problemOfMasterKeys } from './master-keys.ts';
import { ConfigError } from './problem.ts';
import { trustedProxies, words } from './trusted-proxies.ts';

const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    abort: true,
  });

const whole = (least: number, most: number) => {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z.coerce.number(rule).int(rule).min(least, rule).max(most, rule);
};

const NO_SHARE = 'must be a number from 0 to 1';
const share = z.coerce.number(NO_SHARE).min(0, NO_SHARE).max(1, NO_SHARE);

const oneOf = <const Name extends string>(...names: Name[]) => z.enum(names, `must be one of ${names.join(', ')}`);

const databaseUrl = z
  .string()
  .refine(namesOneHost, {
    message:
      'must name one host. Of several hosts the driver does not find the primary: a proxy does, see docs/how-to/run-with-failover.md',
    abort: true,
  })
  .pipe(url('postgres:', 'postgresql:'))
  .refine(isDecodable, {
    message: 'must have each % of its user name, password and database written as %25',
  });

/** False for a list of hosts as libpq takes it, before the database or as a parameter. What stands before the last @ is a password. */
function namesOneHost(text: string): boolean {
  const [, hosts] = /^\w+:\/\/(?:[^/?#]*@)?([^/?#@]*)/.exec(text) ?? [];
  return !hosts?.includes(',') && !/[?&]host(addr)?=[^&#]*(,|%2c)/i.test(text);
}

function isDecodable(text: string): boolean {
  try {
    const { username, password, pathname } = new URL(text);
    return [username, password, pathname].map(decodeURIComponent).length > 0;
  } catch {
    return false;
  }
}

/** DATABASE_REPLICA_URLS: one or more, separated by spaces or commas. */
const databaseUrls = z
  .string()
  .transform(words)
  .pipe(z.array(databaseUrl).min(1, 'must be the URL of a replica, or several of them'));

/** A key that is sent in a header: a key that a header can't carry would fail at the first call only. */
const headerKey = z.string().regex(/^[\x21-\x7e]+$/, 'must be letters, digits and signs of ASCII, without spaces');

export const masterKeys = z.string().superRefine((text, context) => {
  const message = problemOfMasterKeys(text);
  if (message) context.addIssue({ code: 'custom', message });
});

/** The form of a `kid`. It is not a mere number, because an object sorts such keys, and the first key signs. */
export const kidPattern = /^(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const MIN_SECRET = 32;

/** JWT_SECRET: one secret, or `kid:secret,kid:secret…`, of which one may be without a kid: it verifies tokens that name none. */
const jwtSecrets = z
  .string()
  .min(MIN_SECRET, `must have at least ${MIN_SECRET} characters`)
  .transform((value, context) => {
    const byKid: Record<string, string> = {};
    const isList = /^\s*[A-Za-z0-9._-]{1,63}:/.test(value);
    let secret = isList ? null : value;
    for (const entry of isList ? value.split(',').map((part) => part.trim()) : []) {
      const [, kid, ofKid] = /^([^:]+):(.+)$/.exec(entry) ?? [];
      const isNew = kid === undefined ? secret === null : kidPattern.test(kid) && !Object.hasOwn(byKid, kid);
      if (!isNew || (ofKid ?? entry).length < MIN_SECRET) {
        context.addIssue({
          code: 'custom',
          message:
            'must be kid:key,kid:key… with kids that differ and are not mere digits, and keys of at least 32 characters',
        });
        return z.NEVER;
      }
      if (kid === undefined) secret = entry;
      else byKid[kid] = ofKid!;
    }
    return { secret, byKid };
  });

export interface ArchiveStore {
  kind: 'postgres' | 'file' | 'http' | 's3';
  place: string;
}

/** A bucket, and what the names in it begin with. */
const s3Place = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*\/?$/;

/** ARCHIVE_STORE: `postgres`, `file:/path`, `http:https://host/path`, `s3:bucket/prefix`, or several of them. */
const archiveStores = z.string().transform((text, context): ArchiveStore[] => {
  const stores = words(text).map((store) => {
    const [, kind, place] = /^(postgres|file|http|s3)(?::(.+))?$/.exec(store) ?? [];
    if (kind === 'postgres' && !place) return { kind, place: '' } as const;
    if (kind === 'file' && place && isAbsolute(place)) return { kind, place } as const;
    if (kind === 'http' && place && /^https?:\/\//.test(place) && URL.canParse(place)) return { kind, place } as const;
    if (kind === 's3' && place && s3Place.test(place)) return { kind, place } as const;
    return null;
  });
  const kinds = new Set(stores.map((store) => store?.kind));
  if (stores.length > 0 && !kinds.has(undefined) && kinds.size === stores.length) return stores as ArchiveStore[];
  context.addIssue({
    code: 'custom',
    message:
      'must be postgres, file:/absolute/path, http:https://host/path or s3:bucket/prefix, or several of them, one of each',
  });
  return z.NEVER;
});

const project = z.string().refine(isProject, 'must be 1 to 200 letters, digits or any of . _ / @ : + -');

const branch = z.string().refine(isBranch, 'must be the name of a branch that Git allows, at most 255 characters');
// As identity.is_display_name() has it.
const org = z.string().regex(/^[^\p{Cc}\s]([^\p{Cc}]{0,198}[^\p{Cc}\s])?$/u, 'must be the name or the id of an org');

/** All variables except MCP_API_KEY_<caller>. docs/reference/configuration.md and .env.example list the same ones. */
export const environment = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_OWNER_URL: databaseUrl.optional(),
  DATABASE_REPLICA_URLS: databaseUrls.optional(),
  REPLICA_MAX_LAG_MS: whole(100, 600_000).default(2_000),
  ROOT_DATABASE_URL: databaseUrl.optional(),
  TARGET_DATABASE_URL: databaseUrl.optional(),
  BACKUP_DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_SIZE: whole(1, 100).default(4),
  DATABASE_QUEUE_LENGTH: whole(1, 100_000).default(1_000),
  DATABASE_QUEUE_TIMEOUT_MS: whole(100, 600_000).default(10_000),
  L9_OWNER_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  L9_GATEWAY_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  L9_BACKUP_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  BACKUP_PASSPHRASE: z.string().min(12, 'must have at least 12 characters').optional(),
  PSQL: z.string().default('psql'),
  L9_MEMORY_HOME: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: whole(0, 65535).default(9001),
  CONSOLE: oneOf('on', 'off').optional(),
  ALLOWED_HOSTS: z.string().optional(),
  TRUSTED_PROXIES: trustedProxies.default([]),
  METRICS_KEY: headerKey.min(32, 'must have at least 32 characters').optional(),
  METRICS_PORT: whole(0, 65535).optional(),
  RATE_LIMIT_STORE: oneOf('process', 'database').default('process'),
  WRONG_KEYS_PER_MINUTE: whole(1, 1_000_000).default(100),
  JWT_SECRET: jwtSecrets.optional(),
  JWKS_URL: url('https:', 'http:').optional(),
  JWT_ISSUER: z.string().default('l9-memory'),
  JWT_AUDIENCE: z.string().default('l9-memory'),
  MCP_API_KEY: headerKey.optional(),
  L9_PROJECT: project.optional(),
  CORTEX_PROJECT: project.optional(),
  L9_BRANCH: branch.optional(),
  CORTEX_BRANCH: branch.optional(),
  L9_ORG: org.optional(),
  CORTEX_ORG: org.optional(),
  ARCHIVE_KEY: masterKeys.optional(),
  LUMERA_MEMORY_KEY: masterKeys.optional(),
  ARCHIVE_STORE: archiveStores.prefault('postgres'),
  ARCHIVE_HTTP_TOKEN: headerKey.optional(),
  ARCHIVE_S3_ENDPOINT: url('https:', 'http:').optional(),
  ARCHIVE_S3_REGION: z.string().default('us-east-1'),
  ARCHIVE_TIMEOUT_MS: whole(100, 600_000).default(30_000),
  OPENAI_API_KEY: headerKey.optional(),
  OPENAI_BASE_URL: url('https:', 'http:').optional(),
  L9_EMBEDDER: oneOf('wasm', 'native').optional(),
  EMBEDDING_MODEL: z.string().optional(),
  EMBEDDING_DIMENSIONS: whole(1, 1536).default(1536),
  EMBEDDING_TIMEOUT_MS: whole(100, 600_000).default(15_000),
  CHAT_MODEL: z.string().max(200, 'must have at most 200 characters').optional(),
  CHAT_BASE_URL: url('https:', 'http:').optional(),
  CHAT_API_KEY: headerKey.optional(),
  CHAT_TIMEOUT_MS: whole(100, 600_000).default(60_000),
  CLEANUP_INTERVAL_SECONDS: whole(0, 86_400).default(60),
  DRAIN_SECONDS: whole(0, 3_600).default(0),
  IDLE_SECONDS: whole(0, 86_400).default(300),
  LINGER_SECONDS: whole(0, 86_400).default(600),
  LOG_FORMAT: oneOf('json', 'pretty').optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_TRACES_EXPORTER: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url('https:', 'http:').optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url('https:', 'http:').optional(),
  OTEL_TRACES_SAMPLER_ARG: share.default(1),
  SLOW_QUERY_MS: whole(-1, 600_000).default(200),
  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').optional(),
  NODE_ENV: z.string().optional(),
});

/** What can also be given as NAME_FILE, the path of a file. The URLs of databases contain passwords. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_OWNER_URL',
  'DATABASE_REPLICA_URLS',
  'ROOT_DATABASE_URL',
  'TARGET_DATABASE_URL',
  'BACKUP_DATABASE_URL',
  'L9_OWNER_PASSWORD',
  'L9_GATEWAY_PASSWORD',
  'L9_BACKUP_PASSWORD',
  'BACKUP_PASSPHRASE',
  'JWT_SECRET',
  'MCP_API_KEY',
  'METRICS_KEY',
  'ARCHIVE_KEY',
  'LUMERA_MEMORY_KEY',
  'ARCHIVE_HTTP_TOKEN',
  'OPENAI_API_KEY',
  'CHAT_API_KEY',
] as const;
export const isSecret = (name: string) => (SECRETS as readonly string[]).includes(name) || /^MCP_API_KEY_./.test(name);

/** The files of secrets that the environment names. */
export const secretFiles = (env: NodeJS.ProcessEnv): string[] =>
  Object.entries(env).flatMap(([name, path]) =>
    path && name.endsWith('_FILE') && isSecret(name.replace(/_FILE$/, '')) ? [path] : [],
  );

const MAX_SECRET_BYTES = 1024 * 1024;

/** The keys of one caller, separated by commas. */
export const apiKeys = z
  .string()
  .transform((text) => text.split(',').map((key) => key.trim()))
  .pipe(z.array(headerKey.min(16, 'must have at least 16 characters')));

export interface SetVariables {
  /** The variables that have a value, with those of files in place. */
  values: Record<string, string>;
  /** The name that the user set: NAME_FILE for a secret of a file. */
  nameOf(name: string): string;
}

export function withSecretsOfFiles(env: NodeJS.ProcessEnv): SetVariables {
  const values = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  const files = new Map<string, string>();
  for (const [variable, path] of Object.entries(values)) {
    const name = variable.replace(/_FILE$/, '');
    if (name === variable || !isSecret(name)) continue;
    if (values[name] !== undefined) throw new ConfigError(`${name}, ${variable}: set one of them, not both`);
    delete values[variable];
    try {
      // Editors and `echo` end a file with a line feed.
      values[name] = readFileWithin(path, MAX_SECRET_BYTES)
        .toString('utf8')
        .replace(/\r?\n$/, '');
    } catch (error) {
      throw new ConfigError(`${variable}: the file cannot be read: ${reasonOfRefusal(error)}`);
    }
    if (values[name] === '') throw new ConfigError(`${variable}: the file is empty`);
    files.set(name, variable);
  }
  return { values, nameOf: (name) => files.get(name) ?? name };
}
