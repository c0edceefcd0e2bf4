// An HTTP client that keeps connections alive, as applications do.
import { Agent, request } from 'node:http';

export interface HttpClient {
  // biome-ignore lint/suspicious/noExplicitAny: answers differ by query
  graphql(token: string, query: string, variables: object): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: answers differ by path
  get(token: string, path: string): Promise<any>;
  close(): void;
}

export function httpClient(url: string): HttpClient {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  // biome-ignore lint/suspicious/noExplicitAny: answers differ by path
  const send = (method: string, path: string, token: string, body?: string): Promise<any> =>
    new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { authorization: `Bearer ${token}` };
      if (body !== undefined) {
        headers['content-type'] = 'application/json';
        headers['content-length'] = Buffer.byteLength(body);
      }
      const sent = request({ agent, hostname, port, path, method, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${text.slice(0, 300)}`));
          else resolve(JSON.parse(text));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return {
    async graphql(token, query, variables) {
      const answer = await send('POST', '/graphql', token, JSON.stringify({ query, variables }));
      if (answer.errors) throw new Error(JSON.stringify(answer.errors).slice(0, 300));
      return answer.data;
    },
    get: (token, path) => send('GET', path, token),
    close: () => agent.destroy(),
  };
}
