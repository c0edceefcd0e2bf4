// l9-memory inside this process. The package is an optional peer, and is loaded only here.
import { L9MemoryError } from './errors.ts';

export interface EmbeddedOptions {
  /** The folder of the data and of the keys. Default: `~/.l9-memory`, as for `l9-memory start`. */
  home?: string;
  /** Who calls, such as `C`, `L` or an actor that was registered. Default: `C`. */
  caller?: string;
  /** The user that the caller acts for, a UUID: what it saves belongs to that user alone. */
  userId?: string;
  /** The scopes and projects that the client may work in, of those that the caller has. Default: all. */
  scopes?: readonly string[];
  projects?: readonly string[];
  /** As for a client of a server. */
  projectId?: string;
  branch?: string;
  /** Variables of the configuration, such as `{ OPENAI_API_KEY: … }`. Those of the process are not read, so that nothing is sent anywhere by accident. */
  settings?: Record<string, string>;
}

/** What the package `l9-memory` exports, as far as it is needed here. */
export interface Engine {
  loadConfig(env: Record<string, string | undefined>): EngineConfig;
  createLogger(level: string, to?: number): unknown;
  takeHome(config: EngineConfig): Promise<{
    announce(holder: { url: string; instance: string; onDemand: boolean }): void;
    release(): void;
  }>;
  startGateway(config: EngineConfig, logger: unknown): Promise<{ url: string; id: string; close(): Promise<void> }>;
  loadCredentials(config: EngineConfig): unknown;
  signToken(config: EngineConfig, keys: unknown, request: object): Promise<string>;
}
// biome-ignore lint/suspicious/noExplicitAny: only passed from one function of the package to another
type EngineConfig = any;

export interface Embedded {
  url: string;
  token: () => Promise<string>;
  close(): Promise<void>;
}

const PACKAGE = 'l9-memory';
const TOKEN_LASTS_MS = 10 * 60_000;
const STDERR = 2;

async function loadEngine(): Promise<Engine> {
  try {
    // A name that is no constant keeps bundlers for browsers from looking for the package.
    const name: string = PACKAGE;
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as Engine;
  } catch (cause) {
    throw new L9MemoryError(`embedded() needs Node 22 and the package ${PACKAGE}: npm install ${PACKAGE}`, {
      code: 'UNREACHABLE',
      cause,
    });
  }
}

/** Takes the folder, and starts a gateway on a free port of this machine. */
export async function startEmbedded(options: EmbeddedOptions, load = loadEngine): Promise<Embedded> {
  const engine = await load();
  const { home, caller = 'C', userId, scopes, projects, settings = {} } = options;
  const config = engine.loadConfig({
    LOG_LEVEL: 'error',
    ...settings,
    ...(home === undefined ? {} : { L9_MEMORY_HOME: home }),
    ...{ HOST: '127.0.0.1', PORT: '0' },
  });
  const lock = await engine.takeHome(config);
  try {
    const gateway = await engine.startGateway(config, engine.createLogger(config.logLevel, STDERR));
    // Commands and editors on this machine find the process by it.
    lock.announce({ url: gateway.url, instance: gateway.id, onDemand: false });
    const keys = engine.loadCredentials(config);
    const claims = { caller, userId, scopes, projects, expires: `${TOKEN_LASTS_MS / 1_000}s` };
    let closed: Promise<void> | null = null;
    let signed: { token: Promise<string>; renewAt: number } | null = null;
    return {
      url: gateway.url,
      token() {
        if (!signed || Date.now() >= signed.renewAt)
          signed = { token: engine.signToken(config, keys, claims), renewAt: Date.now() + TOKEN_LASTS_MS / 2 };
        return signed.token;
      },
      close() {
        closed ??= gateway.close().finally(lock.release);
        return closed;
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
