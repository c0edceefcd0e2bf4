import { Worker } from 'node:worker_threads';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { KnownError } from '../base/errors.ts';
import { collectQuickly, isLarge } from '../base/garbage.ts';
import { programPath } from '../base/paths.ts';
import { NOT_JSON } from './errors.ts';
import { MAX_VALUES, type ParsedBody, parseBody } from './parse-body.ts';

/** An archived session of 25 MiB, escaped. */
export const MAX_BODY_BYTES = 40 * 1024 * 1024;
/** The largest body that any call may send, and that is parsed without a thread of its own. */
const MAX_PLAIN_BYTES = 2 * 1024 * 1024;

const readBody = express.raw({ type: 'application/json', limit: MAX_BODY_BYTES });

const THREAD_FILE = programPath('http/json-thread.ts');

/**
 * Leaves the object or list of a JSON body in `request.body`, with marks in place of the numbers that would not be kept exactly, and
 * neither its bytes nor its text: both are large where a session is archived. A body of another type is left unread. `mayBeLarge` says
 * whether a body calls an operation that takes more than 2 MiB.
 */
export const jsonBody = (mayBeLarge: (body: object) => boolean): RequestHandler[] => [
  readBody,
  async (request: Request, _response: Response, next: NextFunction) => {
    if (!Buffer.isBuffer(request.body)) return next();
    const { length } = request.body;
    request.body = bodyOf(length > MAX_PLAIN_BYTES ? await parseInThread(request.body) : parseBody(request.body));
    if (length > MAX_PLAIN_BYTES && !mayBeLarge(request.body))
      throw new KnownError('L9LIM', 'body: at most 2 MiB, unless it archives a session or stores documents', 'body');
    if (!isLarge(length)) return next();
    // The caller of this function still has the bytes.
    setImmediate(() => {
      collectQuickly();
      next();
    });
  },
];

function bodyOf(answer: ParsedBody): object {
  if ('parsed' in answer) return answer.parsed;
  throw {
    malformed: new KnownError('L9VAL', NOT_JSON, 'body'),
    'no object': new KnownError('L9VAL', 'body: must be an object or a list', 'body'),
    'too many values': new KnownError('L9LIM', `body: at most ${MAX_VALUES} values`, 'body'),
  }[answer.problem];
}

// One after the other: each takes several times the memory of its body.
let turn: Promise<unknown> = Promise.resolve();

function parseInThread(body: Buffer): Promise<ParsedBody> {
  const parsed = turn.then(
    () =>
      new Promise<ParsedBody>((resolve, reject) => {
        const { buffer, byteLength } = body;
        // A buffer of its own is handed over; a part of another one is copied.
        const bytes = buffer.byteLength === byteLength ? new Uint8Array(buffer as ArrayBuffer) : new Uint8Array(body);
        const worker = new Worker(THREAD_FILE, { workerData: bytes, transferList: [bytes.buffer], execArgv: [] });
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', () => reject(new Error('the thread that parses a body has ended')));
      }),
  );
  turn = parsed.catch(() => {});
  return parsed;
}
