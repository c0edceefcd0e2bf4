// Runs in a worker thread, because inference and tokenizing would block the event loop.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { InferenceSession, Tensor } from 'onnxruntime-web';
import { chunkText } from './chunk.ts';
import { normalised } from './embedder.ts';
import type { WorkerAnswer, WorkerOptions, WorkerRequest } from './text-worker.ts';
import { loadTokens } from './tokens.ts';

interface Engine {
  InferenceSession: {
    create(model: Uint8Array, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => Tensor;
}

interface Job {
  request: WorkerRequest;
  vectors: number[][];
}

const MAX_TOKENS = 256;

const { modelDir, inference } = workerData as WorkerOptions;
const port = parentPort!;
const tokens = await loadTokens(modelDir);
const embedOne = inference ? await loadModel() : null;

const jobs: Job[] = [];
let working = false;

port.on('message', (request: WorkerRequest) => {
  jobs.push({ request, vectors: [] });
  if (!working) void work();
});
answer({ kind: 'ready' });

async function work(): Promise<void> {
  working = true;
  while (jobs.length > 0) {
    const job = jobs.reduce((least, other) => (left(other) < left(least) ? other : least));
    await step(job);
    // Accepts new requests between texts, so that a query runs before the rest of a long batch.
    await nextTurn();
  }
  working = false;
}

const left = ({ request, vectors }: Job): number =>
  request.kind === 'embed' ? request.texts.length - vectors.length : 1;

async function step(job: Job): Promise<void> {
  const { request, vectors } = job;
  try {
    if (request.kind === 'chunk') {
      answer({
        kind: 'chunks',
        id: request.id,
        chunks: chunkText(request.text, tokens.count, request.limits),
      });
    } else {
      const text = request.texts[vectors.length];
      if (text !== undefined) vectors.push(await embedOne!(text));
      if (left(job) > 0) return;
      answer({ kind: 'vectors', id: request.id, vectors });
    }
  } catch (error) {
    // Only the name of the error, since its message might quote the text.
    const reason = error instanceof Error ? error.name : 'unknown error';
    // An engine that failed may remain broken, so the thread ends and a new one is started.
    if (request.kind === 'embed') throw new Error(`inference failed (${reason})`);
    answer({ kind: 'failed', id: request.id, reason });
  }
  jobs.splice(jobs.indexOf(job), 1);
}

function answer(message: WorkerAnswer): void {
  port.postMessage(message);
}

/**
 * Each run embeds one text. Activations are quantised by the largest of a run, so in a batch a vector would depend on the
 * other texts; and on one thread a batch is no faster.
 */
async function loadModel(): Promise<(text: string) => Promise<number[]>> {
  const { InferenceSession, Tensor } = await loadEngine();
  const model = await readFile(join(modelDir, 'model_int8.onnx'));
  // One thread leaves the other cores to the database.
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });

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

/** The native engine is faster, but its installation downloads a file, so it is used only if it is installed. */
async function loadEngine(): Promise<Engine> {
  const native = 'onnxruntime-node';
  try {
    return (await import(native)) as Engine;
  } catch {
    const web = await import('onnxruntime-web');
    web.env.wasm.numThreads = 1;
    return web;
  }
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
