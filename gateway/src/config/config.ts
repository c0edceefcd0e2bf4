// The one place that reads the environment. An empty value counts as unset.
import type { z } from 'zod';
import { apiKeys, environment, withSecretsOfFiles } from './environment.ts';
import { misspeltIn } from './misspelt.ts';
import { homeOf, namedPlace } from './place.ts';
import { ConfigError } from './problem.ts';
import { words } from './trusted-proxies.ts';

export { ConfigError };

/** The bundled embedding model, which is used if no other provider is configured. */
export const LOCAL_MODEL = 'all-MiniLM-L6-v2-int8';
export const LOCAL_DIMENSIONS = 384;

/** What runs the bundled model: WebAssembly, or the library of the optional package onnxruntime-node. */
export type Runtime = 'wasm' | 'native';

/** As the environment says it. The list of providers makes an EmbeddingConfig of it. */
export interface EmbeddingSettings {
  /** Null: the default of the provider that is configured. */
  model: string | null;
  dimensions: number;
  apiKey: string | null;
  baseUrl: string | null;
  timeoutMs: number;
  /** The runtime that L9_EMBEDDER asks for. */
  runtime?: Runtime | null;
  /** After how long without a call the bundled model is let go; 0: never. */
  idleMs?: number;
}

export interface EmbeddingConfig extends EmbeddingSettings {
  provider: string;
  model: string;
}

export interface ChatConfig {
  model: string;
  /** Null: OpenAI. */
  baseUrl: string | null;
  apiKey: string | null;
  timeoutMs: number;
}

/** Refuses a key of two callers, because it would not identify one. The keys stand under the names that the user gave them. */
export function refuseSharedKeys(keys: Record<string, string[]>): void {
  const ownerOf = new Map<string, string>();
  for (const [name, list] of Object.entries(keys)) {
    for (const key of list) {
      const other = ownerOf.get(key);
      if (other !== undefined) {
        const names = other === name ? name : `${other}, ${name}`;
        throw new ConfigError(`${names}: two of the keys are the same key`);
      }
      ownerOf.set(key, name);
    }
  }
}

const embeddingSettings = (settings: z.infer<typeof environment>): EmbeddingSettings => ({
  model: settings.EMBEDDING_MODEL ?? null,
  dimensions: settings.EMBEDDING_DIMENSIONS,
  apiKey: settings.OPENAI_API_KEY ?? null,
  baseUrl: settings.OPENAI_BASE_URL ?? null,
  timeoutMs: settings.EMBEDDING_TIMEOUT_MS,
  runtime: settings.L9_EMBEDDER ?? null,
  idleMs: settings.IDLE_SECONDS * 1_000,
});

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

/** Where traces go; null: nowhere. The other variables of OpenTelemetry, such as headers, are read by its own packages. */
function tracingConfig(settings: z.infer<typeof environment>) {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = settings;
  const own = settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const isOff = settings.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || (exporter ?? 'otlp') !== 'otlp';
  if (isOff || !(exporter ?? endpoint ?? own)) return null;
  return {
    url: own ?? `${(endpoint ?? 'http://localhost:4318').replace(/\/+$/, '')}/v1/traces`,
    /** The share of traces that begin here and are recorded. */
    ratio: settings.OTEL_TRACES_SAMPLER_ARG,
    /** Whether the variable is meant for this program for certain. */
    isRequired: exporter !== undefined,
    variable: exporter
      ? 'OTEL_TRACES_EXPORTER'
      : own
        ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
        : 'OTEL_EXPORTER_OTLP_ENDPOINT',
  };
}

export type Config = ReturnType<typeof loadConfig>;
export type ArchiveConfig = Config['archive'];

export function loadConfig(env: NodeJS.ProcessEnv, isTerminal = process.stdout.isTTY === true) {
  const { values, nameOf } = withSecretsOfFiles(env);
  const parsed = environment.safeParse(values);
  const mcp = Object.entries(values).flatMap(([name, value]) => {
    const caller = /^MCP_API_KEY_(.+)$/.exec(name)?.[1];
    return caller ? [{ name, caller, keys: apiKeys.safeParse(value) }] : [];
  });
  const problems = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${nameOf(String(path[0]))}: ${message}`),
    ...mcp.flatMap(({ name, keys }) => (keys.error ? [`${nameOf(name)}: ${keys.error.issues[0]!.message}`] : [])),
  ];
  const misspelt = misspeltIn(env);
  if (!parsed.success || problems.length > 0) throw new ConfigError([...problems, ...misspelt].join('\n'));
  const settings = parsed.data;
  const refuseBoth = (...names: (keyof typeof settings)[]) => {
    if (names.every((name) => settings[name] !== undefined))
      throw new ConfigError(`${names.map(nameOf).join(', ')}: set one of them, not both`);
  };
  refuseBoth('JWT_SECRET', 'JWKS_URL');

  if (settings.RATE_LIMIT_STORE === 'database' && !settings.DATABASE_URL)
    throw new ConfigError('RATE_LIMIT_STORE: database needs DATABASE_URL; only one gateway uses the embedded engine');

  if (settings.DATABASE_DIRECT_URL && !settings.DATABASE_URL)
    throw new ConfigError(
      `${nameOf('DATABASE_DIRECT_URL')}: needs DATABASE_URL, which leads to the same database through a pooler`,
    );

  if (settings.DATABASE_REPLICA_URLS && !settings.DATABASE_URL)
    throw new ConfigError(`${nameOf('DATABASE_REPLICA_URLS')}: needs DATABASE_URL, which leads to the primary`);

  const mcpApiKeys = Object.fromEntries(mcp.map(({ caller, keys }) => [caller, keys.data ?? []]));
  refuseSharedKeys(Object.fromEntries(mcp.map(({ name, keys }) => [nameOf(name), keys.data ?? []])));

  const logFormat = settings.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json');
  return {
    /** URL of l9_gateway on a server; null: the embedded engine. */
    databaseUrl: settings.DATABASE_URL ?? null,
    /** The same without a pooler in between, for connections that keep a state, such as a role or LISTEN. */
    databaseDirectUrl: settings.DATABASE_DIRECT_URL ?? settings.DATABASE_URL ?? null,
    /** Whether DATABASE_URL leads to a pooler, which gives each transaction another connection. */
    isPooled: settings.DATABASE_DIRECT_URL !== undefined,
    /** Where reads may run besides: URLs of l9_gateway on replicas, and how far these may be behind. Empty: nowhere. */
    replicas: { urls: settings.DATABASE_REPLICA_URLS ?? [], maxLagMs: settings.REPLICA_MAX_LAG_MS },
    /** URL of l9_owner, where start-up may migrate. */
    databaseOwnerUrl: settings.DATABASE_OWNER_URL ?? null,
    /** URL of a superuser, for `l9-memory db setup`, `l9-memory restore` and `l9-memory tenant`. */
    rootDatabaseUrl: settings.ROOT_DATABASE_URL ?? null,
    /** URL of a superuser on the database that a tenant moves to, for `l9-memory tenant move`. */
    targetDatabaseUrl: settings.TARGET_DATABASE_URL ?? null,
    /** URL of l9_backup, for `l9-memory backup`, and what encrypts a backup. */
    backupDatabaseUrl: settings.BACKUP_DATABASE_URL ?? null,
    backupPassphrase: settings.BACKUP_PASSPHRASE ?? null,
    poolSize: settings.DATABASE_POOL_SIZE,
    /** How many requests may wait for a connection, and how long each. */
    queue: { length: settings.DATABASE_QUEUE_LENGTH, timeoutMs: settings.DATABASE_QUEUE_TIMEOUT_MS },
    /** Passwords that `l9-memory db setup` sets for the roles. Null: it keeps existing ones and generates missing ones. */
    ownerPassword: settings.L9_OWNER_PASSWORD ?? null,
    gatewayPassword: settings.L9_GATEWAY_PASSWORD ?? null,
    backupPassword: settings.L9_BACKUP_PASSWORD ?? null,
    /** The psql that `l9-memory psql` runs. */
    psql: settings.PSQL,
    /** Folder of credentials.json, of the lock, and of the embedded engine's data. */
    home: homeOf(settings.L9_MEMORY_HOME),
    host: settings.HOST,
    port: settings.PORT,
    /** Whether there is a console; null: where only this machine reaches the server. */
    console: settings.CONSOLE === undefined ? null : settings.CONSOLE === 'on',
    /** Host names of requests and of pages that are allowed besides those of this machine; null: see http/guard.ts. */
    allowedHosts: settings.ALLOWED_HOSTS === undefined ? null : words(settings.ALLOWED_HOSTS.toLowerCase()),
    /** Proxies whose X-Forwarded-For names the client's address. */
    trustedProxies: settings.TRUSTED_PROXIES,
    metrics: {
      /** Admits to GET /metrics, besides the keys of admins. */
      key: settings.METRICS_KEY ?? null,
      /** A port of this machine's own address that serves them without a key. */
      port: settings.METRICS_PORT ?? null,
    },
    rateLimits: {
      /** Where calls are counted: in this process, or in the database, together with other gateways. */
      store: settings.RATE_LIMIT_STORE,
      wrongKeysPerMinute: settings.WRONG_KEYS_PER_MINUTE,
    },
    jwt: {
      secret: settings.JWT_SECRET?.secret ?? null,
      /** Secrets by `kid`, the signing one first. Empty: those of credentials.json. */
      secrets: settings.JWT_SECRET?.byKid ?? {},
      jwksUrl: settings.JWKS_URL ?? null,
      issuer: settings.JWT_ISSUER,
      audience: settings.JWT_AUDIENCE,
    },
    /** Keys of the environment by caller. Those of other callers come from credentials.json. */
    mcpApiKeys,
    /** The key that `l9-memory mcp` uses without --caller. */
    mcpApiKey: settings.MCP_API_KEY ?? null,
    /** The project, branch and org of an editor's session, in place of those of its working copy. */
    place: namedPlace(settings),
    /** The key of the environment; null: the one of credentials.json. */
    archiveKey: settings.ARCHIVE_KEY ?? settings.LUMERA_MEMORY_KEY ?? null,
    archive: {
      /** All get the bytes of an archive; the first is asked first. */
      stores: settings.ARCHIVE_STORE,
      httpToken: settings.ARCHIVE_HTTP_TOKEN ?? null,
      s3: {
        /** Null: Amazon's. */
        endpoint: settings.ARCHIVE_S3_ENDPOINT ?? null,
        region: settings.ARCHIVE_S3_REGION,
      },
      timeoutMs: settings.ARCHIVE_TIMEOUT_MS,
    },
    embedding: embeddingSettings(settings),
    /** The chat model that extracts facts and writes summaries for tenants that enabled it; null without one. */
    chat: chatConfig(settings),
    /** After how long without a request memory is given back; 0: never. */
    idleMs: settings.IDLE_SECONDS * 1_000,
    /** How long a server that an editor started runs on after the last editor. */
    lingerMs: settings.LINGER_SECONDS * 1_000,
    /** How long the gateway still answers after a signal, while /ready is 503. */
    drainMs: settings.DRAIN_SECONDS * 1_000,
    /** How often expired memories are deleted; 0: only on request. */
    cleanupIntervalMs: settings.CLEANUP_INTERVAL_SECONDS * 1_000,
    /** JSON lines, or readable lines for a terminal. */
    logFormat,
    logLevel: settings.LOG_LEVEL ?? (logFormat === 'pretty' ? 'warn' : 'info'),
    tracing: tracingConfig(settings),
    /** Calls whose SQL takes as long are logged as slow; null: none. */
    slowQueryMs: settings.SLOW_QUERY_MS === -1 ? null : settings.SLOW_QUERY_MS,
    isProduction: settings.NODE_ENV === 'production',
    /** What the lines of the log call it. */
    environment: settings.NODE_ENV ?? 'development',
    /** A sentence for each variable whose name looks like a misspelt one. */
    misspelt,
  };
}
