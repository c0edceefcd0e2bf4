import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { KnownError } from '../errors.ts';
import { markInexactNumbers } from '../exact-json.ts';
import { collectQuickly, isLarge } from '../garbage.ts';

// An archived session of 25 MiB, escaped.
export const MAX_BODY_BYTES = 40 * 1024 * 1024;

const readBody = express.raw({ type: 'application/json', limit: MAX_BODY_BYTES });

/**
 * Leaves the object or list of a JSON body in `request.body`, with marks in place of the numbers that would not be kept exactly, and
 * neither its bytes nor its text: both are large where a session is archived. A body of another type is left unread.
 */
export const jsonBody: RequestHandler[] = [
  readBody,
  (request: Request, _response: Response, next: NextFunction) => {
    if (!Buffer.isBuffer(request.body)) return next();
    const { length } = request.body;
    request.body = parse(request.body);
    if (!isLarge(length)) return next();
    // The caller of this function still has the bytes.
    setImmediate(() => {
      collectQuickly();
      next();
    });
  },
];

function parse(body: Buffer): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(markInexactNumbers(new TextDecoder().decode(body)));
  } catch {
    // Reported below.
  }
  if (typeof parsed !== 'object' || parsed === null) throw new KnownError('L9VAL', 'body: not valid JSON', 'body');
  return parsed;
}
