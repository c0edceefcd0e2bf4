import { readBlob, type Store } from './store.ts';

/** A gateway that keeps bytes under their hash: PUT, GET and DELETE of <base>/<sha256>, with a bearer token. */
export function httpStore(base: string, token: string | null, timeoutMs: number): Store {
  const urlOf = (hash: Buffer) => `${base.replace(/\/+$/, '')}/${hash.toString('hex')}`;
  const send = async (method: string, hash: Buffer, body?: Buffer) => {
    const headers: Record<string, string> = body ? { 'content-type': 'application/octet-stream' } : {};
    if (token) headers.authorization = `Bearer ${token}`;
    const answer = await fetch(urlOf(hash), {
      method,
      headers,
      redirect: 'error',
      // A server that does not answer keeps no connection.
      signal: AbortSignal.timeout(timeoutMs),
      ...(body ? { body: new Uint8Array(body) } : {}),
    });
    if (!answer.ok && answer.status !== 404) {
      await answer.body?.cancel();
      throw new Error(`${method} was answered with HTTP ${answer.status}`);
    }
    return answer;
  };
  return {
    name: 'http',
    async put({ hash }, blob) {
      const answer = await send('PUT', hash, blob);
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`PUT was answered with HTTP ${answer.status}`);
    },
    async get({ hash }) {
      const answer = await send('GET', hash);
      if (answer.ok) return readBlob(answer.body);
      await answer.body?.cancel();
      return null;
    },
    async delete(hash) {
      const answer = await send('DELETE', hash);
      await answer.body?.cancel();
    },
  };
}
