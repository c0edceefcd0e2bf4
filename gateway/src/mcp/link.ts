// The connection of `l9-memory mcp` to the server of its home folder, which is started if none runs, and found again when it has ended.
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { sqlstateOf } from '../base/errors.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { type Attachment, attach, KeyRefused } from '../home/attach.ts';
import { findOrStartServer, ServerUnavailable } from '../home/find-server.ts';
import { todaysCall } from './older-calls.ts';
import { operationOf } from './tools.ts';

const REQUEST_WITHIN_MS = 120_000;
const TRIES = 3;
// No client has a request of this id under way.
const LIST_ID = 'l9-memory mcp: the tools of this server';

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

export interface LinkOptions {
  config: Config;
  env: NodeJS.ProcessEnv;
  keys: string[];
  /** The headers that name the working copy. */
  workingCopy: Record<string, string>;
  /** The sets of tools that were asked for, or an empty text. */
  tools: string;
  answer: (message: JSONRPCMessage) => void;
  /** Called with the tools that the server lists for this key, whenever a server was found. */
  onTools: (tools: Tool[]) => void;
  /** Tells the user of the editor something. */
  say: (text: string) => void;
}

export function createLink({ config, env, keys, workingCopy, tools, answer, onTools, say }: LinkOptions) {
  let current: Promise<Connection> | null = null;
  let protocolVersion: string | undefined;
  let clientName: string | null = null;
  let saidNotice = false;

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
            const headers = new Headers(init?.headers);
            // HTTP carries the bytes of UTF-8 as Latin-1.
            if (clientName !== null) headers.set('x-l9-client', Buffer.from(clientName).toString('latin1'));
            return fetch(target, { ...init, headers, signal: AbortSignal.any(limits) });
          },
        });
        await http.start();
        if (protocolVersion) http.setProtocolVersion(protocolVersion);
        http.onmessage = (message) => {
          if (!('id' in message) || message.id !== LIST_ID) answer(message);
          else if (isJSONRPCResultResponse(message)) onTools(message.result.tools as Tool[]);
        };
        // It lists the same tools as this process, unless its version is another one, or the key is cut down to some sets.
        void http.send({ jsonrpc: '2.0', id: LIST_ID, method: 'tools/list' }).catch(() => {});
        return { http, attachment };
      } catch (error) {
        // The server ended between the two requests.
        if (error instanceof KeyRefused || tries >= TRIES) throw error;
      }
    }
  };

  /** Answers a request, unless the client gives it up before it was sent. */
  const pass = async (request: JSONRPCRequest, signal: AbortSignal): Promise<void> => {
    for (let tries = 1; ; tries++) {
      const connecting = connect();
      let connection: Connection | null = null;
      let reason = '';
      try {
        connection = await connecting;
      } catch (error) {
        reason = whyUnreachable(error as Error);
      }
      if (signal.aborted) return;
      if (!connection) return refuse(request, reason);
      try {
        return await connection.http.send(request);
      } catch (error) {
        const loss = lossOf(error as Error);
        if (loss === null) return refuse(request, whatServerSaid(error as Error));
        // The attachment may not have been closed yet.
        forget(connecting)();
        connection.attachment.detach();
        if (loss === 'answer' && !isSafeToRepeat(request)) {
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
    pass,
    /** What the client calls itself, where its key is that of another caller. */
    useClient(name: string | null) {
      clientName = name;
    },
    /** The version of the protocol that the client and this process agreed on. */
    useProtocol(version: string) {
      protocolVersion = version;
      void current?.then(({ http }) => http.setProtocolVersion(version)).catch(() => {});
    },
  };
}

/** What a failed request lost: the request itself, so that nothing was done, or the answer. Null: the server is running. */
function lossOf(error: Error): 'request' | 'answer' | null {
  if (error instanceof StreamableHTTPError || error instanceof RangeError || error.name === 'TimeoutError') return null;
  return sqlstateOf(error.cause) === 'ECONNREFUSED' ? 'request' : 'answer';
}

function isSafeToRepeat({ params }: JSONRPCRequest): boolean {
  const call = todaysCall(String(params?.name), (params?.arguments ?? {}) as Record<string, unknown>);
  return operationOf(call.tool)?.isRepeatable(call.arguments) ?? false;
}

function whyUnreachable(error: Error): string {
  if (error instanceof KeyRefused || error instanceof ServerUnavailable) return error.message;
  return `the server cannot be reached (${error.message}). Try again.`;
}

/** The text of a JSON-RPC error that came with an HTTP status. */
function whatServerSaid(error: Error): string {
  // JavaScript can read what it is then too deep to write.
  if (error instanceof RangeError) return 'INVALID_INPUT (L9LIM): arguments: nested too deeply';
  if (error.name === 'TimeoutError')
    return `no answer within ${REQUEST_WITHIN_MS / 1000} s. Try again later, or ask for less.`;
  try {
    const body = error.message.slice(error.message.indexOf('{'));
    return (JSON.parse(body) as { error: { message: string } }).error.message;
  } catch {
    return `the server refused the request: ${error.message.slice(0, 300)}`;
  }
}
