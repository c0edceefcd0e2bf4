/** A queue for each client. The clients take turns, so that one with many items does not delay the others. */
export class RoundRobinQueue<T> {
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  /** How many items wait in all. */
  get size(): number {
    return this.#size;
  }

  push(client: string, item: T): void {
    this.#open(client).push(item);
    this.#size += 1;
  }

  /** Lets an item go before the others of its client. */
  unshift(client: string, item: T): void {
    this.#open(client).unshift(item);
    this.#size += 1;
  }

  /** Takes the next item. The next one of its client comes after those of all other clients. */
  shift(): T | undefined {
    const first = this.#queues.entries().next();
    if (first.done) return undefined;
    const [client, queue] = first.value;
    const item = queue.shift()!;
    this.#queues.delete(client);
    if (queue.length > 0) this.#queues.set(client, queue);
    this.#size -= 1;
    return item;
  }

  remove(client: string, item: T): void {
    const queue = this.#queues.get(client)!;
    queue.splice(queue.indexOf(item), 1);
    if (queue.length === 0) this.#queues.delete(client);
    this.#size -= 1;
  }

  /** The items of a client, the next one first. */
  queueOf(client: string): readonly T[] {
    return this.#queues.get(client) ?? [];
  }

  queues(): (readonly T[])[] {
    return [...this.#queues.values()];
  }

  /** Takes all items. */
  drain(): T[] {
    const all = this.queues().flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }

  #open(client: string): T[] {
    const queue = this.#queues.get(client) ?? [];
    this.#queues.set(client, queue);
    return queue;
  }
}
