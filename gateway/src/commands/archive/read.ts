// `l9-memory archive list`, `get`, `verify` and `rotate`: the index of archived sessions, and their bytes and keys.
import { type Client, type ClientOptions, connect, told } from '../support/client.ts';
import { startProgress } from '../support/progress.ts';

const LIST = `query ($query: String, $tags: [String!], $since: Datetime, $until: Datetime, $limit: Int) {
  queryCascadeMemories(query: $query, tags: $tags, since: $since, until: $until, limit: $limit) {
    pointer title summary tags sourceTool sessionId size happenedAt createdAt
  }
}`;
const GET = 'query ($pointer: String!) { retrieveSessionFromCascade(pointer: $pointer) { sessionData verified } }';

const VERIFY = `mutation ($pointer: String, $after: UUID) {
  verifyArchives(input: { pointer: $pointer, after: $after, limit: 50 }) {
    verified problems { pointer problem store repaired } copied next
  }
}`;
const ROTATE = `mutation ($after: UUID) {
  rotateArchiveKeys(input: { after: $after, limit: 500 }) { rotated failed keys { keyId archives } next }
}`;

export interface ListOptions extends ClientOptions {
  tags?: string[];
  since?: string;
  until?: string;
  limit: string;
  json?: boolean;
}

interface Listed {
  pointer: string;
  title: string;
  tags: string[];
  happenedAt: string;
}

/** Prints a line for each archive: when the session ended, its pointer, title and tags. */
export const list = (env: NodeJS.ProcessEnv, query: string | undefined, options: ListOptions) =>
  run(env, options, async (client) => {
    const { tags, since, until, json } = options;
    const asked = { query, tags, since, until, limit: Number(options.limit) };
    const { queryCascadeMemories: found } = await client.request<{ queryCascadeMemories: Listed[] }>(LIST, asked);
    const lines = found.map((one) =>
      json
        ? JSON.stringify(one)
        : `${one.happenedAt.slice(0, 16).replace('T', ' ')}  ${one.pointer}  ${one.title}${one.tags.map((tag) => ` #${tag}`).join('')}`,
    );
    return lines.map((line) => `${line}\n`).join('');
  });

/** Prints the session as JSON, after its bytes were checked. */
export const get = (env: NodeJS.ProcessEnv, pointer: string, options: ClientOptions) =>
  run(env, options, async (client) => {
    const { retrieveSessionFromCascade: found } = await client.request<{
      retrieveSessionFromCascade: { sessionData: unknown };
    }>(GET, { pointer });
    return `${JSON.stringify(found.sessionData, null, 2)}\n`;
  });

interface Verified {
  verified: number;
  problems: { pointer: string; problem: string; store: string | null; repaired: boolean }[];
  copied: number;
  next: string | null;
}

/** Checks one archive, or all that the caller can read, in every store. Returns 1 if any problem stays. */
export async function verify(
  env: NodeJS.ProcessEnv,
  pointer: string | undefined,
  options: ClientOptions & { all?: boolean },
): Promise<number> {
  if ((pointer === undefined) === !options.all) {
    process.stderr.write('archive verify: name a pointer, or all of them with --all\n');
    return 1;
  }
  const total = { verified: 0, problems: 0, repaired: 0, copied: 0 };
  const inWords = () =>
    [
      `${total.verified} whole, ${total.problems} not`,
      ...(total.repaired ? [`copies repaired: ${total.repaired}`] : []),
      ...(total.copied ? [`copies added: ${total.copied}`] : []),
    ].join(', ');
  const code = await run(env, options, async (client) => {
    const progress = startProgress('verifying', null);
    try {
      for (let after: string | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
        const page: { verifyArchives: Verified } = await client.request(VERIFY, { pointer, after });
        const found = page.verifyArchives;
        for (const { pointer: its, problem, store, repaired } of found.problems) {
          process.stdout.write(`${its}: ${problem}${store ? ` in ${store}` : ''}${repaired ? ', repaired' : ''}\n`);
          total[repaired ? 'repaired' : 'problems'] += 1;
        }
        total.verified += found.verified;
        total.copied += found.copied;
        after = found.next;
        progress.update(total.verified, inWords());
      }
    } finally {
      progress.stop();
    }
    return `${inWords()}\n`;
  });
  return total.problems > 0 ? 1 : code;
}

interface Rotated {
  rotated: number;
  failed: number;
  keys: { keyId: string; archives: number }[] | null;
  next: string | null;
}

/** Wraps the keys of all archives with the first master key. Keys that were wrapped stay so if it ends early: run it again. */
export async function rotate(env: NodeJS.ProcessEnv, options: ClientOptions): Promise<number> {
  let failed = 0;
  const code = await run(env, options, async (client) => {
    let rotated = 0;
    let keys: Rotated['keys'] = [];
    const progress = startProgress('rotating', null);
    try {
      for (let after: string | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
        const page: { rotateArchiveKeys: Rotated } = await client.request(ROTATE, { after });
        rotated += page.rotateArchiveKeys.rotated;
        failed += page.rotateArchiveKeys.failed;
        keys = page.rotateArchiveKeys.keys;
        after = page.rotateArchiveKeys.next;
        progress.update(rotated, `${rotated} keys wrapped anew`);
      }
    } finally {
      progress.stop();
    }
    const inUse = (keys ?? []).map(({ keyId, archives }) => `archives that need the key ${keyId}: ${archives}\n`);
    return `${rotated} keys wrapped anew, ${failed} failed\n${inUse.join('')}`;
  });
  return failed > 0 ? 1 : code;
}

/** Prints what the work returns. */
const run = (env: NodeJS.ProcessEnv, options: ClientOptions, work: (client: Client) => Promise<string>) =>
  told(async () => {
    process.stdout.write(await work(await connect(env, options)));
    return 0;
  });
