// `l9-memory console`: prints a new sign-in link for the running server.
import { loadConfig } from '../config/config.ts';
import { signInLink } from '../console/link.ts';
import { hasConsole } from '../console/mount.ts';
import { rereadCredentials } from '../home/credentials.ts';
import { findServer } from '../home/find-server.ts';

export async function consoleLink(env: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig(env);
  if (!hasConsole(config)) throw new Error('CONSOLE: the console is off; set CONSOLE=on');
  const server = await findServer(config.home);
  if (!server) throw new Error(`no server runs for ${config.home}: start it with \`l9-memory start\``);
  if (config.jwt.jwksUrl)
    throw new Error(`JWKS_URL is set: open ${server.url}/console and sign in with a token of its issuer`);
  process.stdout.write(`${signInLink(server.url, server.instance, rereadCredentials(config))}\n`);
}
