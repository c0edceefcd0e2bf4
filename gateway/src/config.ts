// The one place that reads the environment. An empty value counts as unset.
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { isBranch, isProject } from './names.ts';
import { trustedProxies, words } from './trusted-proxies.ts';

/** The bundled embedding model, which is used if no other provider is configured. */
export const LOCAL_MODEL = 'all-MiniLM-L6-v2-int8';
export const LOCAL_DIMENSIONS = 384;

export interface EmbeddingConfig {
  provider: 'openai' | 'local';
  model: string;
  dimensions: number;
  apiKey: string | null;
  baseUrl: string | null;
  timeoutMs: number;
  /** After how long without a call the bundled model is let go; 0: never. */
  idleMs?: number;
}

export interface ChatConfig {
  model: string;
  /** Null: OpenAI. */
  baseUrl: string | null;
  apiKey: string | null;
  timeoutMs: number;
}

export interface Config {
  /** URL of l9_gateway on a server; null: the embedded engine. */
  databaseUrl: string | null;
  /** URL of l9_owner, where start-up may migrate. */
  databaseOwnerUrl: string | null;
  poolSize: number;
  /** How many of them stay open, and after how long without use the others are closed. */
  idleConnections: { min: number; timeoutMs: number };
  /** How many requests may wait for a connection, and how long each. */
  queue: { length: number; timeoutMs: number };
  /** Passwords that `l9-memory db setup` sets for the roles. Null: it keeps existing ones and generates missing ones. */
  ownerPassword: string | null;
  gatewayPassword: string | null;
  /** The psql that `l9-memory psql` runs. */
  psql: string;
  /** Folder of credentials.json, of the lock, and of the embedded engine's data. */
  home: string;
  host: string;
  port: number;
  /** Host names of requests and of pages that are allowed besides those of this machine; null: see http/guard.ts. */
  allowedHosts: string[] | null;
  /** Proxies whose X-Forwarded-For names the client's address. */
  trustedProxies: string[];
  metrics: {
    /** Admits to GET /metrics, besides the keys of admins. */
    key: string | null;
    /** A port of this machine's own address that serves them without a key. */
    port: number | null;
  };
  rateLimits: {
    /** Where calls are counted: in this process, or in the database, together with other gateways. */
    store: 'process' | 'database';
    wrongKeysPerMinute: number;
  };
  jwt: {
    secret: string | null;
    /** Secrets by `kid`, the signing one first. Empty: those of credentials.json. */
    secrets: Record<string, string>;
    jwksUrl: string | null;
    issuer: string;
    audience: string;
  };
  /** Keys of the environment by caller. Those of other callers come from credentials.json. */
  mcpApiKeys: Record<string, string[]>;
  /** The key that `l9-memory mcp` uses without --caller. */
  mcpApiKey: string | null;
  /** The project, branch and org of an editor's session, in place of those of its working copy. */
  place: { project: string | null; branch: string | null; org: string | null };
  /** The key of the environment; null: the one of credentials.json. */
  archiveKey: string | null;
  archive: ArchiveConfig;
  embedding: EmbeddingConfig;
  /** The chat model that extracts facts and writes summaries for tenants that enabled it; null without one. */
  chat: ChatConfig | null;
  /** How often expired memories are deleted; 0: only on request. */
  cleanupIntervalMs: number;
  /** After how long without a request memory is given back; 0: never. */
  idleMs: number;
  /** How long the gateway still answers after a signal, while /ready is 503. */
  drainMs: number;
  /** JSON lines, or readable lines for a terminal. */
  logFormat: 'json' | 'pretty';
  logLevel: string;
  /** Calls whose SQL takes as long are logged as slow; null: none. */
  slowQueryMs: number | null;
  isProduction: boolean;
}

const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

/** The form of a `kid`. It is not a mere number, because an object sorts such keys, and the first key signs. */
export const kidPattern = /^(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const secretByKid = z.string().transform((value, context) => {
  const secrets: Record<string, string> = {};
  for (const entry of value.split(',').map((part) => part.trim())) {
    const [, kid, secret] = /^([^:]+):(.{32,})$/.exec(entry) ?? [];
    if (!kid || !secret || !kidPattern.test(kid) || Object.hasOwn(secrets, kid)) {
      context.addIssue({
        code: 'custom',
        message:
          'must be kid:key,kid:key… with kids that differ and are not mere digits, and keys of at least 32 characters',
      });
      return z.NEVER;
    }
    secrets[kid] = secret;
  }
  return secrets;
});

export interface S3Config {
  bucket: string;
  /** What the names of all objects begin with, such as `sessions/`. */
  prefix: string;
  /** Null: Amazon's. */
  endpoint: string | null;
  region: string;
  /** The bucket is part of the path instead of the host name. */
  isPathStyle: boolean;
}

export interface ArchiveConfig {
  /** All get the bytes of an archive; the first is asked first. */
  stores: { kind: 'postgres' | 'file' | 'http' | 's3'; place: string }[];
  httpToken: string | null;
  s3: Omit<S3Config, 'bucket' | 'prefix'>;
  timeoutMs: number;
}

/** A bucket, and what the names in it begin with. */
const s3Place = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*\/?$/;

/** ARCHIVE_STORE: `postgres`, `file:/path`, `http:https://host/path`, `s3:bucket/prefix`, or several of them. */
const archiveStores = z.string().transform((text, context): ArchiveConfig['stores'] => {
  const stores = words(text).map((store) => {
    const [, kind, place] = /^(postgres|file|http|s3)(?::(.+))?$/.exec(store) ?? [];
    if (kind === 'postgres' && !place) return { kind, place: '' } as const;
    if (kind === 'file' && place && isAbsolute(place)) return { kind, place } as const;
    if (kind === 'http' && place && /^https?:\/\//.test(place) && URL.canParse(place)) return { kind, place } as const;
    if (kind === 's3' && place && s3Place.test(place)) return { kind, place } as const;
    return null;
  });
  const kinds = new Set(stores.map((store) => store?.kind));
  if (stores.length > 0 && !kinds.has(undefined) && kinds.size === stores.length)
    return stores as ArchiveConfig['stores'];
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
  DATABASE_URL: url('postgres:', 'postgresql:').optional(),
  DATABASE_OWNER_URL: url('postgres:', 'postgresql:').optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(100).default(4),
  DATABASE_POOL_MIN: z.coerce.number().int().min(0).max(100).default(0),
  DATABASE_IDLE_TIMEOUT_MS: z.coerce.number().int().min(100).max(86_400_000).default(10_000),
  DATABASE_QUEUE_LENGTH: z.coerce.number().int().min(1).max(100_000).default(1_000),
  DATABASE_QUEUE_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(10_000),
  L9_OWNER_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  L9_GATEWAY_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  PSQL: z.string().default('psql'),
  L9_MEMORY_HOME: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(9001),
  ALLOWED_HOSTS: z.string().optional(),
  TRUSTED_PROXIES: trustedProxies.default([]),
  METRICS_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  METRICS_PORT: z.coerce.number().int().min(0).max(65535).optional(),
  RATE_LIMIT_STORE: z.enum(['process', 'database']).default('process'),
  WRONG_KEYS_PER_MINUTE: z.coerce.number().int().min(1).max(1_000_000).default(100),
  JWT_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  JWT_SECRETS: secretByKid.optional(),
  JWKS_URL: url('https:', 'http:').optional(),
  JWT_ISSUER: z.string().default('l9-memory'),
  JWT_AUDIENCE: z.string().default('l9-memory'),
  MCP_API_KEY: z.string().optional(),
  L9_PROJECT: project.optional(),
  CORTEX_PROJECT: project.optional(),
  L9_BRANCH: branch.optional(),
  CORTEX_BRANCH: branch.optional(),
  L9_ORG: org.optional(),
  CORTEX_ORG: org.optional(),
  ARCHIVE_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  ARCHIVE_KEYS: z.string().optional(),
  LUMERA_MEMORY_KEY: z.string().optional(),
  ARCHIVE_STORE: archiveStores.prefault('postgres'),
  ARCHIVE_HTTP_TOKEN: z.string().optional(),
  ARCHIVE_S3_ENDPOINT: url('https:', 'http:').optional(),
  ARCHIVE_S3_REGION: z.string().default('us-east-1'),
  ARCHIVE_S3_PATH_STYLE: z.enum(['true', 'false'], 'must be true or false').optional(),
  ARCHIVE_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(30_000),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: url('https:', 'http:').optional(),
  EMBEDDING_MODEL: z.string().optional(),
  EMBEDDING_DIMENSIONS: z.coerce.number().int().min(1).max(1536).default(1536),
  EMBEDDING_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(15_000),
  CHAT_MODEL: z.string().max(200, 'must have at most 200 characters').optional(),
  CHAT_BASE_URL: url('https:', 'http:').optional(),
  CHAT_API_KEY: z.string().optional(),
  CHAT_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(60_000),
  CLEANUP_INTERVAL_SECONDS: z.coerce.number().int().min(0).max(86_400).default(60),
  DRAIN_SECONDS: z.coerce.number().int().min(0).max(3_600).default(0),
  IDLE_SECONDS: z.coerce.number().int().min(0).max(86_400).default(300),
  LOG_FORMAT: z.enum(['json', 'pretty']).optional(),
  SLOW_QUERY_MS: z.coerce.number().int().min(-1).max(600_000).default(200),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  NODE_ENV: z.string().optional(),
});

export class ConfigError extends Error {}

/** What can also be given as NAME_FILE, the path of a file. The URLs of databases contain passwords. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_OWNER_URL',
  'L9_OWNER_PASSWORD',
  'L9_GATEWAY_PASSWORD',
  'JWT_SECRET',
  'JWT_SECRETS',
  'MCP_API_KEY',
  'METRICS_KEY',
  'ARCHIVE_KEY',
  'ARCHIVE_KEYS',
  'LUMERA_MEMORY_KEY',
  'ARCHIVE_HTTP_TOKEN',
  'OPENAI_API_KEY',
  'CHAT_API_KEY',
] as const;
const isSecret = (name: string) => (SECRETS as readonly string[]).includes(name) || /^MCP_API_KEY_./.test(name);

/** The variables that have a value, with those of files in place. */
function withSecretsOfFiles(env: NodeJS.ProcessEnv): Record<string, string> {
  const set = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
  for (const [variable, path] of Object.entries(set)) {
    const name = variable.replace(/_FILE$/, '');
    if (name === variable || !isSecret(name)) continue;
    if (set[name] !== undefined) throw new ConfigError(`${name}, ${variable}: set one of them, not both`);
    delete set[variable];
    try {
      // Editors and `echo` end a file with a line feed.
      set[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      throw new ConfigError(`${variable}: the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    if (set[name] === '') throw new ConfigError(`${variable}: the file is empty`);
  }
  return set;
}

/** Refuses a key of two callers, because it would not identify one. */
export function refuseSharedKeys(keys: Record<string, string[]>): void {
  const all = Object.values(keys).flat();
  if (new Set(all).size < all.length) throw new ConfigError('MCP_API_KEY_…: two of the keys are the same key');
}

function chatConfig(settings: z.infer<typeof environment>): ChatConfig | null {
  if (!settings.CHAT_MODEL) return null;
  const baseUrl = settings.CHAT_BASE_URL ?? settings.OPENAI_BASE_URL ?? null;
  // A key is sent only to the server that it was configured for.
  const isSameServer = baseUrl === (settings.OPENAI_BASE_URL ?? null);
  const apiKey = settings.CHAT_API_KEY ?? (isSameServer ? settings.OPENAI_API_KEY : undefined) ?? null;
  if (!apiKey && !baseUrl) {
    throw new ConfigError('CHAT_MODEL: needs CHAT_API_KEY or OPENAI_API_KEY, or CHAT_BASE_URL for another server');
  }
  return { model: settings.CHAT_MODEL, baseUrl, apiKey, timeoutMs: settings.CHAT_TIMEOUT_MS };
}

export function loadConfig(env: NodeJS.ProcessEnv, isTerminal = process.stdout.isTTY === true): Config {
  const set = withSecretsOfFiles(env);
  const parsed = environment.safeParse(set);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
  }
  const settings = parsed.data;
  if (settings.JWT_SECRET && settings.JWKS_URL)
    throw new ConfigError('JWT_SECRET, JWKS_URL: set one of them, not both');
  if (settings.JWT_SECRETS && settings.JWKS_URL)
    throw new ConfigError('JWT_SECRETS, JWKS_URL: set one of them, not both');

  if (settings.DATABASE_POOL_MIN > settings.DATABASE_POOL_SIZE)
    throw new ConfigError('DATABASE_POOL_MIN: must be at most DATABASE_POOL_SIZE');
  if (settings.RATE_LIMIT_STORE === 'database' && !settings.DATABASE_URL)
    throw new ConfigError('RATE_LIMIT_STORE: database needs DATABASE_URL; only one gateway uses the embedded engine');

  const mcpApiKeys: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(set)) {
    const caller = /^MCP_API_KEY_(.+)$/.exec(name)?.[1];
    if (!caller || !value) continue;
    const keys = value.split(',').map((key) => key.trim());
    if (keys.some((key) => key.length < 16)) throw new ConfigError(`${name}: must have at least 16 characters`);
    mcpApiKeys[caller] = keys;
  }
  refuseSharedKeys(mcpApiKeys);

  const logFormat = settings.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json');
  const isOpenAi = Boolean(settings.OPENAI_API_KEY || settings.OPENAI_BASE_URL);
  return {
    databaseUrl: settings.DATABASE_URL ?? null,
    databaseOwnerUrl: settings.DATABASE_OWNER_URL ?? null,
    poolSize: settings.DATABASE_POOL_SIZE,
    idleConnections: { min: settings.DATABASE_POOL_MIN, timeoutMs: settings.DATABASE_IDLE_TIMEOUT_MS },
    queue: { length: settings.DATABASE_QUEUE_LENGTH, timeoutMs: settings.DATABASE_QUEUE_TIMEOUT_MS },
    ownerPassword: settings.L9_OWNER_PASSWORD ?? null,
    gatewayPassword: settings.L9_GATEWAY_PASSWORD ?? null,
    psql: settings.PSQL,
    home: resolve(settings.L9_MEMORY_HOME ?? join(homedir(), '.l9-memory')),
    host: settings.HOST,
    port: settings.PORT,
    allowedHosts: settings.ALLOWED_HOSTS === undefined ? null : words(settings.ALLOWED_HOSTS.toLowerCase()),
    trustedProxies: settings.TRUSTED_PROXIES,
    metrics: { key: settings.METRICS_KEY ?? null, port: settings.METRICS_PORT ?? null },
    rateLimits: { store: settings.RATE_LIMIT_STORE, wrongKeysPerMinute: settings.WRONG_KEYS_PER_MINUTE },
    jwt: {
      secret: settings.JWT_SECRET ?? null,
      secrets: settings.JWT_SECRETS ?? {},
      jwksUrl: settings.JWKS_URL ?? null,
      issuer: settings.JWT_ISSUER,
      audience: settings.JWT_AUDIENCE,
    },
    mcpApiKeys,
    archiveKey: settings.ARCHIVE_KEYS ?? settings.ARCHIVE_KEY ?? settings.LUMERA_MEMORY_KEY ?? null,
    archive: {
      stores: settings.ARCHIVE_STORE,
      httpToken: settings.ARCHIVE_HTTP_TOKEN ?? null,
      s3: {
        endpoint: settings.ARCHIVE_S3_ENDPOINT ?? null,
        region: settings.ARCHIVE_S3_REGION,
        // Most servers other than Amazon's have no host name for each bucket.
        isPathStyle: (settings.ARCHIVE_S3_PATH_STYLE ?? String(settings.ARCHIVE_S3_ENDPOINT !== undefined)) === 'true',
      },
      timeoutMs: settings.ARCHIVE_TIMEOUT_MS,
    },
    mcpApiKey: settings.MCP_API_KEY ?? null,
    place: {
      project: settings.L9_PROJECT ?? settings.CORTEX_PROJECT ?? null,
      branch: settings.L9_BRANCH ?? settings.CORTEX_BRANCH ?? null,
      org: settings.L9_ORG ?? settings.CORTEX_ORG ?? null,
    },
    embedding: {
      provider: isOpenAi ? 'openai' : 'local',
      model: isOpenAi ? (settings.EMBEDDING_MODEL ?? 'text-embedding-3-small') : LOCAL_MODEL,
      dimensions: isOpenAi ? settings.EMBEDDING_DIMENSIONS : LOCAL_DIMENSIONS,
      apiKey: settings.OPENAI_API_KEY ?? null,
      baseUrl: settings.OPENAI_BASE_URL ?? null,
      timeoutMs: settings.EMBEDDING_TIMEOUT_MS,
      idleMs: settings.IDLE_SECONDS * 1_000,
    },
    chat: chatConfig(settings),
    idleMs: settings.IDLE_SECONDS * 1_000,
    drainMs: settings.DRAIN_SECONDS * 1_000,
    cleanupIntervalMs: settings.CLEANUP_INTERVAL_SECONDS * 1_000,
    logFormat,
    logLevel: settings.LOG_LEVEL ?? (logFormat === 'pretty' ? 'warn' : 'info'),
    slowQueryMs: settings.SLOW_QUERY_MS === -1 ? null : settings.SLOW_QUERY_MS,
    isProduction: settings.NODE_ENV === 'production',
  };
}
