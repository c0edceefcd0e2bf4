// Requests over HTTP: who calls, what is tried again, and what an answer means.
import { type GraphqlError, L9MemoryError } from './errors.ts';
import type { ErrorCode } from './generated.ts';

/** What every method takes. */
export interface CallOptions {
  /** Ends the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  url: string;
  /** The key or token of this request. */
  credential: () => string | undefined | Promise<string | undefined>;
  headers: Record<string, string>;
  retries: number;
  timeoutMs: number;
  fetch: typeof globalThis.fetch;
}

export type Send = <Data>(query: string, variables: object, options: CallOptions) => Promise<Data>;

/** The server refused the request before it ran, or says that it could not run it. */
const WORTH_RETRYING = new Set([429, 503]);
const FIRST_WAIT_SECONDS = 0.25;
/** A server that asks for a longer wait is not waited for. */
const LONGEST_WAIT_SECONDS = 60;

interface Answer {
  data?: unknown;
  errors?: GraphqlError[];
}

export function createTransport(options: TransportOptions): Send {
  const { url, headers, retries, timeoutMs } = options;
  const endpoint = `${url.replace(/\/+(graphql\/*)?$/, '')}/graphql`;

  async function attempt(body: string, signal: AbortSignal | undefined) {
    const credential = await options.credential();
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const response = await options.fetch(endpoint, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(credential ? { authorization: `Bearer ${credential}` } : {}),
        },
        body,
        // Neither the key nor a memory goes to another address than the one that was given.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      return { status: response.status, wait: waitOf(response.headers), answer: parse(await response.text()) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (limit.aborted)
        throw new L9MemoryError(`${endpoint} did not answer within ${timeoutMs} ms`, { code: 'TIMEOUT', cause });
      throw new L9MemoryError(`${endpoint} can't be reached`, { code: 'UNREACHABLE', cause });
    }
  }

  return async <Data>(query: string, variables: object, { signal }: CallOptions) => {
    signal?.throwIfAborted();
    const body = JSON.stringify({ query, variables });
    for (let tries = 0; ; tries += 1) {
      const { status, answer, wait } = await attempt(body, signal);
      if (!WORTH_RETRYING.has(status)) return dataOf<Data>(answer, status, endpoint);
      const seconds = wait ?? answer?.errors?.[0]?.extensions?.retryAfterSeconds ?? FIRST_WAIT_SECONDS * 2 ** tries;
      if (tries >= retries || seconds > LONGEST_WAIT_SECONDS) return dataOf<Data>(answer, status, endpoint, wait);
      // Clients that were refused together do not come back together.
      await pause(1_000 * seconds * (1 + Math.random() / 4), signal);
    }
  };
}

function dataOf<Data>(answer: Answer | null, status: number, endpoint: string, wait: number | null = null): Data {
  const { data, errors } = answer ?? {};
  const [first] = errors ?? [];
  if (first) {
    const code = (first.extensions?.code ?? 'INVALID_INPUT') as ErrorCode;
    throw new L9MemoryError(first.message, { code, status, errors: errors!, data, retryAfterSeconds: wait });
  }
  if (data === undefined || data === null)
    throw new L9MemoryError(`${endpoint} does not answer as l9-memory (HTTP ${status})`, {
      code: 'UNREACHABLE',
      status,
      retryAfterSeconds: wait,
    });
  return data as Data;
}

function parse(text: string): Answer | null {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === 'object' ? (answer as Answer | null) : null;
  } catch {
    return null;
  }
}

/** The seconds of Retry-After, which may also name a time. */
function waitOf(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (!text) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
