import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { SQLSTATE } from '../base/errors.ts';
import { programPath } from '../base/paths.ts';
import { cancelStatement } from './interrupt.ts';
import { message } from './wire.ts';

export interface EngineOptions {
  dataDir: string;
  /** The role of the session, once the database is migrated. */
  role: 'l9_gateway' | 'l9_owner' | 'l9_worker';
  /** Whether to run the pending migrations first. */
  migrates: boolean;
}

/** What is used of it here: Node's types leave WebAssembly to those of browsers. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WasmModule> };
/** A compiled WebAssembly module, which threads can hand on to each other. */
export type WasmModule = object;

/** What the thread of an engine begins with. */
export interface EngineThreadData extends EngineOptions {
  wasm: WasmModule;
}

export type EngineRequest = { kind: 'execute'; bytes: Uint8Array } | { kind: 'close' };

export type EngineAnswer =
  | { kind: 'preparing' }
  /** A line of graphile-migrate. */
  | { kind: 'log'; level: 'error' | 'debug'; text: string }
  | { kind: 'ready' }
  /** The engine can't open the folder, or its database ran migrations that are not those of this version. */
  | { kind: 'unopened'; reason: string }
  | { kind: 'foreign'; reason: string; wayOut: string }
  /** `isInTransaction` is set in the last part of an answer. */
  | { kind: 'data'; bytes: Uint8Array; isInTransaction?: boolean }
  | { kind: 'closed' };

/** The embedded engine in a thread of its own. It has one session, so its users take turns. */
export interface Engine {
  /**
   * Sends messages of the wire protocol that end with a round trip. The answer comes in parts. A statement that runs for longer than the limit is
   * cancelled (57014); an engine that doesn't obey is ended.
   */
  execute(bytes: Uint8Array, onData: (part: Buffer) => void, limitMs?: number | null): Promise<void>;
  /** Runs statements that return nothing. */
  exec(sql: string): Promise<void>;
  /** Whether a transaction was open after the last answer. */
  isInTransaction(): boolean;
  hasEnded(): boolean;
  close(): Promise<void>;
}

/** The engine has ended, or failed to start. */
export class EngineEnded extends Error {
  override readonly name: string = 'EngineEnded';
}

/** The folder can't be used by this version, as far as the engine can tell. */
export class FolderRefused extends EngineEnded {
  /** What to do about a database of another version; null if the engine can't open the folder. */
  readonly wayOut: string | null;
  constructor(answer: Extract<EngineAnswer, { reason: string }>) {
    super(answer.reason);
    this.wayOut = answer.kind === 'foreign' ? answer.wayOut : null;
  }
}

interface Call {
  onData: (part: Buffer) => void;
  done: PromiseWithResolvers<void>;
}

const CLOSE_WITHIN_MS = 5_000;
const CANCEL_WITHIN_MS = 2_000;

const THREAD_FILE = programPath('database/engine-thread.ts');
const WASM_FILE = fileURLToPath(new URL('./pglite.wasm', import.meta.resolve('@electric-sql/pglite')));

// All engines of a process share what V8 has compiled of PostgreSQL, so that one that starts again after a rest is ready sooner.
let compiled: Promise<WasmModule> | undefined;
const compile = () => {
  compiled ??= readFile(WASM_FILE).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
};

export async function startEngine(options: EngineOptions, logger: Logger, onPrepare?: () => void): Promise<Engine> {
  // Flags of the process are not passed on, because a thread fails on some of them.
  const workerData: EngineThreadData = { ...options, wasm: await compile() };
  const worker = new Worker(THREAD_FILE, { workerData, execArgv: [] });
  const calls: Call[] = [];
  let sent = 0;
  const started = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let ended: EngineEnded | null = null;
  let isInTransaction = false;

  const take = ({ bytes, isInTransaction: after }: Extract<EngineAnswer, { kind: 'data' }>) => {
    const { onData, done } = calls[0]!;
    if (bytes.length > 0) onData(Buffer.from(bytes.buffer));
    if (after === undefined) return;
    isInTransaction = after;
    calls.shift();
    done.resolve();
  };
  worker.on('message', (answer: EngineAnswer) => {
    if (answer.kind === 'data') take(answer);
    else if (answer.kind === 'ready') started.resolve();
    else if (answer.kind === 'closed') closed.resolve();
    else if ('reason' in answer) end(new FolderRefused(answer));
    else if (answer.kind === 'log') logger[answer.level](answer.text);
    else {
      logger.info('preparing the database');
      onPrepare?.();
    }
  });
  const end = (reason: EngineEnded) => {
    if (ended) return;
    ended = reason;
    started.reject(ended);
    closed.resolve();
    for (const { done } of calls.splice(0)) done.reject(ended);
  };
  worker.on('error', (error) => end(new EngineEnded(error.message)));
  worker.on('exit', (code) => end(new EngineEnded(`the thread of the engine ended with code ${code}`)));

  const cancel = async (call: Call, statement: number) => {
    logger.warn('a statement took too long and is cancelled');
    await cancelStatement(worker, statement);
    await sleep(CANCEL_WITHIN_MS, null, { ref: false });
    if (!calls.includes(call)) return;
    call.done.reject(
      Object.assign(new Error('the statement took too long, and the engine was ended'), {
        code: SQLSTATE.queryCanceled,
      }),
    );
    await worker.terminate();
  };

  const execute: Engine['execute'] = (bytes, onData, limitMs = null) => {
    if (ended) return Promise.reject(ended);
    const done = Promise.withResolvers<void>();
    const call = { onData, done };
    calls.push(call);
    sent += 1;
    if (limitMs !== null) {
      const timer = setTimeout(cancel, limitMs, call, sent);
      const stop = () => clearTimeout(timer);
      done.promise.then(stop, stop);
    }
    // A copy, because the bytes of a Buffer may be part of a larger memory, which would be sent as a whole.
    const copy = new Uint8Array(bytes);
    worker.postMessage({ kind: 'execute', bytes: copy } satisfies EngineRequest, [copy.buffer]);
    return done.promise;
  };
  await started.promise;
  return {
    execute,
    async exec(sql) {
      let failure = '';
      await execute(message('Q', sql), (part) => {
        if (part[0] === 'E'.charCodeAt(0)) failure = sql;
      });
      if (failure) throw new Error(`the engine refused: ${failure}`);
    },
    isInTransaction: () => isInTransaction,
    hasEnded: () => ended !== null,
    async close() {
      if (!ended) worker.postMessage({ kind: 'close' } satisfies EngineRequest);
      // A statement may run forever. The engine survives being ended within it, as it does a kill.
      await Promise.race([closed.promise, sleep(CLOSE_WITHIN_MS, null, { ref: false })]);
      await worker.terminate();
    },
  };
}

/** Ends what a user has left in the session: its transaction, role, settings, prepared statements and locks. */
export async function resetSession(engine: Engine): Promise<void> {
  if (engine.isInTransaction()) await engine.exec('rollback');
  await engine.exec('discard all');
  await engine.exec('set session authorization l9_gateway');
}
