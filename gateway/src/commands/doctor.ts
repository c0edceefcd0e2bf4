// `l9-memory doctor`: what is wrong here, and what to do about it. Each check is one line.
import { type Config, loadConfig } from '../config/config.ts';
import { findServer } from '../home/find-server.ts';
import { type Check, note, tried, well, wrong } from './doctor/check.ts';
import { ofDatabase, ofDatabaseServer } from './doctor/database.ts';
import { isPortFree, ofDisk, ofHome, ofKeys, ofNode, ofSettings } from './doctor/machine.ts';
import { ofHealth, ofReadiness } from './doctor/server.ts';
import { ofTrial } from './doctor/trial.ts';
import { ofEditors } from './editors/check.ts';
import { connect } from './support/client.ts';
import { styled } from './support/output.ts';

/** Prints a line for each check. Returns 1 if anything is wrong. */
export async function doctor(env: NodeJS.ProcessEnv, options: { caller?: string; json?: boolean }): Promise<number> {
  let failed = 0;
  const tell = (found: Check[]) => {
    for (const check of found) {
      if (check.isWell === false) failed += 1;
      process.stdout.write(options.json ? `${JSON.stringify(check)}\n` : lineOf(check));
    }
  };
  tell([ofNode()]);
  const config = await tried('settings', () => loadConfig(env));
  if (!('home' in config)) tell([config]);
  else {
    tell([
      ...ofSettings(config),
      ...ofHome(config),
      ...ofKeys(env, config),
      ofDisk(config),
      ...(await ofServer(env, config, options.caller)),
      ...(await ofEditors(env)),
    ]);
  }
  if (!options.json) process.stdout.write(failed === 0 ? '\nAll is well.\n' : `\nNot well: ${failed}.\n`);
  return failed === 0 ? 0 : 1;
}

const MARKS = { true: ['green', '✓'], false: ['red', '✗'], null: ['yellow', '·'] } as const;
function lineOf({ name, isWell, says }: Check): string {
  const [colour, mark] = MARKS[`${isWell}`];
  return `${styled(colour, mark)} ${name.padEnd(12)} ${says}\n`;
}

async function ofServer(env: NodeJS.ProcessEnv, config: Config, caller: string | undefined): Promise<Check[]> {
  const server = await findServer(config.home);
  if (!server) {
    const isFree = await isPortFree(config);
    // The embedded engine runs in the server only.
    const database = config.databaseUrl === null ? [] : await tried('engine', () => ofDatabaseServer(config));
    return [
      isFree
        ? well('port', `${config.port} is free`)
        : wrong('port', `${config.port} is in use by another program: end it, or set PORT`),
      ...[database].flat(),
      note('server', 'none runs: `l9-memory start` starts one, and then this command checks the rest'),
    ];
  }
  const client = await tried('server', () => connect(env, { caller }));
  if ('isWell' in client) return [client];
  const found = [well('server', `${server.url}, process ${server.pid}`)];
  const admin = await tried('health', () => connect(env, {}));
  for (const [name, checks] of [
    ['server', () => ofReadiness(client)],
    ['engine', () => ofDatabase(config)],
    ['health', () => ('isWell' in admin ? [admin] : ofHealth(admin))],
    ['trial', () => ofTrial(client)],
  ] as const) {
    const answer = await tried<Check[]>(name, checks);
    found.push(...('isWell' in answer ? [answer] : answer));
  }
  return found;
}
