// Calls of the running server by MCP over HTTP, several in one request. Neither the client of the SDK nor fetch is loaded: a hook that is
// called with every prompt has to start within a few hundredths of a second.
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Holder } from '../../home/lock.ts';
import type { Call } from '../../recall/recall.ts';

const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export class CallRefused extends Error {}

export interface Caller {
  url: string;
  key: string;
  headers: Record<string, string>;
}

const agent = new Agent({ keepAlive: true });

/** The structured answers, in the order of the calls. A call that was refused answers null. */
export async function callTools(caller: Caller, calls: readonly Call[]): Promise<(Record<string, unknown> | null)[]> {
  const messages = calls.map(({ tool, arguments: given }, id) => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: tool, arguments: given },
  }));
  const body = JSON.stringify(messages.length === 1 ? messages[0] : messages);
  const { status, text } = await send(caller, 'POST', '/mcp', body);
  if (status !== 200) throw new CallRefused(`the server answers ${status}`);
  const answers = [JSON.parse(text) as Answer | Answer[]].flat();
  return calls.map((_, id) => {
    const result = answers.find((answer) => answer.id === id)?.result;
    return result && !result.isError ? (result.structuredContent ?? null) : null;
  });
}

interface Answer {
  id: number;
  result?: { isError?: boolean; structuredContent?: Record<string, unknown> };
}

/** Whether the server that was announced is the one that answers. Another program may have its port by now. */
export async function answers({ url, instance }: Holder): Promise<boolean> {
  try {
    const { text } = await send({ url, key: '', headers: {} }, 'GET', '/health');
    return (JSON.parse(text) as { instance?: string }).instance === instance;
  } catch {
    return false;
  }
}

function send(
  { url, key, headers }: Caller,
  method: string,
  path: string,
  body = '',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}${path}`,
      {
        ...{ method, agent },
        headers: {
          ...headers,
          ...(key !== '' && { authorization: `Bearer ${key}` }),
          ...(body !== '' && { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
        },
      },
      (response: IncomingMessage) => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on('data', (part: Buffer) => {
          size += part.length;
          if (size > MAX_ANSWER_BYTES) sent.destroy(new CallRefused('the answer is too long'));
          else parts.push(part);
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
