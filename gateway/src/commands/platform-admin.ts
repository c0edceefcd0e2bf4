import { sqlstateOf } from '../base/errors.ts';
import { createLogger } from '../base/logger.ts';
import { typed } from '../base/paths.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { withConnection } from '../database/connection.ts';
import { takeHome } from '../home/examine.ts';
import { HomeLocked } from '../home/lock.ts';

type Rows = Record<string, unknown>[];

// An existing agent must not become an operator by mistake.
const REGISTER = `
  select (public.register_actor($1, role => 'l9_platform_admin', readable_scopes => '{*}', writable_scopes => '{}')).caller
  where not exists (select from public.actors a where a.caller = $1)`;

/** Registers an operator with the rights of l9_owner, and returns the exit code. */
export async function platformAdmin(env: NodeJS.ProcessEnv, { caller }: { caller: string }): Promise<number> {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  try {
    const config = loadConfig(env);
    const rows = await (config.databaseUrl ? onServer(config, [caller]) : embedded(config, [caller]));
    if (rows.length === 0) {
      say(`--caller ${caller}: there is an actor of that name already; take another`);
      return 1;
    }
    process.stdout.write(
      `${caller} is an operator (l9_platform_admin) from now on.\n  token  ${typed.token} ${caller}\n`,
    );
    return 0;
  } catch (error) {
    const { message } = error as Error;
    const code = sqlstateOf(error);
    if (error instanceof HomeLocked)
      say(`${message}\nEnd it first: the embedded engine is open to one process at a time.`);
    else say(error instanceof ConfigError || code?.startsWith('L9') ? message : `db platform-admin failed: ${message}`);
    return 1;
  }
}

async function onServer(config: Config, values: unknown[]): Promise<Rows> {
  if (!config.databaseOwnerUrl) {
    throw new ConfigError(
      'DATABASE_OWNER_URL: must be the URL of l9_owner, the only role that can create the first operator',
    );
  }
  return withConnection(config.databaseOwnerUrl, async (client) => (await client.query(REGISTER, values)).rows);
}

async function embedded(config: Config, values: unknown[]): Promise<Rows> {
  const lock = await takeHome(config);
  try {
    const { queryEmbeddedAsOwner } = await import('../database/embedded.ts');
    return await queryEmbeddedAsOwner(config, createLogger(config.logLevel), REGISTER, values);
  } finally {
    lock.release();
  }
}
