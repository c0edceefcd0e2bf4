// The connection of `l9-memory mcp` to the server of its home folder, which is started if none runs, and found again when it has ended.
import type { JSONRPCMessage, JSONRPCRequest, JSONRPCResponse } from '@modelcontextprotocol/server';
import { sqlstateOf } from '../base/errors.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { type Attachment, attach, KeyRefused } from '../home/attach.ts';
import { findOrStartServer, ServerUnavailable } from '../home/find-server.ts';
import type { Offer } from './introduction.ts';
import { todaysCall } from './older-calls.ts';
import { post, RequestRefused } from './post.ts';
import { operationOf } from './tools.ts';

const REQUEST_WITHIN_MS = 120_000;
const TRIES = 3;

interface Connection {
  send(request: JSONRPCRequest): Promise<JSONRPCResponse>;
  attachment: Attachment;
}

async function attachWithAny(
  url: string,
  keys: string[],
  workingCopy: Record<string, string>,
  onChanged: () => void,
): Promise<{ attachment: Attachment; key: string }> {
  for (const [index, key] of keys.entries()) {
    try {
      return { attachment: await attach(url, key, workingCopy, onChanged), key };
    } catch (error) {
      if (!(error instanceof KeyRefused) || index === keys.length - 1) throw error;
    }
  }
  throw new ConfigError('no key is configured');
}

/** HTTP carries the bytes of UTF-8 as Latin-1. */
const headerOf = (clientName: string | null): Record<string, string> =>
  clientName === null ? {} : { 'x-l9-client': Buffer.from(clientName).toString('latin1') };

export interface LinkOptions {
  config: Config;
  env: NodeJS.ProcessEnv;
  keys: string[];
  /** The headers that name the working copy, as it is known now. */
  workingCopy: () => Record<string, string>;
  /** The sets of tools that were asked for, or an empty text. */
  tools: string;
  answer: (message: JSONRPCMessage) => void;
  /** Called with what the server offers this key, whenever a server was found and when it says that this may have changed. */
  onOffer: (offer: Offer) => void;
  /** Tells the user of the editor something. */
  say: (text: string) => void;
}

export function createLink({ config, env, keys, workingCopy, tools, answer, onOffer, say }: LinkOptions) {
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
        const target = new URL(`${url}/mcp`);
        if (tools) target.searchParams.set('tools', tools);
        const readOffer = () => void offerOf(send).then(onOffer, () => {});
        const { attachment, key } = await attachWithAny(url, keys, workingCopy(), () => readOffer());
        const send = (request: JSONRPCRequest) => {
          const headers = { authorization: `Bearer ${key}`, ...workingCopy(), ...headerOf(clientName) };
          return post(request, { url: target.href, headers, protocolVersion }, AbortSignal.timeout(REQUEST_WITHIN_MS));
        };
        if (attachment.notice !== null && !saidNotice) say(attachment.notice);
        saidNotice = true;
        // It offers the same as this process, unless its version is another one, or the key is cut down to some sets.
        readOffer();
        return { send, attachment };
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
        return answer(await connection.send(request));
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
    useClient(name: string) {
      clientName = name;
    },
    /** The version of the protocol that the client and this process agreed on. */
    useProtocol(version: string) {
      protocolVersion = version;
    },
  };
}

/** What the server offers. */
async function offerOf(send: Connection['send']): Promise<Offer> {
  const ask = async (method: string) => {
    const answered = await send({ jsonrpc: '2.0', id: method, method });
    if ('error' in answered) throw new RequestRefused(answered.error.message);
    return answered.result as unknown as Offer;
  };
  const [{ tools }, { prompts }] = await Promise.all([ask('tools/list'), ask('prompts/list')]);
  return { tools, prompts };
}

/** What a failed request lost: the request itself, so that nothing was done, or the answer. Null: the server is running. */
function lossOf(error: Error): 'request' | 'answer' | null {
  if (error instanceof RequestRefused || error instanceof RangeError || error.name === 'TimeoutError') return null;
  return sqlstateOf(error.cause) === 'ECONNREFUSED' ? 'request' : 'answer';
}

/** Whether a request may be sent twice. Only tools write. */
function isSafeToRepeat({ method, params }: JSONRPCRequest): boolean {
  if (method !== 'tools/call') return true;
  const call = todaysCall(String(params?.name), (params?.arguments ?? {}) as Record<string, unknown>);
  return operationOf(call.tool)?.isRepeatable(call.arguments) ?? false;
}

function whyUnreachable(error: Error): string {
  if (error instanceof KeyRefused || error instanceof ServerUnavailable) return error.message;
  return `the server cannot be reached (${error.message}). Try again.`;
}

function whatServerSaid(error: Error): string {
  // JavaScript can read what it is then too deep to write.
  if (error instanceof RangeError) return 'INVALID_INPUT (L9LIM): arguments: nested too deeply';
  if (error.name === 'TimeoutError')
    return `no answer within ${REQUEST_WITHIN_MS / 1000} s. Try again later, or ask for less.`;
  return error.message;
}
