/** What waits, in a line for each client. The lines take turns, so that a client with many items does not delay the others. */
export class FairLines<T> {
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  /** How many items wait in all. */
  get size(): number {
    return this.#size;
  }

  push(client: string, item: T): void {
    const line = this.#lines.get(client);
    if (line) line.push(item);
    else this.#lines.set(client, [item]);
    this.#size += 1;
  }

  /** Lets an item go before the others of its client. */
  unshift(client: string, item: T): void {
    const line = this.#lines.get(client);
    if (line) line.unshift(item);
    else this.#lines.set(client, [item]);
    this.#size += 1;
  }

  /** Takes the next item. The next one of its client comes after those of all other clients. */
  shift(): T | undefined {
    const first = this.#lines.entries().next();
    if (first.done) return undefined;
    const [client, line] = first.value;
    this.#lines.delete(client);
    const item = line.shift()!;
    if (line.length > 0) this.#lines.set(client, line);
    this.#size -= 1;
    return item;
  }

  remove(client: string, item: T): void {
    const line = this.#lines.get(client)!;
    line.splice(line.indexOf(item), 1);
    if (line.length === 0) this.#lines.delete(client);
    this.#size -= 1;
  }

  lineOf(client: string): readonly T[] {
    return this.#lines.get(client) ?? [];
  }

  lines(): (readonly T[])[] {
    return [...this.#lines.values()];
  }

  /** Takes all items. */
  drain(): T[] {
    const all = this.lines().flat();
    this.#lines.clear();
    this.#size = 0;
    return all;
  }
}
