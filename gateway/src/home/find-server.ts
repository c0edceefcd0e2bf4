// Finds the server of a home folder, or starts one that ends after its last client. Many processes may do so at once: the
// lock of the folder admits one server, and all processes find that one.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programPath } from '../base/paths.ts';
import { makeHome, openLog } from './folder.ts';
import { type Holder, readHolder } from './lock.ts';

const POLL_EVERY_MS = 100;
const START_AGAIN_AFTER_MS = 1_000;
// The first start on a slow machine sets up a database.
const START_WITHIN_MS = 90_000;
const HEALTH_WITHIN_MS = 3_000;
const LOG_LIMIT_BYTES = 5 * 1024 * 1024;

export class ServerUnavailable extends Error {}

/** The server of this folder, if it runs and answers. */
export async function findServer(home: string): Promise<Holder | null> {
  const holder = readHolder(home);
  if (!holder) return null;
  try {
    const response = await fetch(`${holder.url}/health`, { signal: AbortSignal.timeout(HEALTH_WITHIN_MS) });
    // Another server may use that port by now.
    const { instance } = (await response.json()) as { instance?: string };
    return instance === holder.instance ? holder : null;
  } catch {
    return null;
  }
}

/** The server of this folder, started if none runs. Throws ServerUnavailable with the reason that the server printed. */
export async function findOrStartServer(home: string, env: NodeJS.ProcessEnv): Promise<Holder> {
  const deadline = Date.now() + START_WITHIN_MS;
  let started: Started | null = null;
  let nextStart = 0;
  while (Date.now() < deadline) {
    const holder = await findServer(home);
    if (holder) return holder;
    const { exitCode = null, signalCode = null } = started?.process ?? {};
    const hasEnded = started === null || exitCode !== null || signalCode !== null;
    if (started && hasEnded && exitCode !== 0) {
      throw new ServerUnavailable(
        `the server did not start: ${started.lastWords() || `it ended with ${signalCode ?? `exit code ${exitCode}`}`} (log: ${started.log})`,
      );
    }
    // Exit code 0 means that the folder is locked by another server, which is starting or ending, so we wait.
    if (hasEnded && Date.now() >= nextStart) {
      nextStart = Date.now() + START_AGAIN_AFTER_MS;
      started = startServer(home, env);
    }
    await sleep(POLL_EVERY_MS);
  }
  throw new ServerUnavailable(
    `the server of ${home} did not answer within ${START_WITHIN_MS / 1000} s (log: ${join(home, 'server.log')})`,
  );
}

interface Started {
  process: ChildProcess;
  log: string;
  lastWords(): string;
}

/** Starts a process in a new session, so that it outlives this one while other clients use it. */
function startServer(home: string, env: NodeJS.ProcessEnv): Started {
  makeHome(home);
  const log = join(home, 'server.log');
  const file = openLog(log, LOG_LIMIT_BYTES);
  const from = fstatSync(file).size;
  const main = programPath('main.ts');
  const started = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, '--on-demand'], {
    detached: true,
    stdio: ['ignore', file, file],
    cwd: home,
    // A relative path would name another folder there.
    env: { ...env, L9_MEMORY_HOME: home },
  });
  closeSync(file);
  started.unref();
  return {
    process: started,
    log,
    lastWords: () =>
      readFileSync(log)
        .subarray(from)
        .toString()
        .split('\n')
        .filter((line) => line.trim() && !line.startsWith('{'))
        .slice(-5)
        .join('\n'),
  };
}
