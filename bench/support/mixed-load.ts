// Calls of all kinds over GraphQL and MCP, and what became of them.
import { Agent, request } from 'node:http';
import type { RunningGateway } from './real-gateway.ts';
import { memoryText, queryText } from './texts.ts';

export interface Calls {
  ms: number[];
  /** 429 and 503, and BUSY over MCP: the gateway says that it has no time. */
  shed: number;
  /** Everything else that is no answer, with how often it occurred. */
  errors: Map<string, number>;
}

export const noCalls = (): Calls => ({ ms: [], shed: 0, errors: new Map() });

interface Answer {
  status: number;
  text: string;
}

const SHED = new Set([429, 503]);
const QUESTIONS = 200;
const TIMEOUT_MS = 60_000;

const search = 'query ($q: String!) { searchMemory(query: $q, k: 10) { hits { packetId content } } }';
const list = '{ memories(first: 20) { nodes { packetId content createdAt } } }';
const save =
  'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { memory { packetId } } }';

/** One caller with connections of its own. `call(n)` makes the n-th call of a fixed mix: half of them by each API. */
export async function mixedClient(
  { url, tokenOf, apiKey }: Pick<RunningGateway, 'url' | 'tokenOf' | 'apiKey'>,
  caller: string,
) {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  const token = await tokenOf(caller);
  const key = apiKey(caller);
  let latest: string | null = null;

  const post = (path: string, authorization: string, body: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${authorization}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      };
      const sent = request(
        { agent, hostname, port, path, method: 'POST', headers, timeout: TIMEOUT_MS },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () => resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString() }));
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS / 1_000} s`)));
      sent.on('error', reject);
      sent.end(text);
    });
  const graphql = (query: string, variables: object = {}) => post('/graphql', token, { query, variables });
  const tool = (name: string, args: object) =>
    post('/mcp', key, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

  const question = (n: number) => queryText(n % QUESTIONS, n % QUESTIONS);
  const content = (n: number) => `${memoryText(n, n % QUESTIONS).slice(0, 600)} ${caller} ${n} ${Date.now()}`;
  const mix: ((n: number) => Promise<Answer>)[] = [
    (n) => graphql(search, { q: question(n) }),
    (n) => tool('search_memory', { query: question(n), k: 10 }),
    () => graphql(list),
    (n) => tool('save_memory', { content: content(n), scope: 'global' }),
    (n) => tool('search_memory', { query: question(n + 7), k: 10, mode: 'lexical' }),
    (n) => graphql(save, { content: content(n) }),
    () => graphql(list),
    () => (latest ? tool('get_memory', { packet_id: latest }) : tool('get_memory_stats', {})),
    (n) => graphql(search, { q: question(n + 3) }),
    () => tool('get_memory_stats', {}),
  ];

  async function call(n: number, calls: Calls) {
    const fail = (reason: string) => calls.errors.set(reason, (calls.errors.get(reason) ?? 0) + 1);
    const began = performance.now();
    try {
      const { status, text } = await mix[n % mix.length]!(n);
      if (SHED.has(status) || /"text":"BUSY \(/.test(text)) calls.shed += 1;
      else if (status !== 200 || /^\{"errors"|"errors":\[|"isError":true/.test(text))
        fail(`${status} ${text.slice(0, 200)}`);
      else {
        calls.ms.push(performance.now() - began);
        latest = /"packet_?[iI]d":"([0-9a-f-]{36})"/.exec(text)?.[1] ?? latest;
      }
    } catch (error) {
      fail((error as Error).message);
    }
  }
  return { call, close: () => agent.destroy() };
}

export type MixedClient = Awaited<ReturnType<typeof mixedClient>>;
