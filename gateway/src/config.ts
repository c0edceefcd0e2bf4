// The one place that reads the environment. An empty value counts as unset.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { EmbeddingConfig } from './embeddings/embedder.ts';

export interface Config {
  /** URL of l9_gateway on a server; null: the embedded engine. */
  databaseUrl: string | null;
  /** URL of l9_owner, where start-up may migrate. */
  databaseOwnerUrl: string | null;
  poolSize: number;
  /** Passwords that `l9-memory db setup` gives the roles; null: it keeps those they have, and generates missing ones. */
  ownerPassword: string | null;
  gatewayPassword: string | null;
  /** The psql that `l9-memory psql` runs. */
  psql: string;
  /** Folder of credentials.json, of the lock, and of the embedded engine's data. */
  home: string;
  host: string;
  port: number;
  jwt: { secret: string | null; jwksUrl: string | null; issuer: string; audience: string };
  /** Keys given by the environment, by caller; others come from credentials.json. */
  mcpApiKeys: Record<string, string>;
  /** The key that `l9-memory mcp` uses without --caller. */
  mcpApiKey: string | null;
  /** Given by the environment; else it comes from credentials.json. */
  archiveKey: string | null;
  embedding: EmbeddingConfig;
  logLevel: string;
  isProduction: boolean;
}

const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

/** Every variable there is, besides MCP_API_KEY_<caller>. README.md and .env.example list the same. */
export const environment = z.object({
  DATABASE_URL: url('postgres:', 'postgresql:').optional(),
  DATABASE_OWNER_URL: url('postgres:', 'postgresql:').optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(100).default(4),
  L9_OWNER_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  L9_GATEWAY_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  PSQL: z.string().default('psql'),
  L9_MEMORY_HOME: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65535).default(9001),
  JWT_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  JWKS_URL: url('https:', 'http:').optional(),
  JWT_ISSUER: z.string().default('l9-memory'),
  JWT_AUDIENCE: z.string().default('l9-memory'),
  MCP_API_KEY: z.string().optional(),
  ARCHIVE_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: url('https:', 'http:').optional(),
  EMBEDDING_MODEL: z.string().optional(),
  EMBEDDING_DIMENSIONS: z.coerce.number().int().min(1).max(1536).default(1536),
  EMBEDDING_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(15_000),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  NODE_ENV: z.string().optional(),
});

export class ConfigError extends Error {}

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(set);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
  }
  const given = parsed.data;
  if (given.JWT_SECRET && given.JWKS_URL) throw new ConfigError('JWT_SECRET, JWKS_URL: set one of them, not both');

  const mcpApiKeys: Record<string, string> = {};
  for (const [name, value] of Object.entries(set)) {
    const caller = /^MCP_API_KEY_(.+)$/.exec(name)?.[1];
    if (!caller || !value) continue;
    if (value.length < 16) throw new ConfigError(`${name}: must have at least 16 characters`);
    mcpApiKeys[caller] = value;
  }
  if (new Set(Object.values(mcpApiKeys)).size < Object.keys(mcpApiKeys).length) {
    throw new ConfigError('MCP_API_KEY_…: two callers have the same key');
  }

  const isOpenAi = Boolean(given.OPENAI_API_KEY || given.OPENAI_BASE_URL);
  return {
    databaseUrl: given.DATABASE_URL ?? null,
    databaseOwnerUrl: given.DATABASE_OWNER_URL ?? null,
    poolSize: given.DATABASE_POOL_SIZE,
    ownerPassword: given.L9_OWNER_PASSWORD ?? null,
    gatewayPassword: given.L9_GATEWAY_PASSWORD ?? null,
    psql: given.PSQL,
    home: resolve(given.L9_MEMORY_HOME ?? join(homedir(), '.l9-memory')),
    host: given.HOST,
    port: given.PORT,
    jwt: {
      secret: given.JWT_SECRET ?? null,
      jwksUrl: given.JWKS_URL ?? null,
      issuer: given.JWT_ISSUER,
      audience: given.JWT_AUDIENCE,
    },
    mcpApiKeys,
    archiveKey: given.ARCHIVE_KEY ?? null,
    mcpApiKey: given.MCP_API_KEY ?? null,
    embedding: {
      provider: isOpenAi ? 'openai' : 'local',
      model: isOpenAi ? (given.EMBEDDING_MODEL ?? 'text-embedding-3-small') : 'all-MiniLM-L6-v2-int8',
      dimensions: isOpenAi ? given.EMBEDDING_DIMENSIONS : 384,
      apiKey: given.OPENAI_API_KEY ?? null,
      baseUrl: given.OPENAI_BASE_URL ?? null,
      timeoutMs: given.EMBEDDING_TIMEOUT_MS,
    },
    logLevel: given.LOG_LEVEL,
    isProduction: given.NODE_ENV === 'production',
  };
}
