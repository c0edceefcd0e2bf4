// The process that an editor starts: it passes what needs memory on to the server of this home folder, which several editors share.
// All else it answers itself, at once, because hosts wait only seconds for it and a server takes longer to start. Only JSON-RPC may be
// written to stdout.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  CLIENT_INFO_META_KEY,
  INTERNAL_ERROR,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { isFields, textOf } from '../archive/session.ts';
import { type Config, ConfigError, loadConfig } from '../config/config.ts';
import { editorNamed } from '../editors/index.ts';
import { loadCredentials } from '../home/credentials.ts';
import { keyOfEditor } from '../home/editors.ts';
import { createIntroduction, type Offer } from './introduction.ts';
import { createLink } from './link.ts';
import { withLocalSession } from './local-session.ts';
import { errorMessage } from './messages.ts';
import { listPrompts } from './prompts.ts';
import { askForRoots, placeOfRoots } from './roots.ts';
import { openStdio } from './stdio-messages.ts';
import { parseToolSets } from './tool-sets.ts';
import { listTools } from './tools.ts';
import { inferWorkingCopy, type Place } from './working-copy.ts';

const END_WITHIN_MS = 30_000;
/** What only the server can answer. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/list',
  'resources/read',
  'completion/complete',
]);
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
  let offered: Offer;
  try {
    config = loadConfig(env);
    // An editor without a name has the key of C. Whether the name that it gives itself counts decides the server.
    isNameless = asked === undefined && !config.mcpApiKey;
    caller = isNameless ? 'C' : asked;
    keys = caller === undefined ? [config.mcpApiKey!] : keysOf(config, caller);
    offered = offerOf(tools, caller);
  } catch (error) {
    say(error instanceof ConfigError ? error.message : `cannot read the keys: ${(error as Error).message}`);
    return 1;
  }

  const folder = process.cwd();
  const { reason, ...inferred } = inferWorkingCopy(config.place, folder, env);
  if (reason) say(reason);
  let place: Place = inferred;
  // Calls wait until the client has named its folders, so that nothing is saved to the wrong project.
  let placed: Promise<void> = Promise.resolve();

  let introduction: Server | null = null;
  const wereListed = new Set<keyof Offer>();
  const onOffer = (ofServer: Offer) => {
    const haveChanged = (list: keyof Offer) =>
      wereListed.has(list) && !isDeepStrictEqual(ofServer[list], offered[list]);
    const [tools, prompts] = [haveChanged('tools'), haveChanged('prompts')];
    offered = ofServer;
    // A client that has gone needs to know nothing.
    if (tools) introduction?.sendToolListChanged().catch(() => {});
    if (prompts) introduction?.sendPromptListChanged().catch(() => {});
  };
  const introduce = () => {
    const server = createIntroduction(
      (list) => {
        wereListed.add(list);
        return offered;
      },
      // Only the server knows whether another key than these is cut down to some sets, or is a reviewer's.
      { listChanged: caller !== 'L' && caller !== 'C' },
    );
    const lookAtRoots = () => {
      placed = askForRoots(server).then((roots) => {
        place = placeOfRoots(roots, { named: config.place, folder, env }) ?? inferred;
      });
    };
    server.oninitialized = lookAtRoots;
    server.setNotificationHandler('notifications/roots/list_changed', lookAtRoots);
    introduction = server;
    return server;
  };

  const underway = new Map<Promise<void>, { id: RequestId; giveUp: AbortController }>();
  const cancel = (id: unknown) => {
    for (const call of underway.values()) if (call.id === id) call.giveUp.abort();
  };
  const stdio = openStdio(process.stdin, process.stdout, (message) => {
    const name = isNameless && 'method' in message ? nameIn(message) : null;
    if (name !== null) link.useClient(name);
    if (!('method' in message) || !PASSED_ON.has(message.method)) {
      if ('method' in message && message.method === 'notifications/cancelled') cancel(message.params?.requestId);
      return wire.onmessage?.(message);
    }
    // A call without an id expects no answer, so it is dropped.
    if (!isJSONRPCRequest(message)) return;
    const giveUp = new AbortController();
    const passing = Promise.all([withLocalSession(message, env), nextTurn().then(() => placed)])
      .then(([read]) => ('answer' in read ? stdio.send(read.answer) : link.pass(read.request, giveUp.signal)))
      .catch((error: Error) => {
        say(`a call failed in this process: ${error.name}`);
        stdio.send(errorMessage(message.id, INTERNAL_ERROR, 'something went wrong in this process'));
      })
      .finally(() => underway.delete(passing));
    underway.set(passing, { id: message.id, giveUp });
  });
  const link = createLink({
    config,
    env,
    keys,
    workingCopy: () => headersOf(place),
    tools,
    answer: stdio.send,
    onOffer,
    say,
  });
  const wire: Transport = {
    start: async () => {},
    close: async () => {},
    async send(message) {
      if ('result' in message && typeof message.result.protocolVersion === 'string')
        link.useProtocol(message.result.protocolVersion);
      stdio.send(message);
    },
  };
  // It finds out by the first message which specification the client follows.
  serveStdio(introduce, { transport: wire });
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

/** What a client calls itself, in `initialize` or since 2026-07-28 in each request, if a header can carry it. */
function nameIn({ method, params }: JSONRPCRequest | JSONRPCNotification): string | null {
  const meta = isFields(params?._meta) ? params._meta : {};
  const info = method === 'initialize' ? params?.clientInfo : meta[CLIENT_INFO_META_KEY];
  const name = isFields(info) ? textOf(info.name) : null;
  return name !== null && name.length <= MAX_CLIENT_NAME_LENGTH && !/\p{Cc}/u.test(name) ? name : null;
}

/** What the server offers a key of this home folder. Such a key is not limited to some sets. */
function offerOf(asked: string, caller: string | undefined): Offer {
  try {
    const reviews = caller === 'L';
    return { tools: listTools(null, parseToolSets(asked), reviews), prompts: listPrompts(reviews) };
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
