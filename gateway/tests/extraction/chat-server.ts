import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AskedChat {
  url: string;
  headers: IncomingHttpHeaders;
  body: {
    model: string;
    messages: { role: string; content: string }[];
    response_format: { type: string; json_schema: { name: string; strict: boolean; schema: Record<string, unknown> } };
    max_completion_tokens: number;
  };
  /** What the user message holds. */
  data: { text: string; [name: string]: unknown };
}

export interface ChatReply {
  status?: number;
  /** What the model says: JSON, or a text as it is. */
  says?: unknown;
  /** The whole body instead, as it is. */
  raw?: string;
  usage?: { prompt_tokens: unknown; completion_tokens: unknown } | null;
  finish?: string;
  hang?: boolean;
  afterMs?: number;
}

export interface ChatServer {
  baseUrl: string;
  asked: AskedChat[];
  /** How requests are answered; nothing is found, unless told otherwise. */
  answer: (asked: AskedChat) => ChatReply;
  close(): Promise<void>;
}

export const USAGE = { prompt_tokens: 100, completion_tokens: 20 };
export const NOTHING = { entities: [], facts: [], relations: [] };
export const factOf = (subject: string, predicate: string, object: string, more: object = {}) => ({
  subject,
  predicate,
  object,
  confidence: 0.7,
  valid_from: null,
  ...more,
});

/** A server on this machine that speaks the `/chat/completions` of OpenAI. */
export async function startChatServer(): Promise<ChatServer> {
  const asked: AskedChat[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const body = JSON.parse(text) as AskedChat['body'];
    const call = { url: request.url!, headers: request.headers, body, data: JSON.parse(body.messages[1]!.content) };
    asked.push(call);
    const { status = 200, says = NOTHING, raw, usage = USAGE, finish = 'stop', hang, afterMs = 0 } = chat.answer(call);
    if (hang) return;
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    response.writeHead(status, { 'content-type': 'application/json' });
    const content = typeof says === 'string' ? says : JSON.stringify(says);
    const whole = { choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content } }], usage };
    response.end(raw ?? JSON.stringify(status === 200 ? whole : { error: { message: `no: ${text}` } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const chat: ChatServer = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer: () => ({}),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return chat;
}
