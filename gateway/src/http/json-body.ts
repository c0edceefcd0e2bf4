import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { KnownError } from '../errors.ts';
import { markInexactNumbers } from '../exact-json.ts';

// An archived session of 25 MiB, escaped.
export const MAX_BODY_BYTES = 40 * 1024 * 1024;

const readBody = express.raw({ type: 'application/json', limit: MAX_BODY_BYTES });

/** Leaves the text of a JSON body in `request.body`, with marks in place of the numbers that would not be kept exactly. */
export const jsonText: RequestHandler[] = [
  readBody,
  (request: Request, _response: Response, next: NextFunction) => {
    if (Buffer.isBuffer(request.body)) request.body = markInexactNumbers(new TextDecoder().decode(request.body));
    next();
  },
];

/** The object or list in a body that jsonText has read; undefined if the request has another type. */
export function parsedBody({ body }: Request): object | undefined {
  if (typeof body !== 'string') return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Reported below.
  }
  if (typeof parsed !== 'object' || parsed === null) throw new KnownError('L9VAL', 'body: not valid JSON', 'body');
  return parsed;
}
