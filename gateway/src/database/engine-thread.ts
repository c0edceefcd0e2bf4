// The thread of the embedded engine: PostgreSQL in WebAssembly, which answers bytes of the wire protocol.
import { parentPort, threadId, workerData } from 'node:worker_threads';
import type { EngineAnswer, EngineRequest, EngineThreadData } from './engine.ts';
import { CANCEL } from './interrupt.ts';
import { ForeignDatabase, pendingMigrations } from './migrations.ts';
import { createPglite } from './pglite.ts';

// After these the engine has ended, and would loop forever. Committed transactions are safe.
const LAST_WORDS = ['SFATAL\0VFATAL\0', 'SPANIC\0VPANIC\0'];
const SEND_FROM_BYTES = 64 * 1024;

const port = parentPort!;
const answer = (message: EngineAnswer) => {
  const transfer = message.kind === 'data' && message.bytes ? [message.bytes.buffer as ArrayBuffer] : [];
  port.postMessage(message, transfer);
};

const { dataDir, role, migrates, wasm } = workerData as EngineThreadData;
// What PostgreSQL gives as the reason when it can't open the folder; the errors of WebAssembly say only that it ended.
let complaint = 'the engine ended while it opened the folder';
const listen = (line: string) => {
  complaint = /(?:ERROR|FATAL|PANIC):\s+(.+)/.exec(line)?.[1] ?? complaint;
};
const unopened = (error: unknown): never => {
  const { code, message } = error as { code?: unknown; message: string };
  answer({ kind: 'unopened', reason: typeof code === 'string' ? message : complaint });
  process.exit(1);
};
const db = await createPglite(dataDir, listen, wasm).catch(unopened);
if (migrates) {
  const pending = await pendingMigrations(db).catch((error) => {
    if (!(error instanceof ForeignDatabase)) unopened(error);
    answer({ kind: 'foreign', reason: error.what, wayOut: error.wayOut });
    process.exit(1);
  });
  if (pending.length > 0) {
    answer({ kind: 'preparing' });
    const { migrateEmbedded } = await import('./migrate-embedded.ts');
    await migrateEmbedded(db, {
      error: (text) => answer({ kind: 'log', level: 'error', text }),
      debug: (text) => answer({ kind: 'log', level: 'debug', text }),
    });
  }
}
// PGlite sets another search_path when it opens. From here on nothing runs as a superuser.
await db.exec(`reset search_path; set session authorization ${role}`);
answer({ kind: 'ready' });

let statement = 0;
// What the handler of a signal does in a server: PostgreSQL looks at these variables again and again.
const { wasmMemory, _QueryCancelPending, _InterruptPending } = db.Module as unknown as {
  wasmMemory: { readonly buffer: ArrayBuffer };
  _QueryCancelPending: number;
  _InterruptPending: number;
};
const setPending = (address: number, value: number) => {
  new Int32Array(wasmMemory.buffer, address, 1)[0] = value;
};
Object.assign(globalThis, {
  [CANCEL](thread: number, asked: number) {
    if (thread !== threadId || asked !== statement) return false;
    setPending(_QueryCancelPending, 1);
    setPending(_InterruptPending, 1);
    return true;
  },
});

let queue = Promise.resolve();
port.on('message', (request: EngineRequest) => {
  queue = queue.then(() => (request.kind === 'execute' ? execute(request.bytes) : close()));
});

async function execute(messages: Uint8Array): Promise<void> {
  statement += 1;
  // Requests that came too late for the run before.
  setPending(_QueryCancelPending, 0);
  let chunks: Buffer[] = [];
  let size = 0;
  const take = () => {
    // Not from the pool of small buffers, whose memory can't be transferred.
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    [chunks, size] = [[], 0];
    return bytes;
  };
  await db.execProtocolRawStream(messages, {
    syncToFs: false,
    onRawData(data) {
      // The bytes are in the memory of the engine, which overwrites them as soon as this returns.
      const copy = Buffer.from(data);
      chunks.push(copy);
      size += copy.length;
      const isDead = LAST_WORDS.some((words) => copy.includes(words));
      if (isDead || size >= SEND_FROM_BYTES) answer({ kind: 'data', bytes: take() });
      if (isDead) process.exit(1);
    },
  });
  answer({ kind: 'data', bytes: take(), isInTransaction: db.isInTransaction() });
}

async function close(): Promise<void> {
  await db.close();
  answer({ kind: 'closed' });
  port.close();
}
