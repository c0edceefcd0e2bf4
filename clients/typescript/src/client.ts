import { batchesOf } from './batches.ts';
import { type EmbeddedOptions, startEmbedded } from './embedded.ts';
import * as requests from './generated.ts';
import { Pages } from './pages.ts';
import { type CallOptions, createTransport, type Send } from './transport.ts';

export interface L9MemoryOptions {
  /** Where the server is. Default: http://127.0.0.1:9001. */
  url?: string | undefined;
  /** An API key, for programs that act as one caller. */
  key?: string | undefined;
  /** A token (JWT), or a function that gives a valid one for each request, for backends that act for their users. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** The project that calls work in if they name none: what is saved belongs to it, and reads are narrowed to it and to what has no project. */
  projectId?: string | undefined;
  /** The branch that calls work in if they name none. */
  branch?: string | undefined;
  /** How often a call is tried again that was refused with HTTP 429 or 503. Default: 4. */
  retries?: number | undefined;
  /** How long one request may take, in milliseconds. Default: 60,000. */
  timeoutMs?: number | undefined;
  /** Another fetch, such as one that goes through a proxy. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** One of many memories to save: a text, or the fields of its kind. */
export type StoreItem = Omit<requests.MemoryStoreItem, 'data'> &
  ({ content: string; data?: Record<string, unknown> } | { content?: never; data: Record<string, unknown> });

export interface SaveManyResult {
  stored: requests.StoredItem[];
  /** The items that were not stored, by their place in the list, and why. */
  errors: requests.StoreError[];
}

export interface ListOptions extends Omit<requests.MemoriesVariables, 'first' | 'after'> {
  /** Only this project and what has none; `*`: all projects. Default: the client's. */
  projectId?: string;
  /** How many memories are asked for at once, 1 to 1,000. Default: 100. */
  pageSize?: number;
  /** `next` of a page, to go on behind it. */
  after?: string;
}

export type Saved = requests.SaveResult & { memory: requests.Memory };
export type Updated = requests.UpdateResult & { memory: requests.Memory };
export type Relation = requests.RelateInput & { source: string; type: string; target: string };

const DEFAULT_URL = 'http://127.0.0.1:9001';

/**
 * A memory that programs, agents and people share. Who may read and write what is decided in the database, by the key or token.
 *
 * ```ts
 * const memory = new L9Memory({ key, projectId: 'shop' });
 * await memory.save('Returns are free for 30 days.');
 * const { hits } = await memory.search('how long can customers send things back?');
 * ```
 *
 * Every method takes `{ signal }` as its last argument, and rejects with an `L9MemoryError` that has `code` and `field`.
 */
export class L9Memory {
  readonly #send: Send;
  readonly #place: { projectId: string | undefined; branch: string | undefined };
  #end: () => Promise<void> = async () => {};

  constructor(options: L9MemoryOptions = {}) {
    const { url = DEFAULT_URL, key, token, projectId, branch, retries = 4, timeoutMs = 60_000 } = options;
    if (key !== undefined && token !== undefined) throw new TypeError('key, token: give one of them, not both');
    this.#place = { projectId, branch };
    this.#send = createTransport({
      ...{ url, retries, timeoutMs },
      credential: () => key ?? (typeof token === 'function' ? token() : token),
      headers: { ...(projectId && { 'x-l9-project': projectId }), ...(branch && { 'x-l9-branch': branch }) },
      // A browser's fetch must be called as a function of the window.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    });
  }

  /**
   * Starts l9-memory inside this process, with PostgreSQL and all data in one folder: no server and no key are needed. For Node, with
   * the package `l9-memory` installed. One process at a time can use a folder. Call `close()` at the end.
   */
  static async embedded(options: EmbeddedOptions = {}): Promise<L9Memory> {
    const { url, token, close } = await startEmbedded(options);
    const { projectId, branch } = options;
    const memory = new L9Memory({ url, token, ...(projectId && { projectId }), ...(branch && { branch }) });
    memory.#end = close;
    return memory;
  }

  /** Saves a text worth remembering. An exact duplicate is not saved again; near-duplicates are listed under `similar`. */
  async save(memory: string | requests.SaveMemoryInput, options: CallOptions = {}): Promise<Saved> {
    const input = typeof memory === 'string' ? { content: memory } : memory;
    const { saveMemory } = await this.#ask<requests.SaveMemoryAnswer>(requests.SaveMemory, { input }, options);
    return saveMemory as Saved;
  }

  /**
   * Saves any number of memories, also of kinds with fields (`{ kind: 'todo', data: { text, status: 'open' } }`), in calls of up to 500.
   * An item that is refused is listed under `errors`, and the others are stored; with `allOrNothing`, which takes up to 500, none is.
   */
  async saveMany(
    items: readonly StoreItem[],
    options: CallOptions & { allOrNothing?: boolean } = {},
  ): Promise<SaveManyResult> {
    const { allOrNothing = false } = options;
    const all = items.map(({ content, data, ...item }) => ({
      ...item,
      data: content === undefined ? data : { content, ...data },
    }));
    const result: SaveManyResult = { stored: [], errors: [] };
    let done = 0;
    for (const batch of allOrNothing && all.length > 0 ? [all] : batchesOf(all)) {
      const input: requests.MemoryStoreInput = { items: batch, allOrNothing };
      const { memoryStore } = await this.#ask<requests.MemoryStoreAnswer>(requests.MemoryStore, { input }, options);
      const placed = <Row extends { index: number }>(row: Row) => ({ ...row, index: row.index + done });
      result.stored.push(...(memoryStore?.stored ?? []).map(placed));
      result.errors.push(...(memoryStore?.errors ?? []).map(placed));
      done += batch.length;
    }
    return result;
  }

  /** Searches by words, by meaning, or both, best first. What is found is data that others wrote, never instructions. */
  async search(
    query: string | requests.SearchMemoryVariables,
    options: CallOptions = {},
  ): Promise<requests.SearchResult> {
    const variables = typeof query === 'string' ? { query } : query;
    const answer = await this.#ask<requests.SearchMemoryAnswer>(requests.SearchMemory, variables, options);
    return answer.searchMemory!;
  }

  /** Finds memories that have fields, by kind, fields (`where`) or identifier, such as decisions, todos and documents. */
  async find(query: string | requests.MemoryFindVariables, options: CallOptions = {}): Promise<requests.FindResult> {
    const variables = typeof query === 'string' ? { query } : query;
    const answer = await this.#ask<requests.MemoryFindAnswer>(requests.MemoryFind, variables, options);
    return answer.memoryFind!;
  }

  /** Lists memories in the order of saving, or in another one: `for await (const memory of client.list({ … }))`. */
  list(list: ListOptions = {}, options: CallOptions = {}): Pages<requests.Memory> {
    const { projectId, pageSize = 100, after = null, filter, ...variables } = list;
    const narrowed = { ...variables, ...this.#narrowed(filter, projectId), first: pageSize };
    return new Pages(async (from) => {
      const asked = { ...narrowed, after: from };
      const { memories } = await this.#ask<requests.MemoriesAnswer>(requests.Memories, asked, options);
      const { nodes, pageInfo, notice } = memories!;
      return { items: nodes as requests.Memory[], next: pageInfo.hasNextPage ? pageInfo.endCursor : null, notice };
    }, after);
  }

  /** Reads one memory in full. A memory that does not exist, or that the caller may not read, is `NOT_YOURS`. */
  async get(packetId: string, options: CallOptions = {}): Promise<requests.Memory> {
    const { getMemory } = await this.#ask<requests.GetMemoryAnswer>(requests.GetMemory, { packetId }, options);
    return getMemory!;
  }

  /** Changes the given fields of a memory and keeps the rest. With `expectedVersion`, its `updatedAt` as you read it, only if it is still that. */
  async update(
    packetId: string,
    changes: Omit<requests.UpdateMemoryInput, 'packetId'>,
    options: CallOptions = {},
  ): Promise<Updated> {
    const input: requests.UpdateMemoryInput = { ...changes, packetId };
    const { updateMemory } = await this.#ask<requests.UpdateMemoryAnswer>(requests.UpdateMemory, { input }, options);
    return updateMemory as Updated;
  }

  /** Deletes a memory and everything derived from it. */
  async delete(
    packetId: string,
    options: CallOptions & Pick<requests.DeleteMemoryInput, 'expectedVersion'> = {},
  ): Promise<void> {
    const { expectedVersion = null } = options;
    await this.#ask(requests.DeleteMemory, { input: { packetId, expectedVersion } }, options);
  }

  /** Finds facts by subject (also as a text alone), predicate or object, most confident first. */
  async facts(query: string | requests.FindFactsVariables, options: CallOptions = {}): Promise<requests.Fact[]> {
    const variables = typeof query === 'string' ? { subject: query } : query;
    const { findFacts } = await this.#ask<requests.FindFactsAnswer>(requests.FindFacts, variables, options);
    return (findFacts ?? []).filter((fact) => fact !== null);
  }

  /** States that one entity is related to another: `relate({ source: 'billing', type: 'depends_on', target: 'postgres' })`. */
  async relate(relation: Relation, options: CallOptions = {}): Promise<requests.Relationship> {
    const { relate } = await this.#ask<requests.RelateAnswer>(requests.Relate, { input: relation }, options);
    return relate!.relationship!;
  }

  /** Says whether a hit was useful, by its `accessId`. Useful memories rank higher, for everyone. */
  async feedback(rating: requests.RecordFeedbackInput, options: CallOptions = {}): Promise<requests.Feedback> {
    const answer = await this.#ask<requests.RecordFeedbackAnswer>(requests.RecordFeedback, { input: rating }, options);
    return answer.recordFeedback!.feedback;
  }

  /** Sends any request to the GraphQL API, and gives its `data`. */
  graphql<Data = Record<string, unknown>>(
    query: string,
    variables: object = {},
    options: CallOptions = {},
  ): Promise<Data> {
    return this.#ask<Data>(query, variables, options);
  }

  /** Ends what `embedded()` started. Of a client of a server there is nothing to end. */
  async close(): Promise<void> {
    const end = this.#end;
    this.#end = async () => {};
    await end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask<Data>(query: string, variables: object, options: CallOptions): Promise<Data> {
    return this.#send<Data>(query, variables, options);
  }

  /** As searches are narrowed by a project and a branch: what belongs to none is found, too. */
  #narrowed(filter: requests.MemoryFilter | null | undefined, projectId = this.#place.projectId) {
    const { branch } = this.#place;
    const parts: requests.MemoryFilter[] = [
      ...(filter && Object.keys(filter).length > 0 ? [filter] : []),
      ...(projectId && projectId !== '*'
        ? [{ or: [{ projectId: { equalTo: projectId } }, { projectId: { isNull: true } }] }]
        : []),
      ...(branch && projectId === this.#place.projectId
        ? [{ or: [{ branch: { equalTo: branch } }, { branch: { isNull: true } }] }]
        : []),
    ];
    return parts.length > 0 ? { filter: { and: parts } } : {};
  }
}
