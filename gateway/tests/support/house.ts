// The whole house in this process: a real database, the real embedder (unless told otherwise), every door open.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type pg from 'pg';
import { type Logger, pino } from 'pino';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { signToken, type TokenRequest } from '../../src/auth/jwt.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { inTransaction } from '../../src/database/index.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../../src/gateway.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { createTestHome, type TestHome } from './databases.ts';
import { eventually } from './eventually.ts';
import { asSuperuser } from './logins.ts';

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

export interface House {
  home: TestHome;
  config: Config;
  gateway: Gateway;
  token(request: Partial<TokenRequest> & { caller: string }): Promise<string>;
  apiKey(caller: string): string;
  /** GraphQL over HTTP as this caller (with a token of all its claims), or with the token given. */
  graphql(caller: string | { token: string }, query: string, variables?: object): Promise<GraphqlAnswer>;
  /** An MCP SDK client over HTTP. */
  mcp(caller: string): Promise<Client>;
  /** Calls an MCP tool as this caller. */
  // biome-ignore lint/suspicious/noExplicitAny: results differ by tool, and tests look at what they asked for
  tool(caller: string, name: string, args?: object): Promise<{ isError: boolean; text: string; result: any }>;
  /** SQL in a transaction of its own, under the caller's role and claims, as a DBA would in psql. */
  // biome-ignore lint/suspicious/noExplicitAny: rows differ by query
  sql(caller: string, query: string, values?: unknown[], claims?: Record<string, string>): Promise<any[]>;
  /** As sql, in a transaction that the callback fills. */
  asCaller<T>(caller: string, work: (client: pg.PoolClient) => Promise<T>, claims?: Record<string, string>): Promise<T>;
  /** SQL as a superuser, beyond all policies: what a test needs to set up, tamper with, or see for certain. */
  // biome-ignore lint/suspicious/noExplicitAny: rows differ by query
  asSuperuser(query: string, values?: unknown[]): Promise<any[]>;
  /** Waits until nothing is waiting for its vectors. */
  embedded(): Promise<void>;
  close(): Promise<void>;
}

const roles: Record<string, string> = { L: 'l9_admin', C: 'l9_agent' };

/** The settings under which SQL of a caller runs. */
export const claimsOf = (caller: string, claims: Record<string, string> = {}): Record<string, string> => ({
  role: roles[caller] ?? 'l9_agent',
  'jwt.claims.tenant_id': DEFAULT_TENANT,
  'jwt.claims.caller': caller,
  ...claims,
});

/** Of several statements in one query, the last one's. */
const lastRows = (result: pg.QueryResult | pg.QueryResult[]) => (Array.isArray(result) ? result.at(-1)! : result).rows;

export interface HouseOptions extends GatewayOptions {
  env?: Record<string, string>;
  logger?: Logger;
  home?: TestHome;
}

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const { env, logger = pino({ level: 'silent' }), home = await createTestHome(), ...rest } = options;
  const config = loadConfig({ PORT: '0', CLEANUP_INTERVAL_SECONDS: '0', ...home.env, ...env });
  // Most tests never ask by GraphQL, and its schema takes longer than all the rest.
  const gateway = await startGateway(config, logger, { buildsSchemaOnDemand: true, ...rest });
  const credentials = loadCredentials(config);
  const clients: Client[] = [];
  const ofTools = new Map<string, Promise<Client>>();

  const house: House = {
    home,
    config,
    gateway,
    token: (request) => signToken(config, credentials, { expires: '10m', ...request }),
    apiKey: (caller) => credentials.mcpApiKeys[caller]![0]!,
    async graphql(caller, query, variables = {}) {
      const token = typeof caller === 'string' ? await house.token({ caller }) : caller.token;
      const response = await fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      });
      return { status: response.status, ...((await response.json()) as Omit<GraphqlAnswer, 'status'>) };
    },
    async mcp(caller) {
      const client = new Client({ name: 'test', version: '1' });
      const headers = { authorization: `Bearer ${house.apiKey(caller)}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } }) as never,
      );
      clients.push(client);
      return client;
    },
    async tool(caller, name, args = {}) {
      const connecting = ofTools.get(caller) ?? house.mcp(caller);
      ofTools.set(caller, connecting);
      const client = await connecting.catch((error) => {
        ofTools.delete(caller);
        throw error;
      });
      const answer = (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;
      const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      return { isError: answer.isError === true, text, result: answer.structuredContent };
    },
    sql: (caller, query, values = [], claims = {}) =>
      house.asCaller(caller, async (client) => (await client.query(query, values)).rows, claims),
    asCaller: (caller, work, claims = {}) => inTransaction(gateway.database.pool, claimsOf(caller, claims), work),
    asSuperuser: (query, values) => asSuperuser(house, async (session) => lastRows(await session.query(query, values))),
    async embedded() {
      const { workerPool } = gateway.database;
      await eventually(
        async () =>
          Number((await workerPool.query('select pending from embeddings.embedding_backlog()')).rows[0].pending) === 0,
      );
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await gateway.close();
      await home.drop();
    },
  };
  return house;
}
