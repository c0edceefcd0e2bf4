import { type Config, ConfigError, loadConfig } from './config.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { credentialsPath } from './home/credentials.ts';
import { HomeLocked, lockHome } from './home/lock.ts';
import { createLogger } from './logger.ts';

export interface ServeOptions {
  /** Started by an editor: any free port will do, and it ends when nobody is attached any more. */
  onDemand: boolean;
}

/** Runs the server until a signal ends it, and returns the exit code. */
export async function serve(env: NodeJS.ProcessEnv, { onDemand }: ServeOptions): Promise<number> {
  try {
    const config = loadConfig(env);
    const logger = createLogger(config.logLevel);
    const lock = await lockHome(config.home);
    let stop = (_reason: string) => {};
    const stopped = new Promise<string>((resolve) => {
      stop = resolve;
    });
    process.once('SIGINT', () => stop('SIGINT'));
    process.once('SIGTERM', () => stop('SIGTERM'));

    const start = (port: number) =>
      startGateway({ ...config, port }, logger, onDemand ? { onIdle: () => stop('nobody is attached') } : {});
    const gateway = await start(config.port).catch((error: NodeJS.ErrnoException) => {
      if (onDemand && error.code === 'EADDRINUSE') return start(0);
      throw error;
    });
    lock.announce({ url: gateway.url, onDemand });
    process.stdout.write(welcome(config, gateway));

    logger.info({ reason: await stopped }, 'stopping');
    await gateway.close();
    lock.release();
    return 0;
  } catch (error) {
    process.stderr.write(`${explain(error as NodeJS.ErrnoException)}\n`);
    return 1;
  }
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError || error instanceof HomeLocked) return error.message;
  if (error.code === 'EADDRINUSE') return `PORT: something else listens there already (${error.message}); set another`;
  return `l9-memory could not start: ${error.message}`;
}

const welcome = (config: Config, { url, database, embedder }: Gateway) => `l9-memory is ready.
  engine    ${database.engine === 'embedded' ? `embedded (PostgreSQL in this process, data in ${config.home})` : 'server'}
  embedder  ${embedder.model}, ${embedder.dimensions} dimensions
  GraphQL   ${url}/graphql${config.isProduction ? '' : ` (editor: ${url}/)`}
  MCP       ${url}/mcp (keys: ${credentialsPath(config.home)})
  token     npm run token -- --caller C
  psql      npm run psql
`;
