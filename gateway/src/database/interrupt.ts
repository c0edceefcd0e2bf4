// Interrupts the embedded engine. While WebAssembly runs, its thread hears no signal, message or timer, so that statement_timeout
// has no effect there; but the inspector of V8 can run code in a thread that is busy.
import { Session } from 'node:inspector';
import type { Worker } from 'node:worker_threads';

/** The function of the thread that cancels a statement, if the numbers are those of this thread and of what it runs. */
export const CANCEL = 'l9CancelStatement';

const WAIT_MS = 2_000;

interface Attached {
  params: { sessionId: string };
}

interface Received {
  params: { message: string };
}

/** Asks the thread to cancel a statement. Resolves when it was asked, or when that proves impossible. */
export async function cancelStatement(worker: Worker, statement: number): Promise<void> {
  const session = new Session();
  const expression = `globalThis.${CANCEL}?.(${worker.threadId}, ${statement}) === true`;
  const evaluate = { id: 1, method: 'Runtime.evaluate', params: { expression } };
  try {
    session.connect();
    const asked = Promise.withResolvers<void>();
    const timer = setTimeout(asked.resolve, WAIT_MS);
    // The inspector numbers threads in its own way, so all of them are asked.
    session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }: Attached) => {
      session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(evaluate) });
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }: Received) => {
      if (JSON.parse(params.message).result?.result?.value === true) asked.resolve();
    });
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    await asked.promise;
    clearTimeout(timer);
  } catch {
    // Of a Node.js without an inspector: the engine is ended instead.
  } finally {
    session.disconnect();
  }
}
