// Logs calls and requests that were refused or failed: the first of a kind in a line of its own, all others of the same
// ten seconds in one line with their number, so that no client can flood the log.
import type { Logger } from 'pino';
import type { PublicError } from '../base/errors.ts';
import { createRepeats } from './repeats.ts';

const EVERY_MS = 10_000;
const MAX_KINDS = 100;

export interface Refused {
  /** What was called: a tool, or one of the APIs. */
  called: { tool: string } | { api: string };
  /** Only items of the call were refused; the others were stored. */
  isInPart?: boolean;
  /** Null: the HTTP status alone says why. */
  error: (Pick<PublicError, 'code' | 'httpStatus'> & { sqlstate?: string }) | null;
  status?: number;
  requestId: string | undefined;
}

export type RefusalLog = ReturnType<typeof createRefusalLog>;

/** Errors that are the server's fault. Being busy is not one. */
const isFailure = ({ error }: Refused) => error !== null && error.httpStatus >= 500 && error.code !== 'BUSY';

function write(logger: Logger, refused: Refused, times: number) {
  const { called, isInPart, error, status, requestId } = refused;
  const isOne = times === 1;
  const line = {
    ...(isOne ? { request_id: requestId } : { times }),
    ...called,
    ...(error && { outcome: error.code, ...(error.sqlstate && { sqlstate: error.sqlstate }) }),
    ...(status && { status }),
  };
  const [one, several] = 'tool' in called ? ['a call', 'calls'] : ['a request', 'requests'];
  const what = isOne ? one : several;
  if (isFailure(refused)) logger.error(line, `${what} failed`);
  else if (isInPart) logger.warn(line, `items of ${what} were refused`);
  else logger.warn(line, `${what} ${isOne ? 'was' : 'were'} refused`);
}

export function createRefusalLog(logger: Logger) {
  const repeats = createRepeats<Refused>({
    kindOf: ({ called, isInPart, error, status }) => JSON.stringify([called, isInPart, error?.code, status]),
    groupOf: () => 'all',
    others: (refused) => ({ ...refused, called: { api: 'several' } }),
    write: async (refused, times) => write(logger, refused, times),
    isTemporary: () => false,
    onLost: () => {},
    first: 1,
    maxRows: MAX_KINDS,
    maxKinds: MAX_KINDS,
    everyMs: EVERY_MS,
  });
  return {
    add(refused: Refused): void {
      // A masked error is in the log already, under the id that its caller got.
      if (refused.error?.code !== 'INTERNAL') void repeats.add(refused);
    },
    close: repeats.close,
  };
}
