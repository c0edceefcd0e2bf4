import { closeSync, openSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../config.ts';
import type { Embedder } from '../embeddings/index.ts';
import type { Gateway } from '../gateway.ts';
import { credentialsPath } from '../home/credentials.ts';
import { type HomeLock, HomeLocked, lockHome } from '../home/lock.ts';
import { createLogger } from '../logger.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export interface ServeOptions {
  /** Started by an editor: any free port will do, and it ends when nobody is attached any more. */
  onDemand: boolean;
}

// npm passes on a Ctrl-C that the terminal has sent us already: so soon, it is no second one.
const SAME_SIGNAL_MS = 1_000;
const LINGER_MS = 5_000;

/** Runs the server until a signal ends it, and returns the exit code. */
export async function serve(env: NodeJS.ProcessEnv, { onDemand }: ServeOptions): Promise<number> {
  const { signal, stop, forget } = stopSignal();
  let onHangUp = () => {};
  const isInTerminal = process.stdin.isTTY || process.stdout.isTTY;
  const hangUp = () => {
    if (isInTerminal && !hasTerminal()) stop('SIGHUP');
    else onHangUp();
  };
  process.on('SIGHUP', hangUp);
  let lock: HomeLock | null = null;
  let terminal: Terminal | null = null;
  try {
    const config = loadConfig(env);
    terminal = config.logFormat === 'pretty' ? openTerminal(process.stdout) : null;
    const logger = createLogger(config.logLevel, terminal ? terminal.log : 1);
    terminal?.doing('starting');
    lock = await lockHome(config.home);
    // What is compiled now needs not be at the next start. In our folder: nobody else may write what we would run.
    enableCompileCache(join(config.home, 'compile-cache'));
    // Everything else is loaded once the folder is ours, so that a second process is told at once.
    const { startGateway } = await import('../gateway.ts');
    const gateway = await startGateway(config, logger, {
      signal,
      onProgress: (step) => terminal?.doing(step),
      // Editors speak MCP, and wait for this.
      ...(onDemand ? { onIdle: () => stop('nobody is attached'), anyPort: true, buildsSchemaOnDemand: true } : {}),
    });
    lock.announce({ url: gateway.url, onDemand });
    onHangUp = gateway.reloadCredentials;
    terminal?.done();
    const found = describe(config, gateway);
    if (terminal) process.stdout.write(banner(found));
    else logger.info(found, 'l9-memory is ready');

    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    logger.info({ reason: signal.reason }, 'stopping');
    terminal?.doing('stopping');
    await gateway.close();
    return 0;
  } catch (error) {
    terminal?.done();
    if (signal.aborted) return 0;
    // Of several that editors start at once, one serves them all; the others are not needed.
    if (onDemand && error instanceof HomeLocked) return 0;
    process.stderr.write(`${explain(error as NodeJS.ErrnoException)}\n`);
    return 1;
  } finally {
    terminal?.done();
    lock?.release();
    forget();
    process.off('SIGHUP', hangUp);
    // Whatever may still keep the process running is not worth waiting for.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/** SIGHUP is how one asks for keys to be read again, but also what a terminal sends when it closes. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Aborted by SIGINT, SIGTERM or `stop`. A second signal ends the process at once. */
function stopSignal() {
  const controller = new AbortController();
  let since = 0;
  const stop = (reason: string) => {
    if (controller.signal.aborted) return;
    since = Date.now();
    controller.abort(reason);
  };
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted && Date.now() - since > SAME_SIGNAL_MS) process.exit(name === 'SIGINT' ? 130 : 143);
    stop(name);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const forget = () => process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  return { signal: controller.signal, stop, forget };
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError || error instanceof HomeLocked) return error.message;
  if (error.code === 'EADDRINUSE') return `PORT: something else listens there already (${error.message}); set another`;
  // A database that refuses on every address gives an AggregateError, whose own message is empty.
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return `l9-memory could not start: ${first.message}`;
}

function embedderLine({ embedding }: Config, { model, dimensions }: Embedder, serving: string): string {
  if (model !== serving)
    return `none: no provider for ${serving}, which serves, is configured, so searches go by words (docs/how-to/change-the-embedding-model.md)`;
  const configured =
    embedding.model === serving
      ? ''
      : `; ${embedding.model} is configured: \`l9-memory reembed --model ${embedding.model}\` changes to it`;
  return `${model}, ${dimensions} dimensions${configured}`;
}

/** Where everything is, by the names of the banner and of the log line. */
const describe = (config: Config, { url, database, embedder, servingModel }: Gateway) => ({
  engine: database.engine === 'embedded' ? 'embedded (PostgreSQL in this process)' : 'server',
  data: config.home,
  embedder: embedderLine(config, embedder, servingModel()),
  GraphQL: `${url}/graphql`,
  ...(config.isProduction ? {} : { editor: `${url}/` }),
  MCP: `${url}/mcp`,
  keys: credentialsPath(config.home),
});

const banner = (found: Record<string, string>) => `l9-memory is ready.
${Object.entries({ ...found, token: 'npm run token -- --caller C', psql: 'npm run psql' })
  .map(([name, value]) => `  ${name.padEnd(10)}${value}\n`)
  .join('')}`;
