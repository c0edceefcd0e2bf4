import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { packageRoot, programPath } from '../base/paths.ts';
import type { Runtime } from '../config/config.ts';
import type { ChunkLimits } from './chunk.ts';
import type { Chunk } from './embedder.ts';
import { EmbedderUnavailable } from './embedder.ts';

export interface Inference {
  model: string;
  /** The first that can be loaded runs the model. */
  runtimes: readonly Runtime[];
  /** The package of the native runtime. */
  nativePackage: string;
}

export interface WorkerOptions {
  modelDir: string;
  /** Null: load only the tokenizer. */
  inference: Inference | null;
}

export type WorkerRequest =
  | { kind: 'embed'; id: number; texts: readonly string[] }
  | { kind: 'knows'; id: number; text: string }
  | { kind: 'chunk'; id: number; text: string; limits: ChunkLimits };

export type WorkerAnswer =
  | { kind: 'ready'; runtime: Runtime | null; notes: string[] }
  | { kind: 'vectors'; id: number; vectors: number[][] }
  | { kind: 'known'; id: number; isKnown: boolean }
  | { kind: 'chunks'; id: number; chunks: Chunk[] }
  | { kind: 'failed'; id: number; reason: string }
  /** The process ends because of this. */
  | { kind: 'broken'; reason: string };

export type TextWorker = ReturnType<typeof createTextWorker>;

interface Running {
  worker: ChildProcess;
  loaded: PromiseWithResolvers<void>;
  waiting: Map<number, PromiseWithResolvers<WorkerAnswer>>;
  /** The number of pending calls. At zero the process does not keep this one alive. */
  holds: number;
  runtime: Runtime | null;
}

export const MODEL_DIR = join(packageRoot, 'gateway', 'models', 'all-MiniLM-L6-v2-int8');

const WORKER_FILE = programPath('embeddings/local-worker.ts');

// Its objects are few and short-lived, so that V8 need not keep space for many.
const LITTLE_MEMORY = ['--max-semi-space-size=1'];
// No secret is among them.
const ITS_VARIABLES = ['PATH', 'HOME', 'LD_LIBRARY_PATH', 'SYSTEMROOT', 'MALLOC_TRIM_THRESHOLD_', 'NODE_COMPILE_CACHE'];
const itsEnvironment = () => Object.fromEntries(ITS_VARIABLES.map((name) => [name, process.env[name]]));

/**
 * A process for tokens and vectors. If it dies, pending calls are rejected, and the next call starts another. After
 * `idleMs` without a call it is ended, because a loaded model takes 200 MB; 0: never. It is no thread, because V8 needs
 * hundreds of megabytes to compile the model's engine, which the C library keeps, in part, as long as the process runs.
 */
export function createTextWorker(options: WorkerOptions, logger: Logger, idleMs = 0) {
  let running: Running | null = null;
  let isResting = false;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;
  let lastId = 0;

  function start(): Running {
    if (closed) throw new EmbedderUnavailable('the embedder is closed');
    if (running) return running;
    const began = performance.now();
    const worker = fork(WORKER_FILE, [JSON.stringify(options)], {
      execArgv: LITTLE_MEMORY,
      env: itsEnvironment(),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const self: Running = { worker, loaded: Promise.withResolvers(), waiting: new Map(), holds: 0, runtime: null };
    self.loaded.promise.catch(() => {}); // callers of ready() get the error; without one it must not end the process
    worker.on('message', (message: WorkerAnswer) => {
      if (message.kind === 'broken') return stop(self, `the embedding process failed: ${message.reason}`);
      if (message.kind !== 'ready') return settle(self, message);
      self.runtime = message.runtime;
      for (const note of message.notes) logger.warn(note);
      const { model = null } = options.inference ?? {};
      const loadedIn = { ms: Math.round(performance.now() - began), model, runtime: message.runtime };
      logger[model ? 'info' : 'debug'](loadedIn, 'embedding process ready');
      self.loaded.resolve();
    });
    // These errors quote no text: they come from loading, or the process has reduced them to a name.
    worker.on('error', (error) => stop(self, `the embedding process failed: ${error.message}`));
    worker.on('exit', (code, signal) => stop(self, `the embedding process ended with ${signal ?? `code ${code}`}`));
    keepsAlive(self, false);
    running = self;
    isResting = false;
    restWhenIdle();
    return self;
  }

  function restWhenIdle(): void {
    clearTimeout(idle);
    if (idleMs > 0) idle = setTimeout(rest, idleMs).unref();
  }

  function rest(): void {
    const self = running;
    if (!self || closed) return;
    // It may still be loading, or at work on a long batch.
    if (self.holds > 0) {
      restWhenIdle();
      return;
    }
    running = null;
    isResting = true;
    self.loaded.reject(new EmbedderUnavailable('the embedding process was ended'));
    logger.debug('the embedding process was idle, and was ended');
    self.worker.kill('SIGKILL');
  }

  function stop(self: Running, reason: string): void {
    if (running !== self) return;
    running = null;
    if (!closed) logger.warn({ reason }, 'embedding process stopped');
    const error = new EmbedderUnavailable(reason);
    self.loaded.reject(error);
    for (const { reject } of self.waiting.values()) reject(error);
    self.waiting.clear();
  }

  function settle(self: Running, message: Exclude<WorkerAnswer, { kind: 'ready' | 'broken' }>): void {
    const call = self.waiting.get(message.id);
    self.waiting.delete(message.id);
    if (message.kind !== 'failed') call?.resolve(message);
    else call?.reject(new EmbedderUnavailable(`the embedding process could not do it: ${message.reason}`));
  }

  function keepsAlive({ worker }: Running, does: boolean): void {
    for (const handle of [worker, worker.channel]) does ? handle?.ref() : handle?.unref();
  }

  async function held<T>(self: Running, answer: Promise<T>): Promise<T> {
    if (self.holds++ === 0) keepsAlive(self, true);
    try {
      return await answer;
    } finally {
      if (--self.holds === 0) keepsAlive(self, false);
      restWhenIdle();
    }
  }

  async function ask(request: (id: number) => WorkerRequest): Promise<WorkerAnswer> {
    const self = start();
    const call = Promise.withResolvers<WorkerAnswer>();
    const id = ++lastId;
    self.waiting.set(id, call);
    self.worker.send(request(id));
    return held(self, call.promise);
  }

  return {
    /** Starts the process without waiting for it. */
    warmUp() {
      start();
    },

    /** Starts a process if none runs, and waits until it has loaded. */
    async ready() {
      const self = start();
      await held(self, self.loaded.promise);
    },

    async embed(texts: readonly string[]): Promise<number[][]> {
      if (texts.length === 0) return [];
      const answer = await ask((id) => ({ kind: 'embed', id, texts }));
      return answer.kind === 'vectors' ? answer.vectors : [];
    },

    async knows(text: string) {
      const answer = await ask((id) => ({ kind: 'knows', id, text }));
      return answer.kind === 'known' && answer.isKnown;
    },

    async chunk(text: string, limits: ChunkLimits): Promise<Chunk[]> {
      const answer = await ask((id) => ({ kind: 'chunk', id, text, limits }));
      return answer.kind === 'chunks' ? answer.chunks : [];
    },

    async close() {
      closed = true;
      clearTimeout(idle);
      const self = running;
      if (!self) return;
      stop(self, 'the embedder is closed');
      if (self.worker.exitCode !== null || self.worker.signalCode !== null) return;
      keepsAlive(self, true);
      self.worker.kill('SIGKILL');
      await once(self.worker, 'exit');
    },

    /** Whether the process was ended because nothing was asked of it for a while. The next call starts another. */
    isResting: () => isResting,

    /** What runs the model in the current process; null until it is loaded. */
    runtime: () => running?.runtime ?? null,

    /** The current process, for tests that kill it. */
    process: () => running?.worker ?? null,
  };
}
