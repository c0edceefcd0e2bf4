// The trial of `l9-memory doctor`: a memory is saved, found by each index, and deleted again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../support/client.ts';
import { type Check, tried, well, wrong } from './check.ts';

const VECTOR_WITHIN_MS = 10_000;
const ASK_EVERY_MS = 250;
const PROJECT = 'l9-memory-doctor';
// If this process is killed before it deletes the trial memory, it expires.
const TRIAL_LASTS_MS = 60 * 60_000;

const SAVE = `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { memory { packetId } } }`;
const SEARCH = `query ($query: String!, $mode: SearchMode!, $project: String!) {
  searchMemory(query: $query, mode: $mode, projectId: $project, k: 1, minRelevance: 0, includePending: true) { hits { packetId } }
}`;
const FIND = `query ($query: String!, $project: String!) {
  memoryFind(query: $query, projectId: $project, k: 1, includePending: true) { hits { packetId } }
}`;
const DELETE = 'mutation ($packetId: UUID!) { deleteMemory(input: { packetId: $packetId }) { packetId } }';

export async function ofTrial(client: Client): Promise<Check[]> {
  const word = `trial${Date.now().toString(36)}`;
  const content = `The doctor of l9-memory looks for the word ${word}.`;
  const ttl = new Date(Date.now() + TRIAL_LASTS_MS).toISOString();
  const input = { content, projectId: PROJECT, ttl, tags: ['doctor'] };
  const saved = await tried('save', () =>
    client.request<{ saveMemory: { memory: { packetId: string } } }>(SAVE, { input }),
  );
  if ('isWell' in saved) return [saved];
  const { packetId } = saved.saveMemory.memory;
  const finds = async (query: string, variables: object, withinMs = 0): Promise<boolean> => {
    for (const until = Date.now() + withinMs; ; await sleep(ASK_EVERY_MS)) {
      const answer = await client.request<Record<string, { hits: { packetId: string }[] }>>(query, {
        ...{ query: word, project: PROJECT },
        ...variables,
      });
      if (Object.values(answer)[0]?.hits.some((hit) => hit.packetId === packetId)) return true;
      if (Date.now() >= until) return false;
    }
  };
  try {
    const checks: Check[] = [well('save', 'a trial memory was saved')];
    for (const [name, says, query, variables, withinMs] of [
      ['words', 'the index of words finds it', SEARCH, { mode: 'lexical' }, 0],
      ['meaning', 'the index of vectors finds it', SEARCH, { mode: 'semantic', query: content }, VECTOR_WITHIN_MS],
      ['find', 'memory_find finds it', FIND, {}, 0],
    ] as const) {
      const isFound = await tried(name, () => finds(query, variables, withinMs));
      if (typeof isFound !== 'boolean') checks.push(isFound);
      else
        checks.push(
          isFound
            ? well(name, says)
            : wrong(name, `${says.replace(/finds it$/, 'does not find it')}: see the log of the server`),
        );
    }
    return checks;
  } finally {
    await client.request(DELETE, { packetId });
  }
}
