import { get } from 'node:http';
import { textOf } from '../auth/request.ts';

const ATTACH_WITHIN_MS = 10_000;

export class KeyRefused extends Error {}

export interface Attachment {
  /** Resolves when the server has ended or `detach` was called. */
  ended: Promise<void>;
  detach(): void;
  /** What the server has to say about the working copy. */
  notice: string | null;
}

/**
 * Holds a request open. It tells the server that it is needed, and this process when the server ends. `onChanged` is called when the
 * server says that it may offer this key something else by now.
 */
export function attach(
  url: string,
  key: string,
  workingCopy: Record<string, string> = {},
  onChanged: () => void = () => {},
): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const headers = { ...workingCopy, authorization: `Bearer ${key}` };
    // fetch is not used here, because it times out when an answer is silent for five minutes.
    const request = get(`${url}/attach`, { headers, agent: false }, (response) => {
      // Each line after the first says that something has changed.
      let lines = 0;
      response.setEncoding('latin1').on('data', (text: string) => {
        const before = lines;
        lines += text.split('\n').length - 1;
        if (lines > Math.max(1, before)) onChanged();
      });
      const notice = textOf(response.headers, 'x-l9-notice');
      response.on('error', () => {});
      clearTimeout(limit);
      if (response.statusCode === 200) {
        const ended = new Promise<void>((done) => {
          response.once('close', done);
        });
        resolve({ ended, detach: () => request.destroy(), notice });
        return;
      }
      reject(
        response.statusCode === 401
          ? new KeyRefused(
              `UNAUTHENTICATED (L9AUT): the server at ${url} does not accept this key. If it was started with other MCP_API_KEY_… variables, restart it with these; otherwise pass --caller`,
            )
          : new Error(`${url}/attach answers ${response.statusCode}`),
      );
      request.destroy();
    });
    const limit = setTimeout(() => request.destroy(new Error('the server did not answer in time')), ATTACH_WITHIN_MS);
    request.on('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
  });
}
