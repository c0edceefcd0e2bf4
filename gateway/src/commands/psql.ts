import { spawn } from 'node:child_process';
import { DEFAULT_TENANT } from '../auth/identity.ts';
import { typed } from '../base/paths.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { withConnection } from '../database/connection.ts';
import { isListening, psqlSocket } from '../database/psql-socket.ts';

/** The role of the session until it takes another: l9_gateway itself may not even list the tables. */
const DEFAULT_ROLE = 'l9_agent';

/** Who the person at the terminal is, and what to type first. */
const greetingOf = (login: string, caller: string | undefined) =>
  caller === undefined
    ? `You are ${login} in the role ${DEFAULT_ROLE}, and see no memories until you say who you are. Type for example
  \\dt                                          for the tables (\\df public.* for the functions)
  begin; select act_as('C');                   to see what C sees until \`commit;\` (L: \`set local role l9_admin;\` before)
  select packet_type, content from packet_store limit 5;
`
    : `You are ${caller}, whatever you type. Type for example
  \\dt                                          for the tables (\\df public.* for the functions)
  select packet_type, content from packet_store limit 5;
  table access_matrix;                         for who may do what
`;

/**
 * Runs psql on the database of this installation, and returns its exit code. With a caller, it logs in as the login that is bound
 * to it (bind_login), whose session is that caller whatever it types; psql asks for its password.
 */
export async function psql(env: NodeJS.ProcessEnv, args: string[], caller?: string): Promise<number> {
  let config: Config;
  try {
    config = loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  if (caller !== undefined && !config.databaseUrl) {
    process.stderr.write(
      `--caller needs a PostgreSQL server: the embedded engine has one login, and whoever can open its folder can become anyone. ` +
        `To see what ${caller} sees, use \`begin; set local role l9_agent; select act_as('${caller}');\`; ` +
        `to let somebody act as ${caller} only, give them a token or a key\n`,
    );
    return 1;
  }
  const socket = psqlSocket(config.home);
  if (!config.databaseUrl && !(await isListening(socket.path))) {
    process.stderr.write(
      `no server of ${config.home} is running, and the embedded engine runs in the server: start one with \`${typed.start}\`\n`,
    );
    return 1;
  }

  const url = new URL(config.databaseDirectUrl ?? socket.url);
  const password = caller === undefined ? decodeURIComponent(url.password) : '';
  url.password = '';
  if (caller !== undefined) {
    const login = await loginOf(config.databaseDirectUrl!, caller);
    if (login === null) {
      process.stderr.write(
        `no login is bound to ${caller}: make one (\`create role NAME login password '…' in role l9_agent\`) and bind it ` +
          `(\`select bind_login('${caller}', 'NAME')\`); see docs/how-to/manage-identities.md\n`,
      );
      return 1;
    }
    url.username = login;
  }
  const role = caller === undefined ? DEFAULT_ROLE : null;
  if (process.stdin.isTTY) process.stderr.write(greetingOf(url.username, caller));
  // The password is passed in the environment, because other users of this machine can read arguments.
  const child = spawn(config.psql, [`--dbname=${url.href}`, ...args], {
    stdio: 'inherit',
    env: {
      ...env,
      ...(password ? { PGPASSWORD: password } : {}),
      ...(role ? { PGOPTIONS: `${env.PGOPTIONS ?? ''} -c role=${role}`.trim() } : {}),
    },
  });
  // Ctrl-C is handled by psql, which cancels its query.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    process.stderr.write(
      `${config.psql} was not found on this machine. Install PostgreSQL's client (apt install postgresql-client, ` +
        `brew install libpq, https://www.postgresql.org/download), or name the program in PSQL.\n` +
        `Any other client can be used too: ${url.href}\n`,
    );
    return 127;
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** The login that is bound to this caller of the default tenant, if there is one. */
const loginOf = (databaseUrl: string, caller: string): Promise<string | null> =>
  withConnection(databaseUrl, async (client) => {
    await client.query('begin; set local role l9_worker');
    const { rows } = await client.query<{ login: string | null }>(
      `select a ->> 'login' as login from jsonb_array_elements(administration.identity_directory() -> 'actors') a
       where a ->> 'tenant_id' = $1 and a ->> 'caller' = $2`,
      [DEFAULT_TENANT, caller],
    );
    return rows[0]?.login ?? null;
  });
