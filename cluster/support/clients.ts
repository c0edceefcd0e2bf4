// Clients that save and search all the time, and remember every answer.
import { setTimeout as sleep } from 'node:timers/promises';

const SAVE =
  'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status memory { packetId } } }';
const SEARCH = '{ searchMemory(query: "which colour", k: 3, mode: lexical) { hits { packetId } } }';
const PAUSE_MS = 20;
const WAIT_MS = 250;

/** An answer with 200. */
export interface Acknowledged {
  /** The reference that its audit rows have. */
  reference: string;
  began: number;
  ended: number;
  packetId: string | null;
}

/** Starts so many writers and one searcher. A call that gets another answer than 200 is repeated. */
export function startClients(url: string, token: string, writers: number) {
  const saves: Acknowledged[] = [];
  const searches: Acknowledged[] = [];
  const refused: { status: number; retryAfter: string | null }[] = [];
  const broken: string[] = [];
  let isOver = false;

  async function call(reference: string, body: object): Promise<Acknowledged | null> {
    const began = performance.now();
    try {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'x-correlation-id': reference,
        },
        body: JSON.stringify(body),
      });
      // biome-ignore lint/suspicious/noExplicitAny: the two requests have answers of their own
      const { data, errors } = (await response.json()) as any;
      if (response.status !== 200) {
        refused.push({ status: response.status, retryAfter: response.headers.get('retry-after') });
        return null;
      }
      if (errors) broken.push(JSON.stringify(errors));
      return { reference, began, ended: performance.now(), packetId: data?.saveMemory?.memory?.packetId ?? null };
    } catch (error) {
      broken.push((error as Error).message);
      return null;
    }
  }
  async function repeat(name: string, into: Acknowledged[], bodyOf: (n: number) => object) {
    for (let n = 0; !isOver; ) {
      const answer = await call(`${name}-${n}`, bodyOf(n));
      if (answer) into.push(answer);
      if (answer) n += 1;
      await sleep(answer ? PAUSE_MS : WAIT_MS);
    }
  }
  const running = Array.from({ length: writers }, (_, writer) =>
    repeat(`save-${writer}`, saves, (n) => ({
      query: SAVE,
      variables: { content: `Writer ${writer} noted under number ${n} which colour the signal had.` },
    })),
  );
  running.push(repeat('search', searches, () => ({ query: SEARCH })));
  return {
    saves,
    searches,
    refused,
    /** Answers without a status of their own: connections that broke, and 200 with errors. */
    broken,
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
}
