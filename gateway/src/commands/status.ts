// `l9-memory status`, which is also what `l9-memory` alone does: what runs here and what to do next; and `l9-memory stop`.
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../config/config.ts';
import { findServer } from '../home/find-server.ts';
import { readHolder } from '../home/lock.ts';
import { editorsInUse } from './editors/check.ts';
import { connect, reasonOf, told } from './support/client.ts';
import { minuteOf, type OutputOptions, styled } from './support/output.ts';
import { STOP_WITHIN_MS } from './support/stop-signal.ts';

const STATS = '{ getMemoryStats { total awaitingEmbedding newest } whoAmI { caller isAdmin } }';
const ENDED_EVERY_MS = 100;

interface Stats {
  getMemoryStats: { total: number; awaitingEmbedding: number; newest: string | null };
  whoAmI: { caller: string };
}

/** Prints what runs on this home folder. Returns 1 if no server does. */
export const status = (env: NodeJS.ProcessEnv, options: OutputOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const server = await findServer(config.home);
    if (!server && options.url === undefined) {
      const next = ['l9-memory start', 'start the server here, and print its addresses'];
      process.stdout.write(
        options.json
          ? `${JSON.stringify({ home: config.home, running: false })}\n`
          : `No server runs on ${config.home}.\n${steps([next, ['l9-memory doctor', 'look for what is wrong']])}`,
      );
      return 1;
    }
    const client = await connect(env, options);
    const ready = await client.ready();
    const { getMemoryStats: stats, whoAmI } = await client.request<Stats>(STATS);
    const editors = editorsInUse(env);
    if (options.json) {
      process.stdout.write(
        `${JSON.stringify({ home: config.home, running: true, server, ready, memories: stats, editors })}\n`,
      );
      return 0;
    }
    const { status: state, ...checks } = ready;
    const wrong = Object.entries(checks).filter(([, value]) =>
      /^(unavailable|pending|full|unknown)$/.test(String(value)),
    );
    const lines = [
      ['server', `${client.url}${server ? `, process ${server.pid} since ${minuteOf(server.startedAt)} UTC` : ''}`],
      [
        'state',
        wrong.length === 0
          ? styled('green', String(state))
          : styled('red', wrong.map((one) => one.join(' ')).join(', ')),
      ],
      ['engine', `${ready.engine ?? '-'}, ${ready.embedding_model ?? 'no model'}`],
      [
        'memories',
        `${stats.total} readable by ${whoAmI.caller}, ${stats.awaitingEmbedding} of them without a vector yet`,
      ],
      ['editors', editors.join(', ') || 'none is set up here'],
    ];
    process.stdout.write(
      `${lines.map(([name, value]) => `${styled('dim', name!.padEnd(10))} ${value}\n`).join('')}${steps([
        stats.total === 0 ? ['l9-memory save "…"', 'remember something'] : ['l9-memory search "…"', 'find something'],
        ...(editors.length === 0 ? [['l9-memory install all', 'set up the editors that are found here']] : []),
        ['l9-memory console', 'open the console in a browser'],
        ['l9-memory --help', 'see all commands'],
      ])}`,
    );
    return 0;
  });

const steps = (rows: string[][]) =>
  `\n${rows.map(([command, purpose]) => `  ${styled('bold', command!.padEnd(24))} ${purpose}\n`).join('')}`;

/** Stops the server of this home folder, and returns when it has ended. */
export const stop = (env: NodeJS.ProcessEnv, { json }: { json?: boolean }): Promise<number> =>
  told(async () => {
    const say = (stopped: number | null, text: string) =>
      process.stdout.write(json ? `${JSON.stringify({ stopped })}\n` : `${text}\n`);
    const config = loadConfig(env);
    const server = await findServer(config.home);
    if (!server) {
      say(null, `No server runs on ${config.home}.`);
      return 0;
    }
    try {
      process.kill(server.pid, 'SIGTERM');
    } catch (error) {
      process.stderr.write(`process ${server.pid} cannot be stopped: ${reasonOf(error)}\n`);
      return 1;
    }
    const until = Date.now() + config.drainMs + 2 * STOP_WITHIN_MS;
    while (readHolder(config.home)?.pid === server.pid) {
      if (Date.now() > until) {
        process.stderr.write(`process ${server.pid} has not ended yet: \`kill -9 ${server.pid}\` ends it at once\n`);
        return 1;
      }
      await sleep(ENDED_EVERY_MS);
    }
    say(server.pid, `stopped process ${server.pid}`);
    return 0;
  });
