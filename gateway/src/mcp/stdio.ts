// The process that an editor starts: it passes MCP from stdio on to the server of this home folder, which several editors
// share. Only JSON-RPC may be written to stdout.
import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  ErrorCode,
  isInitializeRequest,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { type Config, ConfigError, loadConfig } from '../config.ts';
import { sqlstateOf } from '../errors.ts';
import { markInexactNumbers } from '../exact-json.ts';
import { type Attachment, attach, KeyRefused } from '../home/attach.ts';
import { loadCredentials } from '../home/credentials.ts';
import { findOrStartServer, ServerUnavailable } from '../home/find-server.ts';
import { withLocalSession } from './local-session.ts';
import { errorMessage, readMessage } from './messages.ts';
import { parseToolSets } from './tool-sets.ts';
import { inferWorkingCopy, type Place } from './working-copy.ts';

const REQUEST_WITHIN_MS = 120_000;
const END_WITHIN_MS = 30_000;
const TRIES = 3;
// A message may hold a memory of 1 MiB, escaped.
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const say = (text: string) => process.stderr.write(`l9-memory mcp: ${text}\n`);

/** Runs until stdin ends, and returns the exit code. */
export async function mcp(
  env: NodeJS.ProcessEnv,
  { caller, tools }: { caller?: string; tools?: string },
): Promise<number> {
  let config: Config;
  let keys: string[];
  try {
    config = loadConfig(env);
    keys = keysOf(config, caller);
    checkToolSets(tools);
  } catch (error) {
    say(error instanceof ConfigError ? error.message : `cannot read the keys: ${(error as Error).message}`);
    return 1;
  }

  const { reason, ...place } = inferWorkingCopy(config.place, process.cwd(), env);
  if (reason) say(reason);

  const lines = readLines((refusal) => void stdio.send(refusal));
  const stdio: StdioServerTransport = new StdioServerTransport(process.stdin.pipe(lines), process.stdout, {
    // Escapes may have made a message longer.
    maxBufferSize: 2 * MAX_MESSAGE_BYTES,
  });
  const link = createLink(config, env, keys, headersOf(place), tools ?? '', (message) => stdio.send(message));
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve);
    process.stdout.on('error', () => resolve());
    stdio.onclose = resolve;
  });
  stdio.onerror = (error) => say(`a message is invalid: ${error.message.split('\n')[0]}`);
  const underway = new Set<Promise<void>>();
  stdio.onmessage = (message) => {
    const passing = withLocalSession(message, env)
      .then((read) => ('answer' in read ? stdio.send(read.answer) : link.pass(read.message)))
      .finally(() => underway.delete(passing));
    underway.add(passing);
  };
  await stdio.start();
  link.warmUp();

  await ended;
  // Requests received before the end are still answered within this time.
  await Promise.race([
    Promise.allSettled(underway),
    new Promise((resolve) => setTimeout(resolve, END_WITHIN_MS).unref()),
  ]);
  stdio.onclose = () => {};
  await stdio.close();
  // A server that is still starting ends later, when it finds that no client is attached.
  process.exit(0);
}

/** HTTP carries the bytes of UTF-8 as Latin-1. */
const headersOf = (place: Place): Record<string, string> =>
  Object.fromEntries(
    Object.entries(place).flatMap(([name, value]: [string, string | null]) =>
      value === null ? [] : [[`x-l9-${name}`, Buffer.from(value).toString('latin1')]],
    ),
  );

/**
 * The messages in the lines of stdin, one a line, with marks in place of the numbers that would not be kept exactly. What is no message
 * is answered, and a line that is too long is dropped: the connection lives.
 */
function readLines(answer: (refusal: JSONRPCMessage) => void): Transform {
  const decoder = new StringDecoder('utf8');
  let open: string[] = [];
  let length = 0;
  const add = (part: string) => {
    length += part.length;
    if (length <= MAX_MESSAGE_BYTES) open.push(part);
    else open = [];
  };
  const take = (): string[] => {
    const [line, isTooLong] = [open.join('').replace(/^\uFEFF/, ''), length > MAX_MESSAGE_BYTES];
    [open, length] = [[], 0];
    const refuse = (code: number, message: string) => answer(errorMessage(null as never, code, message));
    if (isTooLong) refuse(ErrorCode.InvalidRequest, `a message is at most ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`);
    if (isTooLong || !line.trim()) return [];
    let given: unknown;
    try {
      given = JSON.parse(markInexactNumbers(line));
    } catch {
      refuse(ErrorCode.ParseError, 'a line is not valid JSON');
      return [];
    }
    return [given].flat().flatMap((one) => {
      const { message, refusal } = readMessage(one);
      if (refusal) answer(refusal);
      return message ? [`${JSON.stringify(message)}\n`] : [];
    });
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      add(first);
      for (const next of others) {
        for (const line of take()) this.push(Buffer.from(line));
        add(next);
      }
      done();
    },
    flush(done) {
      for (const line of take()) this.push(Buffer.from(line));
      done();
    },
  });
}

function checkToolSets(asked: string | undefined): void {
  try {
    parseToolSets(asked ?? null);
  } catch (error) {
    throw new ConfigError(`--${(error as Error).message}`);
  }
}

/** During a rotation a caller has several keys, some of which a running server may not know. */
function keysOf(config: Config, caller: string | undefined): string[] {
  if (caller === undefined) {
    if (config.mcpApiKey) return [config.mcpApiKey];
    throw new ConfigError(
      'the caller is missing. Start with --caller C (or another caller), or set MCP_API_KEY to the key of a caller',
    );
  }
  const { mcpApiKeys } = loadCredentials(config);
  const keys = Object.hasOwn(mcpApiKeys, caller) ? mcpApiKeys[caller] : undefined;
  if (keys) return keys;
  throw new ConfigError(
    `--caller ${caller}: there is no key for that name. Known: ${Object.keys(mcpApiKeys).sort().join(', ')}`,
  );
}

interface Connection {
  http: StreamableHTTPClientTransport;
  attachment: Attachment;
}

async function attachWithAny(
  url: string,
  keys: string[],
  workingCopy: Record<string, string>,
): Promise<{ attachment: Attachment; key: string }> {
  for (const [index, key] of keys.entries()) {
    try {
      return { attachment: await attach(url, key, workingCopy), key };
    } catch (error) {
      if (!(error instanceof KeyRefused) || index === keys.length - 1) throw error;
    }
  }
  throw new ConfigError('no key is configured');
}

/** The connection to the server, which is reopened whenever the server has ended. */
function createLink(
  config: Config,
  env: NodeJS.ProcessEnv,
  keys: string[],
  workingCopy: Record<string, string>,
  tools: string,
  answer: (message: JSONRPCMessage) => void,
) {
  let current: Promise<Connection> | null = null;
  let protocolVersion: string | undefined;
  let saidNotice = false;
  // The ids of `initialize` requests, whose answers contain the protocol version.
  const initializing = new Set<string | number>();

  const connect = (): Promise<Connection> => {
    if (current) return current;
    const connecting = open();
    current = connecting;
    // Pending requests on the old connection may still be answered, because a server finishes them before it ends.
    connecting.then(({ attachment }) => attachment.ended).then(forget(connecting), forget(connecting));
    return connecting;
  };

  const forget = (connection: Promise<Connection>) => () => {
    if (current === connection) current = null;
  };

  const open = async (): Promise<Connection> => {
    for (let tries = 1; ; tries++) {
      const { url } = await findOrStartServer(config.home, env);
      try {
        const { attachment, key } = await attachWithAny(url, keys, workingCopy);
        if (attachment.notice !== null && !saidNotice) say(attachment.notice);
        saidNotice = true;
        const target = new URL(`${url}/mcp`);
        if (tools) target.searchParams.set('tools', tools);
        const http = new StreamableHTTPClientTransport(target, {
          requestInit: { headers: { authorization: `Bearer ${key}`, ...workingCopy } },
          fetch: (target, init) => {
            const limits = [AbortSignal.timeout(REQUEST_WITHIN_MS), ...(init?.signal ? [init.signal] : [])];
            return fetch(target, { ...init, signal: AbortSignal.any(limits) });
          },
        });
        await http.start();
        if (protocolVersion) http.setProtocolVersion(protocolVersion);
        http.onmessage = (message) => {
          if (isJSONRPCResultResponse(message) && initializing.delete(message.id)) {
            protocolVersion = String(message.result.protocolVersion);
            http.setProtocolVersion(protocolVersion);
          }
          answer(message);
        };
        return { http, attachment };
      } catch (error) {
        // The server ended between the two requests.
        if (error instanceof KeyRefused || tries >= TRIES) throw error;
      }
    }
  };

  const passRequest = async (request: JSONRPCRequest): Promise<void> => {
    if (isInitializeRequest(request)) initializing.add(request.id);
    for (let tries = 1; ; tries++) {
      const connecting = connect();
      let connection: Connection;
      try {
        connection = await connecting;
      } catch (error) {
        return refuse(request, whyUnreachable(error as Error));
      }
      try {
        return await connection.http.send(request);
      } catch (error) {
        const loss = lossOf(error as Error);
        if (loss === null) return refuse(request, whatServerSaid(error as Error));
        // The attachment may not have been closed yet.
        forget(connecting)();
        connection.attachment.detach();
        if (loss === 'answer' && !(await isSafeToRepeat(request))) {
          return refuse(
            request,
            'the server ended during this call, so it is unknown whether it was done. Check first (get_memory, search_memory), and try again if it was not.',
          );
        }
        if (tries >= TRIES) return refuse(request, 'the server ended repeatedly. Try again later.');
      }
    }
  };

  const refuse = (request: JSONRPCRequest, text: string) => {
    say(text);
    answer({ jsonrpc: '2.0', id: request.id, error: { code: -32000, message: text } });
  };

  return {
    warmUp: () => void connect().catch((error: Error) => say(whyUnreachable(error))),
    async pass(message: JSONRPCMessage): Promise<void> {
      if (isJSONRPCRequest(message)) return passRequest(message);
      // Notifications need no answer, so they are dropped if there is no server.
      await current?.then(({ http }) => http.send(message)).catch(() => {});
    },
  };
}

/** What a failed request lost: the request itself, so that nothing was done, or the answer. Null: the server is running. */
function lossOf(error: Error): 'request' | 'answer' | null {
  if (error instanceof StreamableHTTPError || error.name === 'TimeoutError') return null;
  return sqlstateOf(error.cause) === 'ECONNREFUSED' ? 'request' : 'answer';
}

async function isSafeToRepeat({ method, params }: JSONRPCRequest): Promise<boolean> {
  if (method !== 'tools/call') return true;
  const [{ todaysCall }, { operationOf }] = await Promise.all([import('./older-calls.ts'), import('./tools.ts')]);
  const call = todaysCall(String(params?.name), (params?.arguments ?? {}) as Record<string, unknown>);
  return operationOf(call.tool)?.isRepeatable(call.arguments) ?? false;
}

function whyUnreachable(error: Error): string {
  if (error instanceof KeyRefused || error instanceof ServerUnavailable) return error.message;
  return `the server cannot be reached (${error.message}). Try again.`;
}

/** The text of a JSON-RPC error that came with an HTTP status. */
function whatServerSaid(error: Error): string {
  if (error.name === 'TimeoutError')
    return `no answer within ${REQUEST_WITHIN_MS / 1000} s. Try again later, or ask for less.`;
  try {
    const body = error.message.slice(error.message.indexOf('{'));
    return (JSON.parse(body) as { error: { message: string } }).error.message;
  } catch {
    return `the server refused the request: ${error.message.slice(0, 300)}`;
  }
}
