// Runs in a process of its own: inference and tokenizing would block the event loop, and their memory goes with the process.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InferenceSession, Tensor } from 'onnxruntime-web';
import { collectQuickly } from '../base/garbage.ts';
import type { Runtime } from '../config/config.ts';
import { FLOAT_MODEL, withFloatSums } from './bundled.ts';
import { chunkSteps } from './chunk.ts';
import { type Chunk, normalised } from './embedder.ts';
import { difference, KNOWN_TEXT, knownVector, TOLERANCE } from './known-text.ts';
import type { Inference, WorkerAnswer, WorkerOptions, WorkerRequest } from './text-worker.ts';
import { loadTokens } from './tokens.ts';

interface Engine {
  InferenceSession: {
    create(model: Uint8Array, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => Tensor;
}

const MAX_TOKENS = 256;
const CHUNKING_TURN_MS = 3;

// An error of the loading or of the model's engine. The gateway starts another process with the next text.
process.on('uncaughtException', ({ message }) => answer({ kind: 'broken', reason: message }, () => process.exit(1)));
// It ends with the gateway. Signals to the whole group are for the gateway, which first finishes its requests.
process.on('disconnect', () => process.exit());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

const { modelDir, inference } = JSON.parse(process.argv[2]!) as WorkerOptions;
const tokens = await loadTokens(modelDir);
const notes: string[] = [];
const loaded = inference ? await loadModel(inference) : null;
// The engine has copied the file of the model, which would stay in memory until V8 needs more.
if (loaded) collectQuickly();

type EmbedRequest = WorkerRequest & { kind: 'embed' };
type ChunkRequest = WorkerRequest & { kind: 'chunk' };

const embedRequests: EmbedRequest[] = [];
const chunkings: { id: number; steps: Generator<void, Chunk[]> }[] = [];
let working = false;

process.on('message', (request: WorkerRequest) => {
  if (request.kind === 'embed') embedRequests.push(request);
  else if (request.kind === 'knows')
    answer({ kind: 'known', id: request.id, isKnown: tokens.knows(tokens.encode(request.text, MAX_TOKENS)) });
  else chunkings.push({ id: request.id, steps: stepsOf(request) });
  if (!working) void work();
});
answer({ kind: 'ready', runtime: loaded?.runtime ?? null, notes });

/** Takes turns between embedding and dividing, because a text of a megabyte takes seconds to divide. */
async function work(): Promise<void> {
  working = true;
  while (embedRequests.length + chunkings.length > 0) {
    const request = embedRequests.shift();
    if (request) await embed(request);
    divide();
    // Lets new requests in.
    await nextTurn();
  }
  working = false;
}

async function embed({ id, texts }: EmbedRequest): Promise<void> {
  try {
    const vectors: number[][] = [];
    for (const text of texts) vectors.push(await loaded!.embedOne(text));
    answer({ kind: 'vectors', id, vectors });
  } catch (error) {
    // An engine that failed may remain broken, so the process ends and a new one is started.
    throw new Error(`inference failed (${nameOf(error)})`);
  }
}

const stepsOf = ({ text, limits }: ChunkRequest) => chunkSteps(text, tokens.count, limits);

/** Divides the first text a little further. */
function divide(): void {
  const current = chunkings[0];
  if (!current) return;
  const until = performance.now() + CHUNKING_TURN_MS;
  try {
    do {
      const step = current.steps.next();
      if (step.done) {
        chunkings.shift();
        answer({ kind: 'chunks', id: current.id, chunks: step.value });
        return;
      }
    } while (performance.now() < until);
  } catch (error) {
    chunkings.shift();
    answer({ kind: 'failed', id: current.id, reason: nameOf(error) });
  }
}

/** Only the name of an error is passed on, since its message might quote the text. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown error');

function answer(message: WorkerAnswer, onSent: () => void = () => {}): void {
  process.send!(message, onSent);
}

/** The model on the first runtime that can be loaded and makes its vectors. */
async function loadModel({ model, runtimes, nativePackage }: Inference) {
  for (const runtime of runtimes) {
    const isLast = runtime === runtimes.at(-1);
    try {
      const embedOne = await openModel(model, await loadEngine(runtime, nativePackage));
      const apart = difference(await embedOne(KNOWN_TEXT), await knownVector(modelDir, model));
      if (apart <= TOLERANCE) return { runtime, embedOne };
      throw new Error(
        `on this machine the runtime ${runtime} makes other vectors than those of ${model} (a known text differs by ${apart.toFixed(4)}), which must not be mixed`,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message.split('\n')[0] : 'unknown error';
      if (isLast) throw error;
      // A package that was never installed is nothing to report.
      if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND')
        notes.push(`the bundled model does not run on ${runtime}: ${reason}`);
    }
  }
  throw new Error(`no runtime for ${model}`);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * Each run embeds one text. Activations are quantised by the largest of a run, so in a batch a vector would depend on the
 * other texts; and on one thread a batch is no faster.
 */
async function openModel(
  model: string,
  { InferenceSession, Tensor }: Engine,
): Promise<(text: string) => Promise<number[]>> {
  const file = await readFile(join(modelDir, 'model_int8.onnx'));
  // One thread leaves the other cores to the database.
  const session = await InferenceSession.create(model === FLOAT_MODEL ? withFloatSums(file) : file, {
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });

  return async (text) => {
    const ids = tokens.encode(text, MAX_TOKENS);
    const tensor = (of: (id: number) => bigint): Tensor =>
      new Tensor('int64', BigInt64Array.from(ids, of), [1, ids.length]);
    const output = await session.run({
      input_ids: tensor(BigInt),
      attention_mask: tensor(() => 1n),
      token_type_ids: tensor(() => 0n),
    });
    const vector = normalised(meanOverTokens(output.last_hidden_state!.data as Float32Array, ids.length));
    if (!vector) throw new RangeError('the model returned no vector');
    return vector;
  };
}

async function loadEngine(runtime: Runtime, nativePackage: string): Promise<Engine> {
  if (runtime === 'native') {
    const native = (await import(nativePackage)) as Engine & { default: Engine };
    return native.default;
  }
  const web = await import('onnxruntime-web');
  web.env.wasm.numThreads = 1;
  return web;
}

/** A run of one text has no padding, so the mean is over all tokens. */
function meanOverTokens(states: Float32Array, count: number): number[] {
  const width = states.length / count;
  const mean = new Array<number>(width).fill(0);
  states.forEach((value, at) => {
    mean[at % width]! += value / count;
  });
  return mean;
}
