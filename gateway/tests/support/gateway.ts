// A complete gateway in this process, for tests: a real database, all APIs, and the real embedder by default.
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type Logger, pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { type Sessions, sessionsOf } from '../../../db/tests/support/sessions.ts';
import { signToken, type TokenRequest } from '../../src/auth/jwt.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { localEmbedder } from '../../src/embeddings/providers/local.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../../src/gateway.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { checkAnswer } from './check-answer.ts';
import { createTestHome, type TestHome } from './home.ts';
import { sharedSchema } from './shared-schema.ts';

const silent = pino({ level: 'silent' });

export interface GraphqlAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers differ by query, and tests look at what they asked for
  data: any;
  errors?: {
    message: string;
    path?: (string | number)[];
    extensions?: { code?: string; field?: string; sqlstate?: string };
  }[];
}

/** SQL as in db/tests (sessions.ts), and the gateway's own APIs. */
export interface TestGateway extends Sessions {
  home: TestHome;
  config: Config;
  /** The gateway that was started: its URL, its pools, its jobs. */
  instance: Gateway;
  token(request: Partial<TokenRequest> & { caller: string }): Promise<string>;
  apiKey(caller: string): string;
  /** GraphQL over HTTP as this caller (with a token of all its claims), or with the token given. */
  graphql(caller: string | { token: string }, query: string, variables?: object): Promise<GraphqlAnswer>;
  /** The data of a GraphQL request that has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  query(caller: string, query: string, variables?: object): Promise<any>;
  /** An MCP SDK client over HTTP, which lists these sets of tools. */
  mcp(caller: string, tools?: string): Promise<Client>;
  /** Calls an MCP tool as this caller, and checks the answer by the whole output schema of its operation. */
  // biome-ignore lint/suspicious/noExplicitAny: results differ by tool, and tests look at what they asked for
  tool(caller: string, name: string, args?: object): Promise<{ isError: boolean; text: string; result: any }>;
  /** The result of an MCP tool call that has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  call(caller: string, name: string, args?: object): Promise<any>;
  /** Saves a memory over MCP, in project l9 unless its scope is global or the arguments name another, and returns its id. */
  save(caller: string, content: string, args?: object): Promise<string>;
  /** GET /metrics, with the key of L. */
  metrics(): Promise<string>;
  /** Waits until every memory has its vectors. */
  embedded(): Promise<void>;
  close(): Promise<void>;
}

export interface TestGatewayOptions extends GatewayOptions {
  env?: Record<string, string>;
  logger?: Logger;
  home?: TestHome;
}

let bundled: Embedder | undefined;

/** The bundled model, in one process for all gateways of a test process: loading it takes longer than most tests do. */
const bundledModel = (): Embedder => {
  bundled ??= localEmbedder(silent);
  return { ...bundled, close: async () => {} };
};

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { env, logger = silent, home = await createTestHome(), ...rest } = options;
  const config = loadConfig({ PORT: '0', CLEANUP_INTERVAL_SECONDS: '0', ...home.env, ...env });
  const isBundled = isDeepStrictEqual(config.embedding, loadConfig({}).embedding);
  const instance = await startGateway(config, logger, {
    // Most tests never ask by GraphQL, and its schema takes longer than all the rest.
    buildsSchemaOnDemand: true,
    buildSchema: sharedSchema,
    ...(isBundled && !options.logger ? { embedder: bundledModel() } : {}),
    ...rest,
  });
  const credentials = loadCredentials(config);
  const clients: Client[] = [];
  const ofTools = new Map<string, Promise<Client>>();

  const gateway: TestGateway = {
    ...sessionsOf(instance.database.pool, home.superuserUrl),
    home,
    config,
    instance,
    token: (request) => signToken(config, credentials, { expires: '10m', ...request }),
    apiKey: (caller) => credentials.mcpApiKeys[caller]![0]!,
    async graphql(caller, query, variables = {}) {
      const token = typeof caller === 'string' ? await gateway.token({ caller }) : caller.token;
      const response = await fetch(`${instance.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      });
      return { status: response.status, ...((await response.json()) as Omit<GraphqlAnswer, 'status'>) };
    },
    async query(caller, query, variables) {
      const { data, errors } = await gateway.graphql(caller, query, variables);
      if (errors) throw new Error(`GraphQL failed: ${JSON.stringify(errors)}`);
      return data;
    },
    async mcp(caller, tools) {
      const client = new Client({ name: 'test', version: '1' });
      const headers = { authorization: `Bearer ${gateway.apiKey(caller)}` };
      const url = new URL(`${instance.url}/mcp${tools === undefined ? '' : `?tools=${tools}`}`);
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
      clients.push(client);
      return client;
    },
    async tool(caller, name, args = {}) {
      const connecting = ofTools.get(caller) ?? gateway.mcp(caller);
      ofTools.set(caller, connecting);
      const client = await connecting.catch((error) => {
        ofTools.delete(caller);
        throw error;
      });
      const answer = (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;
      const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      if (!answer.isError) checkAnswer(name, answer.structuredContent);
      return { isError: answer.isError === true, text, result: answer.structuredContent };
    },
    async call(caller, name, args) {
      const { isError, text, result } = await gateway.tool(caller, name, args);
      if (isError) throw new Error(`${name} failed: ${text}`);
      return result;
    },
    async save(caller, content, args = {}) {
      const project = 'scope' in args && args.scope === 'global' ? {} : { project_id: 'l9' };
      return (await gateway.call(caller, 'save_memory', { content, ...project, ...args })).memory.packet_id;
    },
    async metrics() {
      const headers = { authorization: `Bearer ${gateway.apiKey('L')}` };
      return (await fetch(`${instance.url}/metrics`, { headers })).text();
    },
    async embedded() {
      await eventually(async () => {
        const [{ pending }] = await gateway.asWorker('select pending from embeddings.embedding_backlog()');
        return Number(pending) === 0;
      });
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await instance.close();
      await home.drop();
    },
  };
  return gateway;
}

/** A gateway that starts before the tests of the suite it is called in, and closes after them. */
export function useTestGateway(options: TestGatewayOptions = {}): TestGateway {
  const gateway = {} as TestGateway;
  beforeAll(async () => {
    Object.assign(gateway, await startTestGateway(options));
  });
  afterAll(() => gateway.close());
  return gateway;
}
