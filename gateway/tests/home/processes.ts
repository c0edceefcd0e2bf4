// Real processes on a separate home folder. None of them outlives its test.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { loadConfig } from '../../src/config/config.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { readHolder } from '../../src/home/lock.ts';
import { startProvider } from '../embeddings/provider.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { SHORT_LIVED } from '../support/short-lived.ts';

export const root = join(import.meta.dirname, '..', '..', '..');
export const main = join(root, 'gateway', 'src', 'main.ts');
export const cli = join(root, 'gateway', 'src', 'cli.ts');

const METRICS_KEY = 'the-metrics-key-of-all-these-processes';
/** The headers that show how a process does. */
export const asMonitor = { headers: { authorization: `Bearer ${METRICS_KEY}` } };

export interface Running {
  pid: number;
  process: ChildProcess;
  stdout: string;
  stderr: string;
  /** Exit code, or the signal that ended it. */
  exit: Promise<number | NodeJS.Signals>;
}

export interface ProcessHome {
  home: string;
  env: Record<string, string>;
  test: TestHome;
  run(args: string[], env?: Record<string, string>): Running;
  /** A server that is ready, and where. */
  serve(args?: string[], env?: Record<string, string>): Promise<Running & { url: string }>;
  key(caller: string): string;
  /** The running processes of this home folder, including those that other processes started. */
  pids(): number[];
  /** Ends every process of this home, then drops it. */
  close(): Promise<void>;
}

const DIMENSIONS = 8;

/**
 * A migrated home. Without the model, vectors come from a server in this process: for tests that do not depend on meaning, since loading
 * the model takes a third of a start.
 */
export async function createProcessHome({ withModel = true } = {}): Promise<ProcessHome> {
  const provider = withModel ? null : await startProvider(DIMENSIONS);
  const test = await createTestHome();
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: test.home,
    PORT: '0',
    LOG_LEVEL: 'warn',
    METRICS_KEY,
    LINGER_SECONDS: '5',
    ...SHORT_LIVED,
    ...(provider
      ? {
          OPENAI_BASE_URL: provider.baseUrl,
          EMBEDDING_MODEL: 'stand-in',
          EMBEDDING_DIMENSIONS: String(DIMENSIONS),
        }
      : {}),
    ...test.env,
  };
  const started: Running[] = [];

  const run: ProcessHome['run'] = (args, more = {}) => {
    const child = spawn(process.execPath, args, { env: { ...env, ...more }, stdio: ['pipe', 'pipe', 'pipe'] });
    const running: Running = {
      pid: child.pid ?? 0,
      process: child,
      stdout: '',
      stderr: '',
      exit: once(child, 'close').then(([code, signal]) => code ?? signal),
    };
    child.stdin?.on('error', () => {});
    child.stdout?.on('data', (data) => {
      running.stdout += data;
    });
    child.stderr?.on('data', (data) => {
      running.stderr += data;
    });
    started.push(running);
    return running;
  };

  const pids = () => {
    const alive = new Set(started.filter(({ pid }) => isAlive(pid)).map(({ pid }) => pid));
    // Servers that `l9-memory mcp` starts are nobody's children: on Linux they are known by their environment.
    for (const entry of process.platform === 'linux' ? readdirSync('/proc') : []) {
      try {
        const environment = readFileSync(`/proc/${entry}/environ`, 'utf8').split('\0');
        if (environment.includes(`L9_MEMORY_HOME=${test.home}`)) alive.add(Number(entry));
      } catch {
        // Not a process, or not there any more.
      }
    }
    return [...alive];
  };

  return {
    home: test.home,
    env,
    test,
    run,
    async serve(args = [], more = {}) {
      const server = run([main, ...args], more);
      const url = await eventually(() => {
        if (server.process.exitCode !== null) throw new Error(`the server ended: ${server.stdout}${server.stderr}`);
        const holder = readHolder(test.home);
        return holder?.pid === server.pid && holder.url;
      });
      return Object.assign(server, { url });
    },
    key: (caller) => loadCredentials(loadConfig(env)).mcpApiKeys[caller]![0] as string,
    pids,
    async close() {
      await eventually(() => {
        const left = pids();
        for (const pid of left) kill(pid);
        return left.length === 0;
      });
      await provider?.close();
      await test.drop();
    },
  };
}

export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The pid that answers there. */
export async function pidAt(url: string): Promise<number> {
  return ((await (await fetch(`${url}/health`, asMonitor)).json()) as { pid: number }).pid;
}

/** Calls a tool over HTTP. Rejects when the server goes away. */
export async function callTool(url: string, key: string, name: string, args: object) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: results differ by tool, and tests look at what they asked for
  const { result, error } = (await response.json()) as any;
  if (error) throw new Error(error.message);
  if (result.isError) throw new Error(result.content[0].text);
  return result.structuredContent;
}

/** A number of GET /metrics. */
export async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, asMonitor)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}
