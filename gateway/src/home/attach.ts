import { get } from 'node:http';

const ATTACH_WITHIN_MS = 10_000;

export class KeyRefused extends Error {}

export interface Attachment {
  /** Resolves when the server is gone, or `detach` was called. */
  ended: Promise<void>;
  detach(): void;
}

/** Holds a request open, by which a server knows that it is needed, and we that it is there. */
export function attach(url: string, key: string): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    // Not fetch, which gives up on an answer that stays silent for five minutes.
    const request = get(`${url}/attach`, { headers, agent: false }, (response) => {
      response.resume();
      response.on('error', () => {});
      clearTimeout(limit);
      if (response.statusCode === 200) {
        const ended = new Promise<void>((done) => {
          response.once('close', done);
        });
        resolve({ ended, detach: () => request.destroy() });
        return;
      }
      reject(
        response.statusCode === 401
          ? new KeyRefused(
              `UNAUTHENTICATED (L9AUT): the server at ${url} does not accept this key. If it was started with other MCP_API_KEY_… variables, start it again with these; else give --caller`,
            )
          : new Error(`${url}/attach answers ${response.statusCode}`),
      );
      request.destroy();
    });
    const limit = setTimeout(() => request.destroy(new Error('no answer in time')), ATTACH_WITHIN_MS);
    request.on('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
  });
}
