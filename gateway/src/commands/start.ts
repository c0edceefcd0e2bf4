import { closeSync, openSync } from 'node:fs';
import type { Logger } from 'pino';
import { createLogger } from '../base/logger.ts';
import { typed } from '../base/paths.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { type Embedder, embeddingConfig } from '../embeddings/index.ts';
import type { Gateway } from '../gateway.ts';
import { keepCompiledModules } from '../home/cache.ts';
import { credentialsPath } from '../home/credentials.ts';
import { takeHome } from '../home/examine.ts';
import { type HomeLock, HomeLocked } from '../home/lock.ts';
import { type HttpServer, httpServer } from '../server/http-server.ts';
import { STOP_WITHIN_MS, stopSignal } from './support/stop-signal.ts';
import { openTerminal, type Terminal } from './support/terminal.ts';

export interface ServeOptions {
  /** Started by an editor: it may use any free port, and ends when no client is attached any more. */
  onDemand: boolean;
}

const LINGER_MS = 5_000;

/** Runs the server until a signal ends it, and returns the exit code. */
export async function serve(env: NodeJS.ProcessEnv, { onDemand }: ServeOptions): Promise<number> {
  let drainMs = 0;
  const { signal, stop, forget } = stopSignal({
    limitMs: () => drainMs + STOP_WITHIN_MS,
    exitCode: 0,
    onLimit: () => {
      terminal?.done();
      logger?.warn('stopped without waiting for the work under way, which the next start takes up');
      lock?.release();
    },
  });
  let onHangUp = () => {};
  const isInTerminal = process.stdin.isTTY || process.stdout.isTTY;
  const hangUp = () => {
    if (isInTerminal && !hasTerminal()) stop('SIGHUP');
    else onHangUp();
  };
  process.on('SIGHUP', hangUp);
  let lock: HomeLock | null = null;
  let terminal: Terminal | null = null;
  let logger: Logger | null = null;
  let listening: HttpServer | null = null;
  try {
    const config = loadConfig(env);
    drainMs = config.drainMs;
    terminal = config.logFormat === 'pretty' ? openTerminal(process.stdout) : null;
    logger = createLogger(config.logLevel, terminal ? terminal.log : 1, config.environment);
    for (const problem of config.misspelt) logger.warn(problem);
    terminal?.doing('starting');
    // Also while it starts, when it may take seconds until it ends.
    signal.addEventListener(
      'abort',
      () => {
        logger?.info({ reason: signal.reason }, 'stopping');
        terminal?.doing('stopping');
      },
      { once: true },
    );
    lock = await takeHome(config);
    keepCompiledModules(config.home);
    listening = httpServer();
    const url = await listening.listen({ ...config, anyPort: onDemand });
    // The rest is loaded after the folder is locked and the port taken, so that a second process is refused at once.
    const { startGateway } = await import('../gateway.ts');
    signal.throwIfAborted();
    const gateway = await startGateway(config, logger, {
      signal,
      listening: { http: listening, url },
      onProgress: (step) => {
        if (!signal.aborted) terminal?.doing(step);
      },
      // Editors use MCP and wait for the start, so the GraphQL schema is built later.
      ...(onDemand ? { onIdle: () => stop('no client is attached'), buildsSchemaOnDemand: true } : {}),
    });
    lock.announce({ url: gateway.url, instance: gateway.id, onDemand });
    onHangUp = gateway.reloadCredentials;
    terminal?.done();
    const overview = describe(config, gateway);
    // The code of the link is a secret, so it is shown to a person only, and never logged.
    const link = process.stdout.isTTY ? gateway.consoleLink() : null;
    if (terminal) process.stdout.write(banner(link ? { ...overview, console: link } : overview));
    else logger.info(overview, 'l9-memory is ready');

    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await gateway.close();
    return 0;
  } catch (error) {
    terminal?.done();
    await listening?.close().catch(() => {});
    if (signal.aborted) return 0;
    // Of several servers that editors start at once, one serves all; the others end without an error.
    if (onDemand && error instanceof HomeLocked) return 0;
    process.stderr.write(`${explain(error as NodeJS.ErrnoException)}\n`);
    return 1;
  } finally {
    terminal?.done();
    lock?.release();
    forget();
    process.off('SIGHUP', hangUp);
    // Open handles must not keep the process running any longer.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/** SIGHUP asks for a reload of keys, but a terminal also sends it when it closes. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError || error instanceof HomeLocked) return error.message;
  if (error.code === 'ENOSPC') return `l9-memory could not start: no space left on the disk (${error.message})`;
  if (error.code === 'EADDRINUSE') return `PORT: the port is in use (${error.message}); set another one`;
  // If every address of the database refuses, the error is an AggregateError with an empty message.
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return `l9-memory could not start: ${first.message}`;
}

function embedderLine(config: Config, { model, dimensions }: Embedder, serving: string): string {
  if (model !== serving)
    return `none: no provider for the serving model ${serving} is configured, so searches use words only (docs/how-to/change-the-embedding-model.md)`;
  const { model: wanted } = embeddingConfig(config.embedding);
  const configured =
    wanted === serving ? '' : `; ${wanted} is configured: \`l9-memory reembed --model ${wanted}\` changes to it`;
  return `${model}, ${dimensions} dimensions${configured}`;
}

/** The addresses and files of the server, for the banner and the log line. */
const describe = (config: Config, { url, consoleUrl, database, embedder, servingModel }: Gateway) => ({
  engine: database.engine === 'embedded' ? 'embedded (PostgreSQL in this process)' : 'server',
  data: config.home,
  embedder: embedderLine(config, embedder, servingModel()),
  GraphQL: `${url}/graphql`,
  ...(config.isProduction ? {} : { editor: `${url}/` }),
  MCP: `${url}/mcp`,
  ...(consoleUrl ? { console: consoleUrl } : {}),
  keys: credentialsPath(config.home),
});

const banner = (overview: Record<string, string>) => `l9-memory is ready.
${Object.entries({ ...overview, token: `${typed.token} C`, psql: typed.psql })
  .map(([name, value]) => `  ${name.padEnd(10)}${value}\n`)
  .join('')}`;
