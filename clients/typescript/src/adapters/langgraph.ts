// A store of LangGraph: each item is a memory of kind `store_item`, whose fields say where it lies. A namespace is compared label by
// label, so that `acme` has nothing of `acme-corp`.
import {
  BaseStore,
  getTextAtPath,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from '@langchain/langgraph-checkpoint';
import type { L9Memory, Memory, StoreItem } from '../index.ts';
import { matches, whereOf } from './langgraph-filter.ts';
import { readAll, requireStored } from './shared.ts';

export interface L9StoreOptions {
  /** The scope of the items. Default: `developer`. */
  scope?: string;
  /** The fields of values that searches look at, as paths such as `text` or `chapters[*].title`. Default: all. */
  fields?: string[];
}

const KIND = 'store_item';
/** How many hits the server gives to one search. */
const MOST_HITS = 100;
const PAGE = 500;

/**
 * Long-term memory of graphs: `graph.compile({ store: new L9Store(memory) })`. Searches go by words at once, and by meaning a moment
 * after a `put`. Items are in the project and scope of the client; everyone who may read those shares them.
 */
export class L9Store extends BaseStore {
  readonly #memory: L9Memory;
  readonly #scope: string | undefined;
  readonly #fields: string[] | undefined;

  constructor(memory: L9Memory, { scope, fields }: L9StoreOptions = {}) {
    super();
    this.#memory = memory;
    this.#scope = scope;
    this.#fields = fields;
  }

  /** As in the stores of LangGraph, reads see what was there before the writes of the batch, and of two writes of one key the last counts. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    for (const operation of operations) {
      if ('namespace' in operation) validateNamespace(operation.namespace, { allowReservedRoot: true });
      if ('value' in operation) puts.set(addressOf(operation.namespace, operation.key), operation);
    }
    const results = await Promise.all(
      operations.map((operation) => {
        if ('namespacePrefix' in operation) return this.#search(operation);
        if ('value' in operation) return undefined;
        if ('key' in operation) return this.#item(operation.namespace, operation.key);
        return this.#namespaces(operation);
      }),
    );
    if (puts.size > 0) await this.#put(puts);
    return results as OperationResults<Op>;
  }

  #list(where: object, orderBy: 'PRIMARY_KEY_ASC' | 'UPDATED_AT_DESC' = 'PRIMARY_KEY_ASC') {
    const scope = this.#scope === undefined ? {} : { scope: { equalTo: this.#scope } };
    const filter = { kind: { equalTo: KIND }, ...scope };
    return this.#memory.list({
      filter,
      orderBy: [orderBy],
      pageSize: PAGE,
      ...(Object.keys(where).length > 0 ? { where } : {}),
    });
  }

  /** The memories of one address. There can be several, if clients made them in the same moment: the one changed last counts. */
  async #at(address: string): Promise<Memory[]> {
    const found = await readAll(this.#list({ address }, 'UPDATED_AT_DESC'));
    return found.filter(({ envelope }) => envelope.address === address);
  }

  async #item(namespace: string[], key: string): Promise<Item | null> {
    const [memory] = await this.#at(addressOf(namespace, key));
    return memory ? itemOf(memory) : null;
  }

  async #put(puts: Map<string, PutOperation>): Promise<void> {
    const fresh: StoreItem[] = [];
    for (const [address, operation] of puts) {
      const [first, ...others] = await this.#at(address);
      const isGone = operation.value === null;
      if (first && !isGone) {
        const { content, ...envelope } = this.#dataOf(address, operation);
        await this.#memory.update(first.packetId, { content, envelope });
      } else if (!isGone) {
        const scope = this.#scope === undefined ? {} : { scope: this.#scope };
        fresh.push({ kind: KIND, data: this.#dataOf(address, operation), ...scope });
      }
      for (const { packetId } of isGone && first ? [first, ...others] : others) await this.#memory.delete(packetId);
    }
    if (fresh.length > 0) requireStored(await this.#memory.saveMany(fresh));
  }

  #dataOf(address: string, { namespace, key, value, index = this.#fields }: PutOperation) {
    const texts = index === false ? [] : index ? index.flatMap((path) => getTextAtPath(value, path)) : textsOf(value);
    return {
      // The address makes it another memory than the same value elsewhere.
      content: [address, ...texts].join('\n'),
      address,
      namespace,
      prefixes: namespace.map((_, depth) => pathOf(namespace.slice(0, depth + 1))),
      key,
      value,
    };
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0, query }: SearchOperation): Promise<SearchItem[]> {
    validateNamespace(namespacePrefix, { allowEmpty: true, allowReservedRoot: true });
    const prefix = namespacePrefix.length > 0 ? { prefixes: pathOf(namespacePrefix) } : {};
    const where = { ...prefix, ...whereOf(filter) };
    const found = query ? await this.#ranked(query, where) : await readAll(this.#list(where));
    return onePerAddress(found)
      .map(itemOf)
      .filter(({ value }) => matches(value, filter))
      .slice(offset, offset + limit);
  }

  async #ranked(query: string, where: object): Promise<(Memory & { score: number })[]> {
    const { hits } = await this.#memory.search({
      ...{ query, kinds: [KIND], k: MOST_HITS, minRelevance: 0 },
      ...(Object.keys(where).length > 0 ? { where } : {}),
      ...(this.#scope === undefined ? {} : { scopes: [this.#scope] }),
    });
    const ids = hits.map(({ packetId }) => packetId);
    if (ids.length === 0) return [];
    const read = this.#memory.list({ filter: { packetId: { in: ids } }, pageSize: MOST_HITS, projectId: '*' });
    const byId = new Map((await readAll(read)).map((memory) => [memory.packetId, memory]));
    return hits.flatMap(({ packetId, score }) => {
      const memory = byId.get(packetId);
      return memory ? [{ ...memory, score }] : [];
    });
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const prefix = matchConditions.find(({ matchType, path }) => matchType === 'prefix' && !path.includes('*'));
    const where = prefix && prefix.path.length > 0 ? { prefixes: pathOf(prefix.path) } : {};
    const found = new Map<string, string[]>();
    for (const { envelope } of await readAll(this.#list(where))) {
      const namespace = envelope.namespace as string[];
      if (!matchConditions.every((condition) => fits(condition, namespace))) continue;
      const cut = namespace.slice(0, maxDepth);
      found.set(pathOf(cut), cut);
    }
    const order = (namespace: string[]) => namespace.join(':');
    const sorted = [...found.values()].sort((a, b) => order(a).localeCompare(order(b)));
    return sorted.slice(offset, offset + limit);
  }
}

/** Encoded, so that a label with a slash is not taken for two. */
const pathOf = (namespace: string[]) => `/${namespace.map(encodeURIComponent).join('/')}`;
const addressOf = (namespace: string[], key: string) => `${pathOf(namespace)}#${encodeURIComponent(key)}`;

const itemOf = (memory: Memory & { score?: number }): SearchItem => ({
  namespace: memory.envelope.namespace as string[],
  key: String(memory.envelope.key),
  value: memory.envelope.value as Item['value'],
  createdAt: new Date(memory.createdAt),
  updatedAt: new Date(memory.updatedAt),
  ...(memory.score === undefined ? {} : { score: memory.score }),
});

/** Of two memories of one address the one that was changed last, in the place of the first. */
function onePerAddress<Found extends Memory>(found: Found[]): Found[] {
  const newest = new Map<unknown, Found>();
  for (const memory of found) {
    const { address } = memory.envelope;
    const other = newest.get(address);
    if (!other || new Date(other.updatedAt) < new Date(memory.updatedAt)) newest.set(address, memory);
  }
  return [...newest.values()];
}

/** A line for each text, number and truth value in it, with the names that lead to it. */
function textsOf(value: unknown, name = ''): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item) => textsOf(item, name));
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([field, inner]) => textsOf(inner, name ? `${name} ${field}` : field));
  return [name ? `${name}: ${value}` : String(value)];
}

function fits({ matchType, path }: MatchCondition, namespace: string[]): boolean {
  const from = matchType === 'prefix' ? 0 : namespace.length - path.length;
  const isLongEnough = namespace.length >= path.length;
  return isLongEnough && path.every((label, place) => label === '*' || namespace[from + place] === label);
}
