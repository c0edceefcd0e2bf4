// A GraphQL client for commands on this machine: it finds the server, signs tokens and retries.
import { PERSON } from '../../auth/identity.ts';
import { signToken } from '../../auth/jwt.ts';
import { errorKinds } from '../../base/errors.ts';
import { typed } from '../../base/paths.ts';
import { type Config, ConfigError, loadConfig } from '../../config/config.ts';
import { END_OF_LOG, LSN_HEADER } from '../../database/lsn.ts';
import { loadCredentials } from '../../home/credentials.ts';
import { findServer, ServerUnavailable } from '../../home/find-server.ts';
import { reasonOfRefusal, UnreadableFile } from '../../input/files.ts';

const TIMEOUT_MS = 60_000;
const TOKEN_LASTS_MS = 10 * 60_000;
const RETRY_AFTER_MS = [200, 500, 1_000, 2_000, 4_000];
const MAX_WAIT_MS = 60_000;
// Status codes of a server or proxy that is starting, busy or being replaced.
const WORTH_RETRYING = new Set([429, 502, 503, 504]);

export interface ClientOptions {
  url?: string | undefined;
  caller?: string | undefined;
  token?: string | undefined;
  /** Every answer shows at least what the one before it did, and the first one all that is committed, whichever replica is read. */
  isConsistent?: boolean;
}

export interface Client {
  url: string;
  request<Data>(query: string, variables?: Record<string, unknown>): Promise<Data>;
  /** Of an address beside /graphql. */
  post<Data>(path: string, body: object): Promise<Data>;
  /** The answer of GET /ready. */
  ready(): Promise<Record<string, unknown>>;
}

/** The server refuses this request. The message quotes no part of it. */
export class Refused extends Error {}

/** No request will succeed: the server cannot be reached, or refuses the caller. */
export class Unusable extends Error {}

const EXPECTED = [Refused, Unusable, ConfigError, UnreadableFile, ServerUnavailable];

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Refuses what is no id before the server is asked, which would call it by the name of a field. */
export function checkIds(...ids: string[]): void {
  if (!ids.every((id) => UUID.test(id))) throw new Refused('id: must be a UUID, as lists and searches print it');
}

/** Expected errors as one line; others are rethrown. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && EXPECTED.some((kind) => error instanceof kind)) return error.message;
  const { path, message } = error as NodeJS.ErrnoException;
  const reason = reasonOfRefusal(error);
  return path ? `${path}: ${reason}` : message;
}

/** Runs a command, and returns its exit code; an expected error becomes a line for people and the code 1. */
export async function told(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    // Its reader has ended, and needs no explanation.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
}

/** A client of --url or of the server of this home folder. It resolves after the first answer. */
export async function connect(env: NodeJS.ProcessEnv, options: ClientOptions): Promise<Client> {
  const config = loadConfig(env);
  const url = (options.url ?? (await findServer(config.home))?.url)?.replace(/\/+(graphql\/*)?$/, '');
  if (!url)
    throw new Unusable(`no server runs on ${config.home}: start it with \`${typed.start}\`, or name one with --url`);
  if (!URL.canParse(url)) throw new Unusable('--url: not a URL');
  const token = options.token
    ? () => Promise.resolve(options.token as string)
    : signer(config, options.caller ?? PERSON);
  // Only this key shows the model.
  const monitor = config.metrics.key ?? loadCredentials(config).mcpApiKeys.L?.[0];
  const ready = async () => {
    const response = await fetch(`${url}/ready`, monitor ? { headers: { authorization: `Bearer ${monitor}` } } : {});
    return response.json();
  };
  const send = sender(url, token, options.isConsistent ? END_OF_LOG : null);
  const client: Client = {
    url,
    request: async (query, variables = {}) => dataOf(await send('/graphql', { query, variables }), url),
    post: send,
    ready: ready as Client['ready'],
  };
  await client.request('{ __typename }');
  return client;
}

/** Tokens of this installation. A new one is signed well before the current one expires. */
function signer(config: Config, caller: string): () => Promise<string> {
  if (config.jwt.jwksUrl) throw new Unusable('JWKS_URL is set: give a token of the issuer behind it with --token');
  const keys = loadCredentials(config);
  let current: { token: Promise<string>; renewAt: number } | null = null;
  return () => {
    if (!current || Date.now() >= current.renewAt) {
      const token = signToken(config, keys, { caller, expires: `${TOKEN_LASTS_MS / 1000}s` });
      current = { token, renewAt: Date.now() + TOKEN_LASTS_MS / 2 };
    }
    return current.token;
  };
}

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: string } }[];
}

function dataOf<Data>({ data }: Answer, url: string): Data {
  if (data === undefined) throw new Unusable(notOurs(url, '/graphql', 200));
  return data as Data;
}

const notOurs = (url: string, path: string, status: number) =>
  `${url}${path} does not answer as l9-memory (HTTP ${status})`;

/** `position`: of the log of the primary, where replicas are read; answers are of then or later. */
function sender(url: string, token: () => Promise<string>, position: string | null): Client['post'] {
  async function attempt(
    path: string,
    body: string,
  ): Promise<{ status: number; answer: Answer | null; waitMs: number } | null> {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${await token()}`,
      ...(position ? { [LSN_HEADER]: position } : {}),
    };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body, signal });
      const text = await response.text();
      if (position) position = response.headers.get(LSN_HEADER) ?? position;
      const waitMs = 1_000 * (Number(response.headers.get('retry-after')) || 0);
      return { status: response.status, answer: parseAnswer(text), waitMs };
    } catch {
      return null;
    }
  }

  return async <Data>(path: string, given: object) => {
    const body = JSON.stringify(given);
    let outcome = await attempt(path, body);
    for (const wait of RETRY_AFTER_MS) {
      if (outcome && !WORTH_RETRYING.has(outcome.status)) break;
      // A bulk load that reaches a rate limit goes on in the next minute.
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, Math.min(outcome?.waitMs ?? 0, MAX_WAIT_MS))));
      outcome = await attempt(path, body);
    }
    if (!outcome) throw new Unusable(`${url} can't be reached: is the server running? \`${typed.start}\` starts it`);
    const { status, answer } = outcome;
    const error = answer?.errors?.[0];
    if (status === 401)
      throw new Unusable(`${url} refuses this caller: ${error?.message ?? 'the token is not accepted'}`);
    if (WORTH_RETRYING.has(status)) throw new Unusable(`${url} is not available (HTTP ${status})`);
    if (status === errorKinds.L9DSK!.httpStatus) throw new Unusable(error?.message ?? 'the disk of the server is full');
    // Errors of GraphQL itself quote variables. Errors of the product have a code and quote none.
    if (error) throw new Refused(error.extensions?.code ? error.message : 'the server does not accept these fields');
    if (status === 413) throw new Refused('too large for the server (HTTP 413)');
    if (!answer) throw new Unusable(notOurs(url, path, status));
    return answer as Data;
  };
}

function parseAnswer(text: string): Answer | null {
  try {
    const answer = JSON.parse(text) as unknown;
    return typeof answer === 'object' ? (answer as Answer | null) : null;
  } catch {
    return null;
  }
}
