// The process that an editor starts: it passes the calls of tools on to the server of this home folder, which several editors share.
// All else it answers itself, at once, because hosts wait only seconds for it and a server takes longer to start. Only JSON-RPC may be
// written to stdout.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { isFields, textOf } from '../archive/session.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { editorNamed } from '../editors/index.ts';
import { loadCredentials } from '../home/credentials.ts';
import { keyOfEditor } from '../home/editors.ts';
import { createIntroduction } from './introduction.ts';
import { createLink } from './link.ts';
import { withLocalSession } from './local-session.ts';
import { type Answering, errorMessage, withoutSdkErrors } from './messages.ts';
import { openStdio } from './stdio-messages.ts';
import { parseToolSets } from './tool-sets.ts';
import { listTools } from './tools.ts';
import { inferWorkingCopy, type Place } from './working-copy.ts';

const END_WITHIN_MS = 30_000;
/** The server gives no name to longer ones. */
const MAX_CLIENT_NAME_LENGTH = 100;

const say = (text: string) => process.stderr.write(`l9-memory mcp: ${text}\n`);

/** Runs until stdin ends, and returns the exit code. */
export async function mcp(
  env: NodeJS.ProcessEnv,
  { caller: asked, tools = '' }: { caller?: string; tools?: string },
): Promise<number> {
  let config: Config;
  let caller: string | undefined;
  let isNameless: boolean;
  let keys: string[];
  let listed: Tool[];
  try {
    config = loadConfig(env);
    // An editor without a name has the key of C. Whether the name that it gives itself counts decides the server.
    isNameless = asked === undefined && !config.mcpApiKey;
    caller = isNameless ? 'C' : asked;
    keys = caller === undefined ? [config.mcpApiKey!] : keysOf(config, caller);
    listed = toolsOf(tools, caller);
  } catch (error) {
    say(error instanceof ConfigError ? error.message : `cannot read the keys: ${(error as Error).message}`);
    return 1;
  }

  const { reason, ...place } = inferWorkingCopy(config.place, process.cwd(), env);
  if (reason) say(reason);

  let wasListed = false;
  const introduction = createIntroduction(
    () => {
      wasListed = true;
      return listed;
    },
    // Only the server knows whether another key than these is cut down to some sets, or is a reviewer's.
    { listChanged: caller !== 'L' && caller !== 'C' },
  );
  const onTools = (ofServer: Tool[]) => {
    if (isDeepStrictEqual(ofServer, listed)) return;
    listed = ofServer;
    if (wasListed) void introduction.sendToolListChanged();
  };

  const underway = new Map<Promise<void>, { id: RequestId; giveUp: AbortController }>();
  const cancel = (id: unknown) => {
    for (const call of underway.values()) if (call.id === id) call.giveUp.abort();
  };
  const stdio = openStdio(process.stdin, process.stdout, (message) => {
    if (!('method' in message) || message.method !== 'tools/call') {
      if ('method' in message && message.method === 'initialize' && isNameless) link.useClient(nameIn(message.params));
      if ('method' in message && message.method === 'notifications/cancelled') cancel(message.params?.requestId);
      return local.onmessage?.(message);
    }
    // A call without an id expects no answer, so it is dropped.
    if (!isJSONRPCRequest(message)) return;
    const giveUp = new AbortController();
    const passing = withLocalSession(message, env)
      .then((read) => ('answer' in read ? stdio.send(read.answer) : link.pass(read.request, giveUp.signal)))
      .catch((error: Error) => {
        say(`a call failed in this process: ${error.name}`);
        stdio.send(errorMessage(message.id, ErrorCode.InternalError, 'something went wrong in this process'));
      })
      .finally(() => underway.delete(passing));
    underway.set(passing, { id: message.id, giveUp });
  });
  const link = createLink({
    config,
    env,
    keys,
    workingCopy: headersOf(place),
    tools,
    answer: stdio.send,
    onTools,
    say,
  });
  const local: Answering = withoutSdkErrors({
    start: async () => {},
    close: async () => {},
    async send(message: JSONRPCMessage) {
      if ('result' in message && typeof message.result.protocolVersion === 'string')
        link.useProtocol(message.result.protocolVersion);
      stdio.send(message);
    },
  });
  await introduction.connect(local as never);
  link.warmUp();

  await stdio.ended;
  // Requests received before the end are still answered within this time; those that need no server in this turn.
  await nextTurn();
  await Promise.race([
    Promise.allSettled(underway.keys()),
    new Promise((resolve) => setTimeout(resolve, END_WITHIN_MS).unref()),
  ]);
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

/** What a client calls itself in `initialize`, if a header can carry it. */
function nameIn(params: Record<string, unknown> | undefined): string | null {
  const info = params?.clientInfo;
  const name = isFields(info) ? textOf(info.name) : null;
  return name !== null && name.length <= MAX_CLIENT_NAME_LENGTH && !/\p{Cc}/u.test(name) ? name : null;
}

/** The tools that the server lists for a key of this home folder. Such a key is not limited to some sets. */
function toolsOf(asked: string, caller: string | undefined): Tool[] {
  try {
    return listTools(null, parseToolSets(asked), caller === 'L');
  } catch (error) {
    throw new ConfigError(`--${(error as Error).message}`);
  }
}

/** During a rotation a caller has several keys, some of which a running server may not know. */
function keysOf(config: Config, caller: string): string[] {
  const ofEditor = keyOfEditor(config.home, caller);
  if (ofEditor !== null) return [ofEditor];
  const { mcpApiKeys } = loadCredentials(config);
  const keys = Object.hasOwn(mcpApiKeys, caller) ? mcpApiKeys[caller] : undefined;
  if (keys) return keys;
  if (editorNamed(caller) && mcpApiKeys.C) {
    say(`there is no key for ${caller} yet, so it acts as C: \`l9-memory install ${caller}\` makes one`);
    return mcpApiKeys.C;
  }
  throw new ConfigError(
    `--caller ${caller}: there is no key for that name. Known: ${Object.keys(mcpApiKeys).sort().join(', ')}`,
  );
}
